"""Checks what the bot itself needs: its record, the disk, its playbooks and its policy."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Sequence

from bot.app.factories import library
from bot.domain.contracts import Clock
from bot.domain.doctor_finding import DoctorFinding, Mark
from bot.domain.errors import LedgerUnavailable
from bot.domain.policy import Policy
from bot.domain.protected import is_protected
from bot.domain.safe_text import counted, one_line
from bot.ledger.health import condition, ledger_file
from bot.settings import Settings
from bot.surfaces.descriptor import SurfaceDescriptor

GIB, MIB = 1024**3, 1024**2
LITTLE, TOO_LITTLE = 1 * GIB, 100 * MIB
SKEW_SECONDS = 5.0


async def playbooks(settings: Settings) -> tuple[DoctorFinding, ...]:
    """Can all playbooks be used, and what packages bring? Without any of the user's own, that is not in question."""
    found = library(settings.playbooks, settings.playbook)
    if not settings.playbooks and not found.rules_left_out:
        return ()
    hint = "Correct it; until then whoever asks for {name} is told this: zombie playbooks check FILE"
    wrong = [
        DoctorFinding("playbooks", Mark.WRONG, one_line(str(fault), 400), hint.format(name=name))
        for name, fault in found.left_out.items()
    ]
    hint = "Mend it; until then it is undecided on every node: zombie playbooks check DIR"
    wrong += [DoctorFinding("playbooks", Mark.WRONG, why, hint) for why in found.rules_left_out.values()]
    return tuple(wrong) or (DoctorFinding("playbooks", Mark.OK, f"all {len(found.names)} can be used"),)


async def record(url: str, now: Clock) -> tuple[DoctorFinding, ...]:
    """Is the database there, with tables that this program knows, and where does the record end?"""
    path = ledger_file(url)
    if path is not None and not path.exists():
        seen = f"{path} does not exist yet; it is made at the first start"
        folder = next(candidate for candidate in (path.parent, *path.parents) if candidate.exists())
        if not os.access(folder, os.W_OK):
            hint = "Make it writable for the bot's user, or set ZOMBIE_STATE_DIR."
            return (DoctorFinding("database", Mark.WRONG, f"{folder} cannot be written", hint),)
        return (DoctorFinding("database", Mark.NOT_SET, seen),)
    try:
        found = await asyncio.to_thread(condition, url)
    except LedgerUnavailable as no:
        return (DoctorFinding("database", Mark.WRONG, no.sentence, no.try_next or "Is ZOMBIE_DATABASE_URL right?"),)
    if found.version > found.known_version:
        seen = f"its tables are of version {found.version}, and this program knows up to {found.known_version}"
        tables = DoctorFinding("database", Mark.WRONG, seen, "Run a program as new as the program that wrote it.")
    elif found.version < found.known_version:
        seen = (
            f"reachable; its tables are of version {found.version}, and are lifted to {found.known_version} at a start"
        )
        tables = DoctorFinding("database", Mark.NOTE, seen, "Stop older programs before a newer program starts.")
    else:
        tables = DoctorFinding(
            "database", Mark.OK, f"reachable, version {found.version}, {found.open_incidents} incidents open"
        )
    head = DoctorFinding(
        "audit head",
        Mark.OK if found.house.seq else Mark.NOT_SET,
        found.house.noted or "nothing on record yet",
        "Note it elsewhere; zombie audit verify --head SEQ:HASH checks it." if found.house.seq else "",
    )
    skew = abs((now() - found.now).total_seconds())
    clock = DoctorFinding("clock and database's", Mark.OK, f"{skew:.0f} s apart")
    if skew > SKEW_SECONDS:
        clock = DoctorFinding("clock and database's", Mark.WRONG, f"{skew:,.0f} s apart", "Set both clocks (chrony).")
    found_more = [_several_names_finding(names) for names in found.machines.values()]
    if (pulled := found.brake) is not None:
        reason = one_line(str(pulled.body.get("reason", "")), 200)
        seen = f"on since {pulled.at:%Y-%m-%d %H:%M} UTC, by {one_line(pulled.by, 80)}: {reason}"
        found_more.append(DoctorFinding("brake", Mark.NOTE, seen, "Nothing begins. An approver: zombie brake off"))
    if found.given_up:
        seen = f"{found.given_up} of the last days were given up: no node was read for them"
        hint = "App Home lists them; see delivery_given_up in the log."
        found_more.append(DoctorFinding("deliveries", Mark.NOTE, seen, hint))
    return (tables, head, clock, *found_more)


def _several_names_finding(names: Sequence[str]) -> DoctorFinding:
    seen = f"{one_line(', '.join(names), 300)} share a machine-id: the bot acts on a single name at a time"
    hint = "One machine: use one of its names. Copies of an image: rm /etc/machine-id; systemd-machine-id-setup"
    return DoctorFinding("one machine", Mark.NOTE, seen, hint)


async def disk(url: str) -> tuple[DoctorFinding, ...]:
    """Is there room for the record?"""
    path = ledger_file(url)
    if path is None:
        return (DoctorFinding("disk", Mark.NOT_SET, "the record is on another machine"),)
    folder = next(candidate for candidate in (path.parent, *path.parents) if candidate.exists())
    free = shutil.disk_usage(folder).free
    mark = Mark.WRONG if free < TOO_LITTLE else Mark.NOTE if free < LITTLE else Mark.OK
    to_do = "" if mark is Mark.OK else "Make room: without it nothing can be recorded, so nothing is done."
    return (DoctorFinding("disk", mark, f"{free / GIB:.1f} GiB free at {folder}", to_do),)


async def policy(rules: Policy, surfaces: Sequence[SurfaceDescriptor]) -> tuple[DoctorFinding, ...]:
    """Who may approve, and what may be stopped or started?"""
    if not rules.names_anybody:
        seen = "[policy] names no approvers: the bot looks and never acts"
        return (DoctorFinding("policy", Mark.NOT_SET, seen),)
    who = [
        f"{counted(count, word, words)} {surface.where}"
        for surface in surfaces
        for word, words, names in (("person", "people", rules.approvers), ("group", "groups", rules.approver_groups))
        if (count := sum(name.startswith(f"{surface.name}:") for name in names))
    ]
    seen = f"may approve: {', '.join(who)}; the person who asked {'may too' if rules.self_approval else 'may not'}"
    found = [DoctorFinding("policy", Mark.OK, seen)]
    if not rules.acting:
        found[0] = DoctorFinding("policy", Mark.NOTE, f"{seen}; [policy] acting is off, so nothing is done")
    never = sorted(unit for unit in rules.units if is_protected([unit]))
    if never:
        hint = "Remove them from [act] units: without them the node or the access to it is lost."
        found.append(DoctorFinding("units", Mark.WRONG, f"are never stopped: {', '.join(never)}", hint))
    elif rules.units:
        found.append(DoctorFinding("units", Mark.OK, f"may be stopped: {', '.join(sorted(rules.units))}"))
    else:
        found.append(DoctorFinding("units", Mark.NOTE, "[act] units is empty: nothing may be stopped"))
    if rules.start_units:
        found.append(DoctorFinding("start units", Mark.OK, f"may be started: {', '.join(sorted(rules.start_units))}"))
    return tuple(found)
