"""The age of log lines: an event of days ago on a node that is still up is not a present symptom."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from bot.causes._figures import span
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import RuledOut, ShortLog
from bot.probes.formats.kernel_line import KernelEvent
from bot.probes.host import HostReading
from bot.probes.kernel_log import KernelLogReading

_EVER_MINUTES = 1e9  # a playbook may set more than a duration holds
DAY_HOURS = 24.0
_READ_LATER = timedelta(minutes=1)  # the uptime is read first, and the log a while after it


def age(snapshot: Snapshot, event: KernelEvent) -> timedelta | None:
    """Return how long ago the line was written; None if the line's or the node's time is not known.

    A line that is ahead of the node's own time has another clock: a container sees the log of its host (lxcfs).
    """
    host = snapshot.get(HostReading)
    if isinstance(host, Unread) or event.since_boot is None:
        return None
    old = host.uptime - event.since_boot
    return None if old < -_READ_LATER else max(timedelta(0), old)


def age_by_clock(snapshot: Snapshot, stamp: str) -> timedelta | None:
    """Return how long before the look a log's own time is, by the node's clock.

    Shape: negative if the time is ahead of the clock; None if either is not known, or the time names no zone: an old
    time of another zone could pass for now.
    """
    host = snapshot.get(HostReading)
    if isinstance(host, Unread) or host.node_time_at is None:
        return None
    try:
        at = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return None if at.tzinfo is None else host.node_time_at - at


def kernel_events(snapshot: Snapshot, *kinds: str) -> tuple[KernelEvent, ...]:
    """Return the kernel log's events of these kinds, oldest first; none where the log was not read."""
    log = snapshot.get(KernelLogReading)
    return () if isinstance(log, Unread) else log.of(*kinds)


def recent(snapshot: Snapshot, events: Iterable[KernelEvent], hours: float) -> tuple[KernelEvent, ...]:
    """Return the events of the last hours; an event without a time counts, because it may be recent."""
    return events_perhaps_within(snapshot, events, hours * 60)


def events_perhaps_within(snapshot: Snapshot, events: Iterable[KernelEvent], minutes: float) -> tuple[KernelEvent, ...]:
    """Return the events of the last minutes; an event without a time counts, because it may be recent."""
    up = uptime(snapshot)
    if up is None:
        return tuple(events)
    first = up - timedelta(minutes=min(minutes, _EVER_MINUTES))
    return tuple([event for event in events if event.since_boot is None or event.since_boot >= first])


def events_surely_within(snapshot: Snapshot, events: Iterable[KernelEvent], minutes: float) -> tuple[KernelEvent, ...]:
    """Return the events known to be of the last minutes; without a time, or with another clock's, none counts."""
    up = uptime(snapshot)
    if up is None:
        return ()
    first, last = up - timedelta(minutes=min(minutes, _EVER_MINUTES)), up + _READ_LATER
    return tuple([event for event in events if event.since_boot is not None and first <= event.since_boot <= last])


def uptime(snapshot: Snapshot) -> timedelta | None:
    """Return how long the node had been up when it was read; None if that is not known."""
    host = snapshot.get(HostReading)
    return None if isinstance(host, Unread) else host.uptime


def ago(snapshot: Snapshot, event: KernelEvent) -> str:
    """Describe when the line was written."""
    old = age(snapshot, event)
    return "at an unknown time" if old is None else f"{span(old)} ago"


def short_log(
    snapshot: Snapshot, cause: str, kinds: Collection[str], hours: float = DAY_HOURS, errors: bool = False
) -> ShortLog | None:
    """Say since when lines of these kinds were read, where that is neither the boot nor so many hours; else None.

    Shape: with `errors` the kernel itself calls those lines errors, which are asked for once more.
    """
    log, up = snapshot.get(KernelLogReading), uptime(snapshot)
    if isinstance(log, Unread) or up is None:
        return None
    since = log.known_since(*kinds, errors=errors)
    if not since or not -_READ_LATER <= up - since < timedelta(minutes=min(hours * 60, _EVER_MINUTES)):
        return None
    back = span(max(timedelta(0), up - since))
    words = f"the kernel log reaches back only {back}"
    if since > log.begins:
        words = f"the kernel log has too many lines of that sort: read were those of the last {back}"
    return ShortLog(cause, words, since=since)


def lost_within(snapshot: Snapshot, kinds: Collection[str], hours: float | None = None) -> bool:
    """True where the node left lines out that may tell these kinds, within so many hours or since the boot."""
    log, up = snapshot.get(KernelLogReading), uptime(snapshot)
    lost = timedelta(0) if isinstance(log, Unread) else log.lost_until(*kinds)
    return bool(lost) and (up is None or hours is None or up - lost < timedelta(hours=hours))


def none_told(
    snapshot: Snapshot,
    cause: str,
    because: str,
    kinds: Collection[str],
    hours: float = DAY_HOURS,
    errors: bool = False,
) -> RuledOut | ShortLog:
    """Rule a cause out because the kernel log has no line of these kinds; undecided where not all were read."""
    return short_log(snapshot, cause, kinds, hours, errors) or RuledOut(cause, because)


def lines(events: Iterable[KernelEvent], most: int = 4) -> tuple[str, ...]:
    """Return the raw lines of the newest events, oldest first."""
    return tuple(event.text for event in events)[-most:]
