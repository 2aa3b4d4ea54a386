"""JSON that anybody may have written holds no more than ours does."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from bot.domain.json_form import (
    LAST_YEAR,
    LONGEST,
    MOST_LEVELS,
    MOST_ROOM,
    NotOfForm,
    decode_untrusted,
    memory_bytes,
    read,
)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (r'["\ud800"]', "half a letter"),
        (r'{"\udc00": 1}', "half a letter"),
        ("[" * (MOST_LEVELS + 1) + "]" * (MOST_LEVELS + 1), "too deeply"),
        ("[" * 90_000 + "]" * 90_000, "too deeply"),
        (str(2**64 + 1), "a larger number than any"),
        (f"-{10**400}", "a larger number than any"),
        ('"' + "a" * MOST_ROOM + '"', "8 MiB of memory"),
        ('"😀' + "a" * (MOST_ROOM // 4) + '"', "8 MiB of memory"),
        (r'"\ud83d\ude00' + "a" * (MOST_ROOM // 4) + '"', "8 MiB of memory"),
        ('"…' + "a" * (MOST_ROOM // 2) + '"', "8 MiB of memory"),
        (r'"\u2026' + "a" * (MOST_ROOM // 2) + '"', "8 MiB of memory"),
        ('{"a":1,"a":2}', "twice"),
        ("[1,2,3]" * 200_000, "values"),
    ],
)
def test_what_none_of_ours_holds_is_refused(text: str, says: str) -> None:
    with pytest.raises(NotOfForm, match=says):
        decode_untrusted(text, 200_000)


def test_what_ours_holds_is_read() -> None:
    assert decode_untrusted(r'["\ud83d\ude00", 18446744073709551615, -9223372036854775808, "é"]', 10) == [
        "😀",
        2**64 - 1,
        -(2**63),
        "é",
    ]
    deep = "[" * MOST_LEVELS + "]" * MOST_LEVELS
    assert str(decode_untrusted(deep, 100)) == deep
    assert memory_bytes("é" * 10) == 10


@pytest.mark.parametrize("value", [1e300, 10**13, -(10**13), float("inf"), float("nan")])
def test_duration_that_no_calendar_has_is_refused(value: float) -> None:
    with pytest.raises(NotOfForm):
        read(timedelta, value)


def test_longest_duration_may_be_added_to_the_last_year() -> None:
    last = read(datetime, f"{LAST_YEAR}-12-31T23:59:59+00:00")
    assert (last + read(timedelta, LONGEST.total_seconds())).year < 10_000
    assert read(datetime, "0001-01-01T00:00:00+00:00").year == 1, "some senders mean never"
    with pytest.raises(NotOfForm, match="after the year 9,000"):
        read(datetime, f"{LAST_YEAR + 1}-01-01T00:00:00+00:00")
