"""Many nodes are begun no faster than this program can follow, and silent ones hold nobody up."""

from __future__ import annotations

import asyncio
import resource

import pytest

from bot.app.many_nodes import FILES_A_NODE, FILES_BESIDE, raise_file_limit
from bot.app.start_limiter import MOST_SILENT, MOST_WAITING, SILENT_SECONDS, StartLimiter
from bot.domain.contracts import ProbeAnswered
from bot.response.diagnosis.triage import CpuLock


async def begun(limiter: StartLimiter, names: list[str], within: float) -> int:
    """Begin these nodes and return how many could be, within so many seconds."""
    count = 0
    try:
        async with asyncio.timeout(within):
            for name in names:
                await limiter.wait_to_start(name)
                count += 1
    except TimeoutError:
        pass
    return count


@pytest.mark.parametrize("processes", [1, 2])
async def test_so_many_are_silent_at_once_and_each_answer_makes_room(processes: int) -> None:
    limiter = StartLimiter(CpuLock(), processes)
    assert await begun(limiter, [f"n{number}" for number in range(MOST_SILENT + 50)], 1) == MOST_SILENT / processes
    for number in range(10):
        limiter.note_progress(ProbeAnswered(f"n{number}", "cpu", None))
    assert await begun(limiter, [f"m{number}" for number in range(50)], 2) == 10


async def test_nodes_that_end_without_a_verdict_hold_nobody_up() -> None:
    limiter = StartLimiter(CpuLock())
    for number in range(2 * MOST_SILENT):
        assert await begun(limiter, [f"n{number}"], SILENT_SECONDS / 2) == 1
        limiter.note_end(f"n{number}")


async def test_black_holes_soon_stop_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.app.start_limiter.SILENT_SECONDS", 0.5)
    limiter = StartLimiter(CpuLock())
    names = [f"n{number}" for number in range(2 * MOST_SILENT)]
    assert await begun(limiter, names, 2 * SILENT_SECONDS) == len(names)


async def test_nothing_is_begun_while_answers_wait_to_be_parsed() -> None:
    cpu_lock = CpuLock()
    limiter = StartLimiter(cpu_lock)
    cpu_lock.waiting = MOST_WAITING
    assert await begun(limiter, ["n"], 0.2) == 0
    cpu_lock.waiting = 0
    assert await begun(limiter, ["n"], 5) == 1


async def test_last_nodes_begin_while_fifty_others_are_parsed() -> None:
    """Each says some 26 answers, read in a fifth of a second; who waits for it waits for a window more."""
    cpu_lock = CpuLock()
    cpu_lock.waiting = 50 * 26
    assert await begun(StartLimiter(cpu_lock), ["n"], 5) == 1


def test_limit_of_open_files_is_raised_and_bounds_how_many_are_read() -> None:
    limits = [(256, 1000)]

    class OpenFiles:
        def getrlimit(self, which: int, /) -> tuple[int, int]:
            assert which == resource.RLIMIT_NOFILE
            return limits[-1]

        def setrlimit(self, which: int, new: tuple[int, int], /) -> None:
            limits.append(new)

    def room(nodes: int) -> int:
        return raise_file_limit(nodes, OpenFiles())

    assert room(20) == 20
    assert limits == [(256, 1000)]
    assert room(300) == 300
    assert limits[-1] == (FILES_A_NODE * 300 + FILES_BESIDE, 1000)
    assert room(5000) == (1000 - FILES_BESIDE) // FILES_A_NODE
    limits.append((resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert room(5000) == 5000
