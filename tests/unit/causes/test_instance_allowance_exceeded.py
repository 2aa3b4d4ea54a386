"""Limits that the instance type sets on the network."""

from bot.domain.verdict import Confidence, Status
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

ALLOWANCE = "instance-allowance-exceeded"


def test_allowance_that_rises_is_degraded_confirmed() -> None:
    finding = found(ALLOWANCE, b.nic(later={"pps_allowance_exceeded": 150}))
    assert (finding.status, finding.confidence, finding.remedy) == (Status.DEGRADED, Confidence.CONFIRMED, ())
    assert finding.evidence[0].source == ("pps_allowance_exceeded: 150",)


def test_few_packets_of_one_burst_are_only_told() -> None:
    one = ruled_out(ALLOWANCE, b.nic(later={"pps_allowance_exceeded": 1}))
    assert one.because == "the allowance counters rose by 1 within the window, as after a short burst"


def test_allowance_that_stands_still_is_ruled_out_with_its_total() -> None:
    assert "4,211 since the driver was loaded" in ruled_out(ALLOWANCE).because
    ruled_out(ALLOWANCE, b.nic({"rx_errors": 0}, {"rx_errors": 9}, driver="ixgbevf"))


def test_allowance_that_is_not_counted_is_open() -> None:
    undecided(ALLOWANCE, b.nic({"tx_timeout": 0}))
    undecided(ALLOWANCE, b.unread("nic"))
