"""The rolling message of an alert storm, kept by one of the programs at the ledger while the storm lasts."""

from __future__ import annotations

import asyncio

from bot.domain.alarm_contracts import Brakes, Cases
from bot.domain.contracts import Leases, Log
from bot.domain.errors import LedgerError
from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.surfaces.slack.background import Background
from bot.surfaces.slack.message import Message
from bot.surfaces.slack.pace import SUMMARY
from bot.surfaces.slack.part import Spot
from bot.surfaces.slack.poster import CARD, Poster
from bot.surfaces.slack.storm_card import Labels, storm_card

LOOK_SECONDS = 2.0


class StormBoard:
    """Shows storms, as the cases and brakes say; `why` says why nothing is offered in one."""

    def __init__(
        self,
        cases: Cases,
        brakes: Brakes,
        leases: Leases,
        poster: Poster,
        channel: str,
        why: str,
        labels: Labels,
        background: Background,
        log: Log,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        self._cases = cases
        self._brakes = brakes
        self._leases = leases
        self._poster = poster
        self._channel = channel
        self._why = why
        self._labels = labels
        self._background = background
        self._log = log
        self._look_seconds = look_seconds
        self._shown: set[str] = set()

    def heard(self, name: str) -> None:
        """Show a storm from now on, if nobody else does."""
        if self._channel and name not in self._shown:
            self._shown.add(name)
            self._background.begin(self._see_through(name), f"storm {name}")

    async def _see_through(self, name: str) -> None:
        said: Message | None = None
        try:
            while await self._leases.take(name):
                storm = await self._cases.storm(name, self._brakes)
                message = storm_card(storm, self._why, self._labels)
                if message != said:
                    spot = Spot(self._channel, patient=True)
                    await self._poster.adopt(name, spot)
                    await self._poster.owe(name, CARD, spot, message, rank=SUMMARY)
                    said = message
                if not storm.is_on and not any(line.state is State.OPENED for line in storm.incidents):
                    return
                await asyncio.sleep(self._look_seconds)
        except LedgerError as error:  # whatever goes on next in the storm begins this anew
            self._log("storm_unseen", storm=name, error=one_line(str(error)))
        finally:
            self._shown.discard(name)
            self._poster.finished(name)
