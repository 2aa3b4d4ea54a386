"""What holds of every recorded node, whatever is its verdict: each is judged once for all of it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.app.cases import replayed, run_alone
from bot.domain.case import without_secrets
from bot.domain.evaluation import evaluate_playbook
from bot.domain.probe import Snapshot, Unread
from bot.domain.safe_text import redacted
from bot.domain.verdict import Status, Verdict
from bot.surfaces.document import node_document
from bot.surfaces.json_converter import JsonConverter
from bot.transport.case_file import load
from tests.readings.plainly import plainly
from tests.shipped import shipped

CAPTURES = Path(__file__).parents[1] / "captures"
NODES = sorted((CAPTURES / "nodes").glob("*.jsonl.gz"))
OF_EACH = pytest.mark.parametrize("path", NODES, ids=lambda path: path.name.split(".")[0])
PLAYBOOK = shipped().get("node-health")
GRAVE = {used.cause.name for used in PLAYBOOK.causes if used.cause.worst is Status.CRITICAL}


SHARED = JsonConverter()  # one for all, as in a check of a fleet


@functools.cache
def judged(path: Path) -> Verdict:
    return run_alone(replayed(load(path), PLAYBOOK))


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


@OF_EACH
def test_a_reading_less_adds_no_plan_and_clears_nothing_grave(path: Path) -> None:
    hold_with_less(path.name, judged(path))


@OF_EACH
def test_nothing_of_it_is_taken_for_a_secret(path: Path) -> None:
    assert [run for run in load(path).runs if without_secrets(run) != run] == []


@pytest.mark.parametrize("path", [*NODES, *(CAPTURES / "cases").glob("*.jsonl.gz")], ids=lambda path: path.name)
def test_cause_looks_at_the_probes_that_it_names_and_at_no_other(path: Path) -> None:
    snapshot = judged(path).snapshot
    assert snapshot is not None
    for used in PLAYBOOK.causes:
        named = {name: reading for name, reading in snapshot.readings.items() if name in used.cause.probes}
        alone = Snapshot(snapshot.node, snapshot.taken_at, snapshot.window, named)
        assert used.cause.evaluate(alone, used.tuning) == used.cause.evaluate(snapshot, used.tuning), used.cause.name


def slowly(readings: Mapping[str, Any]) -> Any:
    return redacted({name: plainly(reading) for name, reading in readings.items() if not isinstance(reading, Unread)})


@pytest.mark.parametrize("path", NODES[::3], ids=lambda path: path.name.split(".")[0])
def test_readings_are_told_as_by_the_slow_way(path: Path) -> None:
    verdict = judged(path)
    assert verdict.snapshot is not None
    told = node_document(verdict, None, SHARED)
    assert told == node_document(verdict)
    assert told["readings"] == (slow := slowly(verdict.snapshot.readings))
    assert list(told["readings"]) == list(slow)
