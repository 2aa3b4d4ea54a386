"""The card of a wave: its buttons, its people, and that no name in it is taken for markup."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.wave import Wave, WaveState, stages_of
from bot.domain.wave_events import WaveMember, WaveProposed, WaveStopped
from bot.surfaces.slack.message import ALL_BLOCKS
from bot.surfaces.slack.wave_card import NAMES, dialog_words, wave_card
from bot.surfaces.waves import wave_lines

AT = datetime(2026, 3, 1, 3, 0, tzinfo=UTC)
ALICE, BOB = "slack:T024/U0ALICE001", "slack:T024/U0BOB00001"


def wave(state: WaveState, nodes: int = 3, name: str = "node") -> Wave:
    members = tuple(WaveMember(f"{name}-{at}", f"incident{at}", "d" * 64) for at in range(nodes))
    stages, expires = stages_of(nodes), timedelta(hours=8)
    proposal = WaveProposed(("role=gpu",), ("leak",), members, (), stages, expires, "p", "").sealed()
    stop = WaveStopped(f"{BOB} stopped it: <!channel> look") if state is WaveState.STOPPED else None
    return Wave("wave-abcd", proposal, ALICE, state, AT, AT, 1, "h", stop=stop, stopped_by=BOB if stop else "")


@pytest.mark.parametrize(
    ("state", "buttons"),
    [
        (WaveState.PROPOSED, ["approve", "decline"]),
        (WaveState.RUNNING, ["wave-stop"]),
        (WaveState.STOPPED, ["wave-resume"]),
        (WaveState.COMPLETED, []),
        (WaveState.EXPIRED, []),
    ],
)
def test_card_offers_what_may_still_be_decided_and_nothing_else(state: WaveState, buttons: list[str]) -> None:
    rows = [block for block in wave_card(wave(state), "reboot").blocks if block["type"] == "actions"]
    assert [(each["action_id"], each["value"]) for row in rows for each in row["elements"]] == [
        (action, "wave-abcd") for action in buttons
    ]


def test_nodes_of_a_wave_that_is_over_are_not_still_to_come() -> None:
    assert "to come: 3: node-0, node-1, node-2" in wave_lines(wave(WaveState.RUNNING))
    assert "had no turn: 3: node-0, node-1, node-2" in wave_lines(wave(WaveState.DECLINED))


def test_people_are_shown_as_people_and_a_reason_is_never_markup() -> None:
    message = wave_card(wave(WaveState.STOPPED), "")
    told = json.dumps(message.blocks)
    assert {"type": "user", "user_id": "U0BOB00001"} in [
        piece
        for block in message.blocks
        if block["type"] == "rich_text"
        for part in block["elements"]
        for item in part["elements"]
        for piece in item.get("elements", [])
    ]
    assert BOB not in told
    assert "mrkdwn" not in told
    assert "<!" not in message.text


def test_card_of_the_largest_wave_fits_and_its_dialog_names_every_node() -> None:
    large = wave(WaveState.PROPOSED, 2_000, "ray-gpu-us-east-1a-worker")
    assert len(json.dumps(wave_card(large, "reboot").blocks)) < ALL_BLOCKS
    words = list(dialog_words(large, "approve", "reboot"))
    named = " ".join(words).split()
    assert {member.node for member in large.proposal.members} <= set(named)
    assert max(map(len, words)) <= NAMES + 100
    assert any(large.proposal.digest[:16] in sentence for sentence in words)
