"""Puts together waves in Slack."""

from __future__ import annotations

from collections.abc import Sequence

from bot.actions import ACTIONS
from bot.app.waves import WaveParts, known_causes, start_wave
from bot.domain.chat_request import ChatRequests
from bot.domain.contracts import Log
from bot.domain.node import Node
from bot.domain.wave import Wave
from bot.response.fleet.ask import FleetAsk
from bot.response.fleet.waves import WaveRequest
from bot.surfaces.slack.background import Background
from bot.surfaces.slack.poster import Poster
from bot.surfaces.slack.wave_cards import WaveCards
from bot.surfaces.view.plan_words import PlanWords


def slack_waves(
    parts: WaveParts,
    poster: Poster,
    background: Background,
    watching: Background,
    log: Log,
    chat_requests: ChatRequests,
) -> WaveCards:
    """Return the cards of waves in Slack; `watching` is cancelled at once when the bot stops."""

    async def start(name: str, ask: FleetAsk, nodes: Sequence[Node], by: str, channel: str) -> Wave:
        playbook = parts.acting.playbooks.get("")
        request = WaveRequest(ask.words, known_causes(playbook, ask.causes), by, channel=channel)
        return await start_wave(parts, request, nodes, playbook, lambda _: None, wave_id=name)

    return WaveCards(parts.desk, start, PlanWords(ACTIONS), poster, background, watching, log, chat_requests)
