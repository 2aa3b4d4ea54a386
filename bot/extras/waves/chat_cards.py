"""Waves in a chat: a card for each, from *Plan* to its end.

The record holds the wave; a card only shows it. The program that shows it stores a chat request for it, so that after a
crash or a restart the next program goes on with the same card.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from bot.chat.background import FAILED, Background
from bot.chat.post_state import CARD, MessageTarget
from bot.chat.poster import Poster
from bot.chat.thread_files import FileRequest, ThreadFile
from bot.domain.chat_request import ChatRequest
from bot.domain.contracts import Log
from bot.domain.errors import LedgerError, UnknownIncident, ZombieError
from bot.domain.node import Node
from bot.domain.safe_text import one_line
from bot.extras.waves.chat_card import IN_FILE, checking_card, no_wave_card, wave_card
from bot.extras.waves.wave import Wave, WaveState
from bot.extras.waves.wave_service import WaveService
from bot.extras.waves.words import WavePlans, wave_lines, wave_plans
from bot.ledger.chat_requests import ChatRequestStore
from bot.seats import CureRequest
from bot.view.plan_words import PlanWords

PREFIX = "wave-"
PLANS_FILE = "plans-"
RESTARTED = "The bot was restarted before the wave was proposed. Press Plan again."
LOOKS_EVERY = 1.0  # seconds
Start: TypeAlias = Callable[[str, CureRequest, Sequence[Node]], Awaitable[Wave]]  # by its id


def plans_file(wave: str) -> FileRequest:
    """Return the file with the plans, as it is asked for."""
    return FileRequest(PLANS_FILE, wave)


@dataclass(slots=True, eq=False)
class WaveCards:
    """Begins waves and shows them. `start` checks the nodes and proposes the wave; `watching` ends with the bot."""

    service: WaveService
    start: Start
    words: PlanWords
    poster: Poster
    background: Background
    watching: Background
    log: Log
    chat_requests: ChatRequestStore
    looks_every: float = LOOKS_EVERY

    async def begin(self, request: CureRequest, nodes: Sequence[Node]) -> None:
        """Check the nodes and propose the wave, on a new card. Raises: LedgerError."""
        name = PREFIX + hashlib.sha256(f"{request.channel}/{request.key}".encode()).hexdigest()[:16]
        if not await self.chat_requests.keep(name, json.dumps({"channel": request.channel, "by": request.by})):
            return  # another delivery of the same click
        spot = MessageTarget(request.channel)
        await self.poster.enqueue(name, CARD, spot, checking_card(request.causes, len(nodes), request.by))
        self.background.begin(self._propose(name, request, nodes), f"proposal of {name}")

    def takes(self, kept: ChatRequest) -> bool:
        """Go on with the card of a wave; False for any other request."""
        if not kept.key.startswith(PREFIX):
            return False
        self.watching.begin(self._continue_card(kept), f"{kept.key} carried on")
        return True

    async def plans(self, wave: Wave) -> WavePlans:
        """Return the plans of all its members. Raises: LedgerError."""
        return wave_plans(wave, await self.service.incidents(wave), self.words)

    async def _propose(self, name: str, request: CureRequest, nodes: Sequence[Node]) -> None:
        because = FAILED
        try:
            await self.start(name, request, nodes)
        except ZombieError as no:
            because = str(no)
        except Exception as no:  # noqa: BLE001 - whatever it is, the card does not say for ever that nodes are checked
            self.log("wave_failed", wave=name, error=repr(no))
        spot = MessageTarget(request.channel)
        self.watching.begin(self._show_until_end(name, spot, request.by, because), name)

    async def _continue_card(self, kept: ChatRequest) -> None:
        self.log("wave_card_carried_on", key=one_line(kept.key, 80))
        body = json.loads(kept.body)
        spot = MessageTarget(str(body["channel"]))
        await self.poster.adopt(kept.key, spot)
        await self._show_until_end(kept.key, spot, str(body.get("by", "")))

    async def _show_until_end(self, name: str, spot: MessageTarget, by: str, because: str = RESTARTED) -> None:
        """Show the wave's recorded state until it has ended; `because`: why there is none, where none is on record."""
        shown, state, plans = 0, None, None
        while True:
            try:
                wave = await self.service.find(name)
                if wave.state is not WaveState.PROPOSED:
                    plans = None
                elif plans is None:
                    plans = await self.plans(wave)
                if wave.state is not state:  # a new state has to arrive; turns in between are progress
                    card = wave_card(wave, plans, self.poster.chat.fits)
                    await self.poster.enqueue(name, CARD, spot, card)
                    if IN_FILE in card.blocks:
                        await self.poster.attach(name, spot, plans_file(name))
                elif wave.seq != shown:
                    card = wave_card(wave, plans, self.poster.chat.fits)
                    self.poster.show(name, spot, lambda card=card: card)  # type: ignore[misc]
                shown, state = wave.seq, wave.state
                if wave.ended:
                    await self._finish_card(name)
                    return
            except UnknownIncident:
                await self._show_no_wave(name, spot, because, by)
                return
            except LedgerError as error:
                self.log("ledger_unavailable", error=one_line(str(error)), card=name)
            await asyncio.sleep(self.looks_every)

    async def _show_no_wave(self, name: str, spot: MessageTarget, because: str, by: str) -> None:
        await self.poster.enqueue(name, CARD, spot, no_wave_card(because, by))
        await self._finish_card(name)

    async def _finish_card(self, name: str) -> None:
        self.poster.mark_finished(name)
        await self.chat_requests.mark_done(name)


@dataclass(frozen=True, slots=True)
class PlansFile:
    """Makes the file with every plan of a wave. `cards` returns what shows waves, which itself has files made."""

    cards: Callable[[], WaveCards]
    prefix: str = PLANS_FILE
    word: str = "wave_plans"

    async def make(self, name: str, content: Mapping[str, Any]) -> ThreadFile:
        """Make a wave's file. Raises: ZombieError."""
        cards = self.cards()
        wave = await cards.service.find(name)
        plans = await cards.plans(wave)
        return ThreadFile(f"{name}.txt", "\n".join([*wave_lines(wave), "", *plans.lines(), ""]).encode())

    def instead(self, name: str, because: str) -> str:
        """Say where else the plans are."""
        return f"The file with every plan is not here: {because} To read them: zombie wave {name}"
