"""The table of tracked connections."""

from datetime import timedelta

import pytest

from bot.domain.verdict import Confidence, Status
from bot.probes.conntrack import ConntrackReading
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

CONNTRACK = "conntrack-full"


@pytest.mark.parametrize(("count", "status"), [(235_000, None), (236_000, Status.DEGRADED), (262_144, Status.DEGRADED)])
def test_conntrack_is_full_from_nine_tenths_on(count: int, status: Status | None) -> None:
    table = ConntrackReading(True, count, 262_144, (f"nf_conntrack_count {count}",))
    if status is None:
        assert "235,000 of 262,144" in ruled_out(CONNTRACK, table).because
    else:
        finding = found(CONNTRACK, table)
        assert (finding.status, finding.confidence, finding.remedy) == (status, Confidence.CONFIRMED, ())


@pytest.mark.parametrize(("count", "status"), [(256_000, Status.DEGRADED), (258_000, Status.CRITICAL)])
def test_full_table_is_critical_where_nobody_can_read_whether_it_drops(count: int, status: Status) -> None:
    table = ConntrackReading(True, count, 262_144, (f"nf_conntrack_count {count}",))
    assert found(CONNTRACK, table, b.unread("kernel_log")).status is status


def test_conntrack_lines_of_the_last_hour_confirm_it() -> None:
    room = ConntrackReading(True, 100, 262_144)
    line = "nf_conntrack: nf_conntrack: table full, dropping packet"
    finding = found(CONNTRACK, room, b.log(b.event("conntrack-full", line)))
    assert (finding.status, finding.evidence[0].source) == (Status.DEGRADED, (line,)), "it has room again"
    full = ConntrackReading(True, 240_000, 262_144)
    for table in (full, b.unread("conntrack")):
        assert found(CONNTRACK, table, b.log(b.event("conntrack-full", line))).status is Status.CRITICAL
    ruled_out(CONNTRACK, room, b.log(b.event("conntrack-full", line, timedelta(hours=2))))


def test_table_that_dropped_and_has_room_again_is_only_told() -> None:
    room, near = ConntrackReading(True, 100, 262_144), ConntrackReading(True, 240_000, 262_144)
    line = "nf_conntrack: nf_conntrack: table full, dropping packet"
    before = b.log(b.event("conntrack-full", line, timedelta(minutes=40)))
    assert ruled_out(CONNTRACK, room, before).because.endswith("it was full and dropped packets 40 minutes ago")
    assert found(CONNTRACK, near, before).status is Status.CRITICAL
    assert found(CONNTRACK, b.unread("conntrack"), before).status is Status.CRITICAL


def test_conntrack_that_was_not_read_is_open_and_one_that_is_absent_is_ruled_out() -> None:
    undecided(CONNTRACK, b.unread("conntrack"))
    assert "tracks no connections" in ruled_out(CONNTRACK, ConntrackReading(False)).because


def test_full_table_of_another_network_namespace_is_not_the_hosts() -> None:
    room = ConntrackReading(True, 900, 262_144)
    line = "nf_conntrack: nf_conntrack: table full in netns 4026532123, dropping packet"
    full = b.event("conntrack-full-elsewhere", line, device="4026532123")
    finding = found(CONNTRACK, room, b.log(full))
    assert (finding.status, "4026532123" in finding.summary) == (Status.DEGRADED, True)
    old = b.event("conntrack-full-elsewhere", line, timedelta(hours=2))
    ruled_out(CONNTRACK, room, b.log(old))
