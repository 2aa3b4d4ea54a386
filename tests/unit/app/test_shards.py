"""What processes beside this one find out about nodes is what this one finds out, whoever of them dies."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from argparse import Namespace
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn

import pytest

from bot.actions import ACTIONS
from bot.app.check import Check
from bot.app.factories import library
from bot.app.many_nodes import each_node
from bot.app.shards import Asks, run_shared
from bot.commands.check import EarlierCounts, _evaluator
from bot.domain.batch import Batch, Sampling
from bot.domain.command import Completed
from bot.domain.contracts import Listener, ProbeAnswered, Progress, VerdictReached
from bot.domain.errors import ConnectionLost, MissingFile, UsageError
from bot.domain.growth import CountSample
from bot.domain.node import Node
from bot.response.diagnosis.triage import Triage
from bot.transport import case_file

# Test runners have threads, which a check that is forked has not.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
NODES = Path(__file__).parents[2] / "captures" / "nodes"
CASES = [
    NODES / f"{name}.jsonl.gz"
    for name in (
        "synthetic--ray-gpu-1a-0417",
        "debian-12--healthy",
        "debian-12-v1--io-stall",
        "debian-12-v1--failed-units",
    )
]
NAMES = (*(f"node-{at}" for at in range(len(CASES))), "gone-0", "breaks-1", "no-key")
PLAYBOOK = library().get("node-health")
NOW = datetime(2026, 11, 1, tzinfo=UTC)


class Recorded:
    """A way to nodes that are recordings, by name; some of them answer otherwise."""

    async def read(self, node: Node, batch: Batch, deadline: timedelta) -> AsyncGenerator[Completed, None]:
        if node.name == "no-key":
            raise MissingFile("The key is missing.", "Make it.")
        asked = {(question.probe, question.command.name, question.look) for question in batch.questions}
        case = case_file.load(CASES[int(node.name.partition("-")[2])])
        for number, run in enumerate(run for run in case.runs if (run.probe, run.name, run.look) in asked):
            if node.name.startswith("gone") or (node.name.startswith("breaks") and number == 20):
                raise ConnectionLost("The connection broke.")
            yield run


def what(names: tuple[str, ...] = NAMES) -> Check:
    nodes = tuple(Node(name, "10.0.0.7", labels={"az": "1a"}) for name in names)
    return Check(nodes, PLAYBOOK, Triage(Recorded(), ACTIONS, lambda: NOW, Sampling(5)), parallel=len(names))


def answers_of(
    several: int, ask: Asks[Any, Any], more: object = None, heard: Listener = lambda event: None
) -> dict[str, Any]:
    """Ask every node, and return by name what came, or what was wrong."""
    came: dict[str, Any] = {}

    async def main(ask: Asks[Any, Any]) -> None:
        async def judge(node: Node) -> None:
            try:
                came[node.name] = await ask(node, more, heard)
            except MissingFile as no:
                came[node.name] = str(no)

        asked = what()
        await each_node(asked.nodes, asked.parallel, judge)

    run_shared(several, ask, main)
    return came


def test_answers_of_processes_beside_are_those_of_this_one() -> None:
    looks = (CountSample(NOW - timedelta(hours=6 - at), 10.0 * at) for at in range(6))
    counted = {"leaked-memory-cgroups": tuple(looks)}
    arguments = Namespace(json=True, no_readings=False, open=False, record=None)

    def evaluated(several: int) -> tuple[dict[str, Any], list[Progress]]:
        heard: list[Progress] = []
        evaluate = _evaluator(arguments, what(), processes=several + 1)

        async def shown(node: Node, looks: EarlierCounts, told: Listener) -> Any:
            await asyncio.sleep(0.1)  # so that all are open at once
            evaluated = await evaluate(node, looks, told)
            return os.getpid(), replace(evaluated.verdict, snapshot=None), json.loads(evaluated.text)

        return answers_of(several, shown, counted, heard.append), heard

    (there, heard_there), (here, heard_here) = evaluated(2), evaluated(0)
    assert len({answer[0] for name, answer in there.items() if name != "no-key"}) == 3, "shared out evenly"
    for name in NAMES:
        assert there[name][1:] == here[name][1:], name
    assert there["no-key"] == "The key is missing. Make it."
    assert len({answer[1].status for name, answer in here.items() if name != "no-key"}) >= 3
    assert there["node-0"][2]["growth"]["counts"] == "dying memory cgroups"
    for kind in (ProbeAnswered, VerdictReached):
        assert sum(isinstance(event, kind) for event in heard_there) == sum(isinstance(e, kind) for e in heard_here) > 5


def dies() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def fails() -> NoReturn:
    raise ZeroDivisionError


def says_what_cannot_be_sent() -> object:
    return lambda: None


class NoVault(UsageError):
    def __reduce__(self) -> tuple[Callable[[], object], tuple[()]]:
        return fails, ()


def says_what_cannot_be_read() -> NoReturn:
    raise NoVault("The vault has no key of node-0.")


@pytest.mark.parametrize("ends", [dies, fails, says_what_cannot_be_sent, says_what_cannot_be_read])
def test_nodes_of_a_process_that_dies_or_is_not_understood_are_asked_here(ends: Callable[[], object]) -> None:
    here = os.getpid()

    async def ask(node: Node, more: object, heard: Listener) -> object:
        await asyncio.sleep(0.1)
        return os.getpid() if os.getpid() == here else ends()

    assert answers_of(2, ask) == dict.fromkeys(NAMES, os.getpid())


def test_where_no_process_can_be_started_all_is_asked_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses() -> NoReturn:
        raise BlockingIOError

    async def ask(node: Node, more: object, heard: Listener) -> int:
        return os.getpid()

    monkeypatch.setattr(os, "fork", refuses)
    assert answers_of(2, ask) == dict.fromkeys(NAMES, os.getpid())


def test_ctrl_c_is_meant_for_this_process_which_ends_the_others() -> None:
    seen: dict[int, bool] = {}

    async def ask(node: Node, more: object, heard: Listener) -> tuple[int, bool]:
        await asyncio.sleep(0.1)
        return os.getpid(), signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])

    async def main(ask: Asks[Any, Any]) -> None:
        seen.update(await asyncio.gather(*(ask(node, None, lambda event: None) for node in what().nodes)))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_shared(1, ask, main)
    (other,) = {*seen} - {os.getpid()}
    assert seen == {os.getpid(): False, other: True}
    assert not Path(f"/proc/{other}").exists()
