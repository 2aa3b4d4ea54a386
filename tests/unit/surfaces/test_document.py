"""The JSON document: the same however it is made, whole at any end, and never in the way of who reads nodes."""

from __future__ import annotations

import asyncio
import enum
import io
import json
import threading
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings

from bot.domain.safe_text import Redactor, redacted
from bot.domain.verdict import Verdict
from bot.surfaces.document import document, document_body, node_document
from bot.surfaces.document_stream import DocumentStream
from bot.surfaces.json_values import json_value
from tests.examples import up_to
from tests.unit.surfaces.verdicts import FOUNDING, arbitrary
from tests.waiting import until

SHARED = Redactor()  # one for all, as in a check of a fleet


class Mode(enum.Enum):
    OLD = "v1"


@dataclass(frozen=True)
class Part:
    name: str
    waits: timedelta
    source: tuple[str, ...] = ("a node's own line",)

    @property
    def is_slow(self) -> bool:
        return self.waits > timedelta(seconds=1)

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.name,)


def test_values_become_json_by_their_kind_and_properties_of_one_value_are_shown() -> None:
    at = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
    said = {1: Part("a\x1b", timedelta(seconds=2.00049)), "mode": Mode.OLD, "all": {-0.0}, "at": at, "none": None}
    assert json_value(said) == {
        "1": {"name": "a\\x1b", "waits_seconds": 2.0, "is_slow": True},
        "mode": "v1",
        "all": [0.0],
        "at": "2026-11-22T03:00:00+00:00",
        "none": None,
    }
    assert str(json_value({-0.0})) == "[0.0]"


@settings(max_examples=up_to(20), deadline=None)
@given(arbitrary)
def test_any_verdict_is_json_without_secrets_whatever_was_redacted_before(verdict: Verdict) -> None:
    assert node_document(verdict, None, SHARED) == node_document(verdict)
    assert redacted(json.loads(document([verdict]))) == document_body([verdict])


def test_node_is_laid_out_for_people_and_several_stand_a_line_each() -> None:
    others = [replace(FOUNDING, node=f"node-{number}") for number in (1, 2, 3)]
    assert '\n      "node": "node-123",\n' in document([FOUNDING])
    text = document(others)
    assert [json.loads(line.rstrip(","))["node"] for line in text.splitlines()[1:-1]] == ["node-1", "node-2", "node-3"]
    assert json.loads(text) == {"schema": 1, "nodes": [node_document(other) for other in others]}
    assert json.loads(document([])) == {"schema": 1, "nodes": []}


class Reader(io.StringIO):
    """What the document is written to; it can be made to wait, or to be gone."""

    def __init__(self) -> None:
        super().__init__()
        self.may_read = threading.Event()
        self.may_read.set()
        self.is_gone = False

    def write(self, text: str) -> int:
        if not self.may_read.wait(10):
            raise TimeoutError
        if self.is_gone:
            raise BrokenPipeError
        return super().write(text)


def of(name: str) -> Verdict:
    return replace(FOUNDING, node=name)


async def written(reader: Reader, text: str) -> None:
    await asyncio.to_thread(until, lambda: text in reader.getvalue(), what=f"{text} to be written")


async def test_nodes_are_written_as_soon_as_all_before_them_are() -> None:
    reader = Reader()
    stream = DocumentStream(["a", "b", "c", "d"], reader)
    async with stream.writing():
        stream.add(of("b"))
        stream.add(of("a"))
        await written(reader, '"node": "b"')
        stream.add(of("d"))
        assert '"node": "d"' not in reader.getvalue(), "c may still come"
        stream.add(of("c"))
        await written(reader, '"node": "d"')
    stream.end()
    assert reader.getvalue() == document([of(name) for name in "abcd"]) + "\n"


@pytest.mark.parametrize("came", ["", "c", "ca", "bd", "abcd"])
def test_document_is_whole_whatever_came(came: str) -> None:
    reader = Reader()
    stream = DocumentStream("abcd", reader)
    for name in came:
        stream.add(of(name))
    stream.end({"c": "0incident"})
    nodes = json.loads(reader.getvalue())["nodes"]
    assert [node["node"] for node in nodes] == sorted(came)
    assert [node.get("incident") for node in nodes if node["node"] == "c"] == ["0incident"] * came.count("c")
    assert nodes == document_body([of(name) for name in sorted(came)], {"c": "0incident"})["nodes"]


async def test_reader_that_does_not_read_holds_up_nobody() -> None:
    reader = Reader()
    reader.may_read.clear()
    stream = DocumentStream(["a", "b"], reader)
    async with stream.writing():
        stream.add(of("a"))
        began = asyncio.get_running_loop().time()
        for _ in range(20):
            await asyncio.sleep(0.01)
        assert asyncio.get_running_loop().time() - began < 2
        assert reader.getvalue() == ""
        reader.may_read.set()
    stream.add(of("b"))
    stream.end()
    assert [node["node"] for node in json.loads(reader.getvalue())["nodes"]] == ["a", "b"]


async def test_reader_that_left_ends_the_run() -> None:
    reader = Reader()
    reader.is_gone = True
    stream = DocumentStream(["a", "b", "c"], reader)
    with pytest.raises(BrokenPipeError):
        await add_for_ever(stream)


async def add_for_ever(stream: DocumentStream) -> None:
    async with stream.writing(), asyncio.timeout(10):
        stream.add(of("a"))
        for _ in range(1000):
            await asyncio.sleep(0.01)
            stream.add(of("b"))
