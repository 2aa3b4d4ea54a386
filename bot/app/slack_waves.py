"""Puts together waves in Slack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bot.actions import ACTIONS
from bot.app.waves import WaveParts, known_causes, start_wave
from bot.domain.node import Node
from bot.domain.wave import Wave
from bot.response.fleet.ask import FleetAsk
from bot.response.fleet.waves import WaveRequest
from bot.surfaces.slack.wave_cards import WaveCards
from bot.surfaces.view.plan_words import PlanWords

if TYPE_CHECKING:
    from bot.app.bot import Bot


def slack_waves(bot: Bot, parts: WaveParts) -> WaveCards:
    """Return the cards of waves in Slack."""

    async def start(name: str, ask: FleetAsk, nodes: Sequence[Node], by: str, channel: str) -> Wave:
        playbook = parts.acting.playbooks.get("")
        request = WaveRequest(ask.words, known_causes(playbook, ask.causes), by, channel=channel)
        return await start_wave(parts, request, nodes, playbook, lambda _: None, wave_id=name)

    posting = bot.posting
    shown = posting.poster, posting.work, posting.watching
    return WaveCards(parts.desk, start, PlanWords(ACTIONS), *shown, bot.log, bot.stores.chat_requests)
