"""How many commands a node bears at a time: lanes take turns, and none that hangs holds up the others."""

import itertools
import re
import time
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from bot.demo.wire import sign
from bot.domain.batch import Batch, FrameDecoder, Sampling
from bot.domain.batch_lanes import SIGN_SECONDS
from bot.domain.command import Command, Outputs, SampleTimes
from tests.known import known
from tests.unit.domain.test_batch import NONCE, answers, launched, run_script, running
from tests.waiting import until


def unhurried(asked: Batch) -> str:
    """Return a script for which nobody hangs, however slow this machine is."""
    script = asked.script(NONCE)
    assert script.count("\nclock ") == 1
    return re.sub(r"^clock .* &", "clock 0 600 0.5 &", script, flags=re.MULTILINE)


def counted(asked: Batch, marks: Path) -> int:
    """Return how many commands ran at the same time at most; each appends + and - to the file `marks`."""
    runs = answers(asked, run_script(unhurried(asked), ["/bin/sh"]))
    assert all(run.exit_status == 0 for run in runs.values())
    assert len(runs) == len(asked.questions)
    steps = [1 if mark == "+" else -1 for mark in marks.read_text().split()]
    return max(itertools.accumulate(steps))


def marking(marks: Path, name: str, looks: SampleTimes) -> tuple[str, Command]:
    script = f"echo + >>{marks}; sleep 0.05; echo - >>{marks}; echo {name}"
    return "p", Command(name, ("sh", "-c", script), looks=looks, lane=name, limit=timedelta(minutes=1))


def test_lanes_of_a_window_run_one_at_a_time_at_both_looks(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    asked = [marking(marks, name, SampleTimes.TWICE if name in "abc" else SampleTimes.ONCE) for name in "abcdef"]
    assert counted(Batch.of(asked, Sampling(1)), marks) == 1


@pytest.mark.slow
def test_lanes_that_watch_run_beside_the_one_whose_turn_it_is(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    asked = [marking(marks, name, SampleTimes.ONCE) for name in "abcdef"]
    watching = replace(asked[0][1], name="w", lane="w", looks=SampleTimes.THROUGHOUT)
    watching = replace(watching, argv=("sh", "-c", f"echo + >>{marks}; sleep {{rest}}; echo - >>{marks}; echo w"))
    assert counted(Batch.of([*asked, ("p", watching)], Sampling(2)), marks) <= 2


def test_lanes_of_a_look_without_a_window_run_a_few_at_a_time(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    assert counted(Batch.of([marking(marks, name, SampleTimes.ONCE) for name in "abcdef"], Sampling(5)), marks) <= 3


@pytest.mark.slow
def test_lanes_that_hang_hold_nobody_up() -> None:
    hanging = ("p", Command("hangs", ("sleep", "60"), limit=timedelta(minutes=2), lane="a", looks=SampleTimes.TWICE))
    others = [("p", Command(f"quick {lane}", ("echo",), lane=lane, looks=SampleTimes.TWICE)) for lane in "de"]
    more = [("p", replace(hanging[1], name=f"hangs {lane}", looks=SampleTimes.ONCE, lane=lane)) for lane in "bc"]
    asked = Batch.of([hanging, *others, *more, ("p", Command("quick", ("echo",), lane="f"))], Sampling(1))
    unframer = FrameDecoder(asked, NONCE)
    heard: list[tuple[str, int]] = []
    script = asked.script(NONCE, lifetime=timedelta(seconds=40))
    with running(launched(script), script) as (_, says):
        while len(heard) < 5 and (line := says.readline()):
            heard += [(run.name, run.look) for run in unframer.feed(line.decode().rstrip("\n"))]
    assert sorted(heard) == [("quick", 0), ("quick d", 0), ("quick d", 1), ("quick e", 0), ("quick e", 1)]


@pytest.mark.slow
def test_second_look_comes_after_a_first_one_that_outlasts_the_window() -> None:
    slow = "cat /proc/uptime; sleep 1.2; cat /proc/uptime"
    asked = [("p", Command("slow", ("sh", "-c", slow), looks=SampleTimes.TWICE))]
    runs = answers(batch := Batch.of(asked, Sampling(1)), run_script(batch.script(NONCE), ["/bin/sh"]))
    spans = {key: [float(line.split()[0]) for line in run.stdout.splitlines()] for key, run in runs.items()}
    assert spans["slow", 0][-1] <= spans["slow", 1][0]


def test_lanes_begin_in_the_order_in_which_they_are_asked() -> None:
    """What decides is asked first: a slow node may not come to the rest."""
    asked = [("p", Command(name, ("sleep", "0.05"), lane=name)) for name in "zay"]
    asked.append(("p", Command("m", ("echo",), lane="m", looks=SampleTimes.TWICE)))
    script = Batch.of(asked, Sampling(1)).script(NONCE)
    runs = answers(Batch.of(asked, Sampling(1)), run_script(script, ["/bin/sh"]))
    begun = sorted((run.started_at_uptime or 0.0, key) for key, run in runs.items())
    assert [key for _, key in begun] == [("z", 0), ("a", 0), ("y", 0), ("m", 0), ("m", 1)]


@pytest.mark.slow
def test_second_look_lies_half_a_window_after_a_first_one_that_came_late() -> None:
    slow = Command("slow", ("sleep", "2"), lane="a")
    asked = [("p", slow), ("p", Command("twice", ("echo",), lane="b", looks=SampleTimes.TWICE))]
    runs = answers(batch := Batch.of(asked, Sampling(2)), run_script(batch.script(NONCE), ["/bin/sh"]))
    between = known(Outputs(runs["twice", 0], runs["twice", 1]).seconds_between("twice"))
    assert between >= 0.85


@pytest.mark.slow
def test_node_says_that_it_is_at_work_while_it_is() -> None:
    """Beyond the window as within it; about a command that hangs it says nothing, for it may hang for ever."""
    works = [("p", Command(str(at), ("sleep", "0.4"))) for at in range(10)]
    hangs = ("p", Command("hangs", ("sleep", "11"), limit=timedelta(seconds=11), lane="z"))
    batch = Batch.of([*works, hangs], Sampling(1))
    script = batch.script(NONCE)
    with running(launched(script), script) as (_, says):
        began = time.monotonic()
        heard = [time.monotonic() - began for line in says if line.decode() == sign(NONCE)]
        took = time.monotonic() - began
    assert len(heard) >= 3
    assert max(later - before for before, later in pairwise(heard)) < SIGN_SECONDS + 2
    assert heard[-1] < took - 2


def test_lanes_that_wait_do_not_begin_once_the_connection_is_cut_even_in_a_session_of_others(tmp_path: Path) -> None:
    begun, marker = tmp_path / "begun", tmp_path / "marker"
    asked = [
        ("p", Command("long", ("sh", "-c", f"echo >{begun}; sleep 3"), lane="a")),
        ("p", Command("waits", ("sh", "-c", f"echo >{marker}"), lane="b")),
        ("p", Command("twice", ("echo",), lane="c", looks=SampleTimes.TWICE)),
    ]
    script = unhurried(Batch.of(asked, Sampling(5)))
    with running(launched(script), script, session=False) as (ask, says):
        until(begun.exists)
        ask.close()
        says.read()
    assert not marker.exists()
