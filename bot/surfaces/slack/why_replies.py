"""Why this verdict, in the thread of its card: the smallest changes of readings that would have changed it.

It comes after the verdict and its details, and nothing waits for it. One that is not there yet when the bot ends never
comes; `zombie why ID` says the same at any time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Protocol, TypeAlias

from bot.domain.errors import ZombieError
from bot.domain.incident import Incident
from bot.domain.verdict import Status, Verdict
from bot.surfaces.slack.message import TEXT, Block, Message, bullets, clipped, escaped, footnote, titled
from bot.surfaces.slack.part import MessageTarget
from bot.surfaces.slack.parts import CARD
from bot.surfaces.slack.poster import Poster

SHOWN = 3
SAID = 600
TITLE = "What would have changed this verdict"
Explain: TypeAlias = Callable[[Verdict], Awaitable[Sequence[str]]]


class Tasks(Protocol):
    """Runs work that nobody waits for."""

    def begin(self, work: Coroutine[Any, Any, None], name: str, /) -> None:
        """Have something done."""
        ...


class WhyReplies:
    """Posts one reply for each verdict that names a cause; `explain` returns a sentence for each change, proven."""

    def __init__(self, explain: Explain, poster: Poster, tasks: Tasks) -> None:
        self._explain = explain
        self._poster = poster
        self._tasks = tasks

    def begin(
        self, card: str, target: MessageTarget, incident: Incident, verdict: Verdict, is_open: Callable[[], bool]
    ) -> None:
        """Begin to ask why; `is_open`: the card still changes, and is let go of by whoever changes it."""
        is_sick = verdict.cause is not None and verdict.status in (Status.DEGRADED, Status.CRITICAL)
        if is_sick and verdict.snapshot is not None and verdict.snapshot.case is not None:
            self._tasks.begin(self._told(card, target, incident.id, verdict, is_open), f"why {incident.id}")

    async def _told(
        self, card: str, target: MessageTarget, incident: str, verdict: Verdict, is_open: Callable[[], bool]
    ) -> None:
        try:
            sentences = await self._explain(verdict)
            if not sentences:
                return
            await self._poster.adopt(card, target)
            await self._poster.enqueue(
                card, f"why-{incident}", target, message(verdict, incident, sentences), under=CARD
            )
        except ZombieError:
            return  # nothing hangs on it: the verdict and its evidence stand there
        if not is_open():
            self._poster.finished(card)


def message(verdict: Verdict, incident: str, sentences: Sequence[str]) -> Message:
    """Return the reply; what is too much for it is counted."""
    said = [clipped(words, SAID) for words in sentences[:SHOWN]]
    blocks: list[Block] = [
        titled(f"{verdict.node}: {TITLE[0].lower()}{TITLE[1:]}"),
        bullets([("", words) for words in said]),
    ]
    more = len(sentences) - len(said)
    blocks.append(
        footnote(f"Each was proven by a replay. {f'{more} more: ' if more else 'Again: '}zombie why {incident}")
    )
    return Message(clipped(escaped(f"{verdict.node}: {TITLE}. {' '.join(said)}"), TEXT), tuple(blocks))
