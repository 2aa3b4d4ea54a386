"""Processes that outlive their starter are known by more than their number."""

import os
import subprocess
from dataclasses import replace

import pytest

from bot.lab.process import Process
from tests.waiting import until


def test_process_runs_until_it_is_ended() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        process = Process.of(child.pid)
        assert process.runs
        process.end()
        assert not process.runs


def test_process_that_will_not_end_is_killed() -> None:
    with subprocess.Popen(["sh", "-c", "trap '' TERM; echo; while :; do sleep 0.1; done"], stdout=-1) as child:
        assert child.stdout is not None
        child.stdout.read(1)
        process = Process.of(child.pid)
        process.end(within_seconds=0.3)
        assert not process.runs


def test_another_process_with_the_same_number_is_left_alone() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        earlier = replace(Process.of(child.pid), started_ticks=1)
        assert not earlier.runs
        earlier.end()
        assert child.poll() is None
        child.kill()


def test_no_process_no_identity() -> None:
    with subprocess.Popen(["true"]) as child:
        child.wait()
    with pytest.raises(ProcessLookupError):
        Process.of(child.pid)


def test_process_that_waits_for_a_cpu_is_starved_and_one_that_sleeps_is_not() -> None:
    one_core = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    spins = [subprocess.Popen([*one_core, "sh", "-c", "while :; do :; done"]) for _ in range(2)]
    sleeps = subprocess.Popen(["sleep", "60"])
    try:
        until(lambda: all(Process.of(each.pid).starved_seconds > 1 for each in spins))
        assert Process.of(sleeps.pid).starved_seconds < 1
    finally:
        for each in (*spins, sleeps):
            each.kill()
            each.wait()
