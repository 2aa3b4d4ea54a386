"""Answers of whole checks in a sweep that processes beside this one make are those that this one makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.extras.fleet.run import ChunkReader, Reads
from bot.extras.fleet.runner import PooledReader, SweepDependencies
from bot.extras.fleet.sweep import NodeAnswer, NodeOutcome, Sweep
from bot.settings import Settings
from tests.unit.app.test_evaluation_pool import NAMES, PLAYBOOK, Recorded, what


def reader_of(sweep: Sweep) -> Reads:
    nodes = what(NAMES).nodes
    means = SweepDependencies(Settings(deadline=timedelta(seconds=20)), Recorded(), parallel=4)
    return means.sweep(nodes, len(nodes), sweep).reader


@pytest.mark.parametrize("wants_facts", [False, True])
async def test_answers_of_a_sweep_made_beside_are_those_that_are_made_here(
    wants_facts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.extras.fleet.runner.worker_count", lambda nodes, cores: 2)
    sweep, asked = replace(Sweep.of(PLAYBOOK, full=True), wants_facts=wants_facts), what(NAMES)
    reader = reader_of(sweep)
    assert isinstance(reader, PooledReader)
    heard: list[NodeAnswer] = []
    there = await reader.answers(asked.nodes, heard.append)
    here = await ChunkReader(asked.triage, sweep, 4).answers(asked.nodes)

    def shown(answers: Sequence[NodeAnswer]) -> dict[str, NodeAnswer]:
        return {answer.node: replace(answer, seconds=0.0) for answer in answers}

    assert shown(there) == shown(here)
    assert sorted(answer.node for answer in heard) == sorted(NAMES)
    assert {answer.outcome for answer in there} == set(NodeOutcome)
    assert all(answer.seconds > 0 for answer in there)
    read = [answer for answer in there if answer.outcome is not NodeOutcome.UNREACHABLE]
    assert {bool(answer.figures) for answer in read} == {wants_facts}
    assert not any(answer.facts for answer in there)


def test_single_look_is_not_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.extras.fleet.runner.worker_count", lambda nodes, cores: 2)
    assert isinstance(reader_of(Sweep.of(PLAYBOOK)), ChunkReader)
    assert isinstance(reader_of(Sweep.of(PLAYBOOK, ["io-stall"])), PooledReader)
