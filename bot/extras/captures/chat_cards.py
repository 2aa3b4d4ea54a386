"""Rolling captures in a chat: a card for each, from request to end, with everything caught in its thread.

The record holds the capture; a card only shows it. The program that shows it stores a chat request for it, so that each
thing caught is posted once, and after a crash or restart the next program goes on with the same card.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from bot.chat.background import Background
from bot.chat.parts import CARD, MessageTarget
from bot.chat.poster import Poster
from bot.chat.remembered import Remembered
from bot.domain.chat_request import ChatRequest, ChatRequests
from bot.domain.contracts import ActingLedger, Leases, Log, Outbox
from bot.domain.errors import CannotRead, LedgerError, Refused, Unreachable, UsageError, ZombieError
from bot.domain.node import Node
from bot.domain.safe_text import one_line
from bot.extras.captures.chat_card import (
    capture_card,
    capture_of,
    card_name,
    caught_reply,
    looking_card,
    not_recorded,
)
from bot.extras.captures.control import RollingControl
from bot.extras.captures.events import SymptomCaught
from bot.extras.captures.record import RollingCapture, incident_of
from bot.extras.captures.recorder import RollingRequest
from bot.extras.captures.watch import LookTurns, RollingNews, RollingWatch
from bot.extras.profiles.chat_file import attach_pictures
from bot.extras.profiles.sketches import Sketches
from bot.response.record import short_id

if TYPE_CHECKING:
    from bot.app.bot import Bot

LOOKS_EVERY = 2.0  # seconds between looks at the record, not at the node
MOST_TOLD = 25  # symptoms of a capture in its thread; the terminal shows all
CAUGHT = "caught-"
_FIGURES = 200  # captures whose figures are remembered


@dataclass(slots=True, eq=False)
class CaptureCards:
    """Begins captures and shows them."""

    bot: Bot
    watch: RollingWatch
    turns: LookTurns
    sketches: Sketches
    _figures: Remembered[str, RollingNews] = field(default_factory=lambda: Remembered(_FIGURES))

    @property
    def control(self) -> RollingControl:
        """What begins and ends captures."""
        return self.watch.control

    async def begin(self, node: Node, request: RollingRequest, target: MessageTarget, key: str, by: str) -> None:
        """Ask for a capture, on a new card; `key` is the request's, so that a repeated delivery does nothing.

        Raises: LedgerError when the card cannot be stored.
        """
        capture = short_id(CARD, target.channel, key)
        body = {"channel": target.channel, "thread_ts": target.thread_ts, "node": node.name, "by": by}
        if not await self.bot.stores.chat_requests.keep(card_name(capture), json.dumps(body)):
            return  # another delivery of the same command
        await self.bot.posting.poster.enqueue(card_name(capture), CARD, target, looking_card(node, request))
        self.bot.posting.work.begin(self._ask(node, request, target, capture, by), f"capture {capture}")

    def takes(self, kept: ChatRequest) -> bool:
        """Go on with the card of a capture; False for any other request."""
        if not (capture := capture_of(kept.key)):
            return False
        self.bot.posting.watching.begin(self._again(capture, kept), f"{kept.key} carried on")
        return True

    def news(self, news: RollingNews) -> None:
        """Note what a look found, for the card."""
        before = self._figures.get(news.rolling.id)
        if news.load_percent is None and before is not None:  # it has ended: keep the cost seen last
            news = replace(before, rolling=news.rolling, waits=news.waits)
        self._figures[news.rolling.id] = news

    async def is_its_card(self, capture: str, channel: str, ts: str) -> bool:
        """True for the capture's card itself, False for a copy of it. Raises: LedgerError."""
        place = await self.bot.posting.poster.place(card_name(capture))
        return place is not None and (place.channel, place.ts) == (channel, ts)

    async def look(self, rolling: RollingCapture) -> RollingNews:
        """Look at it on its node now; raises what `RollingWatch.look` raises, and InventoryError."""
        if rolling.is_over:
            return self._figures.get(rolling.id) or RollingNews(rolling)
        self.news(await self.watch.seen(self.bot.known, rolling))
        return self._figures[rolling.id]

    async def stop(self, rolling: RollingCapture, by: str) -> RollingNews:
        """Stop it, then look; raises what `RollingWatch.stopped` raises."""
        if not rolling.is_over:
            self.news(await self.watch.stopped(self.bot.known, rolling, by))
        return self._figures.get(rolling.id) or RollingNews(rolling)

    # --- the card

    async def _ask(self, node: Node, request: RollingRequest, target: MessageTarget, capture: str, by: str) -> None:
        try:
            await self.turns.take(capture)  # who shows the card looks: its figures are the look's own
            await self.control.ask(node, request, by, capture=capture)
        except (CannotRead, Unreachable, Refused, LedgerError) as no:
            named = f" ({type(no).__name__})" if isinstance(no, Refused) else ""
            because = f"{no.sentence.rstrip('.')}. {no.try_next}".strip()
            shown = self._failed(capture, target, node.name, f"{because}{named}", by)
        else:
            shown = self._show(capture, target)
        self.bot.posting.watching.begin(shown, card_name(capture))

    async def _failed(self, capture: str, target: MessageTarget, node: str, because: str, by: str) -> None:
        """Say why nothing is recorded; where something was sent to the node, show the capture: only a look knows."""
        rolling = await self._unless_begun(capture, because)
        if rolling is not None and rolling.is_on_node:
            await self._show(capture, target)
        else:
            await self._end(card_name(capture), target, node, because, by)

    async def _again(self, capture: str, kept: ChatRequest) -> None:
        self.bot.log("capture_card_carried_on", key=one_line(kept.key, 80))
        body: Mapping[str, Any] = json.loads(kept.body)
        target = MessageTarget(str(body["channel"]), str(body.get("thread_ts", "")))
        await self.bot.posting.poster.adopt(kept.key, target)
        rolling = await self._unless_begun(capture, "the bot was restarted before it began")
        if rolling is None:
            because = "The bot was restarted before it began. Ask again."
            await self._end(kept.key, target, str(body.get("node", "")), because, str(body.get("by", "")))
        else:
            await self._show(capture, target)

    async def _unless_begun(self, capture: str, because: str) -> RollingCapture | None:
        """End a capture of which nothing was sent to its node; return its state once the record tells it."""
        while True:
            try:
                await self.turns.take(capture)
                return await self.control.not_begun(capture, because)
            except LedgerError:
                await asyncio.sleep(LOOKS_EVERY)

    async def _show(self, capture: str, target: MessageTarget) -> None:
        """Show the capture's recorded state until it is over."""
        name, state, shown, shown_parts = card_name(capture), None, None, set[str]()
        while True:
            try:
                rolling = await self.control.find(capture)
                figures = self._figures.get(capture)
                news = replace(figures, rolling=rolling) if figures is not None else RollingNews(rolling)
                card = capture_card(news)
                if rolling.state is not state:  # a new state has to arrive; figures in between are progress
                    await self.bot.posting.poster.enqueue(name, CARD, target, card)
                elif card != shown:
                    self.bot.posting.poster.show(name, target, lambda card=card: card)  # type: ignore[misc]
                state, shown = rolling.state, card
                for caught in rolling.caught[:MOST_TOLD]:
                    await self._tell(name, target, rolling, caught, shown_parts)
                if rolling.is_over:
                    self._figures.pop(capture, None)
                    await self._done(name)
                    return
            except (LedgerError, UsageError) as error:
                self.bot.log("ledger_unavailable", error=one_line(str(error)), card=name)
            await asyncio.sleep(LOOKS_EVERY)

    async def _tell(
        self, name: str, target: MessageTarget, rolling: RollingCapture, caught: SymptomCaught, shown_parts: set[str]
    ) -> None:
        """Say in the thread what was caught, once, and send its pictures there."""
        part = f"caught-{caught.symptom}-{round(10 * caught.at_mono)}"
        if part in shown_parts:
            return
        if await self.bot.stores.outbox.place(name, part) is None:
            found = incident_of(await self.bot.stores.ledger.incidents(node=rolling.node), rolling.node, caught.at)
            place = await self.bot.posting.poster.place(found.card) if found is not None else None
            address = self.bot.posting.connection.address(place) if place is not None else ""
            await self.bot.posting.poster.enqueue(name, part, target, caught_reply(caught, found, address), under=CARD)
        shown_parts.add(part)
        drawn = await self.sketches.find(rolling.id, caught.sketch)
        await attach_pictures(self.bot.posting.poster, name, target, drawn)

    async def _end(self, name: str, target: MessageTarget, node: str, because: str, by: str) -> None:
        await self.bot.posting.poster.enqueue(name, CARD, target, not_recorded(node, because, by))
        await self._done(name)

    async def _done(self, name: str) -> None:
        self.bot.posting.poster.finished(name)
        with contextlib.suppress(ZombieError):
            await self.bot.stores.chat_requests.done(name)


