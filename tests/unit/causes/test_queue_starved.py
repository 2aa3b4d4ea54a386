"""Who holds the core of a starved queue: named where the readings show it, and nobody else."""

from datetime import timedelta
from typing import Any

import pytest

from bot.domain.verdict import Confidence, Status
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

STARVED = "queue-starved"
LOG = b.log(*b.starved())
SERVES = b.interrupts({5: {39: 900}, 6: {6: 900}})
JAVA = b.process("java")
HELD: tuple[Any, ...] = (LOG, SERVES, b.held())
ROSE = b.nic(later={"suspected_poll_starvation": 3})
BUSY = b.cpu({39: {"usr": 99.0, "sys": 0.0}})


@pytest.mark.parametrize(
    ("more", "suspects", "says"),
    [
        ((b.processes(JAVA),), ("java",), "is held in the kernel by java (pid 1723): 99 % of 3 s"),
        ((b.processes(b.process("kubelet")),), ("kubelet",), "is held in the kernel by kubelet (pid 1723)"),
        ((b.processes(b.process("kworker/39:1", kernel_thread=True)),), ("kworker/39:1",), "by kworker/39:1 (pid"),
        # each could have half of the core's time, and both were seen there
        ((b.processes(JAVA, b.process("perl", sys=1.5)),), ("java", "perl"), "by java (pid 1723) or perl (pid 1723):"),
        # not seen there, or too little of its time
        ((b.processes(b.process("java", on=(6,))),), (), "is held in the kernel, by whom was not seen: 99 % of 3 s"),
        ((b.processes(b.process("java", sys=1.4)),), (), "by whom was not seen"),
        ((b.unread("processes"),), (), "by whom was not seen"),
        # its own code starves nobody, unless it runs before all others
        ((BUSY, b.processes(b.process("rt", sys=0.0, usr=4.9, realtime=True, on=(), core=39))), ("rt",),
         "is held in realtime by rt (pid 1723): 99 % of"),
    ],
)  # fmt: skip
def test_holder_is_named_where_the_readings_show_him(
    more: tuple[Any, ...], suspects: tuple[str, ...], says: str
) -> None:
    finding = found(STARVED, *HELD, *more)
    assert finding.suspects == suspects
    assert finding.summary.startswith("Core 39, which serves a starved queue (eth0-Tx-Rx-5), ")
    assert says in finding.summary
    assert (finding.status, finding.confidence, finding.remedy) == (Status.DEGRADED, Confidence.LIKELY, ())


def test_it_is_confirmed_while_the_counter_rises_and_critical_where_it_comes_back() -> None:
    often = b.log(*(line for minutes in (3, 33, 63) for line in b.starved(timedelta(minutes=minutes))))
    assert found(STARVED, *HELD, b.processes(JAVA), ROSE).confidence is Confidence.CONFIRMED
    assert found(STARVED, *HELD, ROSE).confidence is Confidence.LIKELY, "nobody is named"
    assert found(STARVED, *HELD, often).status is Status.CRITICAL
    older = b.log(*(line for minutes in (193, 223, 253) for line in b.starved(timedelta(minutes=minutes))))
    assert ruled_out(STARVED, *HELD, older).because.endswith("too long ago")


def test_what_is_not_held_or_not_starved_or_not_read_names_nobody() -> None:
    assert ruled_out(STARVED, b.held(), SERVES).because == "no driver tells that its poll did not run"
    ruled_out(STARVED, LOG, SERVES, BUSY, b.processes(b.process("java", sys=0.0, usr=4.9)))
    assert "is held now" in ruled_out(STARVED, LOG, SERVES, b.held(core=3)).because
    for timeless in ((b.log(*b.starved(None)),), (b.unread("host"),)):
        unknown = undecided(STARVED, *HELD, *timeless)
        assert (unknown.suspected, unknown.worst) == (True, Status.DEGRADED)
        assert "whether that was lately is not known" in unknown.because
    assert "the kernel log was not read" in undecided(STARVED, b.unread("kernel_log")).because
    assert "the cores were not read" in undecided(STARVED, LOG, SERVES, b.unread("cpu")).because
    kubelet, uncounted = b.processes(b.process("kubelet")), b.unread("cgroups")
    assert "they were not counted" in undecided(STARVED, *HELD, kubelet, uncounted).because, (
        "that is the leak's to tell"
    )
    found(STARVED, *HELD, b.processes(JAVA), uncounted)
    for gone in (b.unread("interrupts"), b.interrupts({6: {6: 900}})):
        assert "which core serves this queue is not known" in undecided(STARVED, LOG, b.held(), gone).because


def test_beside_a_leak_a_walker_or_nobody_seen_is_the_leaks_to_tell() -> None:
    kubelet = b.processes(b.process("kubelet"))
    for leaks, is_told in ((b.cgroups(dying=999), True), (b.cgroups(dying=1000), False)):
        for there in (kubelet, b.unread("processes")):
            if is_told:
                found(STARVED, *HELD, there, leaks)
            else:
                assert "see leaked-memory-cgroups" in ruled_out(STARVED, *HELD, there, leaks).because
        found(STARVED, *HELD, b.processes(JAVA), leaks)
