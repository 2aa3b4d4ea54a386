"""Whatever the way to a node, a batch keeps to its times and its sizes."""

import asyncio
import time
from datetime import timedelta

import pytest

from bot.domain.batch import Batch, Sampling
from bot.domain.command import Command, SampleTimes
from tests.contract.ways import (
    ALL,
    REAL_SHELL,
    Way,
    files_of,
    members,
    over_ssh,
    peak_kib,
    promised,
    reset_peak,
    sh,
    short,
)
from tests.nodes.sshd import IS_ROOT, Sshd

# --- when


@members(ALL)
async def test_second_looks_come_when_the_window_ends(way: Way) -> None:
    twice = Command("twice", ("cat", "/proc/uptime"), looks=SampleTimes.TWICE)
    runs = await way.ask(twice, sh("once", "echo once"), samples=2)
    assert set(runs) == {("twice", 0), ("twice", 1), ("once", 0)}
    first, second = (float(runs["twice", look].stdout.split()[0]) for look in (0, 1))
    assert 1.5 <= second - first < 2.5
    started = [runs["twice", look].started_at_uptime or 0.0 for look in (0, 1)]
    assert started[1] - started[0] == pytest.approx(second - first, abs=0.2)


@members(ALL)
async def test_run_throughout_gets_the_window_beyond_its_limit(way: Way) -> None:
    runs = await way.ask(
        Command("long", ("sh", "-c", "sleep {rest}; echo {samples} {rest}"), looks=SampleTimes.THROUGHOUT,
                limit=timedelta(seconds=1.5), lane="cpu"),
        Command("quick", ("echo", "quick")),
        samples=2,
    )  # fmt: skip
    assert runs["long", 0].stdout == "2 1.7\n"
    assert runs["quick", 0].stdout == "quick\n"


@members(ALL)
async def test_commands_of_a_lane_follow_one_another_and_lanes_run_side_by_side(way: Way) -> None:
    slow = "cat /proc/uptime; sleep 0.6; cat /proc/uptime"
    runs = await way.ask(sh("a", slow, lane="x"), sh("b", slow, lane="x"), sh("c", slow, lane="y"))
    spans = {name: [float(line.split()[0]) for line in run.stdout.splitlines()] for (name, _), run in runs.items()}
    assert spans["a"][1] <= spans["b"][0]
    assert spans["c"][0] < spans["a"][1]


# --- limits


