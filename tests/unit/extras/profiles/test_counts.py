"""Counts that outgrow the memory are in a file, and none is dropped."""

from __future__ import annotations

import errno
import io
from collections import Counter
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.errors import ProfileError
from bot.extras.profiles.counts import Counts

KEYS = st.binary(max_size=12).filter(lambda key: b"\n" not in key)


@given(st.lists(st.tuples(KEYS, st.integers(1, 10**12)), max_size=200), st.sampled_from([200, 1000, 10**9]))
def test_counts_are_the_same_whatever_fits(added: list[tuple[bytes, int]], limit: int) -> None:
    counts, expected = Counts(io.BytesIO, limit), Counter[bytes]()
    for key, times in added:
        counts.add(key, times)
        expected[key] += times
    for _ in range(2):  # they may be asked again
        assert [*counts.items()] == sorted(expected.items())


def test_file_is_opened_only_when_it_is_needed() -> None:
    opened: list[io.BytesIO] = []

    def scratch() -> BinaryIO:
        opened.append(io.BytesIO())
        return opened[-1]

    counts = Counts(scratch, 2000)
    for n in range(5):
        counts.add(b"%d" % n, 1)
    assert (opened, counts.spilled_bytes) == ([], 0)
    for n in range(5000):
        counts.add(b"%d" % n, 1)
    assert len(opened) == 1
    assert sum(times for _, times in counts.items()) == 5005


def test_full_disk_is_a_sentence() -> None:
    class Full(io.BytesIO):
        def write(self, _: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    counts = Counts(Full, 10)
    with pytest.raises(ProfileError, match="No space left on device") as refused:
        counts.add(b"more than fits", 1)
    assert "TMPDIR" in refused.value.try_next
