"""What comes of alerts keeps its distance in a channel, whoever posts it; people are not kept waiting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from bot.chat.post_state import CARD, MessageTarget, PendingDelivery, PostState
from bot.chat.poster import Poster
from bot.chat.rate_limiter import SUMMARY
from bot.chat.service import Delivered, Message, Timing
from bot.domain.post import MessageRef
from bot.ledger import Outbox
from bot.surfaces.slack.calls import Calls
from bot.surfaces.slack.drawing import draw
from tests.record.ledgers import ledger_in
from tests.slack.replicas import until
from tests.slack.service import QUICK

APART = 0.2


class Posted:
    """Slack, as far as it takes posts: when each came."""

    logged = "slack"

    def __init__(self) -> None:
        self.at: list[float] = []
        self.said: list[str] = []

    draw = staticmethod(draw)

    async def post(self, channel: str, thread_ts: str, message: Message) -> Delivered:
        self.at.append(time.monotonic())
        self.said.append(message.text)
        return Delivered(MessageRef(channel, f"1700000000.{len(self.at):06}"))


@contextmanager
def two_programs(folder: Path, slack: Posted, timing: Timing) -> Iterator[list[Poster]]:
    """Two posters at one record."""
    with ledger_in(folder) as database:
        yield [
            Poster(
                cast(Calls, slack),
                Outbox(database),
                timing,
                lambda: datetime.now(UTC),
                lambda *_, **__: None,
            )
            for _ in range(2)
        ]


async def posted(folder: Path, target: MessageTarget, apart: float) -> list[float]:
    """Have two programs post two cards each, and return how long after the beginning each came."""
    slack, began = Posted(), time.monotonic()
    with two_programs(folder, slack, replace(QUICK, posts_apart=apart, posts_span=0.01)) as posters:
        for number in range(4):
            await posters[number % 2].enqueue(f"card{number}", CARD, target, Message("an alert"))
        await asyncio.gather(*(poster.drain(10.0) for poster in posters))
    return [at - began for at in slack.at]


async def test_posts_of_alerts_keep_their_distance_whoever_posts_them(tmp_path: Path) -> None:
    came = await posted(tmp_path, MessageTarget("C1", patient=True), APART)
    assert len(came) == 4
    # A busy machine may wake any of them late, but none before its turn.
    assert all(at > (number - 0.25) * APART for number, at in enumerate(came)), came


async def test_what_stands_for_many_goes_before_the_cards_that_wait() -> None:
    summary, card, details = (
        PostState("a", name, MessageTarget("C1"), lambda: Message("")) for name in ("storm", CARD, "details")
    )
    summary.want(summary.say, PendingDelivery(rank=SUMMARY))
    card.want(card.say, PendingDelivery())
    details.under = CARD
    assert summary.post_rank < card.post_rank < details.post_rank


async def test_what_stands_for_many_waits_for_no_slot_behind_the_cards_of_two_programs(tmp_path: Path) -> None:
    slack, usual = Posted(), Timing()
    timing = replace(usual, posts_apart=usual.posts_apart / 10, posts_span=usual.posts_span / 10)
    alerts = MessageTarget("C1", patient=True)
    with two_programs(tmp_path, slack, timing) as posters:
        for number in range(40):
            await posters[number % 2].enqueue(f"card{number}", CARD, alerts, Message("an alert"))
        await until(lambda: len(slack.said) >= 12, "some cards")
        before = len(slack.said)
        await posters[0].enqueue("storm-1", CARD, alerts, Message("Alert storm"), rank=SUMMARY)
        await until(lambda: "Alert storm" in slack.said, "the summary")
        await asyncio.gather(*(poster.drain(0.0) for poster in posters))
    ten_seconds = 10 / usual.posts_apart  # in posts
    assert slack.said.index("Alert storm") - before <= ten_seconds


async def test_card_that_somebody_waits_for_does_not_wait_for_a_turn(tmp_path: Path) -> None:
    assert len(await posted(tmp_path, MessageTarget("C1"), 60.0)) == 4
