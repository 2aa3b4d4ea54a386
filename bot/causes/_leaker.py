"""Finds the leaker: compares what keeps restarting with the count of dying cgroups and the time available."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta

from bot.causes import _churn, _loops, _recent
from bot.causes._churn import Churn
from bot.causes._figures import span
from bot.causes._loops import Loop, LoopState
from bot.causes._unit_state import UnitState, unit_state_of
from bot.domain.cause import Tuning
from bot.domain.probe import Snapshot, Unread
from bot.domain.safe_text import counted, one_line
from bot.domain.verdict import Confidence
from bot.probes.cgroups import FEWEST_TOLD, MOST_TOLD, CgroupsReading
from bot.probes.containers import ContainersReading
from bot.probes.units import Unit, UnitsReading

# An argument by rate (seconds for each cgroup) uses no count, so a count that fits better than this wins.
_PACE_FIT = math.log(1.5)
# What systemd allows in a unit's name (escaped names hold `\x2d` and the like). Anybody may name a cgroup.
_SERVICE = re.compile(r"[A-Za-z0-9:_.\\@-]{1,247}\.service")


# --- where most of them are: on cgroup v2 the kernel counts the dying below each live cgroup


@dataclass(frozen=True, slots=True)
class DyingShare:
    """The deepest cgroup that holds most of the dying cgroups.

    Shape: `unit` is the service that owns the cgroup, "" if none does; `is_no_units`: a pod, a container or a session
    owns it, where no service leaves any. If neither is set, it is a slice, where ended units leave theirs.
    """

    path: str
    dying: int
    of: int
    unit: str = ""
    is_no_units: bool = False
    growth: int | None = None
    line: str = ""

    @property
    def is_of_sessions(self) -> bool:
        """True below user.slice, where logins and cron's jobs have their sessions (pam_systemd(8)), and no service."""
        return not self.unit and self.path.split("/")[0] == "user.slice"

    @property
    def says(self) -> str:
        """Describe how many are where."""
        rose = f" ({self.growth:+,} between the looks)" if self.growth else ""
        where = f"{self.dying:,} of the {self.of:,} dying are under {self.unit or one_line(self.path, 120)}{rose}"
        if self.is_no_units:
            return f"{where}, which is not a unit that could be disabled: its processes leave them"
        return where


def largest_share(cgroups: CgroupsReading, dying: int, share: float) -> DyingShare | None:
    """Return the cgroup with at least this share of the dying; None if unknown, or no cgroup has it."""
    below = cgroups.dying_below if cgroups.dying_later is None else cgroups.dying_below_later
    many = {path: figure for path, figure in below.items() if figure >= share * dying}
    deepest = [path for path in many if not any(other.startswith(f"{path}/") for other in many)]
    if len(deepest) != 1:
        return None
    path = deepest[0]
    parts = path.split("/")
    depth = next((at for at, part in enumerate(parts) if not part.endswith(".slice")), len(parts))
    unit = ""
    if depth < len(parts) and _SERVICE.fullmatch(parts[depth]):
        path, unit = "/".join(parts[: depth + 1]), parts[depth].removeprefix("_")  # systemd escapes some names with it
    pods = any(part.startswith("kubepods") for part in parts)
    figure = below.get(path, many[deepest[0]])
    first = None if cgroups.dying_later is None else cgroups.dying_below.get(path)
    return DyingShare(
        path=path,
        dying=figure,
        of=max(dying, figure),  # the two files are read in turn
        unit="" if pods else unit,
        is_no_units=pods or (not unit and len(parts) > 1 and not parts[-1].endswith(".slice")),
        growth=None if first is None else figure - first,
        line=cgroups.source_below.get(path, ""),
    )


