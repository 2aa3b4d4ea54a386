"""Counts that outgrow the memory are in a file, and none is dropped."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.errors import ProfileError
from bot.extras.profiles.counts import Counts

KEYS = st.binary(max_size=12)
MANY = [(b"%d" % n, 1) for n in range(50_000)]


def spilled() -> bool:
    """True while SQLite has a file open that has no name any more."""
    return any("etilqs_" in str(found.readlink()) for found in Path("/proc/self/fd").iterdir() if found.is_symlink())


@given(st.lists(st.tuples(KEYS, st.integers(1, 10**12)), max_size=200), st.sampled_from([1024, 10**9]))
def test_counts_are_the_same_whatever_fits(added: list[tuple[bytes, int]], limit: int) -> None:
    counts, expected = Counts(limit), Counter[bytes]()
    for key, times in added:
        counts.add([(key, times)])
        expected[key] += times
    for _ in range(2):  # they may be asked again
        assert [*counts.items()] == sorted(expected.items())
    by_times = sorted(expected.items(), key=lambda counted: (-counted[1], counted[0]))
    assert counts.most(3) == by_times[:3]
    assert counts.most(3, b"a") == [counted for counted in by_times if counted[0].startswith(b"a")][:3]


def test_file_is_opened_only_when_it_is_needed() -> None:
    counts = Counts(20_000)
    counts.add(MANY[:5])
    assert not spilled()
    counts.add(MANY)
    assert spilled()
    assert sum(times for _, times in counts.items()) == 50_005
    del counts
    assert not spilled(), "the file is gone with the counts"


@pytest.mark.parametrize("more", [MANY, [(b"more than a number holds", 10**30)], [(b"a", 2**62), (b"a", 2**62)]])
def test_full_disk_is_a_sentence(more: list[tuple[bytes, int]]) -> None:
    def added() -> None:
        counts = Counts(20_000, file_limit_bytes=100_000)
        counts.add(more)
        list(counts.items())

    with pytest.raises(ProfileError, match="more than fit in memory") as refused:
        added()
    assert "TMPDIR" in refused.value.try_next
