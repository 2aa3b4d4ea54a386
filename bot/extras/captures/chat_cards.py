"""Rolling captures in a chat: a card for each, from request to end, with everything caught in its thread.

The record holds the capture; a card only shows it. The program that shows it stores a chat request for it, so that each
thing caught is posted once, and after a crash or restart the next program goes on with the same card.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from bot.chat.background import FAILED
from bot.chat.post_state import CARD, MessageTarget
from bot.chat.poster import Poster
from bot.chat.remembered import BoundedDict
from bot.domain.chat_request import ChatRequest
from bot.domain.errors import LedgerError, Refused, ZombieError
from bot.domain.node import Node
from bot.domain.safe_text import one_line
from bot.extras.captures.capture_control import RollingControl
from bot.extras.captures.capture_fold import RollingCapture, incident_of
from bot.extras.captures.capture_watch import CaptureLookResult, RollingWatch
from bot.extras.captures.chat_card import (
    capture_card,
    capture_of,
    card_name,
    caught_reply,
    looking_card,
    not_recorded,
)
from bot.extras.captures.events import SymptomCaught
from bot.extras.captures.recorder_commands import RollingRequest
from bot.extras.profiles.chat_file import attach_pictures
from bot.ledger.chat_requests import ChatRequestStore
from bot.response.incident_record import short_id

if TYPE_CHECKING:
    from bot.app.bot import Bot

RETRIES_EVERY = 2.0  # seconds
MOST_TOLD = 25  # symptoms of a capture in its thread; then it says where all are
CAUGHT = "caught-"
_LOOKS = "look-"
_REMEMBERED = 1000  # captures whose figures are remembered, and symptoms that were told


@dataclass(frozen=True, slots=True)
class CaptureClaims:
    """Which captures this program looks at. It spares nodes a second look, and no more than that.

    Shape: `shown` are those with a card of this program: whoever shows a card looks.
    Raises: every verb raises LedgerUnavailable when the database cannot be asked.
    """

    chat_requests: ChatRequestStore
    shown: dict[str, MessageTarget] = field(default_factory=dict)
    _mine: set[str] = field(default_factory=set)

    async def take(self, capture: str, is_over: bool = False) -> bool:
        """Look at it from now on; False while another program that is alive does, and for what is over and told so."""
        if is_over or capture in self.shown or capture in self._mine:
            return capture in self.shown or capture in self._mine
        if await self.chat_requests.is_open(card_name(capture)) or not await self.chat_requests.keep(_LOOKS + capture):
            return False
        self._mine.add(capture)
        return True

    async def release_capture(self, capture: str) -> None:
        """Say that nobody has to look at it any more, and that its card is as it will stay."""
        self._mine.discard(capture)
        self.shown.pop(capture, None)
        await self.chat_requests.mark_done(_LOOKS + capture)
        await self.chat_requests.mark_done(card_name(capture))


@dataclass(slots=True, eq=False)
class CaptureCards:
    """Begins captures, shows them, and tells once what they caught.

    What one that was begun in a terminal caught is told under the card of the incident that it belongs to: whoever
    began it is asleep, or elsewhere, and the incident's card is where people look then.
    """

    bot: Bot
    watch: RollingWatch
    turns: CaptureClaims
    _figures: BoundedDict[str, CaptureLookResult] = field(default_factory=lambda: BoundedDict(_REMEMBERED))
    _told: BoundedDict[str, None] = field(default_factory=lambda: BoundedDict(_REMEMBERED))
    _drawing: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def control(self) -> RollingControl:
        """What begins and ends captures."""
        return self.watch.control

    @property
    def poster(self) -> Poster:
        """What posts the cards."""
        return self.bot.posting.poster

    async def begin(self, node: Node, request: RollingRequest, target: MessageTarget, key: str, by: str) -> None:
        """Ask for a capture, on a new card; `key` is the request's, so that a repeated delivery does nothing.

        Raises: LedgerError when the card cannot be stored.
        """
        capture = short_id(CARD, target.channel, key)
        body = {"channel": target.channel, "thread_ts": target.thread_ts, "node": node.name, "by": by}
        if not await self.bot.stores.chat_requests.keep(card_name(capture), json.dumps(body)):
            return  # another delivery of the same command
        self.turns.shown[capture] = target
        await self.poster.enqueue(card_name(capture), CARD, target, looking_card(node, request))
        self.bot.posting.work.begin(self._request_capture(node, request, capture, by), f"capture {capture}")

    def takes(self, kept: ChatRequest) -> bool:
        """Go on with the card of a capture; False for any other request."""
        if not (capture := capture_of(kept.key)):
            return False
        self.bot.posting.work.begin(self._continue_card(capture, kept), f"{kept.key} carried on")
        return True

    async def look(self, rolling: RollingCapture, by: str = "") -> CaptureLookResult:
        """Look at it on its node now, and stop it first where a person says so (`by`).

        Raises: as `RollingWatch.look_for_person`.
        """
        if rolling.is_over:
            return self._with_cost(CaptureLookResult(rolling))
        return await self.news(await self.watch.look_for_person(self.bot.known, rolling, by))

    async def news(self, news: CaptureLookResult) -> CaptureLookResult:
        """Show on its card what a look found, tell what it caught, and return it with the cost that was seen last.

        Raises: LedgerError.
        """
        news, rolling = self._with_cost(news), news.rolling
        async with self._drawing:
            target = self.turns.shown.get(rolling.id)
            has_card = await self._draw_card(news, target)
            if target is not None or not has_card:
                for caught in _told_of(rolling):
                    await self._post_caught(rolling, caught, target)
        self._figures[rolling.id] = news
        return news

    def _with_cost(self, news: CaptureLookResult) -> CaptureLookResult:
        """Return it with the cost that was seen last, where its own look saw none: it has ended, or is away."""
        before = self._figures.get(news.rolling.id) if news.load_percent is None else None
        return news if before is None else replace(before, rolling=news.rolling, waits=news.waits, grown=news.grown)

    # --- the card

    async def _request_capture(self, node: Node, request: RollingRequest, capture: str, by: str) -> None:
        because = FAILED
        try:
            await self.control.ask(node, request, by, capture=capture)
            because = ""
        except ZombieError as no:
            named = f" ({type(no).__name__})" if isinstance(no, Refused) else ""
            because = f"{no.sentence.rstrip('.')}. {no.try_next}".strip() + named
        except Exception as no:  # noqa: BLE001 - whatever it is, the card does not say for ever that it is checked
            self.bot.log("capture_failed", capture=capture, error=repr(no))
        await self._show_recorded(capture, node.name, because, by)

    async def _continue_card(self, capture: str, kept: ChatRequest) -> None:
        self.bot.log("capture_card_carried_on", key=one_line(kept.key, 80))
        body: Mapping[str, Any] = json.loads(kept.body)
        target = MessageTarget(str(body["channel"]), str(body.get("thread_ts", "")))
        await self.poster.adopt(kept.key, target)
        self.turns.shown[capture] = target
        await self._show_recorded(capture, str(body.get("node", "")), "", str(body.get("by", "")))

    async def _show_recorded(self, capture: str, node: str, because: str, by: str) -> None:
        """Show what is on record of it; where nothing is, nothing was sent to the node: say why not.

        Shape: `because` is why it did not begin just now, if it did not.
        """
        name, poster = card_name(capture), self.poster
        while True:
            try:
                rolling = (await self.control.all()).get(capture)
                if rolling is not None and not (because and rolling.is_over):
                    await self.news(CaptureLookResult(rolling))
                else:
                    why = because or "The bot was restarted before it began. Ask again."
                    await poster.finish(name, self.turns.shown[capture], not_recorded(node, why, by))
                    await self.turns.release_capture(capture)
                return
            except LedgerError as error:
                self.bot.log("ledger_unavailable", error=one_line(str(error)), card=name)
            await asyncio.sleep(RETRIES_EVERY)

    async def _draw_card(self, news: CaptureLookResult, target: MessageTarget | None) -> bool:
        """Draw its card, be it this program's (`target`) or another's; False where it has none."""
        name, poster = card_name(news.rolling.id), self.poster
        before, card = self._figures.get(news.rolling.id), capture_card(news)
        place = await poster.place(name)
        if target is None and place is None:
            return await self.bot.stores.chat_requests.is_open(name)
        at = target or MessageTarget(place.channel if place is not None else "")
        await poster.adopt(name, at)
        if before is None or before.rolling.state is not news.rolling.state:
            await poster.enqueue(name, CARD, at, card)
        elif card != capture_card(before):  # figures in between are progress, and need not arrive
            poster.show(name, at, lambda: card)
        if target is None or news.rolling.is_over:
            poster.mark_finished(name)
        return True

    async def _post_caught(self, rolling: RollingCapture, caught: SymptomCaught, target: MessageTarget | None) -> None:
        """Say once what was caught, with its pictures: in its card's thread, or that of its incident's card."""
        stores, poster = self.bot.stores, self.poster
        what = caught.symptom if caught.core < 0 else f"{caught.symptom}-{caught.core}"
        half_rings = int((caught.ends_mono - caught.at_mono) / rolling.request.half_ring_seconds)
        until = half_rings.bit_length() if caught.unfinished and not rolling.is_over else round(10 * caught.ends_mono)
        what += f"-{until}" if caught.ends_mono else ""  # one that goes on is told again when it has doubled
        name, part, under = card_name(rolling.id), f"caught-{what}-{round(10 * caught.at_mono)}", CARD
        if (told := f"{name} {part}") in self._told:
            return
        found = incident_of(await stores.ledger.incidents(node=rolling.node), rolling.node, caught.at, caught.until)
        place = await poster.place(found.card) if found is not None else None
        address = self.bot.posting.connection.address(place) if place is not None else ""
        if target is None:
            name, part, under = CAUGHT + short_id(rolling.id, what, f"{caught.at_mono:.1f}"), CARD, ""
            if place is None or not await stores.leases.take(name):  # else another program's sweep may send it as well
                return
            target, found = MessageTarget(place.channel, place.ts), None
        if await stores.outbox.place(name, part) is None:  # else an earlier run did
            says = caught_reply(caught, found, address, rolling.is_over)
            await poster.enqueue(name, part, target, says, under=under)
        if not under:
            poster.mark_finished(name)
        if self.watch.sketches is not None:
            await attach_pictures(poster, name, target, await self.watch.sketches.find(rolling.id, caught.sketch))
        self._told[told] = None


def _told_of(rolling: RollingCapture) -> Sequence[SymptomCaught]:
    """Return what is told of it: the first gap of the log and symptoms, and in place of the next that there is more.

    A symptom is told with what its segments show, or that they were never read.
    """
    told, more = rolling.found[:MOST_TOLD], rolling.found[MOST_TOLD : MOST_TOLD + 1]
    says = f"More was caught, which is not told here: zombie capture show {rolling.id}"
    return (
        *rolling.gaps[:1],
        *(each for each in told if rolling.is_over or not each.waits),
        # Said once, whatever is the next by then: entries become one.
        *(SymptomCaught(rolling.id, "more", caught.at, 0.0, says) for caught in more),
    )
