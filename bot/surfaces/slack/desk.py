"""What a person types to the bot: understood, answered in private, or handed on as a request or an order."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from bot.domain.alert import SourceKind
from bot.response.diagnosis.requests import CheckRequests
from bot.response.record import Opening
from bot.surfaces.slack.answers import Whisper
from bot.surfaces.slack.background import Background
from bot.surfaces.slack.check_cards import CheckCards
from bot.surfaces.slack.orders import Orders
from bot.surfaces.slack.part import Spot
from bot.surfaces.slack.requests import (
    CheckRequest,
    HelpRequest,
    Known,
    Order,
    Wish,
    help_words,
    not_here,
    parse,
    unknown_words,
)
from bot.surfaces.slack.spots import request_id

WISHES_REMEMBERED = 1000


class SlackDesk:
    """Takes wishes and sees them through.

    Shape: `channels` is where checks may be asked for, anywhere if empty; in a direct message they always may, for they
    only look. `playbook` is the name of the one that they are read by.
    """

    def __init__(
        self,
        known: Known,
        requests: CheckRequests,
        playbook: str,
        cards: CheckCards,
        orders: Orders,
        whisper: Whisper,
        background: Background,
        channels: Collection[str],
    ) -> None:
        self._known = known
        self._requests = requests
        self._playbook = playbook
        self._cards = cards
        self._orders = orders
        self._whisper = whisper
        self._background = background
        self._channels = channels
        self._seen: dict[str, None] = {}

    def take(self, wish: Wish) -> None:
        """Begin with a wish; returns at once, so that Slack has its acknowledgement first."""
        if wish.key in self._seen:
            return  # Slack delivers at least once: this one is being seen to already
        self._seen[wish.key] = None
        if len(self._seen) > WISHES_REMEMBERED:
            del self._seen[next(iter(self._seen))]
        self._background.begin(self._see_through(wish), f"wish {wish.key}")

    async def _see_through(self, wish: Wish) -> None:
        asked = await asyncio.to_thread(parse, wish.text, self._known)  # near names take their time
        if isinstance(asked, HelpRequest):
            await self._whisper.say(wish, help_words(asked))
        elif isinstance(asked, Order):
            await self._orders.see_through(wish, asked)
        elif self._channels and wish.channel not in self._channels and not wish.channel.startswith("D"):
            await self._whisper.say(wish, not_here(self._channels))
        else:
            if asked.unknown:
                self._background.begin(self._whisper.say(wish, unknown_words(asked)), f"whisper {wish.key}")
            if asked.nodes:
                await self._check(wish, asked)

    async def _check(self, wish: Wish, asked: CheckRequest) -> None:
        key = request_id(wish.channel, wish.thread_ts, wish.key)
        opening = Opening(SourceKind.SLACK, key, wish.by, wish.text, self._playbook)
        self._cards.expect(opening.group, Spot(wish.channel, wish.thread_ts, wish.answer_at))
        await self._requests.take(opening, [node.name for node in asked.nodes])
