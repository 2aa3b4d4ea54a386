"""The card itself, or want of CPU that looks like it."""

from datetime import timedelta

import pytest

from bot.domain.verdict import Confidence, Status
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

CARD = "nic-device-fault"
DROWNING = {"usr": 2.0, "sys": 3.0, "irq": 5.0, "soft": 88.0}


@pytest.mark.parametrize("kind", ["nic-device-error", "nic-reset-failed"])
def test_device_errors_and_failed_resets_confirm_a_fault_whatever_the_cores_do(kind: str) -> None:
    line = b.event(kind, "ena 0000:00:05.0 eth0: Invalid rx req_id")
    for cores in (b.cpu(), b.held(), b.unread("cpu")):
        finding = found(CARD, b.log(line), cores)
        assert finding.confidence is Confidence.CONFIRMED
        assert (finding.status is Status.CRITICAL) == (kind == "nic-reset-failed")
        assert finding.remedy == ()


@pytest.mark.parametrize("kind", ["nic-keepalive", "nic-admin"])
def test_silence_of_the_card_while_cores_are_idle_confirms_a_fault_only_while_it_is_fresh(kind: str) -> None:
    assert found(CARD, b.log(b.event(kind))).confidence is Confidence.CONFIRMED
    assert found(CARD, b.log(b.event(kind, ago=timedelta(hours=2)))).confidence is Confidence.LIKELY
    assert found(CARD, b.log(b.event(kind)), b.unread("cpu")).confidence is Confidence.POSSIBLE
    busy = b.cpu({core: {"usr": 95.0, "sys": 4.0, "soft": 1.0} for core in range(8)})
    assert found(CARD, b.log(b.event(kind)), busy).confidence is Confidence.POSSIBLE
    ruled_out(CARD, b.log(b.event(kind, ago=timedelta(days=2))))


@pytest.mark.parametrize(
    "sign",
    [
        (b.log(b.event("nic-keepalive"), *b.starved()),),
        (b.log(b.event("nic-keepalive"), b.event("soft-lockup")),),
        (b.log(b.event("nic-keepalive")), b.held()),
        (b.log(b.event("nic-keepalive")), b.cpu({3: DROWNING})),
        (b.log(b.event("nic-keepalive")), b.nic(later={"suspected_poll_starvation": 3})),
    ],
    ids=["starved", "lockup", "held core", "drowning core", "counter"],
)
def test_signs_of_starvation_refute_a_fault(sign: tuple[object, ...]) -> None:
    assert "another reason" in ruled_out(CARD, *sign).because


def test_starved_stall_is_no_silence_of_the_card() -> None:
    ruled_out(CARD, b.log(*b.starved()))
    asleep = b.event("nic-stalled", "TX q 5 is paused for too long. napi scheduled: 0", napi_scheduled=False)
    assert found(CARD, b.log(asleep)).confidence is Confidence.LIKELY


def test_error_counter_that_rises_confirms_a_fault() -> None:
    finding = found(CARD, b.nic(later={"bad_tx_req_id": 1}, counters={"bad_tx_req_id": 0}))
    assert finding.confidence is Confidence.CONFIRMED
    ruled_out(CARD, b.nic({"bad_tx_req_id": 4}))


def test_resets_one_after_the_other_are_critical() -> None:
    resets = [b.event("nic-reset", ago=timedelta(minutes=minute)) for minute in (9, 6, 2)]
    silence = b.event("nic-admin")
    assert found(CARD, b.log(silence, *resets)).status is Status.CRITICAL
    assert found(CARD, b.log(silence, *resets[:2])).status is Status.DEGRADED


@pytest.mark.parametrize("probe", ["kernel_log", "nic"])
def test_fault_is_not_ruled_out_by_what_was_not_read(probe: str) -> None:
    undecided(CARD, b.unread(probe))


def test_stall_that_says_nothing_of_its_reason_is_possible_only() -> None:
    stall = b.log(b.event("netdev-watchdog", "NETDEV WATCHDOG: eth0 (ena): transmit queue 3 timed out"))
    assert found(CARD, stall).confidence is Confidence.POSSIBLE
    assert found(CARD, b.log(b.event("nic-interrupt"))).confidence is Confidence.LIKELY


def test_evidence_of_spare_cores_has_the_busiest_ones_rows() -> None:
    spare = found(CARD, b.log(b.event("nic-admin"))).evidence[-1]
    assert spare.finding == "cores-idle"
    assert spare.says == "the cores are 76 % idle; the kernel has most of core 0, 3.0 %"
    assert spare.source[0].startswith("10:00:01 0 ")


def test_damaged_frames_beside_resets_for_want_of_cpu_are_a_cable_and_no_failing_card() -> None:
    damaged = b.nic({"rx_crc_errors": 10}, later={"rx_crc_errors": 400})
    times = [timedelta(minutes=minutes) for minutes in (5, 3, 1)]
    starved = b.log(*(event for ago in times for event in b.starved(ago)))
    finding = found(CARD, starved, damaged)
    assert (finding.status, finding.confidence) == (Status.DEGRADED, Confidence.CONFIRMED)
    assert "390 frames arrived damaged" in finding.summary
    resets = b.log(*(b.event("nic-reset", ago=ago) for ago in times))
    assert found(CARD, resets, damaged).status is Status.CRITICAL


def test_link_that_flaps_is_told_also_where_the_driver_does_not_name_it() -> None:
    downs = [b.event("nic-link-down", "Link down", timedelta(minutes=minutes)) for minutes in (40, 20, 3)]
    assert "he link of a card went down 3 times within the hour" in found(CARD, b.log(*downs)).summary
    ruled_out(CARD, b.log(*downs[1:]))
