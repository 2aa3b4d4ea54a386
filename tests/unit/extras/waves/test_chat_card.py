"""The card of a wave and what a terminal says of it: buttons, people, every node, and no name taken for markup."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest

from bot.chat.document import Dialog, Document
from bot.chat.service import Message
from bot.domain.action import KEEPS, EndedItem, PlanImpact
from bot.domain.errors import CannotTell
from bot.domain.probe import Unread
from bot.extras.waves import chat_card, command, wiring
from bot.extras.waves.chat_card import NAMES, RESUME, dialog_words
from bot.extras.waves.events import TurnOutcome, WaveMember, WaveProposed, WaveStopped
from bot.extras.waves.wave import Turn, Wave, WaveState, stages_of, why_stop
from bot.extras.waves.words import PlannedNode, SharedPlan, WavePlans, interrupted_lines, wave_body, wave_lines
from bot.surfaces.slack.drawing import ALL_BLOCKS, Block, dialog_view, draw, fits
from bot.surfaces.teams import drawing as teams
from bot.view.plan_words import NOTHING_SEEN

in_dialog, in_teams = partial(fits, dialog=True), partial(teams.fits, dialog=True)
(IN_FILE,) = draw(Document("", (chat_card.IN_FILE,))).blocks
AT = datetime(2026, 3, 1, 3, 0, tzinfo=UTC)
COMMANDS = ("sudo -n systemctl disable --now ecs.service", "test boot = <boot>")
ALICE, BOB = "slack:T024/U0ALICE001", "slack:T024/U0BOB00001"


def wave(state: WaveState, nodes: int = 3, name: str = "node") -> Wave:
    members = tuple(WaveMember(f"{name}-{at}", f"incident{at}", "d" * 64) for at in range(nodes))
    stages, expires = stages_of(nodes), timedelta(hours=8)
    proposal = WaveProposed(("role=gpu",), ("leak",), members, (), stages, expires, "p", "").sealed()
    stop = WaveStopped(f"{BOB} stopped it: <!channel> look") if state is WaveState.STOPPED else None
    return Wave("wave-abcd", proposal, ALICE, state, AT, AT, 1, "h", stop=stop, stopped_by=BOB if stop else "")


def of_nodes(count: int, name: str = "node", commands: tuple[str, ...] = COMMANDS) -> WavePlans:
    nodes = tuple(
        PlannedNode(f"{name}-{at}", f"incident{at}", f"10.0.{at // 250}.{at % 250}", f"boot-{at}", "d" * 64)
        for at in range(count)
    )
    plan = SharedPlan("disable ecs.service, then reboot", commands, (), (), "the node restarts.", "", nodes)
    return WavePlans((plan,))


def wave_card(shown: Wave, plans: WavePlans | None = None) -> Message:
    return draw(chat_card.wave_card(shown, plans, fits))


def plans_in_dialog(plans: WavePlans, command: str) -> list[Block]:
    blocks = chat_card.plans_in_dialog(plans, command, lambda blocks: fits(blocks, dialog=True), has_file=True)
    return dialog_view(Dialog("", "", tuple(blocks)), "")["blocks"]  # type: ignore[no-any-return]


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
    rows = [block for block in wave_card(wave(state)).blocks if block["type"] == "actions"]
    assert [(each["action_id"], each["value"]) for row in rows for each in row["elements"]] == [
        (action, "wave-abcd") for action in buttons
    ]


def test_nodes_of_a_wave_that_is_over_are_not_still_to_come() -> None:
    assert "to come: 3: node-0, node-1, node-2" in wave_lines(wave(WaveState.RUNNING))
    assert "had no turn: 3: node-0, node-1, node-2" in wave_lines(wave(WaveState.DECLINED))


def test_people_are_shown_as_people_and_a_reason_is_never_markup() -> None:
    message = wave_card(wave(WaveState.STOPPED))
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
    large = wave(WaveState.PROPOSED, 1_000, "ray-gpu-us-east-1a-worker")
    plans = of_nodes(1_000, "ray-gpu-us-east-1a-worker")
    card = wave_card(large, plans)
    assert len(json.dumps(card.blocks)) < ALL_BLOCKS
    assert "1,000 × disable ecs.service, then reboot" in json.dumps(card.blocks, ensure_ascii=False)
    assert IN_FILE in card.blocks
    dialog = plans_in_dialog(plans, "zombie wave approve wave-abcd")
    assert all(f"boot-{at}" in json.dumps(dialog) for at in range(1_000))
    assert len(json.dumps(dialog)) < 250_000
    assert all(command in json.dumps(dialog) for command in COMMANDS)
    words = list(dialog_words(large, "approve", plans))
    named = " ".join(words).split()
    assert {member.node for member in large.proposal.members} <= set(named)
    assert max(map(len, words)) <= NAMES + 100
    assert any(large.proposal.digest[:32] in sentence for sentence in words)


def test_small_wave_has_every_command_and_every_node_with_its_boot_on_card_and_dialog() -> None:
    plans = of_nodes(3)
    for blocks in (wave_card(wave(WaveState.PROPOSED), plans).blocks, plans_in_dialog(plans, "")):
        said = json.dumps(blocks)
        assert all(command in said for command in COMMANDS)
        assert all(f"boot-{at}" in said and f"10.0.0.{at}" in said and f"node-{at}" in said for at in range(3))
        assert IN_FILE not in blocks


def test_dialog_that_cannot_show_every_command_is_refused_and_says_where_to_approve() -> None:
    too_long = of_nodes(1, commands=tuple(f"command {at} {'x' * 2_000}" for at in range(100)))
    for plans in (too_long, WavePlans((), ("node-0",))):
        with pytest.raises(CannotTell) as refused:
            plans_in_dialog(plans, "zombie wave approve wave-abcd")
        assert refused.value.try_next == "zombie wave approve wave-abcd"


ETCD, TRAINS = EndedItem("etcd.service", KEEPS, age=3600), EndedItem("ray::train_step", "gpu", 24, 8, 11 * 3600)


def with_ends(plans: WavePlans, at: int, ends: PlanImpact | None, words: str) -> WavePlans:
    """The plans, where this node's ends these."""
    (plan,) = plans.shared
    nodes = [replace(node, ends=ends, ends_words=words) if each == at else node for each, node in enumerate(plan.nodes)]
    return WavePlans((replace(plan, nodes=tuple(nodes)),), plans.missing)


