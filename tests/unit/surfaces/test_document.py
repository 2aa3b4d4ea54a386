"""The JSON document: the same however it is made, whole at any end, and never in the way of who reads nodes."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from bot import app
from bot.app.cases import replayed
from bot.domain.probe import Unread
from bot.domain.redaction import Redactor
from bot.domain.verdict import Verdict
from bot.surfaces.document import document, node_document
from bot.transport import case_file
from tests.readings.plainly import plainly, redacted
from tests.unit.surfaces.verdicts import FOUNDING, arbitrary

NODES = sorted((Path(__file__).parents[2] / "captures" / "nodes").glob("*.gz"))
SHARED = Redactor()  # one for all, as in a check of a fleet


@functools.cache
def judged(path: Path) -> Verdict:
    case = case_file.load(path)
    return asyncio.run(replayed(case, app.library().get(case.head.playbook or "node-health")))


def slowly(readings: Mapping[str, Any]) -> Any:
    return redacted({name: plainly(reading) for name, reading in readings.items() if not isinstance(reading, Unread)})


@pytest.mark.parametrize("path", NODES, ids=lambda path: path.name.partition(".")[0])
def test_readings_are_told_as_by_the_slow_way(path: Path) -> None:
    verdict = judged(path)
    assert verdict.snapshot is not None
    told = node_document(verdict, None, SHARED)
    assert told == node_document(verdict)
    assert told["readings"] == slowly(verdict.snapshot.readings)
    assert list(told["readings"]) == list(slowly(verdict.snapshot.readings))


@given(arbitrary)
def test_any_verdict_is_told_as_by_the_slow_way(verdict: Verdict) -> None:
    told = node_document(verdict, None, SHARED)
    again = redacted(plainly(told))
    assert told == again | {"node": verdict.node}, "nothing is left to take out, or to make safe"


def test_node_is_laid_out_for_people_and_several_stand_a_line_each() -> None:
    others = [replace(FOUNDING, node=f"node-{number}") for number in (1, 2, 3)]
    assert '\n      "node": "node-123",\n' in document([FOUNDING])
    text = document(others)
    assert [json.loads(line.rstrip(","))["node"] for line in text.splitlines()[1:-1]] == ["node-1", "node-2", "node-3"]
    assert json.loads(text) == {"schema": 1, "nodes": [node_document(other) for other in others]}
    assert json.loads(document([])) == {"schema": 1, "nodes": []}
