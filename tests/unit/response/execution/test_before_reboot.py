"""What a reboot destroys is kept before it: in time, bounded, without secrets, and never in the reboot's way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from datetime import timedelta
from typing import Any

import pytest

from bot.domain.batch import Batch
from bot.domain.case import Case, read_case
from bot.domain.command import Completed
from bot.domain.errors import ConnectionRefused, LedgerUnavailable
from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.transitions import State
from bot.ledger import CaseStore, Database
from bot.response.execution.before_reboot import LIMIT, MOST_BYTES, QUESTIONS, SPARE, PreRebootReader
from tests.record.incidents import BEGAN_AT, WAYS, entries

NODE = Node("node-gpu-01", "10.0.0.7")
LEFT = timedelta(minutes=5)
SECRET = "xoxb-123456789012-" + "a1B2" * 6
Say = Callable[[str], str]


class Answering:
    """A way to a node that says something to each question, then fails, or never ends."""

    def __init__(self, say: Say, fails: Exception | None = None, hangs: bool = False) -> None:
        self.say, self.fails, self.hangs, self.asked = say, fails, hangs, 0

    async def read(
        self, node: Node, batch: Batch, deadline: timedelta, host_key: str | None = None
    ) -> AsyncGenerator[Completed, None]:
        self.asked += 1
        for question in batch.questions:
            if said := self.say(question.probe):
                yield Completed(question.probe, question.command.name, question.look, said)
        if self.hangs:
            await asyncio.Event().wait()
        if self.fails is not None:
            raise self.fails

    def host_key(self, node: Node) -> str:
        return ""


class Cases:
    """Keeps cases in memory, or cannot."""

    def __init__(self, fails: Exception | None = None) -> None:
        self.fails, self.kept = fails, list[Case]()

    async def keep(self, incident: str, case: Case) -> str:
        if self.fails is not None:
            raise self.fails
        self.kept.append(case)
        return case.digest


def approved() -> Incident:
    return fold(entries(WAYS[State.APPROVED]))


def words(way: Answering, cases: Any, limit: timedelta = LIMIT) -> PreRebootReader:
    return PreRebootReader(way, cases, lambda: BEGAN_AT, "zombie 0.1.0", limit)


def everything(probe: str) -> str:
    return f"{probe} says token={SECRET}\n"


async def test_all_of_it_is_kept_by_its_hash_with_words_that_say_what_and_how_much(sqlite: Database) -> None:
    cases = Cases()
    kept = await words(Answering(everything), cases).read_and_store(approved(), NODE, LEFT)
    assert kept.case == cases.kept[0].digest
    assert kept.says.startswith("kernel log, memory cgroups, processes and memory, 0 kB in ")
    digest = CaseStore(sqlite).keep.now("i1", cases.kept[0])
    text = CaseStore(sqlite).text.now("i1", digest)
    assert digest == kept.case
    assert text is not None
    assert SECRET not in text
    assert [run.probe for run in read_case(text, "it", "n").runs] == sorted(about for about, _ in QUESTIONS)


async def test_node_that_stalls_costs_the_limit_and_what_came_is_kept() -> None:
    cases = Cases()
    way = Answering(lambda probe: "[1.0] one\n" if probe == "kernel log" else "", hangs=True)
    began = asyncio.get_running_loop().time()
    kept = await words(way, cases, timedelta(seconds=0.2)).read_and_store(approved(), NODE, LEFT)
    assert asyncio.get_running_loop().time() - began < 2
    assert kept.case == cases.kept[0].digest
    assert "not: memory cgroups, processes, memory" in kept.says
    assert "did not come within" in kept.says


@pytest.mark.parametrize(
    ("way", "cases", "says"),
    [
        (Answering(lambda _: "", ConnectionRefused("n refused the connection.")), Cases(), "n refused the connection"),
        (Answering(lambda _: ""), Cases(), "the node said nothing"),
        (Answering(everything), Cases(LedgerUnavailable("The database is locked.")), "The database is locked"),
    ],
)
async def test_whatever_fails_is_said_and_raises_nothing(way: Answering, cases: Cases, says: str) -> None:
    kept = await words(way, cases).read_and_store(approved(), NODE, LEFT)
    assert kept.case == ""
    assert kept.says.startswith("nothing was kept: ")
    assert says in kept.says


async def test_nothing_is_read_where_the_approval_would_not_outlive_it() -> None:
    way = Answering(everything)
    kept = await words(way, Cases()).read_and_store(approved(), NODE, LIMIT + SPARE - timedelta(seconds=1))
    assert (way.asked, kept.case) == (0, "")
    assert "nearly over" in kept.says


async def test_step_that_is_held_up_does_not_read_again_at_each_look() -> None:
    way = Answering(everything)
    last = words(way, Cases())
    assert await last.read_and_store(approved(), NODE, LEFT) == await last.read_and_store(approved(), NODE, LEFT)
    assert way.asked == 1


def test_what_a_node_may_say_is_bounded() -> None:
    assert all(command.output_limit_bytes <= MOST_BYTES for _, command in QUESTIONS)
    assert len({command.lane for _, command in QUESTIONS}) == len(QUESTIONS), "what stalls holds up nothing else"