def _most_dying_in_slice(cgroups: CgroupsReading, control_group: str) -> int | None:
    """Return how many dying cgroups may be below the slice of that unit's cgroup at most; None without such counts.

    A unit between two runs has no cgroup: then it is taken to be in system.slice, where systemd puts services.
    """
    below = cgroups.dying_below if cgroups.dying_later is None else cgroups.dying_below_later
    if not below:
        return None
    top = control_group.strip("/").partition("/")[0] or "system.slice"
    told = [figure for path, figure in below.items() if path == top or path.startswith(f"{top}/")]
    # The places with most are told, down to the smallest that counts: what is not told has no more than those.
    return max(told, default=min(below.values()) if len(below) >= MOST_TOLD else FEWEST_TOLD)


# --- who may have left them


@dataclass(frozen=True, slots=True)
class Suspect:
    """A unit or image that could have left the cgroups behind.

    Shape: `fit` is how far its restarts are from one cgroup for each restart (0: exactly), None if they are out of
    proportion; `goes_on`: it loops now; `steady`: it runs well now; `stopped` says since when it does not run.
    """

    name: str  # the unit, or else the image
    unit_state: UnitState
    goes_on: bool
    says: str
    probe: str
    source: tuple[str, ...] = ()
    turns: int = 0
    fit: float | None = None
    fits_because: str = ""
    steady: bool = False
    stopped: str = ""
    ends_well: bool = False  # its runs do not fail: it is a poller, and works
    ends_unseen: bool = False  # it is also restarted after successful runs, and how they end was not seen


@dataclass(frozen=True, slots=True)
class Suspects:
    """All that loops, best fit first; where most dying cgroups are; and what could not be read."""

    all: tuple[Suspect, ...]
    unread: tuple[Unread, ...] = field(default=())
    largest_share: DyingShare | None = None
    owner: Suspect | None = None  # the unit under which the kernel counts most of them

    @property
    def in_proportion(self) -> tuple[Suspect, ...]:
        """Suspects whose restarts account for the dying cgroups, best fit first."""
        return tuple(suspect for suspect in self.all if suspect.fit is not None)

    @property
    def going_on(self) -> tuple[Suspect, ...]:
        """Suspects that loop now."""
        return tuple(suspect for suspect in self.all if suspect.goes_on)


def suspects(
    snapshot: Snapshot,
    dying: int,
    tuning: Tuning,
    largest_share: DyingShare | None = None,
    growth: int | None = None,
) -> Suspects:
    """Return what loops or looped, each compared with the count of dying cgroups and the place where they are."""
    uptime = _recent.uptime(snapshot)
    units, looping = snapshot.get(UnitsReading), snapshot.once(_loops.loops, tuning["loop_many"])
    churns = snapshot.once(_churn.churns, tuning["turn_seconds_high"])
    loops = () if isinstance(looping, Unread) else looping
    # What came between the looks is a loop's doing only where nothing else starts or ends.
    going_on = {loop.unit.name for loop in loops if loop.goes_on} | {c.suspect for c in churns if c.replaced}
    its_own = growth if len(going_on) == 1 else None
    found = [_suspect_of_loop(snapshot, loop, dying, its_own, uptime, tuning) for loop in loops]
    if largest_share is not None and largest_share.is_of_sessions:
        found = [replace(suspect, fit=None, fits_because="") for suspect in found]
    found += [
        suspect
        for churn in churns
        if (suspect := _suspect_of_churn(snapshot, churn, dying, uptime, tuning)) is not None
    ]
    each = _one_per_unit(sorted(found, key=_sort_key))
    if largest_share is not None and largest_share.is_no_units:
        each = tuple(suspect for suspect in each if not suspect.unit_state.unit)  # units leave none there
    owner = (
        _owner_as_suspect(snapshot, largest_share, each, tuning)
        if largest_share is not None and largest_share.unit
        else None
    )
    return Suspects(each, _unread_readings(units, snapshot.get(ContainersReading)), largest_share, owner)


