"""A unit's state from systemd, used to prove and undo actions on it.

Defined in: systemctl(1), org.freedesktop.systemd1(5).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from bot.domain.action import Args, Facts, Proof
from bot.domain.command import Command, Outputs
from bot.domain.errors import CannotRead
from bot.probes.formats.systemd_span import systemd_span

PROPERTIES = ("Id", "Names", "LoadState", "ActiveState", "SubState", "UnitFileState", "NRestarts", "RestartUSec")
SHORTEST = timedelta(seconds=15)
_RUNS = {"active", "activating", "reloading", "refreshing"}
_ON = {"active", "activating", "deactivating", "reloading", "refreshing", "maintenance"}
_STARTS_AT_BOOT = {"enabled", "enabled-runtime", "linked", "linked-runtime", "alias"}
_MASKED = {"masked", "masked-runtime"}
_LONGEST_REST = timedelta(hours=1)


def looks(args: Args) -> tuple[Command, ...]:
    """Return the command that reads the unit; it needs no root."""
    argv = ("systemctl", "show", "--no-pager", "-p", ",".join(PROPERTIES), "--", args["unit"])
    return (Command("unit", argv, lane="systemd", output_limit_bytes=16 * 1024),)


def facts(args: Args, outputs: Outputs) -> Facts:
    """Return the unit's properties.

    Raises: CannotRead when systemd does not say whether it runs and whether it starts at boot.
    """
    found = dict(line.split("=", 1) for line in outputs.text("unit").splitlines() if "=" in line)
    properties = {name: found[name] for name in PROPERTIES if name in found}
    if not properties.get("ActiveState") or not properties.get("LoadState"):
        raise CannotRead(f"systemd does not say how {args['unit']} is")
    return properties


def is_off(now: Facts) -> bool:
    """True when the unit neither runs, nor is starting, nor starts at the next boot."""
    return now["ActiveState"] not in _ON and now.get("UnitFileState", "") not in _STARTS_AT_BOOT


def is_masked(now: Facts) -> bool:
    """True when the unit does not run, and nothing can start it."""
    masked = now["LoadState"] == "masked" or now.get("UnitFileState", "") in _MASKED
    return masked and now["ActiveState"] not in _ON


def is_back(verbs: Iterable[str], now: Facts) -> bool:
    """True when the unit has the state that those systemctl verbs lead to."""
    so = {
        "enable": now.get("UnitFileState", "") in _STARTS_AT_BOOT,
        "unmask": now["LoadState"] != "masked" and now.get("UnitFileState", "") not in _MASKED,
        "start": now["ActiveState"] in _RUNS,
    }
    return all(so[verb] for verb in verbs)


def off(args: Args, before: Facts, now: Facts) -> Proof:
    """Judge whether the unit is stopped and disabled."""
    return Proof.PROVEN if is_off(now) else Proof.NOT_YET


def masked(args: Args, before: Facts, now: Facts) -> Proof:
    """Judge whether the unit is stopped and masked."""
    return Proof.PROVEN if is_masked(now) else Proof.NOT_YET


def patience(before: Facts) -> timedelta:
    """Return how long to wait before a unit that systemd may restart counts as off: 1.5 times its RestartSec.

    Example:
    >>> patience({"RestartUSec": "1min 30s"}), patience({"RestartUSec": "100ms"})
    (datetime.timedelta(seconds=135), datetime.timedelta(seconds=15))
    """
    rests = systemd_span(before.get("RestartUSec", "")) or timedelta(0)
    return max(SHORTEST, 1.5 * min(rests, _LONGEST_REST))
