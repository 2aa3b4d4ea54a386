"""Interrupts that all land on one core."""

import pytest

from bot.domain.verdict import Confidence, Status
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

AFFINITY = "irq-affinity"
DROWNING = {"usr": 2.0, "sys": 3.0, "irq": 5.0, "soft": 88.0}
ONE_CORE = b.interrupts({queue: {3: 900} for queue in range(8)}, irqbalance_runs=False)


def test_every_queue_on_one_full_core_is_affinity() -> None:
    finding = found(AFFINITY, b.cpu({3: DROWNING}), ONE_CORE)
    assert (finding.status, finding.confidence) == (Status.DEGRADED, Confidence.CONFIRMED)
    assert "100 % of the network's interrupts (1,440/s, 8 queues) land on core 3" in finding.summary
    assert [one.finding for one in finding.evidence][-1] == "irqbalance"
    assert finding.evidence[0].source[0] == "40: eth0-Tx-Rx-0"
    assert finding.remedy == ()


@pytest.mark.parametrize("hurt", [b.softirq(dropped=12, core=3), b.log(*b.starved())])
def test_affinity_that_drops_or_resets_is_critical(hurt: object) -> None:
    assert found(AFFINITY, b.cpu({3: DROWNING}), ONE_CORE, hurt).status is Status.CRITICAL


def test_affinity_is_ruled_out_where_they_are_spread_or_the_core_has_time() -> None:
    assert "takes the most network interrupts, 12 % of them" in ruled_out(AFFINITY, b.cpu({3: DROWNING})).because
    assert "spends only" in ruled_out(AFFINITY, ONE_CORE).because
    assert "a single queue" in ruled_out(AFFINITY, b.cpu({3: DROWNING}), b.interrupts({0: {3: 9_000}})).because
    few = {queue: {3: 20} for queue in range(8)} | {8: {4: 1}}  # 32 a second, and not every queue is bound there
    ruled_out(AFFINITY, b.cpu({3: DROWNING}), b.interrupts(few))
    ruled_out(AFFINITY, b.cpu({3: {"usr": 0.0, "sys": 99.0, "soft": 1.0}}), ONE_CORE)  # not by packets
    ruled_out(AFFINITY, b.interrupts({}))


def test_few_interrupts_are_enough_where_every_queue_is_bound_to_the_full_core() -> None:
    few = b.interrupts({queue: {3: 14} for queue in range(8)})
    assert found(AFFINITY, b.cpu({3: DROWNING}), few).confidence is Confidence.CONFIRMED
    ruled_out(AFFINITY, few)


def test_affinity_is_suspected_where_only_half_of_it_was_read() -> None:
    assert undecided(AFFINITY, b.cpu({3: DROWNING}), b.unread("interrupts")).suspected
    assert undecided(AFFINITY, ONE_CORE, b.unread("cpu")).suspected
    assert not undecided(AFFINITY, b.unread("interrupts")).suspected
    assert "only once" in undecided(AFFINITY, b.interrupts(seconds_between=None)).because