def _owner_as_suspect(
    snapshot: Snapshot, largest_share: DyingShare, each: tuple[Suspect, ...], tuning: Tuning
) -> Suspect:
    """Return the unit as a suspect, with its loop if it has one; otherwise it seems to run well."""
    units = snapshot.get(UnitsReading)
    unit = None if isinstance(units, Unread) else units.get(largest_share.unit)
    same = next((suspect for suspect in each if suspect.name == (unit.name if unit else largest_share.unit)), None)
    grows = largest_share.growth is not None and largest_share.growth >= tuning["leak_growth"]
    if same is not None:
        return replace(
            same,
            goes_on=same.goes_on or grows,
            says=f"{largest_share.says}; {same.says}",
            probe="cgroups",
            source=(largest_share.line, *same.source),
            steady=same.steady or not (same.goes_on or same.stopped),
        )
    state = unit_state_of(snapshot, largest_share.unit, unit)
    return Suspect(
        name=state.unit,
        unit_state=state,
        goes_on=grows,
        says=largest_share.says,
        probe="cgroups",
        source=(largest_share.line, *(_loops.unit_lines(unit) if unit else ())),
        steady=state.active not in ("failed", "inactive"),
    )


def _unread_readings(units: UnitsReading | Unread, containers: ContainersReading | Unread) -> tuple[Unread, ...]:
    unread = tuple(reading for reading in (units, containers) if isinstance(reading, Unread))
    if isinstance(containers, Unread) or not containers.refused:
        return unread
    return (*unread, Unread("containers", "; ".join(containers.refused.values())))


def _sort_key(suspect: Suspect) -> tuple[bool, float, int, str]:
    return (suspect.fit is None, suspect.fit or 0.0, -suspect.turns, suspect.name)


def _one_per_unit(suspects: Iterable[Suspect]) -> tuple[Suspect, ...]:
    """Keep the better argument for each unit: it may be seen both as a service and by its container."""
    kept: dict[str, Suspect] = {}
    for suspect in suspects:
        first = kept.setdefault(suspect.name, suspect)
        if suspect.goes_on and not first.goes_on:
            kept[suspect.name] = replace(first, goes_on=True)
    return tuple(kept.values())


def _suspect_of_loop(
    snapshot: Snapshot, loop: Loop, dying: int, growth: int | None, uptime: timedelta | None, tuning: Tuning
) -> Suspect:
    # Its counted starts, never a rate scaled beyond the time that the counter or the journal covers.
    turns, fit, caught = loop.turns, _distance_from_one_each(dying, loop.turns, tuning["ratio_high"]), False
    cgroups = snapshot.get(CgroupsReading)
    there = None if isinstance(cgroups, Unread) else _most_dying_in_slice(cgroups, loop.unit.control_group)
    # Each start leaves the unit's own cgroup in its slice, whatever its containers leave elsewhere.
    elsewhere = there is not None and there * tuning["ratio_high"] < dying
    because = f"{counted(turns, 'start')} against {dying:,} dying"
    if fit is None and (each := _each_start(loop, growth, tuning)):
        fit, caught = _distance_from_one_each(dying, turns, each / tuning["unit_share"]), True
        because = f"{counted(turns, 'start')}, each of which left about {each:,.0f} between the looks"
    return Suspect(
        name=loop.unit.name,
        unit_state=unit_state_of(snapshot, loop.unit.name, loop.unit),
        goes_on=loop.goes_on,
        says=_loops.loop_words(loop, uptime),
        probe="units",
        source=_loops.unit_lines(loop.unit),
        turns=loop.turns,
        fit=None if elsewhere else fit,
        fits_because="" if fit is None or elsewhere else because,
        steady=loop.state is LoopState.STEADY,
        ends_well=_loops.ends_well(loop.unit),
        ends_unseen=not (caught or _loops.end_is_seen(loop.unit) or _loops.is_frantic(loop.unit, snapshot)),
        stopped=_loops.when_stopped(loop, uptime) if loop.state is LoopState.STOPPED else "",
    )


