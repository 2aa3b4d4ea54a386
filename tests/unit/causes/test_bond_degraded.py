"""Bonds and teams that lack a link."""

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain.verdict import Confidence, Status
from bot.probes.formats.bonds import Bond, Port
from bot.probes.formats.kernel_line import KernelEvent
from bot.probes.nic import NicReading
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

NAME = "bond-degraded"
UP, LOST = Port("eth0", True, had_link=True, failures=0), Port("eth1", False, had_link=True, failures=2)
NEVER, OFF = Port("eth1", False, failures=0), Port("eth1", False, switched_off=True, failures=1)


def bonded(*ports: Port, kind: str = "bond") -> NicReading:
    return replace(b.nic(), bonds=(Bond("bond0", kind, "fault-tolerance (active-backup)", ports),))


def told(kind: str, ago: timedelta, port: str = "eth1") -> KernelEvent:
    return b.event(kind, f"bond0: (slave {port}): link status definitely", ago, device=port)


DOWN, BACK = "link-lost", "link-back"


@pytest.mark.parametrize(
    ("ports", "status", "confidence", "says"),
    [
        ((UP, LOST), Status.DEGRADED, Confidence.CONFIRMED, "bond0 lost the link of eth1: 1 of 2 links are left"),
        ((UP, NEVER), Status.DEGRADED, Confidence.POSSIBLE, "bond0 has had no link on eth1 since it was added"),
        ((replace(LOST, name="eth0"), LOST), Status.CRITICAL, Confidence.CONFIRMED, "it has no link left"),
        ((LOST, OFF), Status.CRITICAL, Confidence.CONFIRMED, "it has no link left"),
        ((UP, replace(NEVER, unnoticed=True)), Status.DEGRADED, Confidence.CONFIRMED, "and still sends there"),
        (
            (replace(UP, aggregator="1"), replace(UP, name="eth1", aggregator="2")),
            Status.DEGRADED,
            Confidence.CONFIRMED,
            "Only a part of bond0 carries traffic",
        ),
    ],
)
def test_what_lacks_a_link(ports: tuple[Port, ...], status: Status, confidence: Confidence, says: str) -> None:
    finding = found(NAME, bonded(*ports))
    assert (finding.status, finding.confidence, finding.remedy) == (status, confidence, ())
    assert says in finding.summary


def test_log_tells_since_when_and_that_a_port_had_a_link() -> None:
    finding = found(NAME, bonded(UP, NEVER), b.log(told(DOWN, timedelta(hours=30))))
    assert finding.confidence is Confidence.CONFIRMED
    assert "eth1, the last 30 hours ago" in finding.summary


@pytest.mark.parametrize("ports", [(UP, replace(UP, name="eth1")), (UP, OFF)], ids=["all linked", "switched off"])
def test_bond_with_each_link_it_can_have_is_well(ports: tuple[Port, ...]) -> None:
    """Also after its switch was restarted: a loss that is over is history."""
    switch = (told(DOWN, timedelta(minutes=20)), told(BACK, timedelta(minutes=14)))
    assert "has its link" in ruled_out(NAME, bonded(*ports), b.log(*switch)).because


def test_node_without_a_bond_has_none_to_lose() -> None:
    assert "no bond" in ruled_out(NAME).because


def test_link_that_is_lost_again_and_again_is_told_while_it_is_there() -> None:
    flaps = [told(DOWN, timedelta(minutes=m)) for m in (50, 31, 12)]
    both = bonded(UP, replace(UP, name="eth1"))
    assert "eth1 lost its link 3 times, the last 12 minutes ago" in found(NAME, both, b.log(*flaps)).summary
    ruled_out(NAME, both, b.log(*flaps[:2]))
    days_ago = [told(DOWN, timedelta(days=2, minutes=m)) for m in (50, 31, 12)]
    ruled_out(NAME, both, b.log(*days_ago))


def test_unread_ports_are_told_by_the_log_or_not_at_all() -> None:
    lost = told(DOWN, timedelta(hours=5))
    assert found(NAME, b.unread("nic"), b.log(lost)).confidence is Confidence.LIKELY
    back = undecided(NAME, b.unread("nic"), b.log(lost, told(BACK, timedelta(hours=4))))
    assert (back.worst, undecided(NAME, b.unread("nic")).worst) == (Status.DEGRADED, Status.DEGRADED)
    assert undecided(NAME, b.unread("nic"), b.unread("kernel_log")).worst is Status.CRITICAL
