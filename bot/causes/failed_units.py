"""Units in systemd's state failed.

Confirms: a unit in state failed.
Supports: its result and exit status; earlier restarts.
Refutes: no failed unit. A unit that waits for a restart is not failed: that is crash-looping-unit.
Remedy: none. The unit's own log says what it needs; a failed backup is no reason to touch the node.
"""

from __future__ import annotations

from collections.abc import Mapping

from bot.causes import _loops
from bot.causes._essential import is_dispensable_unit
from bot.domain.cause import Cause, CauseResult, Threshold, Tuning
from bot.domain.probe import Snapshot, Unread
from bot.domain.protected import is_essential, is_network
from bot.domain.safe_text import counted, listed
from bot.domain.verdict import Confidence, Evidence, Finding, RuledOut, Status, Undecided
from bot.probes.essential_units import EssentialUnitsReading
from bot.probes.host import HostReading
from bot.probes.units import Unit, UnitsReading

NAME = "failed-units"
_SHOWN_MOST = 6  # shown to people; the suspects name them all


def evaluate(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
    """Tell which units have failed, and whether the node can work without them."""
    units = snapshot.get(UnitsReading)
    if isinstance(units, Unread):
        return Undecided(NAME, f"the units were not read ({units.reason})")
    if not units.systemd:
        return RuledOut(NAME, "no systemd runs here", applies=False)
    lines = {unit.name: (unit.source,) if unit.source else () for unit in units.failed_units}
    services = {unit.name: unit for unit in units.services if unit.failed}
    names = list(dict.fromkeys([*lines, *services]))
    if not names:
        return RuledOut(NAME, "no unit is failed")
    essential = [name for name in names if _is_essential(snapshot, name, services.get(name), tuning["sync_minutes"])]
    names.sort(key=lambda name: name not in essential)
    evidence = tuple(
        Evidence("unit-failed", "units", _unit_words(name, services.get(name)), _source(name, lines, services))
        for name in names[:_SHOWN_MOST]
    )
    summary = f"{counted(len(names), 'failed unit')}: {listed(names, 3)}"
    if essential:
        summary += f"; the node cannot work without {', '.join(essential)}"
    return Finding(
        cause=NAME,
        status=Status.CRITICAL if essential else Status.DEGRADED,
        confidence=Confidence.CONFIRMED,
        summary=summary,
        evidence=evidence,
        suspects=tuple(names),
    )


def _is_essential(snapshot: Snapshot, name: str, unit: Unit | None, minutes: float) -> bool:
    """True if the node takes no work without it. A node that answers has a network, whatever failed to make it."""
    names = (name, *(unit.aliases if unit else ()))
    if not is_essential(names) or is_network(names):
        return False
    return not is_dispensable_unit(snapshot.get(EssentialUnitsReading), snapshot.get(HostReading), names, minutes)


def _unit_words(name: str, unit: Unit | None) -> str:
    if unit is None:
        return f"{name} is failed"
    status = "" if unit.exit_status is None else f", exit status {unit.exit_status}"
    tries = f", after {counted(unit.most_restarts, 'restart')}" if unit.most_restarts else ""
    return f"{name} is failed: {unit.result}{status}{tries}"


def _source(name: str, lines: Mapping[str, tuple[str, ...]], services: Mapping[str, Unit]) -> tuple[str, ...]:
    return (*lines.get(name, ()), *(_loops.unit_lines(services[name])[:5] if name in services else ()))


CAUSE = Cause(
    name=NAME,
    title="Failed units",
    probes=("units",),
    thresholds={
        "sync_minutes": Threshold(6, "As in essential-unit-stopped."),
    },
    evaluate=evaluate,
    signature=("units",),
    beside=("essential_units", "host"),
    of_one=True,
    lasting_fix="Mend the unit, or disable it where nothing needs it.",
)
