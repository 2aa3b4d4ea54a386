"""Combines kernel lines: which call trace belongs to which lockup, and which reset to which earlier complaint."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from bot.probes.formats.kernel_line import LOCKUPS, RESETS, KernelEvent, KernelLine
from bot.probes.formats.kernel_table import COMPLAINTS, Found, KernelTable, table

_TRACED = (*LOCKUPS, "hung-task")
# Reasons for which a driver resets its device, most specific first.
_REASONS = (
    "nic-starved",
    "nic-device-error",
    "nic-keepalive",
    "nic-admin",
    "nic-interrupt",
    "nic-stalled",
    "netdev-watchdog",
)
_PULLED_WITHIN = timedelta(seconds=1)  # a write may fail before the bus tells
_TRACE_LASTS = timedelta(seconds=5)
_COUNTS_WITHIN = timedelta(seconds=5)  # lib/ratelimit.c, DEFAULT_RATELIMIT_INTERVAL
_RESET_FOLLOWS_WITHIN = timedelta(seconds=60)
_KILL_FOLLOWS_WITHIN = timedelta(seconds=60)  # the list of all processes comes before, perhaps over a serial line


def combine_lines(lines: Sequence[KernelLine], whole_since: timedelta = timedelta(0)) -> tuple[KernelEvent, ...]:
    """Return the events of the lines, oldest first.

    Shape: of traces before `whole_since`, after boot, some frames were not sent.
    """
    rows = table()
    named = [rows.ena_version(line) for line in lines]
    version, story = next(filter(None, named), ""), _Story(rows, whole_since)
    told: list[Found | None] = []
    for line, own in zip(lines, named, strict=True):
        version = own or version
        told.append(found := rows.find(line, version))
        if found is not None and found.bus and found.event.device != found.bus:
            story.names[found.bus] = found.event.device
    for line, found in zip(lines, told, strict=True):
        if found is not None:
            story.take_line(line, found)
    story.end_trace()
    return tuple([event for event in story.events if not story.is_of_a_pulled_disk(event)])


@dataclass(slots=True)
class _Story:
    rows: KernelTable
    whole_since: timedelta
    names: dict[str, str] = field(default_factory=dict)  # a device's name by its bus address
    events: list[KernelEvent] = field(default_factory=list)
    resetting: dict[str, KernelEvent] = field(default_factory=dict)  # by device
    complaints: dict[str, list[KernelEvent]] = field(default_factory=dict)  # since the last reset, by device
    counted: timedelta | None = None  # when the kernel said that it left lines out, of which none came before
    kills: list[KernelEvent] = field(default_factory=list)  # begun, and not ended
    kill: KernelEvent | None = None  # the last that its first lines told of
    removable: set[str] = field(default_factory=set)  # disks that are made to be pulled
    gone: dict[str, timedelta | None] = field(default_factory=dict)  # when those of them were that have been
    head: KernelEvent | None = None  # the event that the next trace belongs to
    trace: list[tuple[str, KernelLine]] = field(default_factory=list)

    def take_line(self, line: KernelLine, found: Found) -> None:
        if found.row.kind == "frame":
            if self.trace and _time_between(self.trace[-1][1].since_boot, line.since_boot) > _TRACE_LASTS:
                self.end_trace()
            self.trace.append((found.groups["function"] or "", line))
            return
        event = found.event
        match found.row.kind:
            case "stalled-core":
                if self.events and self.events[-1].kind == "rcu-stall" and self.events[-1].core is None:
                    self.events[-1] = self.head = replace(self.events[-1], core=event.core)
                return
            case "head":
                self.end_trace()
                self._begin_trace(line, event.core, event.process.strip())
                return
            case "limit-frame":
                self._end_kills(line.since_boot)
                return
            case "removable":
                self.gone.pop(event.device, None)
                self.removable.add(event.device)
                return
            case "unplugged":
                self.gone |= dict.fromkeys(self.removable.difference(self.gone), line.since_boot)
                return
            case "counted":
                self._mark_repeated(event.since_boot)
                return
            case "oom-ended":
                if (
                    self.kill is not None
                    and _time_between(self.kill.since_boot, event.since_boot) <= _KILL_FOLLOWS_WITHIN
                ):
                    return
                event = replace(event, kind="oom-kill")
        self.end_trace()
        if found.row.is_ena:
            self._take_nic_event(replace(event, device=self.names.get(event.device, event.device)))
            return
        if event.kind in COMPLAINTS:
            if self.rows.is_habit(line.says):
                return
            if self.counted is not None and _time_between(self.counted, event.since_boot) <= _COUNTS_WITHIN:
                event = replace(event, kind="repeated")
            self.counted = None
        if found.row.kind in ("oom-begun", "oom-kill", "oom-limit"):
            self.kill = event
        if event.kind == "oom-begun":
            self.kills.append(event)
        elif event.kind in ("oom-kill", "oom-limit"):
            self._end_kills(event.since_boot)
        self.events.append(event)
        if event.kind in _TRACED:
            self.head = event
        elif event.kind == "netdev-watchdog":
            self.complaints.setdefault(event.device, []).append(event)

    def is_of_a_pulled_disk(self, event: KernelEvent) -> bool:
        """True for an error of a stick after somebody pulled it."""
        disk, at = event.device.rstrip("0123456789"), event.since_boot
        if event.kind != "disk-error" or at is None or (since := self.gone.get(disk)) is None:
            return False
        return at >= since - _PULLED_WITHIN

    def _end_kills(self, at: timedelta | None) -> None:
        """A kill that begins counts where its end is not told, unless it is a cgroup's."""
        ended = [kill for kill in self.kills if _time_between(kill.since_boot, at) <= _KILL_FOLLOWS_WITHIN]
        self.events = [event for event in self.events if event not in ended]
        self.kills = [kill for kill in self.kills if kill not in ended]

    def _mark_repeated(self, at: timedelta | None) -> None:
        last = self.events[-1] if self.events else None
        if last is None or last.kind not in COMPLAINTS or _time_between(last.since_boot, at) > _COUNTS_WITHIN:
            self.counted = at
        else:
            self.events[-1] = replace(last, kind="repeated")

    def _begin_trace(self, line: KernelLine, core: int | None, process: str) -> None:
        last = self.events[-1] if self.events else None
        same = (
            last is not None and last is self.head and _time_between(last.since_boot, line.since_boot) <= _TRACE_LASTS
        )
        if last is not None and same and last.core in (None, core) and not last.process:
            self.events[-1] = replace(last, core=core, process=process)
        self.head = KernelEvent("stack-memcg-walk", line.raw, line.since_boot, core=core, process=process)

    def end_trace(self) -> None:
        """Decide what the trace that has just ended means."""
        trace, self.trace = self.trace, []
        walk = [(function, line) for function, line in trace if not function.startswith("shrink_")]
        telling = [(function, line) for function, line in walk if function != "mem_cgroup_iter"]
        # Reclaim also walks the groups, by mem_cgroup_iter: that does not read statistics.
        if not telling and (not walk or len(walk) < len(trace)):
            return
        line = (telling or walk)[0][1]
        if not telling and (line.since_boot or timedelta(0)) < self.whole_since:
            return
        near = self.head is not None and _time_between(self.head.since_boot, line.since_boot) <= _TRACE_LASTS
        self.events.append(
            KernelEvent(
                "stack-memcg-walk",
                line.raw,
                line.since_boot,
                core=self.head.core if self.head and near else None,
                process=self.head.process if self.head and near else "",
            )
        )

    def _take_nic_event(self, event: KernelEvent) -> None:
        device = event.device
        if event.kind not in RESETS:
            self.events.append(event)
            self.complaints.setdefault(device, []).append(event)
            return
        begun = self.resetting.pop(device, None)
        if begun is not None and "Trigger reset is on" in event.text:
            begun = None  # the reset before it never ended
        if begun is None:
            event = replace(event, reason=_reason(self.complaints.pop(device, ()), event.since_boot))
        else:
            self.events.remove(begun)
            failed = begun.kind == "nic-reset-failed"
            # Old drivers print "successfully" after a failure too: the failure counts.
            event = begun if failed else replace(event, reason=begun.reason)
        self.events.append(event)
        if "Device reset completed" not in event.text and (begun is None or begun.kind == "nic-reset"):
            self.resetting[device] = event


def _reason(complaints: Iterable[KernelEvent], at: timedelta | None) -> str | None:
    near = {event.kind for event in complaints if _time_between(event.since_boot, at) <= _RESET_FOLLOWS_WITHIN}
    return next((kind for kind in _REASONS if kind in near), None)


def _time_between(first: timedelta | None, second: timedelta | None) -> timedelta:
    return timedelta(0) if first is None or second is None else abs(second - first)