def test_what_ends_with_a_wave_is_summed_databases_first_and_stands_with_each_node() -> None:
    plans = with_ends(of_nodes(3), 0, PlanImpact((TRAINS,)), "Ends: 24 × ray::train_step.")
    plans = with_ends(plans, 1, PlanImpact((ETCD, TRAINS)), "Ends: etcd.service; 24 × ray::train_step.")
    plans = with_ends(plans, 2, None, "What ends with it was not read.")
    assert plans.ends() == (
        "etcd.service (others need its data or its vote), running for 1 h, on node-1",
        "48 × ray::train_step on 16 GPUs, running for 11 h, on 2 nodes",
        "what else ends is not known on 1 node: node-2",
    )
    shown = wave_card(wave(WaveState.PROPOSED), plans).blocks
    dialog = [*dialog_words(wave(WaveState.PROPOSED), "approve", plans), *map(json.dumps, plans_in_dialog(plans, ""))]
    for said in (json.dumps(shown), "\n".join(dialog), "\n".join(plans.lines())):
        etcd, trains = said.index("etcd.service (others"), said.index("on 16 GPUs")
        assert etcd < trains < said.index("What ends with it was not read."), "each node's own stands in the table"
    (body,) = plans.body()
    assert [[row["what"] for row in node.get("ends", [])] for node in body["nodes"]] == [
        ["ray::train_step"],
        ["etcd.service", "ray::train_step"],
        [],
    ]


def test_nothing_ends_is_said_only_where_all_of_it_was_read() -> None:
    seen = with_ends(of_nodes(1), 0, PlanImpact(), "Ends: nothing.")
    assert seen.ends() == (NOTHING_SEEN,)
    other = WavePlans(seen.shared, ("node-9",))
    assert NOTHING_SEEN not in other.ends()
    assert wave_body(wave(WaveState.PROPOSED), other)["missing"] == ["node-9"]
    unread = with_ends(of_nodes(1), 0, PlanImpact(unread=(Unread("units", "refused"),)), "not known")
    assert unread.ends() == ("what else ends is not known on 1 node: node-0",)


