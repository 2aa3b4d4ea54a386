"""Signs that the network driver's poll did not get its core in time: it asks for a reset, but is not to blame."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise

from bot.causes import _recent
from bot.causes._figures import span
from bot.causes._held_cores import STATISTICS_WALKERS, HeldCores, held_in_realtime
from bot.domain.cause import Tuning
from bot.domain.probe import Snapshot, Unread
from bot.domain.safe_text import counted
from bot.probes.cgroups import CgroupsReading
from bot.probes.cpu import CpuReading
from bot.probes.formats.kernel_line import RESETS, KernelEvent
from bot.probes.interrupts import InterruptLine, InterruptsReading
from bot.probes.kernel_log import KernelLogReading
from bot.probes.nic import NicReading
from bot.probes.processes import ProcessesReading

_SAME_STALL = 180.0  # seconds: lines closer than that belong to the same stall
_EVEN = 1.5  # ours: the longest time between two resets is at most so many times the shortest
_OF_THE_CARD = ("nic-device-error", "nic-reset-failed", "nic-interrupt", "nic-link-down")  # no lack of CPU does these
_COUNTER = "suspected_poll_starvation"
SAYS_STARVED = ("nic-starved", "nic-stalled", "netdev-watchdog")


def says_starved(event: KernelEvent) -> bool:
    """True for a line in which the driver says that its poll was scheduled but did not run."""
    return event.kind == "nic-starved" or event.napi_scheduled is True


@dataclass(frozen=True, slots=True)
class Starvation:
    """Starved polls of the last hours.

    Shape: `events` are the lines that say so, `resets` the resets of the same time; `counters` are the raw counter
    lines if the counter rose, or if no log shows when it rose (`timed` False).
    """

    events: tuple[KernelEvent, ...]
    resets: tuple[KernelEvent, ...]
    counters: tuple[str, ...]
    says: str
    timed: bool
    rose: bool = False  # a counter rose between the looks

    @property
    def source(self) -> tuple[str, ...]:
        """The node's lines."""
        return (*_recent.lines(self.events, 3), *_recent.lines(self.resets, 1), *self.counters)[:5]

    def interrupt_on(self, snapshot: Snapshot, core: int) -> InterruptLine | None:
        """Return the interrupt by which this core serves a starved queue, if that is known."""
        interrupts = snapshot.get(InterruptsReading)
        if isinstance(interrupts, Unread):
            return None
        queues = {event.queue for event in self.events if event.queue is not None}
        named = any(event.core == core for event in self.events)
        for line in interrupts.queues_on(core):
            if line.queue in queues or (named and line.queue is not None):
                return line
        return None

    def place_is_known(self, snapshot: Snapshot) -> bool:
        """True if it is known which core serves a starved queue."""
        interrupts = snapshot.get(InterruptsReading)
        if isinstance(interrupts, Unread):
            return False
        queues = {event.queue for event in self.events if event.queue is not None}
        return any(line.queue in queues and (line.cores or line.rises) for line in interrupts.lines)


def starvation(snapshot: Snapshot, hours: float) -> Starvation | None:
    """Return the starved polls of the last hours, None without any sign of them."""
    log, nic = snapshot.get(KernelLogReading), snapshot.get(NicReading)
    events: tuple[KernelEvent, ...] = ()
    resets: tuple[KernelEvent, ...] = ()
    if not isinstance(log, Unread):
        events = _recent.recent(snapshot, filter(says_starved, log.of(*SAYS_STARVED)), hours)
        resets = _recent.recent(snapshot, log.of(*RESETS), hours)
        if not events:  # the lines before a reset may be lost; the reset's line may repeat them
            resets = tuple(reset for reset in resets if reset.reason == "nic-starved")
            events = resets
    rows, rose, total = [], 0, 0
    for card in () if isinstance(nic, Unread) else nic.nics:
        rise, all_time = card.rise(_COUNTER) or 0, card.total(_COUNTER) or 0
        # A log loses its newest lines last: a log that was read and has no such line clears an old counter.
        if rise or (all_time and isinstance(log, Unread)):
            rows.append(card.lines.get(_COUNTER, f"{_COUNTER}: {all_time}"))
            rose, total = rose + rise, total + all_time
    if not events and not rows:
        return None
    return Starvation(
        events,
        resets,
        tuple(rows),
        _starvation_words(snapshot, events, resets, rose, total),
        bool(events or rose),
        bool(rose),
    )


@dataclass(frozen=True, slots=True)
class Paced:
    """Resets of a card that came back at an even pace. Units: seconds ago; `count` is of stalls."""

    count: int
    first: float
    last: float
    says: str
    events: tuple[KernelEvent, ...]


