"""Known kernel functions, told from the innermost outwards; not every one is a walk."""

from __future__ import annotations

import pytest

from bot.causes import CAUSES
from bot.domain.probe import Unread
from bot.extras.profiles.runner import profile_reading
from bot.probes.formats.functions import own_signatures, signature_of
from bot.probes.profile import ProfileReading
from tests.known import known, known_as
from tests.unit.extras.profiles.making import event, profile


@pytest.mark.parametrize(
    ("frames", "name", "points_at"),
    [
        (["mem_cgroup_nr_lru_pages"], "memcg-walk", "leaked-memory-cgroups"),
        (["find_next_bit", "cpumask_next", "memcg_numa_stat_show"], "memcg-walk", "leaked-memory-cgroups"),
        (["cgroup_rstat_flush_locked", "memcg_numa_stat_show"], "rstat-flush", ""),
        (
            ["native_queued_spin_lock_slowpath", "_raw_spin_lock_irq", "shrink_inactive_list"],
            "lock-wait",
            "memory-reclaim",
        ),
        (["isolate_migratepages_block"], "compaction", "memory-reclaim"),
        (["net_rx_action"], "packets", "softirq-storm"),
        (["io_serial_in", "wait_for_xmitr"], "console", "serial-console-printk"),
    ],
)
def test_function_is_known(frames: list[str], name: str, points_at: str) -> None:
    first = "".join(event(*frames, at=100 + n / 50) for n in range(30))
    meant = known(profile(first).meaning)
    assert (known(meant.signature).name, meant.points_at) == (name, points_at)


def test_names_that_only_look_alike_are_not_known() -> None:
    assert signature_of(["my_shrink_node_x", "mem_cgroup_nr_lru_pages_total", "gc_workers"]) == (None, None)


def test_every_row_points_at_a_cause_that_there_is_and_names_its_source() -> None:
    assert {row.points_at for row in own_signatures()} - {""} <= set(CAUSES)
    assert all(row.source and row.does for row in own_signatures())
    assert len({row.name for row in own_signatures()}) == len(own_signatures())


def test_profile_becomes_a_reading_with_its_stack() -> None:
    found = profile("".join(event("mem_cgroup_nr_lru_pages", "seq_read", at=100 + n / 50) for n in range(50)))
    reading = known_as(profile_reading(found), ProfileReading)
    assert (reading.core, reading.signature, reading.source) == (
        39,
        "memcg-walk",
        ("mem_cgroup_nr_lru_pages", "seq_read"),
    )
    assert found.document()["reading"]["points_at"] == "leaked-memory-cgroups"


def test_few_or_idle_samples_tell_nothing() -> None:
    assert isinstance(profile_reading(profile(event("mem_cgroup_nr_lru_pages"))), Unread)
    assert isinstance(profile_reading(profile(event("native_safe_halt", comm="swapper") * 50)), Unread)
