"""Begins a check that a person asked for: prepares its card where they are, and opens its incidents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.chat.check_cards import CheckCards
from bot.chat.parts import MessageTarget, request_id
from bot.response.diagnosis.requests import CheckRequests
from bot.response.record import Opening


@dataclass(frozen=True, slots=True)
class CheckOpener:
    """Opens checks. `playbook` is the name of the playbook to use."""

    requests: CheckRequests
    cards: CheckCards
    playbook: str

    async def begin(self, key: str, spot: MessageTarget, by: str, said: str, nodes: Sequence[str]) -> None:
        """Begin a check; `key` is the chat's id of the request, and `said` what was asked for, in words."""
        opening = Opening(by.partition(":")[0], request_id(spot.channel, spot.thread_ts, key), by, said, self.playbook)
        self.cards.expect(opening.group, spot)
        await self.requests.take(opening, nodes)