def test_large_wave_whose_nodes_end_much_has_a_dialog_that_slack_takes() -> None:
    rows = tuple(EndedItem(f"db-{at}.service", KEEPS) for at in range(40))
    plans, large = of_nodes(900, "n" * 60), wave(WaveState.PROPOSED, 900, "n" * 60)
    (plan,) = plans.shared
    nodes = tuple(replace(node, ends=PlanImpact(rows), ends_words="Ends: " + "x" * 3_000) for node in plan.nodes)
    plans = WavePlans((replace(plan, nodes=nodes),))
    words = list(dialog_words(large, "approve", plans))
    dialog = dialog_view(chat_card.wave_dialog(large, "approve", plans, in_dialog, has_file=True), "")["blocks"]
    assert len(dialog) <= 100
    assert max(map(len, words)) <= 3_000
    assert IN_FILE in dialog
    assert all(f"db-{at}.service" in " ".join(words) for at in range(40)), "no database is left out"
    for room in (in_dialog, in_teams):
        with pytest.raises(CannotTell, match="too long") as refused:
            chat_card.wave_dialog(large, "approve", plans, room)
        assert refused.value.try_next == "zombie wave approve wave-abcd"


@pytest.mark.parametrize("nodes", [180, 900])
def test_dialog_of_a_wave_is_measured_with_all_that_stands_in_it(nodes: int) -> None:
    """Teams counts the whole document."""
    plans, large = of_nodes(nodes, "ip-10-20-30-node"), wave(WaveState.PROPOSED, nodes, "ip-10-20-30-node")
    with contextlib.suppress(CannotTell):
        dialog = chat_card.wave_dialog(large, "approve", plans, in_teams)
        assert in_teams([*dialog.blocks, *dialog.small])


def test_resumption_that_a_dialog_cannot_show_whole_says_where_to_resume() -> None:
    with pytest.raises(CannotTell) as refused:
        chat_card.wave_dialog(wave(WaveState.STOPPED), "wave-resume", None, in_dialog, against=["x" * 200] * 300)
    assert refused.value.try_next == "zombie wave resume wave-abcd"


def test_cell_that_a_card_has_to_shorten_stands_whole_in_the_file() -> None:
    plans = with_ends(of_nodes(1), 0, PlanImpact((ETCD,)), "Ends: " + "x" * 200)
    assert IN_FILE in wave_card(wave(WaveState.PROPOSED), plans).blocks
    assert "x" * 200 in "\n".join(plans.lines())


def test_interrupted_wave_that_runs_says_that_its_approval_lives_on_and_how_to_end_it() -> None:
    running = wave(WaveState.RUNNING)
    assert interrupted_lines(running)[0] == "zombie: interrupted; the wave is still approved."
    acting = replace(running, turns=(Turn(running.proposal.members[0], AT),))
    told = " ".join(interrupted_lines(acting))
    assert "under way: node-0." in told
    assert "zombie wave run wave-abcd" in told
    assert "zombie wave stop wave-abcd" in told
    for over in (wave(WaveState.STOPPED), wave(WaveState.COMPLETED)):
        assert interrupted_lines(over) == ("zombie: interrupted",)


def test_who_interrupts_a_wave_that_is_run_here_is_told_how_it_stands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    running = wave(WaveState.RUNNING)

    async def interrupted(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(60)

    async def find(_: str) -> Wave:
        return running

    monkeypatch.setattr(wiring, "run_here", interrupted)
    parts: Any = SimpleNamespace(
        service=SimpleNamespace(find=find), acting=SimpleNamespace(cluster=SimpleNamespace(close=AsyncMock()))
    )
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(command._run_wave(parts, running.id, argparse.Namespace(environ={})))
    assert "the wave is still approved" in capsys.readouterr().err
    parts.acting.cluster.close.assert_awaited_once()


def test_every_pod_that_a_drain_moves_stands_in_terminal_and_file() -> None:
    moved = tuple(f"ray/worker-{at}: Ray cluster train-7 (worker); loses emptyDir scratch" for at in range(60))
    (plan,) = of_nodes(1).shared
    drained = replace(plan, nodes=(replace(plan.nodes[0], affects=moved),))
    assert "; ".join(moved) in "\n".join(WavePlans((drained,)).lines())


def test_whoever_resumes_a_wave_is_told_each_node_that_they_forgive() -> None:
    """Many nodes may have their turn at once, and fail at once."""
    running = wave(WaveState.RUNNING, 30)
    failed = tuple(Turn(member, AT, TurnOutcome.FAILED, "a broken disk", AT) for member in running.proposal.members)
    stopped = replace(running, state=WaveState.STOPPED, turns=failed, stop=WaveStopped("it failed"), stopped_at=AT)
    told = " ".join(dialog_words(stopped, RESUME, None, [reason.words for reason in why_stop(stopped, (), AT)]))
    before = told[: told.index("30 nodes, in this order")]
    assert not [member.node for member in stopped.proposal.members if member.node not in before]
    assert why_stop(replace(stopped, excused=frozenset(turn.member.incident for turn in failed)), (), AT) == ()
