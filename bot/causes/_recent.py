"""How old a line of a log is: what happened days ago on a node that is still up is no symptom of today."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from bot.causes._figures import span
from bot.domain.probe import Snapshot, Unread
from bot.probes.formats.kernel_line import KernelEvent
from bot.probes.host import HostReading


def age(snapshot: Snapshot, event: KernelEvent) -> timedelta | None:
    """Return how long ago the line was written; None where the line or the node does not tell its time."""
    host = snapshot.get(HostReading)
    if isinstance(host, Unread) or event.since_boot is None:
        return None
    return max(timedelta(0), host.uptime - event.since_boot)


def age_by_clock(snapshot: Snapshot, told: str) -> timedelta | None:
    """Return how long before the look a log's own time was, by the node's clock.

    Shape: negative where the time is ahead of the clock; None where either is not told, and where the time names no
    zone: an hour of another zone would pass for now.
    """
    host = snapshot.get(HostReading)
    if isinstance(host, Unread) or host.node_time_at is None:
        return None
    try:
        at = datetime.fromisoformat(told)
    except ValueError:
        return None
    return None if at.tzinfo is None else host.node_time_at - at


def recent(snapshot: Snapshot, events: Iterable[KernelEvent], hours: float) -> tuple[KernelEvent, ...]:
    """Return the events of the last hours; one without a time counts, for it may be from now."""
    return tuple(e for e in events if (old := age(snapshot, e)) is None or old.total_seconds() <= hours * 3600)


def surely_within(snapshot: Snapshot, events: Iterable[KernelEvent], minutes: float) -> tuple[KernelEvent, ...]:
    """Return the events known to be of the last minutes; one without a time does not count."""
    return tuple(e for e in events if (old := age(snapshot, e)) is not None and old.total_seconds() <= minutes * 60)


def ago(snapshot: Snapshot, event: KernelEvent) -> str:
    """Return when the line was written, in words."""
    old = age(snapshot, event)
    return "at a time that is not told" if old is None else f"{span(old)} ago"


def lines(events: Iterable[KernelEvent], most: int = 4) -> tuple[str, ...]:
    """Return the raw lines of the newest events, oldest first."""
    return tuple(event.text for event in events)[-most:]
