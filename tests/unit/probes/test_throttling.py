"""throttling: groups with a quota, as rises, in both units of the kernel."""

from datetime import timedelta

import pytest

from bot.domain.errors import CannotRead
from bot.probes.throttling import ThrottlingReading, parse
from tests.readings.recorded import CAPTURES, recorded, twice


def group(path: str, *lines: str) -> str:
    return "\n".join((f"==> {path} <==", *lines, ""))


def v2(path: str, periods: int, throttled: int, usec: int) -> str:
    return group(path, f"nr_periods {periods}", f"nr_throttled {throttled}", f"throttled_usec {usec}")


SEEN = "==> /seen <==\n12\n"


def read(first: str, later: str) -> ThrottlingReading:
    return parse(twice("cpu.stat", first, later))


def test_recorded_pod_on_cgroup_v1_was_held_back_in_every_period() -> None:
    reading = parse(recorded(CAPTURES / "throttling" / "debian-12--cgroup-v1-pod-held-back.out"))
    idle, pod = reading.groups
    assert (idle.ratio, pod.ratio, reading.worst_ratio) == (0.0, 1.0, 1.0)
    assert pod.path == "/kubepods/burstable/pod0d9d8a34-6d3b-4e52-9f0e-5b2d7d1f8c11/3f7a"
    assert (pod.periods, pod.throttled_for) == (17, timedelta(microseconds=1351699))  # the file tells nanoseconds
    assert (reading.groups_seen, reading.capped) == (4, False)


def test_cgroup_v2_tells_microseconds_and_groups_that_come_or_go_are_left_out() -> None:
    reading = parse(recorded(CAPTURES / "throttling" / "synthetic--cgroup-v2-pods.out"))
    (pod,) = reading.groups
    assert (pod.periods, pod.throttled, pod.throttled_for) == (47, 45, timedelta(seconds=3.7))
    assert pod.source == ("nr_periods 3936951", "nr_throttled 6049", "throttled_usec 19178837007")
    assert (reading.groups_seen, reading.capped) == (48, True)


def test_a_group_made_anew_under_its_old_name_is_left_out() -> None:
    assert read(v2("/a/b", 100, 50, 5) + SEEN, v2("/a/b", 10, 10, 1) + SEEN).groups == ()


def test_a_node_without_any_quota_has_an_answer() -> None:
    assert read(SEEN, SEEN) == ThrottlingReading((), 12)


def test_a_group_without_quota_lines_is_passed_over() -> None:
    text = group("/a/b", "usage_usec 5", "core_sched.force_idle_usec 0".replace(".", "_")) + SEEN
    assert read(text, text).groups == ()


@pytest.mark.parametrize(
    ("text", "because"),
    [
        (v2("/a/b", 1, 1, 1), "incomplete"),
        ("==> /seen <==\nmany\n", "incomplete"),
        (group("/a/b", "nr_periods 5") + SEEN, "malformed"),
        (group("/a/b", "nr_periods 5", "nr_throttled 1") + SEEN, "malformed"),
        (group("/a/b", "nr_periods 5", "nr_throttled -1", "throttled_usec 1") + SEEN, "malformed"),
        (group("/a/b", "nr_periods 5", "nr_throttled 1", "throttled_usec 1", "throttled_time 1") + SEEN, "malformed"),
        (group("/a/b", "nr_periods 5", "nr_periods 5", "nr_throttled 1", "throttled_usec 1") + SEEN, "malformed"),
    ],
)
def test_what_cannot_be_right_is_refused_with_its_reason(text: str, because: str) -> None:
    with pytest.raises(CannotRead, match=because):
        read(text, text)
