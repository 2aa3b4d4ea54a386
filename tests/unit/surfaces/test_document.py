"""The JSON document: the same however it is made, whole at any end, and never in the way of who reads nodes."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from dataclasses import replace
from typing import Any

import pytest

from bot.domain.safe_text import redacted
from bot.domain.verdict import Verdict
from bot.surfaces.document import document, document_body, node_document, node_text
from bot.surfaces.document_stream import DocumentStream
from bot.surfaces.json_converter import JsonConverter
from tests.unit.surfaces.verdicts import FOUNDING
from tests.waiting import until

SHARED = JsonConverter()  # one for all, as in a check of a fleet


@pytest.mark.parametrize(
    "told",
    [
        ["mysql", "-u", "root", "-pFake0hunter2"],
        ["docker", "login", "-p", "Fake0hunter2"],
        ["rabbitmqctl", "add_user", "ann", "Fakehunter2"],
        [{"text": "password:"}, {"text": "Fake0hunter2"}],
        {"rows": [{"at": 1, "text": "key"}, {"at": 2, "text": "passphrase:"}, {"at": 3, "text": "Fake0hunter2"}]},
    ],
)
def test_secret_that_only_its_neighbours_tell_of_is_cut_on_the_quick_way_too(told: Any) -> None:
    assert SHARED.convert(told) == redacted(told)
    assert "hunter2" not in str(SHARED.convert(told))


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


def add(stream: DocumentStream, verdict: Verdict) -> None:
    stream.add(verdict.node, node_text(node_document(verdict)))


def of(name: str) -> Verdict:
    return replace(FOUNDING, node=name)


async def written(reader: Reader, text: str) -> None:
    await asyncio.to_thread(until, lambda: text in reader.getvalue(), what=f"{text} to be written")


async def test_nodes_are_written_as_soon_as_all_before_them_are() -> None:
    reader = Reader()
    stream = DocumentStream(["a", "b", "c", "d"], reader)
    async with stream.writing():
        add(stream, of("b"))
        add(stream, of("a"))
        await written(reader, '"node":"b"')
        add(stream, of("d"))
        assert '"node":"d"' not in reader.getvalue(), "c may still come"
        add(stream, of("c"))
        await written(reader, '"node":"d"')
    stream.end()
    assert reader.getvalue() == document([of(name) for name in "abcd"]) + "\n"


@pytest.mark.parametrize("came", ["", "c", "ca", "bd", "abcd"])
def test_document_is_whole_whatever_came(came: str) -> None:
    reader = Reader()
    stream = DocumentStream("abcd", reader)
    for name in came:
        add(stream, of(name))
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
        add(stream, of("a"))
        began = asyncio.get_running_loop().time()
        for _ in range(20):
            await asyncio.sleep(0.01)
        assert asyncio.get_running_loop().time() - began < 2
        assert reader.getvalue() == ""
        reader.may_read.set()
    add(stream, of("b"))
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
        add(stream, of("a"))
        for _ in range(1000):
            await asyncio.sleep(0.01)
            add(stream, of("b"))
