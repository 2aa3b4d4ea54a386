"""Durations are read as they are written, and nothing else is a duration."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.duration import duration_text, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"), [("5s", 5), ("250ms", 0.25), ("15m", 900), ("2h", 7200), ("1d", 86400), ("1.5s", 1.5), (7, 7)]
)
def test_what_people_write_is_understood(text: object, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "5 s",
        "-5s",
        "5S",
        "s",
        "1e3s",
        "5s\n",
        "٥s",
        "9" * 400 + "s",
        "999999d",
        -1,
        True,
        None,
        [],
        float("nan"),
        float("inf"),
        10**400,
        1e300,
    ],
)
def test_anything_else_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="a duration is written like"):
        parse_duration(text)


def test_what_is_too_long_hears_what_is_the_most() -> None:
    with pytest.raises(ValueError, match="and is 366 d at most"):
        parse_duration("9999d")


@given(st.integers(0, 366 * 86400 * 1000))
@settings(deadline=None)
def test_what_is_written_is_read_back(milliseconds: int) -> None:
    duration = timedelta(milliseconds=milliseconds)
    assert parse_duration(duration_text(duration)) == duration
