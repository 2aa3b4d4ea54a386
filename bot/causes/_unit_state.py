"""Whether the node needs a unit, what makes its runs end, and which step keeps the unit from coming back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from bot.causes._figures import span
from bot.causes._shut_filesystems import shut_mounts
from bot.domain.action import Step
from bot.domain.probe import Snapshot, Unread
from bot.domain.protected import is_protected
from bot.domain.safe_text import listed
from bot.probes.agents import Agent, AgentsReading
from bot.probes.clock import ClockReading
from bot.probes.dns import DnsReading
from bot.probes.essential_units import EssentialUnitsReading
from bot.probes.filesystems import FilesystemsReading, Room
from bot.probes.host import HostReading
from bot.probes.units import Unit, UnitsReading

_TRANSIENT = "transient"  # systemd-run(1): there is nothing to disable, and a mask does not outrank it
# UnitFileStates without [Install] links to remove, whose links are not what starts them, or lie in /run, where
# `disable` leaves them; and of what is masked, in /run only until the next boot.
_NOT_DISABLED_USEFULLY = {
    "static",
    "generated",
    "indirect",
    "enabled-runtime",
    "linked-runtime",
    "masked",
    "masked-runtime",
}
_OF_MASKS = "/etc/systemd/system/"  # systemctl(1): a mask is a link there, and never replaces a unit's own file


_STOPS_RESTARTS_SINCE = 251  # the systemd that no longer restarts what it has to stop
_OF_LINKS = ("/", "/etc")  # mounts of the links that disabling removes
WHY_ENDS = ("filesystems", "dns", "clock", "essential_units")  # read for what makes the runs of any service end
_ROOM_PERCENT = 1.0  # as gone_percent of disk-full
_FAILED_FEW = 2  # as failed_few of dns-failing
_SKEW = timedelta(minutes=5)  # krb5.conf(5), clockskew: beyond it tickets, and soon certificates, are refused


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
    wanted_by: tuple[str, ...] = ()
    fragment: str = ""  # the path of its own file
    result: str = ""  # how its last run ended, in systemd's word
    use_unread: str = ""  # why it is not known whether anybody needs it
    stops_protected: tuple[str, ...] = ()  # what must not be stopped and would stop with it
    hangs_systemd: str = ""  # why the manager itself would hang if it were stopped

    @property
    def movers(self) -> tuple[str, ...]:
        """What starts it though it is disabled: a timer, a socket, a path, or a unit that wants it by itself.

        While a unit is enabled, systemd does not say which units want it by the links of its own [Install], which
        disabling removes. Those are almost always targets.
        """
        is_enabled = self.enabled != "disabled"
        return (*self.triggered_by, *(name for name in self.wanted_by if not (is_enabled and name.endswith(".target"))))


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
        wanted_by=unit.wanted_by if unit else (),
        fragment=unit.fragment if unit else "",
        result=unit.result if unit else "",
        use_unread=_unread_words(agents, snapshot.get(HostReading)),
        stops_protected=tuple(name for name in stops_too if is_protected((name, *_aliases(units, name)))),
        hangs_systemd=_why_systemd_hangs(unit, units.systemd_version) if unit and not isinstance(units, Unread) else "",
    )


def _why_systemd_hangs(unit: Unit, version: str) -> str:
    """Return why systemd would hang if the unit were stopped; empty if it would not.

    Until 251 a service that waits for its restart while it is to be stopped is only made to wait again. Without a pause
    that repeats for ever, and PID 1 does nothing else: https://github.com/systemd/systemd/pull/22561 (own recording:
    on 247 a login took two minutes, and nothing could be stopped any more).
    """
    is_off = (unit.active_later or unit.active) in ("failed", "inactive")
    if is_off or unit.restart == "no" or unit.restart_after != timedelta(0):
        return ""
    if version.isdecimal() and int(version) >= _STOPS_RESTARTS_SINCE:
        return ""
    manager = f"systemd {version}" if version else "systemd, whose version is not known,"
    return f"it is restarted without a pause (RestartSec=0), and {manager} can hang for good when it is stopped"


def _aliases(units: UnitsReading | Unread, name: str) -> tuple[str, ...]:
    known = None if isinstance(units, Unread) else units.get(name)
    return (known.name, *known.aliases) if known else ()


def _unread_words(*readings: object) -> str:
    """Why it is not known whether a unit is needed or runs well; empty if both were read."""
    return "; ".join(f"{reading.probe}: {reading.reason}" for reading in readings if isinstance(reading, Unread))


def disabling_steps(unit: UnitState, snapshot: Snapshot) -> tuple[tuple[Step, ...], str]:
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
    if unit.hangs_systemd:
        return (), f"{unit.unit} is not stopped: {unit.hangs_systemd}. Set RestartSec=1 for it first."
    if shut := next((mount.point for mount in snapshot.once(shut_mounts) if mount.point in _OF_LINKS), ""):
        return (), f"{unit.unit} cannot be disabled: {shut} takes no writes."
    if not unit.unused_because and (why := _why_ends(unit, snapshot)):
        return (), f"{why}, and the runs of {unit.unit} may end by that: it is not disabled before that is mended."
    if not (unit.movers or unit.enabled in _NOT_DISABLED_USEFULLY):
        return (Step("disable_unit", {"unit": unit.unit}),), ""
    if not unit.enabled.startswith("masked") and unit.fragment.startswith(_OF_MASKS):
        return (
            (),
            f"{unit.unit} cannot be masked, for its own file is in {_OF_MASKS}: whoever put it there takes it out.",
        )
    return (Step("mask_unit", {"unit": unit.unit}),), ""


def _why_ends(unit: UnitState, snapshot: Snapshot) -> str:
    """Return the node's own fault by which runs of any service end, as a sentence without its full stop; empty if none.

    An agent that nobody uses here ends for want of its configuration: that is known, and is not asked here.
    """
    if unit.result == "oom-kill":
        return "The kernel kills it for lack of memory"
    if shut := next(iter(snapshot.once(shut_mounts)), None):
        return f"{shut.point} takes no writes"
    files, names, clock = snapshot.get(FilesystemsReading), snapshot.get(DnsReading), snapshot.get(ClockReading)
    fixed = set() if isinstance(files, Unread) else {mount.point for mount in files.mounts if mount.is_read_only}
    for room in () if isinstance(files, Unread) else files.rooms:
        if not room.is_image and room.point not in fixed and _least_free_percent(room) < _ROOM_PERCENT:
            return f"{room.point} has no room left"
    if not isinstance(names, Unread) and names.servers and all(s.failed >= _FAILED_FEW for s in names.servers):
        return "No name server answers"
    if not isinstance(clock, Unread) and abs(clock.offset_seconds or 0.0) >= _SKEW.total_seconds():
        return f"The clock is {span(timedelta(seconds=abs(clock.offset_seconds or 0.0)))} off"
    essential = snapshot.get(EssentialUnitsReading)
    known = () if isinstance(essential, Unread) else essential.units
    for kind in ("runtime", "network"):
        of_kind = [each for each in known if each.kind == kind]
        stopped = next((each for each in of_kind if each.is_stopped), None)
        if stopped is not None and not any(each.active == "active" for each in of_kind):
            return f"{stopped.name} is stopped"
    return ""


def _least_free_percent(room: Room) -> float:
    return min(room.free_percent, 100.0 if room.free_inodes_percent is None else room.free_inodes_percent)
