"""What processes beside this one make of nodes is what this one makes of them, whoever of them dies."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.actions import ACTIONS
from bot.app.check import Check, check, without_details
from bot.app.evaluation_pool import EvaluationPool, PoolProcess, check_in_pool, open_pool
from bot.app.evaluation_worker import EvaluatedNode, EvaluationTask, EvaluationWorker
from bot.app.factories import library, now
from bot.domain.batch import Batch, Sampling
from bot.domain.command import Completed
from bot.domain.contracts import ProbeAnswered, Progress, VerdictReached
from bot.domain.errors import ConnectionLost, MissingFile
from bot.domain.growth import CountSample
from bot.domain.node import Node
from bot.domain.verdict import Verdict
from bot.response.diagnosis.planning import DrainSettings
from bot.response.diagnosis.triage import Triage
from bot.surfaces.document import node_document
from bot.transport import case_file

NODES = Path(__file__).parents[2] / "captures" / "nodes"
PLAYBOOK = library().get("node-health")
FOUNDING = "synthetic--ray-gpu-1a-0417"
CASES = [
    NODES / f"{name}.jsonl.gz"
    for name in (FOUNDING, "debian-12--healthy", "debian-12-v1--io-stall", "debian-12-v1--failed-units")
]


class Recorded:
    """A way to nodes that are recordings, by name; some of them answer otherwise."""

    async def read(self, node: Node, batch: Batch, deadline: timedelta) -> AsyncGenerator[Completed, None]:
        if node.name == "no-key":
            raise MissingFile("The key is missing.")
        asked = {(question.probe, question.command.name, question.look) for question in batch.questions}
        case = case_file.load(CASES[int(node.name.partition("-")[2])])
        for number, run in enumerate(run for run in case.runs if (run.probe, run.name, run.look) in asked):
            if node.name.startswith("gone") or (node.name.startswith("breaks") and number == 20):
                raise ConnectionLost("The connection broke.")
            yield run


def what(names: Sequence[str], transport: Recorded | None = None) -> Check:
    nodes = tuple(Node(name, "10.0.0.7", labels={"az": "1a"}) for name in names)
    return Check(nodes, PLAYBOOK, Triage(transport or Recorded(), ACTIONS, now, Sampling(5)), parallel=4)


def worker(digest: str = PLAYBOOK.digest, *, tells_json: bool = False) -> EvaluationWorker:
    task = EvaluationTask(PLAYBOOK.name, digest, (), Sampling(5), DrainSettings(), tells_json=tells_json)
    return EvaluationWorker(task, PLAYBOOK)


def body(verdict: Verdict) -> dict[str, Any]:
    return {**json.loads(json.dumps(node_document(verdict))), "took_seconds": 0}


AT_ONCE = timedelta(0)
NAMES = (*(f"node-{at}" for at in range(len(CASES))), "gone-0", "breaks-1")


def environment_of(pid: int) -> str:
    return Path(f"/proc/{pid}/environ").read_text()


async def started(pool: EvaluationPool, several: int) -> list[asyncio.subprocess.Process]:
    while len(pool._workers) < several:  # noqa: ASYNC110 - a pool tells nobody when it has all of them
        await asyncio.sleep(0.01)
    return [each.process for each in pool._workers]


async def judged_here(names: Sequence[str] = NAMES) -> dict[str, Verdict]:
    found: list[Verdict] = []
    await check(what(names), lambda event: None, found.append)
    return {verdict.node: verdict for verdict in found}


async def thought_beside(
    names: Sequence[str] = NAMES, *, tells_json: bool, looks: Callable[[str], Any] = lambda node: {}
) -> tuple[dict[str, EvaluatedNode], list[Progress]]:
    found, heard = list[EvaluatedNode](), list[Progress]()
    looks_of = looks if tells_json else None
    await check_in_pool(what(names), heard.append, 2, found.append, looks_of=looks_of, after=AT_ONCE)
    return {evaluated.verdict.node: evaluated for evaluated in found}, heard


async def test_documents_made_beside_are_those_that_are_made_here() -> None:
    here = await judged_here()
    there, heard = await thought_beside(tells_json=True)
    assert {name: {**json.loads(evaluated.text), "took_seconds": 0} for name, evaluated in there.items()} == {
        name: body(verdict) for name, verdict in here.items()
    }
    assert {name: evaluated.verdict.status for name, evaluated in there.items()} == {
        name: verdict.status for name, verdict in here.items()
    }
    assert len({verdict.status for verdict in here.values()}) >= 3, "healthy, sick and unreachable ones among them"
    ended = [event for event in heard if isinstance(event, VerdictReached)]
    assert sorted(event.verdict.node for event in ended) == sorted(NAMES)
    assert sum(isinstance(event, ProbeAnswered) for event in heard) > 50


async def test_verdicts_for_people_are_those_that_are_made_here() -> None:
    def shown(verdict: Verdict) -> dict[str, Any]:
        return {**body(without_details(verdict, again=verdict.status.value != "healthy")), "readings": 0}

    here = await judged_here()
    there, _ = await thought_beside(tells_json=False)
    assert {name: shown(evaluated.verdict) for name, evaluated in there.items()} == {
        name: shown(verdict) for name, verdict in here.items()
    }


async def test_growth_is_told_of_what_was_counted_before() -> None:
    began = datetime(2020, 1, 1, tzinfo=UTC)
    looks = tuple(CountSample(began + timedelta(hours=at), 10.0 * at) for at in range(6))
    there, _ = await thought_beside(["node-0"], tells_json=True, looks=lambda node: {"leaked-memory-cgroups": looks})
    assert json.loads(there["node-0"].text)["growth"]["counts"] == "dying memory cgroups"


async def test_missing_key_is_told_once_all_others_are_through() -> None:
    found: list[EvaluatedNode] = []
    with pytest.raises(MissingFile):
        await check_in_pool(what(("no-key", "node-0")), lambda event: None, 1, found.append, after=AT_ONCE)
    assert [evaluated.verdict.node for evaluated in found] == ["node-0"]


async def test_what_a_process_that_dies_still_owes_is_thought_about_here(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = what(NAMES)
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-1")
    async with open_pool(asked, worker(), 2) as pool:
        processes = await started(pool, 2)
        for each in processes:
            assert "SLACK_BOT_TOKEN" not in environment_of(each.pid), "they need no secret of ours"
            os.kill(each.pid, signal.SIGSTOP)  # so that all is still owed
        waiting = [asyncio.create_task(pool.judged(node, lambda event: None, {})) for node in asked.nodes]
        await asyncio.sleep(0)
        for each in processes:
            each.kill()
        told = await asyncio.gather(*waiting)
        assert [evaluated.verdict.node for evaluated in told] == list(NAMES)
        late = await pool.judged(asked.nodes[0], lambda event: None, {})
        assert late.verdict.status == told[0].verdict.status
    assert all(each.returncode is not None for each in processes)


async def test_process_of_which_much_was_left_unread_holds_up_no_end() -> None:
    pool = EvaluationPool(what(NAMES), worker())
    several = "import sys, time; sys.stdout.write('x' * 2**20); sys.stdout.flush(); time.sleep(60)"
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", several, stdin=pipe, stdout=pipe)
    pool._workers.append(PoolProcess(process))
    assert process.stdout is not None
    await process.stdout.readexactly(1)
    await asyncio.sleep(0.3)  # more has come by then than is buffered
    await asyncio.wait_for(pool.stop(), 20)
    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("ahead", [1, 16])
async def test_process_that_reads_helps_once_nothing_is_left_to_read(
    ahead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.app.evaluation_pool.AHEAD", ahead)
    asked = what(NAMES)
    async with open_pool(asked, worker(), 1) as pool:
        (process,) = await started(pool, 1)
        os.kill(process.pid, signal.SIGSTOP)
        waiting = {asyncio.create_task(pool.judged(node, lambda event: None, {})) for node in asked.nodes}
        while len(waiting) > 1:  # only what the process would come to first waits for it
            _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        (last,) = waiting
        assert not last.done()
        os.kill(process.pid, signal.SIGCONT)
        assert (await last).verdict.node in NAMES


async def test_process_that_reads_helps_with_what_waits_while_a_node_says_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Silent(Recorded):
        async def read(self, node: Node, batch: Batch, deadline: timedelta) -> AsyncGenerator[Completed, None]:
            if node.name == "node-0":
                await more.wait()
            async for run in super().read(node, batch, deadline):
                yield run

    more = asyncio.Event()
    monkeypatch.setattr("bot.app.evaluation_pool.AHEAD", 1)
    asked = what(NAMES[:4], Silent())
    async with open_pool(asked, worker(), 1) as pool:
        (process,) = await started(pool, 1)
        os.kill(process.pid, signal.SIGSTOP)  # it was given one of them, and answers nothing
        waiting = {asyncio.create_task(pool.judged(node, lambda event: None, {})) for node in asked.nodes}
        while len(waiting) > 2:
            _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        os.kill(process.pid, signal.SIGCONT)
        more.set()
        assert {evaluated.verdict.node for evaluated in await asyncio.gather(*waiting)} <= set(NAMES)


async def test_what_a_node_has_said_so_far_is_practised_on_and_told_to_nobody() -> None:
    told, more = asyncio.Event(), asyncio.Event()

    class Halting(Recorded):
        async def read(self, node: Node, batch: Batch, deadline: timedelta) -> AsyncGenerator[Completed, None]:
            number = 0
            async for run in super().read(node, batch, deadline):
                if (number := number + 1) == 20:
                    told.set()
                    await more.wait()
                yield run

    asked = what(NAMES[:2], Halting())
    found = list[Progress]()
    pool = EvaluationPool(asked, worker(tells_json=True))
    judging = [asyncio.create_task(pool.judged(node, found.append, {})) for node in asked.nodes]
    await told.wait()
    assert pool.warm_up_job() is not None, "there is something to practise on"
    await pool.start(1, AT_ONCE)
    assert not any(isinstance(event, VerdictReached) for event in found)
    more.set()
    there = await asyncio.gather(*judging)
    await pool.stop()
    here = await judged_here(NAMES[:2])
    assert {evaluated.verdict.node: {**json.loads(evaluated.text), "took_seconds": 0} for evaluated in there} == {
        name: body(verdict) for name, verdict in here.items()
    }


async def test_where_no_process_can_be_started_all_is_thought_about_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.app.evaluation_pool.sys.executable", "/nowhere/python")
    there, _ = await thought_beside(tells_json=True)
    assert sorted(there) == sorted(NAMES)


async def test_another_playbook_of_the_same_name_is_not_judged_by() -> None:
    asked = what(NAMES[:1])
    async with open_pool(asked, worker("0" * 64), 1) as pool:
        (process,) = await started(pool, 1)
        assert await process.wait() == 2
        assert (await pool.judged(asked.nodes[0], lambda event: None, {})).verdict.node == NAMES[0]