@dataclass(slots=True, eq=False)
class SymptomReplies:
    """Tells what a capture without a card caught, in the thread of the card of the incident that it belongs to.

    Who begins a capture in a terminal is asleep, or elsewhere, when it catches something: the incident's card is where
    people look then. It is posted once, however many programs serve, and however often they restart.
    """

    sketches: Sketches
    ledger: ActingLedger
    poster: Poster
    outbox: Outbox
    leases: Leases
    chat_requests: ChatRequests
    background: Background
    log: Log
    _told: dict[str, set[str]] = field(default_factory=dict)  # by capture, while it is looked at
    _telling: set[str] = field(default_factory=set)

    def news(self, news: RollingNews) -> None:
        """Tell what a look brought; what belongs to no incident yet is tried again with the next look."""
        if news.rolling.caught and news.rolling.id not in self._telling:  # what came since is told after the next look
            self._telling.add(news.rolling.id)
            self.background.begin(self._tell(news.rolling), f"caught by {news.rolling.id}")

    async def _tell(self, rolling: RollingCapture) -> None:
        posted = self._told.setdefault(rolling.id, set())
        try:
            if not await self._has_card(rolling.id):
                for caught in rolling.caught[:MOST_TOLD]:
                    name = CAUGHT + short_id(rolling.id, caught.symptom, f"{caught.at_mono:.1f}")
                    if name not in posted and await self._told_of(name, rolling, caught):
                        posted.add(name)
        except LedgerError as error:
            self.log("ledger_unavailable", error=one_line(str(error)), capture=rolling.id)
        finally:
            self._telling.discard(rolling.id)
            if rolling.is_over:
                self._told.pop(rolling.id, None)

    async def _has_card(self, capture: str) -> bool:
        name = card_name(capture)
        return await self.chat_requests.is_open(name) or await self.outbox.place(name, CARD) is not None

    async def _told_of(self, name: str, rolling: RollingCapture, caught: SymptomCaught) -> bool:
        """Say it; False while there is no card to say it under."""
        if await self.outbox.place(name, CARD) is not None:
            return True  # an earlier run did
        found = incident_of(await self.ledger.incidents(node=rolling.node), rolling.node, caught.at)
        card = await self.poster.place(found.card) if found is not None else None
        if card is None or not await self.leases.take(name):  # else another program's sweep may send it as well
            return False
        target = MessageTarget(card.channel, card.ts)
        await self.poster.enqueue(name, CARD, target, caught_reply(caught, None, ""))
        self.poster.finished(name)
        await attach_pictures(self.poster, name, target, await self.sketches.find(rolling.id, caught.sketch))
        return True
