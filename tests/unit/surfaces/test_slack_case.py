"""A check in Slack while the record cannot be written: its verdict is told again until it stands there."""

from __future__ import annotations

from typing import Any

from bot.domain.playbook import Playbook
from bot.response.record import Opening
from bot.surfaces.slack.case import LONGEST_PAUSE, Case, Rooms
from bot.surfaces.slack.part import Spot
from tests.incidents import HEALTHY, NODE


class Deaf:
    """Takes whatever is said to it."""

    def __getattr__(self, name: str) -> Any:
        async def said(*_: Any, **__: Any) -> bool:
            return True

        return said if name in ("owe", "adopt") else lambda *_, **__: None


async def test_verdict_is_told_again_until_it_is_on_record() -> None:
    told: list[int] = []
    pauses: list[float] = []

    class Book:
        async def triaged(self, *_: Any) -> bool:
            told.append(len(pauses))
            return len(told) == 9

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    deaf: Any = Deaf()
    book: Any = Book()
    opening = Opening("slack", "C1/-/k", "slack:T1/U1", f"check {NODE}", "node-health")
    rooms = Rooms(deaf, deaf, book, Playbook("node-health", "Health", 1, (), (), ()), sleep)
    await Case(rooms, opening, Spot("C1"), [NODE]).go_on((), [HEALTHY])
    assert told == list(range(9))
    assert pauses[0] == 1.0
    assert pauses == sorted(pauses)
    assert pauses[-1] == LONGEST_PAUSE
