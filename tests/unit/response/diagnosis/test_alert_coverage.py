"""What of an alert's own words was read: it names no reading that is missing, and calls nothing well."""

from __future__ import annotations

import pytest

from bot.domain.alert import Alert
from bot.domain.probe import Snapshot, Unread
from bot.response.diagnosis.alert_coverage import alerted
from tests.contract.asked import evaluated
from tests.independent import kinds
from tests.known import known

OF = "Of what the alert points at,"
NOTHING = "What the alert measures was not measured: this may or may not explain it."


def snapshot() -> Snapshot:
    return known(evaluated(kinds.gpu_node().case()).snapshot)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("eth0: packet loss above 1 %", f"{OF} eth0, nic, softirq, conntrack were read."),
        ("NodeNotReady: kubelet is silent", f"{OF} kubelet.service, essential_units, units were read."),
        ("GPU Xid 79", f"{OF} gpu was read."),
        ("latency of nvme7n1", f"{OF} storage, filesystems, ebs were read; no reading names nvme7n1."),
        ("checkout p99 above 2 s on node", NOTHING),
        ("<!channel> *p99* $(reboot)", NOTHING),
        ("  ", ""),
    ],
)  # fmt: skip
def test_it_says_what_was_read_of_what_the_alert_points_at(text: str, says: str) -> None:
    assert alerted([Alert("pagerduty", "1", text=text)], snapshot()) == says


def test_what_was_not_read_is_named_and_then_nothing_is_said_to_be_missing() -> None:
    read = snapshot()
    without = Snapshot(
        read.node, read.taken_at, read.window, {**read.readings, "storage": Unread("storage", "no answer")}
    )
    said = alerted([Alert("pagerduty", "1", text="latency of nvme7n1")], without)
    assert said == f"{OF} filesystems, ebs were read; storage was not read."


def test_person_who_asks_and_a_node_that_was_not_read_have_no_such_sentence() -> None:
    assert alerted([Alert("slack", "1", text="check eth0")], snapshot()) == ""
    assert alerted([Alert("pagerduty", "1", text="eth0")], None) == ""