def episodes(snapshot: Snapshot, events: Iterable[KernelEvent]) -> list[float]:
    """Return how many seconds ago each stall was, newest first; lines close to each other are one."""
    ages = sorted(old.total_seconds() for event in events if (old := _recent.age(snapshot, event)) is not None)
    return [old for at, old in enumerate(ages) if at == 0 or old - ages[at - 1] > _SAME_STALL]


def recurs(snapshot: Snapshot, events: Iterable[KernelEvent], few: float) -> bool:
    """True if it came back often enough to be regular, and the next time is not long overdue."""
    ages = episodes(snapshot, events)
    return len(ages) >= few and ages[0] <= 2 * (ages[-1] - ages[0]) / (len(ages) - 1)


def paced_resets(snapshot: Snapshot, hours: float, few: float) -> Paced | None:
    """Return the resets of the last hours if they recur evenly, the next is not overdue and no fault is told.

    Old drivers do not say that their poll did not run; a walk over memory cgroups that holds a core comes by the clock.
    """
    log = snapshot.get(KernelLogReading)
    if isinstance(log, Unread) or _recent.recent(snapshot, log.of(*_OF_THE_CARD), hours):
        return None
    resets = _recent.recent(snapshot, log.of("nic-reset"), hours)
    ages = episodes(snapshot, resets)
    gaps = [older - newer for newer, older in pairwise(ages)]
    if len(ages) < few or not gaps or max(gaps) > _EVEN * min(gaps) or ages[0] > 2 * max(gaps):
        return None
    every, last = timedelta(seconds=sum(gaps) / len(gaps)), timedelta(seconds=ages[0])
    says = f"the network card was reset {len(ages)} times, every {span(every)}, the last {span(last)} ago"
    return Paced(len(ages), ages[-1], ages[0], says, resets)


def dying_cgroups_before(snapshot: Snapshot, paced: Paced, dying_many: float) -> int:
    """Return how many cgroups are dying, if they were many before the first of those resets, else 0.

    A leak leaves as many each day.
    """
    cgroups, up = snapshot.get(CgroupsReading), _recent.uptime(snapshot)
    if isinstance(cgroups, Unread) or not cgroups.dying_is_known or not up:
        return 0
    dying = cgroups.dying if cgroups.dying_later is None else cgroups.dying_later
    return dying if dying * (1 - paced.first / up.total_seconds()) >= dying_many else 0


def find_other_holder(snapshot: Snapshot, held: HeldCores, starved: Starvation, tuning: Tuning) -> tuple[str, bool]:
    """Say which program that walks nothing holds the core of the starved queue now, and whether none may do so."""
    share = tuning["walker_share"]
    for core, by in held_in_realtime(snapshot, tuning["core_held_percent"], tuning["core_held_seconds"], share):
        if starved.interrupt_on(snapshot, core.core) is not None:
            return f"{by[0].name} holds core {core.core} in realtime, which serves this queue", False
    clear = _none_is_busier_than_walkers(snapshot) if isinstance(snapshot.get(CpuReading), Unread) else not held.unread
    for core in held.cores:
        spent = core.seconds * core.mean_percent / 100
        for process in held.others:
            there = core.core in process.cores_in_kernel and process.sys_seconds >= share * spent
            if not there or process.name in STATISTICS_WALKERS:
                continue
            if starved.interrupt_on(snapshot, core.core) is not None:
                return f"{process.name} holds core {core.core} in the kernel, which serves this queue", False
            clear = clear and starved.place_is_known(snapshot)
    return "", clear


def _none_is_busier_than_walkers(snapshot: Snapshot) -> bool:
    """True if a walker used most kernel time of all: then it is known without the cores that no other holds one."""
    processes = snapshot.get(ProcessesReading)
    if isinstance(processes, Unread) or not processes.busiest:
        return False
    return max(processes.busiest, key=lambda process: process.sys_seconds).name in STATISTICS_WALKERS


def _starvation_words(
    snapshot: Snapshot, events: tuple[KernelEvent, ...], resets: tuple[KernelEvent, ...], rose: int, total: int
) -> str:
    if events:
        device = f"{events[-1].device}: " if events[-1].device else ""
        reset = f", {counted(len(resets), 'reset')} besides" if resets else ""
        return (
            f"{device}the driver's poll was scheduled but did not run ({counted(len(events), 'line')}{reset}, "
            f"the last {_recent.ago(snapshot, events[-1])})"
        )
    if rose:
        return f"{_COUNTER} rose by {rose:,} between the looks"
    return f"{_COUNTER} stands at {total:,} since the driver was loaded; no log shows when"
