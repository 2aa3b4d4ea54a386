"""throttling: groups with a quota, as rises, in both units of the kernel."""

import pytest

from bot.domain.errors import CannotRead
from bot.probes.throttling import ThrottlingReading, parse
from tests.readings.recorded import twice


def group(path: str, *lines: str) -> str:
    return "\n".join((f"==> {path} <==", *lines, ""))


def v2(path: str, periods: int, throttled: int, usec: int) -> str:
    return group(path, f"nr_periods {periods}", f"nr_throttled {throttled}", f"throttled_usec {usec}")


SEEN = "==> /seen <==\n12\n"


def read(first: str, later: str) -> ThrottlingReading:
    return parse(twice("cpu.stat", first, later))


def test_ratio_is_of_the_periods_between_the_looks() -> None:
    reading = read(v2("/a/b", 100, 50, 5) + SEEN, v2("/a/b", 150, 90, 9) + SEEN)
    assert ([group.ratio for group in reading.groups], reading.worst_ratio, reading.capped) == ([0.8], 0.8, False)


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
