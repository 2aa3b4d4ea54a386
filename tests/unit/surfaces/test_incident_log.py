"""Each change of an incident is one line with its id; showing twice tells nothing twice."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.domain.transitions import State
from bot.surfaces.metrics import REMEMBERED, IncidentLog
from tests.record.incidents import BEGAN_AT, NODE, WAYS, entries

LONG_AGO = BEGAN_AT - timedelta(days=1)


class Lines:
    """A log in memory, and the incident log that writes to it."""

    def __init__(self, since: datetime = LONG_AGO) -> None:
        self.lines: list[dict[str, Any]] = []
        self.incident_log = IncidentLog(lambda event, **fields: self.lines.append({"event": event, **fields}), since)

    async def shown(self, *incidents: Incident) -> Sequence[str]:
        """Show them, and return the events that this wrote."""
        before = len(self.lines)
        await self.incident_log.show(incidents)
        return [line["event"] for line in self.lines[before:]]


def at(state: State, entries_of_it: int | None = None, stream: str = "7k3m9x2qpv") -> Incident:
    return fold(entries(WAYS[state][:entries_of_it], stream))


async def test_every_change_is_one_line_with_the_incidents_id() -> None:
    log = Lines()
    story = WAYS[State.RESOLVED]
    for number in range(1, len(story) + 1):
        assert (await log.shown(at(State.RESOLVED, number)))[0] == "incident"
        assert await log.shown(at(State.RESOLVED, number)) == [], "twice is once"
    assert {line["incident"] for line in log.lines} == {"7k3m9x2qpv"}
    assert {line["node"] for line in log.lines} == {NODE}
    states = [line["state"] for line in log.lines if line["event"] == "incident"]
    assert (states[0], states[-1]) == ("opened", "resolved")
    steps = [(line["step"], line["action"], line["outcome"]) for line in log.lines if line["event"] == "step_ended"]
    assert steps == [(1, "disable_unit", "verified"), (2, "reboot", "skipped")]
    (judged,) = (line for line in log.lines if line["event"] == "judged")
    assert judged["status"] == "critical"
    assert judged["after_seconds"] == 0.0, "read before it was put on record"


async def test_what_was_before_it_began_is_told_by_whoever_ran_then() -> None:
    resolved = at(State.RESOLVED)
    log = Lines(since=resolved.updated_at + timedelta(seconds=1))
    assert await log.shown(resolved) == []
    later = Lines(since=resolved.updated_at)
    assert await later.shown(resolved) == ["incident"]


async def test_it_forgets_the_oldest_and_not_the_newest() -> None:
    log = Lines()
    many = [at(State.OPENED, stream=f"i{number}") for number in range(REMEMBERED + 1)]
    await log.shown(*many)
    assert await log.shown(many[-1]) == []
    assert await log.shown(many[0]) == ["incident"]