def _each_start(loop: Loop, growth: int | None, tuning: Tuning) -> float:
    """How many cgroups each start left between the looks; 0 if starts or growth are not known."""
    before, later = loop.unit.restarts, loop.unit.restarts_later
    if growth is None or growth < tuning["growth_told_apart"] or before is None or later is None or later <= before:
        return 0.0
    return growth / (later - before)


def _suspect_of_churn(
    snapshot: Snapshot, churn: Churn, dying: int, uptime: timedelta | None, tuning: Tuning
) -> Suspect | None:
    units, agent = snapshot.get(UnitsReading), churn.agent
    unit = None if isinstance(units, Unread) or not churn.unit else units.get(churn.unit)
    state = unit_state_of(snapshot, churn.unit, unit, agent)
    stopped = state.active in ("failed", "inactive")
    # An agent in use may have failed now and then in the past: its log alone proves nothing.
    log_tells = (
        churn.log_exits >= tuning["agent_log_exits"]
        and not churn.runs_steadily
        and not (agent is not None and agent.used)
    )
    fails_now = log_tells and churn.fails_now(tuning["turn_seconds_high"])
    if not (churn.goes_on or log_tells or churn.exits >= tuning["loop_many"]):
        return None
    fit, because = None, ""
    ended = max(churn.exits, churn.log_exits if log_tells else 0)
    if (fit := _distance_from_one_each(dying, ended, tuning["ratio_high"])) is not None:
        because = f"{counted(ended, 'ended run')} against {dying:,} dying"
    if fit is None and agent is not None and uptime is not None and (churn.goes_on or log_tells):
        because = _pace_words(dying, uptime, unit, stopped, churn.worked_ago, tuning)
        fit = _PACE_FIT if because else None
    beside = f"; {unit.name} itself is {state.active}, NRestarts={unit.most_restarts}" if unit else ""
    return Suspect(
        name=churn.suspect,
        unit_state=state,
        goes_on=(churn.goes_on or fails_now) and not stopped,
        says=_churn.churn_words(churn) + beside,
        probe="containers" if churn.goes_on or churn.exits else "agents",
        source=(*churn.source, *(_loops.unit_lines(unit) if unit else ())),
        turns=ended,
        fit=fit,
        fits_because=because,
        steady=churn.runs_steadily and not stopped,
        stopped=_when_stopped(unit, churn, uptime) if stopped else "",
    )


def _distance_from_one_each(dying: int, turns: int, each: float) -> float | None:
    """Return how far the restarts are from one cgroup each; None if even `each` cgroups per restart are too few."""
    if turns <= 0 or turns * each < dying:
        return None
    return abs(math.log(dying / turns))


def _pace_words(
    dying: int, uptime: timedelta, unit: Unit | None, stopped: bool, worked_ago: timedelta | None, tuning: Tuning
) -> str:
    """Say how the available time fits a loop of some seconds for each restart; empty if it does not fit."""
    seconds, since = uptime.total_seconds(), "the node's uptime"
    stop_told = stopped and unit is not None and unit.state_changed_usec
    if stop_told:
        seconds, since = min(seconds, stop_told / 1e6), "the time until it stopped"
    elif not stopped and unit is not None and unit.active == "active" and (started := unit.started_usec):
        ran = seconds - started / 1e6
        if 0 < ran < seconds:
            seconds, since = ran, f"the time that {unit.name} runs"
    if not stopped and worked_ago is not None and timedelta(0) <= worked_ago < timedelta(seconds=seconds):
        seconds, since = worked_ago.total_seconds(), "the time since its log told that it works"
    each = seconds / dying if dying else math.inf
    if each < tuning["turn_seconds_low"]:
        return ""  # too little time for so many restarts
    if each > tuning["turn_seconds_high"]:
        if stop_told or not stopped:
            return ""  # such a loop would have left many more
        return f"{dying:,} dying are fewer than such a loop leaves in the node's uptime, and it stopped at some time"
    return f"{dying:,} dying over {since} are one every {span(timedelta(seconds=each))}, the rate of such a loop"


