"""What travels between whoever asks and a worker: plain documents, each taken for foreign by the other side."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.app.factories import library
from bot.domain.batch import Batch
from bot.domain.command import Completed
from bot.domain.errors import ConnectionRefused, MissingFile, SchedulerError, UnknownNode
from bot.domain.growth import HarmThreshold
from bot.domain.node import Node
from bot.extras.fleet.dask_scheduler import Roster, declared, is_zone, resource
from bot.extras.fleet.sweep import Counted, Found, NodeAnswer, NodeOutcome, Sweep
from bot.extras.fleet.worker import ChunkWorker, ReadOnlyTransport
from bot.extras.fleet.worker_messages import ChunkReply, ChunkRequest, SweepQuestion

NOW = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
LEAK = "leaked-memory-cgroups"
PROGRAM = "zombie 1.2.3"
PLAYBOOK = library().get("node-health")
SWEEP = Sweep.of(PLAYBOOK, [LEAK])
QUESTION = SweepQuestion.of(SWEEP, PROGRAM, 5, timedelta(seconds=20))
ORDER = ChunkRequest(QUESTION, ("node-1", "node-2"))
FOUND = Found(LEAK, "degraded", "possible", "60,000 of them", ("ecs.service",))
COUNTED = Counted(LEAK, 60_000.0, "boot-1", HarmThreshold(80_000.0, "each read holds a core for 2 s"))
SICK = NodeAnswer(
    "node-1",
    NodeOutcome.ANSWERED,
    "degraded",
    LEAK,
    "possible",
    "leaks",
    (FOUND,),
    traits={"kernel": "5.10"},
    counted=(COUNTED,),
    seconds=1.5,
)
GONE = NodeAnswer("node-2", NodeOutcome.UNREACHABLE, "unreachable", because="no route", unreachable_class="timed-out")
REPLY = ChunkReply(PROGRAM, "worker-a", "tcp://127.0.0.1:1", (SICK, GONE))


@dataclass(frozen=True)
class Refuses:
    """A way to nodes behind which nothing listens; it remembers who was tried."""

    tried: list[str] = field(default_factory=list)

    async def read(self, node: Node, batch: Batch, deadline: timedelta) -> AsyncGenerator[Completed, None]:
        self.tried.append(node.name)
        if node.name == "no-key":
            raise MissingFile("The key is missing.")
        said: tuple[Completed, ...] = ()
        for run in said:
            yield run
        raise ConnectionRefused("Nothing listens there.")


@dataclass(frozen=True)
class Known:
    """An inventory of some names."""

    names: tuple[str, ...]

    def find(self, name: str, /) -> Node:
        if name not in self.names:
            raise UnknownNode(f"{name} is not there.")
        return Node(name, "10.0.0.1")


def desk(way: Refuses, *names: str, program: str = PROGRAM) -> ChunkWorker:
    return ChunkWorker(program, "worker-a", Known(names), library(), ReadOnlyTransport(way), lambda: NOW)


async def replied(desk: ChunkWorker, order: ChunkRequest) -> ChunkReply:
    return ChunkReply.of(await desk.reply(order.text, "tcp://127.0.0.1:1"), order.nodes, SWEEP)


def test_order_and_reply_come_back_as_they_went() -> None:
    assert ChunkRequest.of(ORDER.text) == ORDER
    assert ChunkReply.of(REPLY.text, ORDER.nodes, SWEEP) == REPLY


def test_order_names_nodes_and_no_way_to_them() -> None:
    told = json.loads(ORDER.text)
    assert set(told) == {"question", "nodes"}
    assert set(told["question"]) == {
        *("program", "playbook", "digest", "causes", "is_full", "wants_facts", "samples", "deadline_seconds", "mutes")
    }


@pytest.mark.parametrize(
    "change",
    [
        {"nodes": []},
        {"nodes": ["node-1", "node-1"]},
        {"nodes": ["-oProxyCommand=x"]},
        {"nodes": ["node-1; reboot"]},
        {"nodes": [f"node-{number}" for number in range(1_001)]},
        {"question": json.loads(QUESTION.text) | {"is_full": "act"}},
        {"question": json.loads(QUESTION.text) | {"deadline_seconds": float("nan")}},
    ],
)
async def test_order_out_of_bounds_reads_no_node(change: dict[str, Any]) -> None:
    text = json.dumps(json.loads(ORDER.text) | change)
    with pytest.raises(SchedulerError, match="no order to read nodes"):
        ChunkRequest.of(text)
    way = Refuses()
    told = json.loads(await desk(way, "node-1", "node-2").reply(text, "a"))
    assert (told["refused"].startswith("what came is no order"), told["answers"], way.tried) == (True, [], [])


@pytest.mark.parametrize("text", ["", "[]", "[" * 100_000, "x" * 4_000_001])
async def test_what_is_no_order_is_refused(text: str) -> None:
    told = json.loads(await desk(Refuses(), "node-1").reply(text, "a"))
    assert told["refused"]


async def test_worker_reads_what_its_own_inventory_has_and_names_the_rest() -> None:
    way = Refuses()
    reply = await replied(desk(way, "node-1"), ORDER)
    assert [(answer.node, answer.unreachable_class) for answer in reply.answers] == [("node-1", "refused")]
    assert (reply.unknown, reply.refused, way.tried) == (("node-2",), "", ["node-1"])


async def test_key_that_a_worker_lacks_is_told_beside_what_was_read() -> None:
    order = replace(ORDER, nodes=("node-1", "no-key"))
    reply = await replied(desk(Refuses(), "node-1", "no-key"), order)
    assert ([answer.node for answer in reply.answers], reply.wrong) == (["node-1"], "The key is missing.")


@pytest.mark.parametrize(
    ("program", "question", "because"),
    [
        ("zombie 1.2.4", QUESTION, "it runs zombie 1.2.4, and was asked by another version"),
        (PROGRAM, replace(QUESTION, digest="0" * 64), "its playbook node-health differs from the asker's playbook"),
        (PROGRAM, replace(QUESTION, playbook="nowhere"), "nowhere"),
        (PROGRAM, replace(QUESTION, causes=("leaks",)), "evaluates no cause"),
        (PROGRAM, replace(QUESTION, is_full=True), "differs from the asker's playbook"),
    ],
)
async def test_worker_says_why_it_reads_nothing(program: str, question: SweepQuestion, because: str) -> None:
    way = Refuses()
    reply = await replied(desk(way, "node-1", program=program), replace(ORDER, question=question))
    assert because in reply.refused
    assert (reply.answers, way.tried) == ((), [])


def changed(**change: Any) -> Callable[[NodeAnswer], NodeAnswer]:
    return lambda answer: replace(answer, **change)


@pytest.mark.parametrize(
    "change",
    [
        changed(node="node-9"),
        changed(status="critical"),
        changed(outcome=NodeOutcome.UNREACHABLE),
        changed(unreachable_class="refused"),
        changed(found=(replace(FOUND, confidence="confirmed"),)),
        changed(found=(replace(FOUND, cause="disk-full"),)),
        changed(found=(FOUND, FOUND)),
        changed(found=(replace(FOUND, suspects=("x",) * 101),)),
        changed(traits={str(number): "x" for number in range(41)}),
        changed(counted=(replace(COUNTED, value=float("nan")),)),
        changed(counted=(replace(COUNTED, harm=HarmThreshold(-1.0, "never")),)),
        changed(seconds=-1.0),
    ],
)
def test_answer_that_cannot_be_is_not_taken(change: Callable[[NodeAnswer], NodeAnswer]) -> None:
    text = replace(REPLY, answers=(change(SICK), GONE)).text
    with pytest.raises(SchedulerError):
        ChunkReply.of(text, ORDER.nodes, SWEEP)


@pytest.mark.parametrize("text", ["", "{}", "[]", "[" * 100_000, None, "x" * 4_100_001])
def test_what_is_no_reply_is_not_taken(text: object) -> None:
    with pytest.raises(SchedulerError):
        ChunkReply.of(text, ORDER.nodes, SWEEP)


def test_texts_of_a_worker_are_made_safe_and_cut() -> None:
    sick = replace(SICK, because="\x1b[31m" + "x" * 900, traits={"kernel": "5\u202e.10"})
    reply = replace(REPLY, worker="a\nb\x07", wrong="\x9b", answers=(sick,))
    told = ChunkReply.of(reply.text, ORDER.nodes, SWEEP)
    assert (told.worker, told.wrong, told.answers[0].traits) == ("a b\\x07", "\\x9b", {"kernel": "5\\u202e.10"})
    assert told.answers[0].because.startswith("\\x1b[31m")
    assert len(told.answers[0].because) == 300


def test_secrets_that_a_worker_let_through_are_cut_here() -> None:
    secret = "mysql --password hunter2hunter2"
    found = replace(FOUND, says=f"{'x' * 270} {secret}", suspects=(secret,))
    sick = replace(SICK, because=secret, found=(found,), traits={"kernel": secret})
    told = ChunkReply.of(replace(REPLY, answers=(sick, replace(GONE, because=secret))).text, ORDER.nodes, SWEEP)
    assert repr(told).count("--password [redacted]") == 5
    assert "hunter2" not in repr(told)


def test_chunks_stay_within_a_zone() -> None:
    from bot.extras.fleet.dask_reader import chunks_of  # loads Dask, which takes long

    nodes = [Node(f"n{at}", "a", labels={"az": "ab"[at % 2], **({"zone": "z"} if at == 4 else {})}) for at in range(7)]
    told = [(chunk.zone, chunk.nodes) for chunk in chunks_of([*nodes, Node("other", "a")], 2)]
    assert told == [
        ("a", ("n0", "n2")),
        ("a", ("n6",)),
        ("b", ("n1", "n3")),
        ("b", ("n5",)),
        ("z", ("n4",)),
        ("", ("other",)),
    ]


def test_roster_knows_workers_of_this_version_by_zone_and_others_by_name() -> None:
    workers = {
        "tcp://a": {"name": "a", "resources": {resource(PROGRAM): 4}},
        "tcp://b": {"name": "b", "resources": {resource(PROGRAM, "us-east-1a"): 4}},
        "tcp://c": {"name": "c\x1b", "resources": {resource("zombie 1.2.2"): 4}},
        "tcp://d": {"name": "d", "resources": {}},
    }
    roster = Roster.of({"workers": workers}, PROGRAM)
    assert (roster.readers(""), roster.readers("us-east-1a"), roster.readers("x")) == (["tcp://a"], ["tcp://b"], [])
    assert roster.others == {"c\\x1b": "zombie 1.2.2", "d": "no worker of zombie"}
    assert declared([resource(PROGRAM, "z"), resource(PROGRAM)]) is None
    assert [is_zone(text) for text in ("us-east-1a", "", "a b", "a\n")] == [True, False, False, False]


def test_both_sides_ask_the_same_by_the_same_playbook(tmp_path: Path) -> None:
    for sweep in (
        SWEEP,
        Sweep.of(PLAYBOOK),
        Sweep.of(PLAYBOOK, full=True),
        replace(Sweep.of(PLAYBOOK, [LEAK], full=True), wants_facts=True),
        Sweep.of_facts(PLAYBOOK),
    ):
        made = SweepQuestion.of(sweep, PROGRAM, 5, timedelta(seconds=9)).sweep(PLAYBOOK)
        assert (made.judged, made.needs_window) == (sweep.judged, sweep.needs_window)
        assert (made.is_full, made.wants_facts) == (sweep.is_full, sweep.wants_facts)