@members(ALL)
async def test_output_is_cut_at_its_limit_and_said_to_be(way: Way) -> None:
    limit = 5000

    def zeros(name: str, size: int, *others: tuple[str, ...]) -> Command:
        return Command(name, ("head", "-c", str(size), "/dev/zero"), output_limit_bytes=limit, alternatives=others)

    runs = await way.ask(
        zeros("under", limit - 1),
        zeros("at", limit),
        zeros("over", limit + 1),
        zeros("far-over", limit * 100),
        zeros("over-with-others", limit * 100, ("echo", "other")),
    )
    sizes = {name: (len(run.stdout) // len("\\x00"), run.cut) for (name, _), run in runs.items()}
    assert sizes == {
        "under": (limit - 1, False),
        "at": (limit, False),
        "over": (limit, True),
        "far-over": (limit, True),
        "over-with-others": (limit, True),
    }


@members(ALL)
async def test_big_outputs_arrive_whole(way: Way) -> None:
    run = await way.ask_one(Command("a", ("seq", "1", "200000"), output_limit_bytes=4_000_000))
    assert run.stdout == "".join(f"{number}\n" for number in range(1, 200_001))


@members(ALL)
async def test_stalled_command_is_ended_and_its_lane_goes_on(way: Way) -> None:
    started = time.monotonic()
    runs = await way.ask(
        Command("stalled", ("sleep", "60"), limit=timedelta(seconds=0.4)),
        sh("half", "echo half; sleep 60", limit=timedelta(seconds=0.4)),
        Command("next", ("echo", "next")),
    )
    assert time.monotonic() - started < promised(4)
    assert runs["stalled", 0].exit_status == 124
    assert runs["stalled", 0].failure == "the command stalled and was ended at its time limit"
    assert runs["half", 0].failure == "the command stalled and was ended at its time limit"
    assert runs["next", 0].stdout == "next\n"


@members(REAL_SHELL)
async def test_command_that_ignores_its_end_is_killed_a_second_later(way: Way) -> None:
    stubborn = "trap '' TERM; while :; do sleep 0.05; done"
    runs = await way.ask(sh("stubborn", stubborn, limit=timedelta(seconds=0.3)), Command("next", ("echo", "next")))
    assert runs["stubborn", 0].exit_status == 137
    assert runs["stubborn", 0].failure == "the command stalled and was ended at its time limit"
    assert runs["next", 0].stdout == "next\n"


@members(REAL_SHELL)
async def test_what_a_command_leaves_behind_holds_nobody_up(way: Way) -> None:
    mark = f"{time.monotonic_ns() % 10**6 + 10**6}"
    runs = await way.ask(
        sh("leaver", f"sleep {mark} & echo left", limit=timedelta(seconds=8)),
        sh("look", f"pgrep -fx 'sleep {mark}' || echo gone"),
    )
    assert runs["leaver", 0].stdout == "left\n"
    assert runs["leaver", 0].took is not None
    assert runs["leaver", 0].took < timedelta(seconds=7)
    assert runs["look", 0].stdout == "gone\n"


@members(REAL_SHELL)
async def test_endless_output_and_endless_errors_end_early_and_stay_small(way: Way) -> None:
    runs = await way.ask(
        Command("yes", ("yes",), output_limit_bytes=10_000, limit=timedelta(seconds=8)),
        sh("moaning", "yes oh no >&2", lane="y", limit=timedelta(seconds=0.5)),
    )
    assert (len(runs["yes", 0].stdout), runs["yes", 0].cut, runs["yes", 0].failure) == (10_000, True, None)
    assert runs["yes", 0].took is not None
    assert runs["yes", 0].took < timedelta(seconds=7)
    assert runs["moaning", 0].exit_status == 124
    assert len(runs["moaning", 0].stderr) <= 2000
    assert "oh no" in runs["moaning", 0].stderr


# --- deadlines


@members(ALL)
async def test_deadline_keeps_what_was_read_and_drops_the_rest(way: Way) -> None:
    deadline = short()
    started = time.monotonic()
    runs = await way.ask(
        Command("quick", ("echo", "quick"), lane="a"),
        Command("stalled", ("sleep", "60"), lane="b", limit=timedelta(seconds=50)),
        deadline=deadline,
    )
    assert time.monotonic() - started < promised(deadline)
    assert {name: run.stdout for (name, _), run in runs.items()} == {"quick": "quick\n"}


@members(REAL_SHELL)
async def test_deadline_keeps_what_a_lane_read_before_it_stalled(way: Way) -> None:
    deadline = short()
    started = time.monotonic()
    runs = await way.ask(
        Command("before", ("echo", "before")),
        Command("twice", ("echo", "twice"), looks=SampleTimes.TWICE),
        sh("stalled", "trap '' TERM; sleep 60 & sleep 60", limit=timedelta(seconds=50)),
        Command("after", ("echo", "after")),
        deadline=deadline,
    )
    assert time.monotonic() - started < promised(deadline)
    assert set(runs) == {("before", 0), ("twice", 0)}


@members(ALL)
async def test_who_stops_listening_is_let_go_at_once(way: Way) -> None:
    batch = Batch.of(
        [("p", Command("quick", ("echo",), lane="a")), ("p", Command("slow", ("sleep", "9"), lane="b"))], Sampling(1)
    )
    stream = way.transport.read(way.node, batch, timedelta(seconds=15))
    started = time.monotonic()
    async for run in stream:
        assert run.name == "quick"
        break
    await stream.aclose()
    assert time.monotonic() - started < promised(2)


@members(ALL)
async def test_many_batches_at_once_stay_apart(way: Way) -> None:
    every = await asyncio.gather(*(way.ask_one(Command("a", ("echo", str(number)))) for number in range(8)))
    assert [run.stdout for run in every] == [f"{number}\n" for number in range(8)]


@members(ALL)
async def test_batch_without_questions_ends_at_once(way: Way) -> None:
    started = time.monotonic()
    assert await way.ask() == {}
    assert time.monotonic() - started < promised(2)


# --- on the patient


@members(REAL_SHELL)
async def test_commands_run_niced_with_one_language_and_no_input(way: Way) -> None:
    run = await way.ask_one(
        sh("a", "nice; ionice; echo $LC_ALL $S_COLORS $PAGER; wc -c; pwd; ulimit -c; cat /proc/self/autogroup 2>&1")
    )
    nice, ionice, words, read, folder, cores, *_ = run.stdout.splitlines()
    assert (nice, ionice, words, read, folder, cores) == ("19", "idle", "C never cat", "0", "/", "0")


@pytest.mark.real_sshd
@pytest.mark.skipif(not IS_ROOT, reason="a user of the test's own is needed to know whose files are whose")
async def test_nothing_is_left_on_disk(sshd: Sshd) -> None:
    way = over_ssh(sshd)
    run = await way.ask(Command("yes", ("yes",)), sh("gone", "kill -SEGV $$"), Command("a", ("true",)))
    assert len(run) == 3
    assert {path.name for path in files_of(sshd.user)} <= {sshd.home.name}


# --- memory


@members(("openssh", "local"))
async def test_50_megabytes_of_output_leave_memory_flat(way: Way) -> None:
    flood = Command("flood", ("head", "-c", "50000000", "/dev/zero"), output_limit_bytes=64 * 1024)
    await way.ask_one(flood)
    reset_peak()
    before = peak_kib()
    run = await way.ask_one(flood)
    assert (len(run.stdout) // 4, run.cut) == (64 * 1024, True)
    assert peak_kib() - before < 8 * 1024
