"""Units in systemd's state failed.

Confirms: a unit in state failed.
Supports: its result and exit status; earlier restarts.
Refutes: no failed unit. A unit that waits for a restart is not failed: that is crash-looping-unit.
Remedy: none. The unit's own log says what it needs; a failed backup is no reason to touch the node.
"""

from __future__ import annotations

from collections.abc import Mapping

from bot.causes import _loops
from bot.causes._figures import count
from bot.domain.cause import Cause, Tuning, Weighing
from bot.domain.listed import listed
from bot.domain.probe import Snapshot, Unread
from bot.domain.protected import is_essential
from bot.domain.verdict import Confidence, Evidence, Finding, RuledOut, Status, Undecided
from bot.probes.units import Unit, UnitsReading

NAME = "failed-units"
_SHOWN_MOST = 6  # shown to people; the suspects name them all


def weigh(snapshot: Snapshot, tuning: Tuning) -> Weighing:
    """Tell which units have failed, and whether the node can work without them."""
    units = snapshot.get(UnitsReading)
    if isinstance(units, Unread):
        return Undecided(NAME, f"the units were not read ({units.reason})")
    if not units.systemd:
        return RuledOut(NAME, "no systemd runs here")
    lines = {unit.name: (unit.source,) if unit.source else () for unit in units.failed_units}
    services = {unit.name: unit for unit in units.services if unit.failed}
    names = list(dict.fromkeys([*lines, *services]))
    if not names:
        return RuledOut(NAME, "no unit is failed")
    names.sort(key=lambda name: not _is_essential(name, services.get(name)))
    evidence = tuple(
        Evidence("unit-failed", "units", _says(name, services.get(name)), _source(name, lines, services))
        for name in names[:_SHOWN_MOST]
    )
    essential = [name for name in names if _is_essential(name, services.get(name))]
    summary = f"{count(len(names), 'failed unit')}: {listed(names, 3)}"
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


def _is_essential(name: str, unit: Unit | None) -> bool:
    return is_essential((name,)) or (unit is not None and _loops.is_essential(unit))


def _says(name: str, unit: Unit | None) -> str:
    if unit is None:
        return f"{name} is failed"
    status = "" if unit.exit_status is None else f", exit status {unit.exit_status}"
    tries = f", after {count(unit.most_restarts, 'restart')}" if unit.most_restarts else ""
    return f"{name} is failed: {unit.result}{status}{tries}"


def _source(name: str, lines: Mapping[str, tuple[str, ...]], services: Mapping[str, Unit]) -> tuple[str, ...]:
    return (*lines.get(name, ()), *(_loops.unit_lines(services[name])[:5] if name in services else ()))


CAUSE = Cause(NAME, "Failed units", ("units",), (), weigh, signature=("units",))
