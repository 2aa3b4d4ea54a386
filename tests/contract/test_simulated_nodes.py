"""A simulated node knows every command of every probe, and what it prints is read, on every node of the fleet."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from bot.demo.batch_answers import BatchAnswers
from bot.demo.fleet import FLEET, Member
from bot.demo.machine.answers import ANSWERS, FRAGMENTS, tool
from bot.demo.machine.command import Answer
from bot.demo.machine.machine import Machine
from bot.demo.wire import read_script, sign
from bot.domain.batch import Batch, FrameDecoder, Sampling
from bot.domain.command import Command, Completed, Outputs, SampleTimes
from bot.domain.probe import Unread
from bot.domain.root_command import root_argv
from bot.probes import PROBES

NONCE = "00ff" * 6
SAY_IT = "say in the probe's own file what a healthy node prints (example), or answer it in bot/demo/machine"
CPU = Command("watch", ("mpstat", "-P", "ALL", "-o", "JSON", "1", "1"), looks=SampleTimes.THROUGHOUT, lane="cpu")
LOOK = Command("look", ("uname", "-r"))
TURNS = (SampleTimes.TWICE, SampleTimes.ONCE, SampleTimes.TWICE)
ASKED = [(probe.name, command) for probe in PROBES.values() for command in probe.commands]


def every_way() -> Iterator[tuple[str, tuple[str, ...]]]:
    for probe, command in ASKED:
        ways = [command.argv, *command.alternatives]
        if command.as_root:
            ways.append(root_argv(command.argv, 4))
        for number, argv in enumerate(ways):
            filled = tuple(word.replace("{samples}", "1").replace("{rest}", "0.3") for word in argv)
            yield f"{probe}.{command.name}.{number}", filled


async def answers(member: Member, samples: int) -> dict[str, list[Completed]]:
    """Everything that one node answers to all probes, by probe."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    machine = Machine(member.state, datetime.now(UTC), lambda: loop.time() - began)
    batch = Batch.of(ASKED, Sampling(samples))
    sent = bytearray()

    async def send(frames: bytes) -> None:
        sent.extend(frames)

    await BatchAnswers(read_script(batch.script(NONCE)), machine, send).run()
    unframer = FrameDecoder(batch, NONCE)
    runs: dict[str, list[Completed]] = {}
    for line in sent.decode().splitlines():
        for run in unframer.feed(line):
            runs.setdefault(run.probe, []).append(run)
    assert unframer.finished
    return runs


@pytest.mark.parametrize(("way", "argv"), list(every_way()), ids=[name for name, _ in every_way()])
async def test_every_way_to_ask_has_an_answer(way: str, argv: tuple[str, ...]) -> None:
    docker, cri = FLEET[0].state, next(m.state for m in FLEET if m.state.cri is not None)
    for state in (docker, cri):  # a runtime that a node does not have is missing there, as it should be
        answer = await Machine(state, datetime.now(UTC), lambda: 0.0).run(argv)
        if answer.status != 127:
            return
    pytest.fail(f"no simulated node knows {way}, {SAY_IT}: {' '.join(argv)[:200]}")


@pytest.mark.parametrize(("way", "argv"), list(every_way()), ids=[name for name, _ in every_way()])
def test_no_fragment_is_taken_for_another(way: str, argv: tuple[str, ...]) -> None:
    probe, name, _ = way.rsplit(".", 2) if way.count(".") == 2 else ("throttling", "cpu.stat", "0")
    if argv[0] in ("sh", "awk") and name not in PROBES[probe].example:
        assert tool(argv) is ANSWERS[probe, name]
        assert not [words for words, _ in FRAGMENTS if words in " ".join(argv)]


async def test_every_probe_is_read_on_every_node_of_the_fleet() -> None:
    everything = await asyncio.gather(*(answers(member, samples=2) for member in FLEET))
    unread = Counter(
        f"{reading.reason}: {SAY_IT} (a file in proc_files.py, a command in answers.py)"
        for runs in everything
        for probe in PROBES.values()
        if isinstance(reading := probe.read(Outputs(*runs.get(probe.name, []))), Unread)
    )
    assert unread == {}


@pytest.mark.parametrize(
    ("argv", "status", "says"),
    [
        (("newtool", "-x"), 127, "a demo node: newtool is not recorded here"),
        (("sh", "-c", "newtool -x | head"), 127, "a demo node: newtool -x | head is not recorded here"),
        (("cat", "/proc/new"), 1, "cat: /proc/new: No such file or directory"),
    ],
)
async def test_what_no_probe_says_is_not_there_as_on_a_node_without_it(
    argv: tuple[str, ...], status: int, says: str
) -> None:
    answer = await Machine(FLEET[0].state, datetime.now(UTC), lambda: 0.0).run(argv)
    assert (answer.status, answer.stdout, answer.stderr.decode().strip()) == (status, b"", says)


async def test_no_command_of_a_default_check_is_cut_or_stalled() -> None:
    runs = await answers(FLEET[0], samples=1)
    assert [run.name for some in runs.values() for run in some if run.cut or run.exit_status in (None, 124, 137)] == []


class Slow(Machine):
    """Every command takes a moment."""

    async def run(self, argv: Sequence[str]) -> Answer:
        await asyncio.sleep(0.02)
        return await super().run(argv)


async def test_lanes_take_turns_as_a_shell_lets_them() -> None:
    """The lanes that watch begin at once, the others one after the other, and second looks come last."""
    asked = [
        ("cpu", CPU),
        *((f"p{at}", replace(LOOK, lane=f"own-{at}", looks=looks)) for at, looks in enumerate(TURNS)),
    ]
    batch, sent = Batch.of(asked, Sampling(1)), list[str]()
    began = asyncio.get_running_loop().time()
    machine = Slow(FLEET[0].state, datetime.now(UTC), lambda: asyncio.get_running_loop().time() - began)
    unframer = FrameDecoder(batch, NONCE)

    async def send(frames: bytes) -> None:
        runs = [run for line in frames.decode().splitlines() for run in unframer.feed(line)]
        sent.extend(f"{run.probe}/{run.look}" for run in runs)
        spans.extend((run.started_at_uptime or 0.0) - machine.state.uptime for run in runs)

    spans = list[float]()
    await BatchAnswers(read_script(batch.script(NONCE)), machine, send).run()
    at = dict(zip(sent, spans, strict=True))
    assert at["cpu/0"] <= min(at.values()), "it watches all the time"
    firsts = [name for name in sent if name.endswith("/0") and name != "cpu/0"]
    assert firsts == ["p0/0", "p1/0", "p2/0"], "what is asked first goes first"
    assert all(later - before >= 0.019 for before, later in pairwise(at[name] for name in firsts))
    assert min(at["p0/1"], at["p2/1"]) >= 0.6, "the last one is due after 0.7 s, the one before it a little sooner"


async def test_batch_that_outlives_its_time_ends_without_an_end_mark() -> None:
    batch, sent = (
        Batch.of([("p", replace(LOOK, argv=("mpstat", "-P", "ALL", "-o", "JSON", "1", "30")))], Sampling(1)),
        bytearray(),
    )

    async def send(frames: bytes) -> None:
        sent.extend(frames)

    machine = Machine(FLEET[0].state, datetime.now(UTC), lambda: 0.0)
    await BatchAnswers(read_script(batch.script(NONCE, timedelta(seconds=0.2))), machine, send).run()
    assert not sent.replace(sign(NONCE).encode(), b"")
