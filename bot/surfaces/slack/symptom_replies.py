"""What a capture without a card of its own caught, told in the thread of the card of the incident that it belongs to.

Who begins a capture in a terminal is asleep, or elsewhere, when it catches something: the incident's card is where
people look then. A capture that was asked for in Slack tells it on its own card.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.domain.chat_request import ChatRequests
from bot.domain.contracts import ActingLedger, Leases, Log, Outbox
from bot.domain.errors import LedgerError
from bot.domain.house_events import SymptomCaught
from bot.domain.rolling_record import RollingCapture
from bot.domain.safe_text import one_line
from bot.response.capture.rolling_watch import RollingNews
from bot.response.capture.sketches import Sketches
from bot.response.capture.symptom_incident import incident_of
from bot.response.record import short_id
from bot.surfaces.slack.background import Background
from bot.surfaces.slack.capture_card import card_name, caught_reply
from bot.surfaces.slack.parts import CARD, MessageTarget
from bot.surfaces.slack.poster import Poster
from bot.surfaces.slack.sketch_file import attach_pictures

MOST_TOLD = 25  # symptoms of a capture; the terminal shows all
_PREFIX = "caught-"


@dataclass(slots=True, eq=False)
class SymptomReplies:
    """Posts it once, however many programs serve, and however often they restart."""

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
                    name = _PREFIX + short_id(rolling.id, caught.symptom, f"{caught.at_mono:.1f}")
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
