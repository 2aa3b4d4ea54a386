"""Processes that were killed for lack of memory."""

from datetime import timedelta

import pytest

from bot.domain.verdict import Status
from bot.probes.formats.kernel_line import KernelEvent, KernelLine
from bot.probes.formats.kernel_table import own_table
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

KILLS = "oom-kills"
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
GLOBAL = "Out of memory: Killed process 4711 (java) total-vm:1kB, anon-rss:1kB"
OLD_GLOBAL = "Out of memory: Kill process 4711 (java) score 901 or sacrifice child"
OF_A_CGROUP = "Memory cgroup out of memory: Killed process 812 (worker) total-vm:1kB, anon-rss:1kB"


def said(text: str, ago: timedelta = MINUTE) -> KernelEvent:
    event = own_table().event(KernelLine(text, f"[1.0] {text}", timedelta(days=b.DAYS) - ago))
    assert event is not None, text
    return event


@pytest.mark.parametrize("line", [GLOBAL, OLD_GLOBAL])
def test_one_kill_for_the_machine_within_the_hour_counts(line: str) -> None:
    assert "the machine had no memory" in found(KILLS, b.log(said(line))).summary
    ruled_out(KILLS, b.log(said(line, 2 * HOUR)))


def test_kills_at_a_cgroups_limit_count_when_they_repeat() -> None:
    thrice = [said(OF_A_CGROUP, minutes * MINUTE) for minutes in (8, 5, 1)]
    finding = found(KILLS, b.log(*thrice))
    assert finding.status is Status.DEGRADED
    assert finding.suspects == ("worker",)
    assert "concerns that workload" in ruled_out(KILLS, b.log(*thrice[:2])).because
    ruled_out(KILLS, b.log(*(said(OF_A_CGROUP, hours * HOUR) for hours in (9, 6, 3))))
    # With memory.oom.group all workers go at once, and the first is told twice (own recording): that is one kill.
    at_once = [said(OF_A_CGROUP, 5 * MINUTE)] * 9
    ruled_out(KILLS, b.log(*at_once))
    assert "3 times" in found(KILLS, b.log(thrice[0], *at_once, thrice[2])).summary
    # One after the other over seconds is no group that goes at once.
    one_by_one = [said(OF_A_CGROUP, MINUTE - timedelta(seconds=second)) for second in (0, 0, 1, 2, 3, 3, 4, 6)]
    assert "3 times" in found(KILLS, b.log(*one_by_one)).summary
    others = [said(OF_A_CGROUP.replace("worker", name)) for name in ("a", "b", "c")]
    ruled_out(KILLS, b.log(*others))
    assert "not read" in undecided(KILLS, b.unread("kernel_log")).because


def test_kill_whose_first_line_is_lost_is_not_taken_for_the_machines() -> None:
    lost = [
        KernelEvent("oom-kill", f"[{at}] Killed process {at} (node), UID 1000, total-vm:1kB", process="node",
                    since_boot=timedelta(days=b.DAYS) - MINUTE * at)
        for at in (8, 5, 1)
    ]  # fmt: skip
    ruled_out(KILLS, b.log(*lost[1:]))
    assert "Process node was killed 3 times for want of memory" in found(KILLS, b.log(*lost)).summary