def _when_stopped(unit: Unit | None, churn: Churn, uptime: timedelta | None) -> str:
    if unit is not None and unit.state_changed_usec:
        after = timedelta(microseconds=unit.state_changed_usec)
        return _loops.when_stopped(Loop(unit, LoopState.STOPPED, 0, "", after), uptime)
    return f"stopped at {churn.log_last_at}" if churn.log_last_at else "has stopped at an unknown time"


@dataclass(frozen=True, slots=True)
class Blame:
    """Who is named as the leaker, how surely, and why.

    Shape: a leaker is named only if the leak is confirmed; `looping` are the names to look at if no single suspect
    stands out.
    """

    leaker: Suspect | None
    confidence: Confidence
    says: str
    looping: tuple[str, ...] = ()
    doubt: str = ""  # what was not read, and may have named another suspect or shown that it works


def blame(suspects: Suspects, growth: int | None, tuning: Tuning) -> Blame:
    """Name the leaker: the unit below which the kernel counts the dying, or the only suspect that fits.

    Two suspects that both fit are both named and neither is blamed; growth alone blames nobody.
    """
    if suspects.owner is not None:
        chosen = _leaker_words(suspects.owner, suspects)
        return Blame(suspects.owner, Confidence.CONFIRMED, chosen, doubt=_end_unseen_words(suspects.owner))
    could = suspects.in_proportion
    if len(could) == 1:
        unread = "; ".join(f"{reading.probe} were not read ({reading.reason})" for reading in suspects.unread)
        doubt = f"{unread}: whether something else left them is not known." if unread else ""
        doubt = doubt[:1].upper() + doubt[1:] or _end_unseen_words(could[0])
        return Blame(could[0], Confidence.CONFIRMED, _leaker_words(could[0], suspects), doubt=doubt)
    if could:
        each = "; ".join(f"{suspect.says}: {suspect.fits_because}" for suspect in could[:3])
        names = tuple(suspect.name for suspect in could)
        says = f"{', '.join(names)} could each have left them; which of them did is not known ({each})"
        return Blame(None, Confidence.LIKELY, says, names)
    grows = growth is not None and growth >= tuning["leak_growth"]
    says = "the leaker was not found" + _not_asked(suspects)
    if suspects.all:
        says += "; does not fit the count: " + "; ".join(suspect.says for suspect in suspects.all[:2])
    going = tuple(suspect.name for suspect in suspects.going_on) if grows else ()
    return Blame(None, Confidence.LIKELY if grows else Confidence.POSSIBLE, says, going)


def _end_unseen_words(leaker: Suspect) -> str:
    """Why it may be a poller that works; empty if its runs are known to fail, or nobody needs it."""
    return _loops.END_UNSEEN if leaker.ends_unseen and not leaker.unit_state.unused_because else ""


def _leaker_words(leaker: Suspect, suspects: Suspects) -> str:
    says = f"{leaker.says}: {leaker.fits_because}" if leaker.fits_because else leaker.says
    if leaker.unit_state.unused_because:
        says += f". It is not needed here: {leaker.unit_state.unused_because}"
    others = [
        suspect
        for suspect in suspects.all
        if suspect.name != leaker.name and (suspect.goes_on or suspect.fit is not None)
    ]
    if others:
        names = ", ".join(other.name for other in others[:3])
        elsewhere = leaker is suspects.owner
        better = "the dying cgroups are not under them" if elsewhere else "their restarts do not fit the count"
        says += f". {names} restarted too; {better}"
    return says


def _not_asked(suspects: Suspects) -> str:
    place = f"; {suspects.largest_share.says}" if suspects.largest_share is not None else ""
    return place + "".join(f"; {unread.probe} were not read ({unread.reason})" for unread in suspects.unread)
