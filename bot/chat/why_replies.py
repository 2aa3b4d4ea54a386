"""Why this verdict, in the thread of its card: the smallest changes of readings that would have changed it.

It is added to the verdict's details once it is known, and nothing waits for it. What is not there yet when the bot ends
never comes; `zombie why ID` says the same at any time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bot.chat.background import Background
from bot.chat.post_state import CARD, MessageTarget
from bot.chat.poster import Poster
from bot.chat.thread import Reply
from bot.domain.errors import ZombieError
from bot.domain.verdict import Status, Verdict

Explain: TypeAlias = Callable[[Verdict], Awaitable[Sequence[str]]]
Details: TypeAlias = Callable[[Sequence[str]], Sequence[Reply]]  # a verdict's, with the sentences that say why


@dataclass(eq=False)
class WhyReplies:
    """Adds to a verdict that names a cause why it was given.

    Shape: `explain` returns a sentence for each change, proven. Pictures go first: to explain takes a tenth of a second
    of a processor, which slows an upload down.
    """

    _explain: Explain
    _poster: Poster
    _tasks: Background

    def begin(
        self,
        card: str,
        target: MessageTarget,
        verdict: Verdict,
        stand: Sequence[Reply],
        details: Details,
    ) -> None:
        """Begin to ask why.

        Shape: `stand` are the details as they were posted, `details` words them again.
        """
        is_sick = verdict.cause is not None and verdict.status in (Status.DEGRADED, Status.CRITICAL)
        if is_sick and verdict.snapshot is not None and verdict.snapshot.case is not None:
            self._tasks.begin(self._tell_why(card, target, verdict, stand, details), f"why {card}")

    async def _tell_why(
        self,
        card: str,
        target: MessageTarget,
        verdict: Verdict,
        stand: Sequence[Reply],
        details: Details,
    ) -> None:
        await self._poster.wait_for_pictures(card)
        try:
            sentences = await self._explain(verdict)
            if not sentences:
                return
            for reply in details(sentences):
                if reply not in stand:
                    await self._poster.enqueue(card, reply.part, target, reply.message, under=CARD)
        except ZombieError:
            return  # nothing depends on it: the verdict and its evidence are posted
