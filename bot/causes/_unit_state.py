"""Whether the node needs a unit, and which step keeps the unit from coming back."""

from __future__ import annotations

from dataclasses import dataclass

from bot.causes._shut_filesystems import shut_mounts
from bot.domain.action import Step
from bot.domain.probe import Snapshot, Unread
from bot.domain.protected import is_protected
from bot.domain.safe_text import listed
from bot.probes.agents import Agent, AgentsReading
from bot.probes.host import HostReading
from bot.probes.units import Unit, UnitsReading

_TRANSIENT = "transient"  # systemd-run(1): there is nothing to disable, and a mask does not outrank it
# UnitFileStates without [Install] links to remove, or whose links are not what starts them.
_NOT_DISABLED_USEFULLY = ("static", "generated", "indirect", "masked")


_OF_LINKS = ("/", "/etc")  # mounts of the links that disabling removes


@dataclass(frozen=True, slots=True)
class UnitState:
    """A unit's role on its node. `unit` "": no unit is known; `needed_because`: what on this node uses it."""

    unit: str
    enabled: str = ""
    active: str = ""
    protected: bool = False
    needed_because: str = ""
    unused_because: str = ""  # why a known agent is not needed here
    triggered_by: tuple[str, ...] = ()
    use_unread: str = ""  # why it is not known whether anybody needs it
    stops_protected: tuple[str, ...] = ()  # what must not be stopped and would stop with it


def unit_state_of(snapshot: Snapshot, name: str, unit: Unit | None = None, agent: Agent | None = None) -> UnitState:
    """Return what is known of a unit; its name alone tells whether it is protected."""
    units, agents = snapshot.get(UnitsReading), snapshot.get(AgentsReading)
    if unit is None and name and not isinstance(units, Unread):
        unit = units.get(name)
    names = [name, *((unit.name, *unit.aliases) if unit else ())]
    if agent is None and name and not isinstance(agents, Unread):
        agent = next((known for known in agents.agents if known.unit in names), None)
    stops_too = units.stops_with(unit) if unit and not isinstance(units, Unread) else ()
    return UnitState(
        unit=unit.name if unit else name,
        enabled=(unit.enabled if unit else "") or (agent.enabled if agent else ""),
        active=(unit.active_later or unit.active) if unit else agent.active if agent else "",
        protected=is_protected(names) or bool(unit and unit.protected),
        needed_because=(agent.because or "it is in use") if agent and (agent.used or agent.claimed) else "",
        unused_because=(agent.because or "nobody uses it") if agent and agent.used is False else "",
        triggered_by=unit.triggered_by if unit else (),
        use_unread=_not_read(agents, snapshot.get(HostReading)),
        stops_protected=tuple(name for name in stops_too if is_protected((name, *_aliases(units, name)))),
    )


def _aliases(units: UnitsReading | Unread, name: str) -> tuple[str, ...]:
    known = None if isinstance(units, Unread) else units.get(name)
    return (known.name, *known.aliases) if known else ()


def _not_read(*readings: object) -> str:
    """Why it is not known whether a unit is needed or runs well; empty if both were read."""
    return "; ".join(f"{reading.probe}: {reading.reason}" for reading in readings if isinstance(reading, Unread))


def keep_from_starting(unit: UnitState, snapshot: Snapshot) -> tuple[tuple[Step, ...], str]:
    """Return the step that stops a unit permanently, or no step and the reason."""
    if not unit.unit:
        return (), "No unit is known that starts it, so there is nothing to disable."
    if unit.protected:
        return (), f"{unit.unit} is protected: without it the node, or access to it, would be lost."
    if unit.stops_protected:
        return (
            (),
            f"With {unit.unit} would stop {listed(unit.stops_protected, 3)}, and the node, or access to it, be lost.",
        )
    if unit.needed_because:
        return (), f"{unit.unit} is needed here ({unit.needed_because}): it needs repair, not disabling."
    if unit.enabled == _TRANSIENT:
        return (), f"{unit.unit} has no file: whoever runs it (systemd-run) has to stop it."
    if unit.use_unread:
        return (), f"Whether anybody here needs {unit.unit} was not read ({unit.use_unread})."
    if shut := next((mount.point for mount in snapshot.once(shut_mounts) if mount.point in _OF_LINKS), ""):
        return (), f"{unit.unit} cannot be disabled: {shut} takes no writes."
    action = "mask_unit" if unit.enabled in _NOT_DISABLED_USEFULLY or unit.triggered_by else "disable_unit"
    return (Step(action, {"unit": unit.unit}),), ""
