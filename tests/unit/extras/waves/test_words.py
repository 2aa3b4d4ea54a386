"""What a terminal says of a wave."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest

from bot.extras.waves import command, wiring
from bot.extras.waves.chat_card import RESUME, dialog_words
from bot.extras.waves.events import TurnOutcome, WaveStopped
from bot.extras.waves.wave import Turn, Wave, WaveState, why_stop
from bot.extras.waves.words import WavePlans, interrupted_lines
from tests.unit.extras.waves.test_chat_card import AT, of_nodes, wave


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
