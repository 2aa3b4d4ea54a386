"""Every recorded node, with each of its readings left out: nothing more is offered then, and nothing grave cleared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bot.app.cases import replayed, run_alone
from bot.app.factories import library
from bot.domain.evaluation import evaluate_playbook
from bot.domain.probe import Unread
from bot.domain.verdict import Status, Verdict
from bot.transport.case_file import load

NODES = sorted((Path(__file__).parents[1] / "captures" / "nodes").glob("*.jsonl.gz"))
PLAYBOOK = library().get("node-health")
GRAVE = {used.cause.name for used in PLAYBOOK.causes if used.cause.worst is Status.CRITICAL}


def steps(verdict: Verdict) -> set[tuple[str, str]]:
    return {(step.action, step.args.get("unit", "")) for step in verdict.remedy}


def open_and_grave(verdict: Verdict) -> set[str]:
    return {result.cause for result in verdict.undecided if result.worst is Status.CRITICAL} & GRAVE


def hold_with_less(name: str, whole: Verdict) -> None:
    """Leave each reading out in turn: no step is added, and nothing grave is cleared."""
    assert whole.snapshot is not None
    snapshot = whole.snapshot
    asked = replace(PLAYBOOK, probes=tuple(probe for probe in PLAYBOOK.probes if probe.name in snapshot.readings))
    for probe in snapshot.readings:
        readings = {**snapshot.readings, probe: Unread(probe, "left out")}
        less = evaluate_playbook(replace(snapshot, readings=readings), asked)
        assert steps(less) <= steps(whole), f"{name}: {probe} unread adds a step"
        if less.status is Status.HEALTHY:
            assert whole.status is not Status.CRITICAL, f"{name}: healthy without {probe}"
            opened = open_and_grave(less) - open_and_grave(whole)
            assert not opened, f"{name}: healthy, though without {probe} it is open whether there is {opened}"


@pytest.mark.parametrize("path", NODES, ids=lambda path: path.name.split(".")[0])
def test_a_reading_less_adds_no_plan_and_clears_nothing_grave(path: Path) -> None:
    hold_with_less(path.name, run_alone(replayed(load(path), PLAYBOOK)))
