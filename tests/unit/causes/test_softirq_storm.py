"""Packets that drown the cores that take them."""

from bot.domain.verdict import Confidence, Status
from bot.probes.softirq_waits import SoftirqWait, SoftirqWaitsReading
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

STORM = "softirq-storm"
DROWNING = {"usr": 2.0, "sys": 3.0, "irq": 5.0, "soft": 88.0}
ONE_CORE = b.interrupts({queue: {3: 900} for queue in range(8)}, irqbalance_runs=False)


def test_many_drowning_cores_with_spread_interrupts_are_a_storm() -> None:
    finding = found(STORM, b.cpu(dict.fromkeys(range(6), DROWNING)), b.softirq(dropped=40))
    assert (finding.status, finding.confidence) == (Status.DEGRADED, Confidence.CONFIRMED)
    assert "6 cores full of soft interrupts" in finding.summary
    assert found(STORM, b.cpu(dict.fromkeys(range(6), DROWNING)), b.softirq(dropped=100)).status is Status.CRITICAL


def test_storm_without_loss_is_likely() -> None:
    drowning = b.cpu(dict.fromkeys(range(6), DROWNING))
    assert found(STORM, drowning, b.softirq(squeezed=49)).confidence is Confidence.LIKELY
    assert found(STORM, drowning, b.softirq(squeezed=50)).confidence is Confidence.CONFIRMED
    assert found(STORM, drowning, b.unread("softirq")).confidence is Confidence.LIKELY


def test_full_cores_that_lose_and_put_off_nothing_keep_up() -> None:
    drowning = b.cpu(dict.fromkeys(range(6), DROWNING))
    assert ruled_out(STORM, drowning, b.softirq()).because.endswith("nothing was dropped or put off: they keep up")
    assert found(STORM, drowning, b.softirq(squeezed=1)).confidence is Confidence.LIKELY


def test_storm_on_the_one_core_of_all_interrupts_is_affinity() -> None:
    assert "irq-affinity" in ruled_out(STORM, b.cpu({3: DROWNING}), ONE_CORE, b.softirq(dropped=400, core=3)).because
    found(STORM, b.cpu({3: DROWNING, 4: DROWNING}), ONE_CORE, b.softirq(dropped=400))


def test_one_drowning_core_without_its_interrupts_is_likely_at_most() -> None:
    finding = found(STORM, b.cpu({3: DROWNING}), b.softirq(dropped=400), b.unread("interrupts"))
    assert finding.confidence is Confidence.LIKELY


def test_storm_is_ruled_out_by_cores_with_time_and_by_kernel_time() -> None:
    ruled_out(STORM, b.cpu({3: {"usr": 0.0, "sys": 99.0, "soft": 1.0}}))
    ruled_out(STORM, b.cpu(dict.fromkeys(range(6), DROWNING), hot_for=1))
    assert undecided(STORM, b.unread("cpu"), b.softirq(dropped=40)).suspected
    assert not undecided(STORM, b.unread("cpu")).suspected


def test_many_drowning_cores_need_no_interrupts_to_be_told_apart() -> None:
    six = b.cpu(dict.fromkeys(range(6), DROWNING))
    assert found(STORM, six, b.softirq(dropped=9), b.unread("interrupts")).confidence is Confidence.CONFIRMED


def test_storm_is_told_with_its_cores_and_their_own_rows() -> None:
    finding = found(STORM, b.cpu(dict.fromkeys(range(7), DROWNING)), b.softirq(dropped=9, core=3))
    assert finding.summary == (
        "7 cores full of soft interrupts (core 0, 1, 2, 3, 4, 5 and 1 more; 93 % on average); "
        "9 packets dropped within the window"
    )
    work = next(one for one in finding.evidence if one.finding == "packet-work")
    assert work.source == ("0000abcd",)
    elsewhere = found(STORM, b.cpu({0: DROWNING}), b.softirq(squeezed=9, core=3))
    assert elsewhere.summary == "1 core full of soft interrupts (core 0; 93 % on average)"
    assert elsewhere.evidence[1].source == ()


def test_how_long_it_waited_stands_beside_it_where_somebody_asked_and_decides_nothing() -> None:
    drowning, lost = b.cpu(dict.fromkeys(range(6), DROWNING)), b.softirq(dropped=40)
    waits = (SoftirqWait(9, "RCU", 1, 900_000), SoftirqWait(2, "NET_RX", 4000, 12_880), SoftirqWait(3, "NET_RX", 9, 70))
    finding = found(STORM, drowning, lost, SoftirqWaitsReading(waits, {"eth0": 8_100}))
    (said,) = [evidence for evidence in finding.evidence if evidence.finding == "packet-waits"]
    assert said.says == (
        "a soft interrupt (NET_RX) waited 13 ms for core 2; eth0 had packets waiting and was not polled for 8.1 ms"
    )
    assert said.source[0] == "core 2 NET_RX: 4000 waits, the longest 12880 us"
    for without in ((), (b.unread("softirq_waits"),)):
        plain = found(STORM, drowning, lost, *without)
        assert plain.evidence == tuple(evidence for evidence in finding.evidence if evidence != said)
        assert (plain.status, plain.confidence, plain.summary) == (finding.status, finding.confidence, finding.summary)
