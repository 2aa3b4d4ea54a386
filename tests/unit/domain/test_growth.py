"""How fast something grows: right where the answer is known, careful where it is not."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.growth import CountSample, Growth, GrowthMeasure, HarmThreshold, growth, since_reset
from bot.domain.json_form import read, to_json_types
from bot.view.growth_words import growth_words
from tests.known import known

BEGAN = datetime(2026, 11, 1, tzinfo=UTC)
GROWS = GrowthMeasure("dying memory cgroups", lambda snapshot: None, lambda snapshot, tuning: None, few=10)
HARM = HarmThreshold(28_571, "each read of the statistics holds a core for 2 s")
HOUR = timedelta(hours=1)


def looks(*values: float, every: timedelta = HOUR, boot: str = "a") -> list[CountSample]:
    return [CountSample(BEGAN + at * every, value, boot) for at, value in enumerate(values)]


def grown(told: list[CountSample], harm: HarmThreshold | None = HARM) -> Growth:
    return known(growth("leaked-memory-cgroups", GROWS, told, harm))


def test_a_steady_leak_has_its_rate_and_its_time_to_harm() -> None:
    found = grown(looks(*range(8_571, 18_572, 1_000)))
    assert (found.per_hour, found.low, found.high) == (1_000, 1_000, 1_000)
    assert found.harm_in == (timedelta(hours=10), timedelta(hours=10), timedelta(hours=10))
    assert growth_words(found) == (
        "1,000 more dying memory cgroups an hour (1,000 to 1,000) over 10 h, 11 looks. "
        "In about 10 h (10 h to 10 h): each read of the statistics holds a core for 2 s (from 28,571 on)."
    )


def test_one_wrong_look_moves_nothing_much() -> None:
    values = list(range(1_000, 12_000, 1_000))
    values[5] = 11_500  # as somebody who counted twice
    found = grown(looks(*values))
    assert found.per_hour == pytest.approx(1_000, rel=0.05)


def test_few_looks_have_a_rate_and_no_forecast() -> None:
    found = grown(looks(1_000, 2_000, 3_000, 4_000))
    assert (found.per_hour, found.low, found.grows, found.harm_in) == (1_000, None, None, None)
    assert "4 looks: too few for an interval" in growth_words(found)


def test_two_looks_within_minutes_say_nothing() -> None:
    assert growth("x", GROWS, looks(1, 200, every=timedelta(seconds=5))) is None
    assert growth("x", GROWS, looks(1)) is None
    assert growth("x", GROWS, []) is None


def test_what_only_wavers_never_comes_to_harm_at_this_rate() -> None:
    found = grown(looks(1_000, 1_004, 998, 1_003, 997, 1_001, 1_002, 999))
    assert found.grows is False
    assert found.harm_in is None
    assert "never harmful at this rate" in growth_words(found)
    same = grown(looks(*[500] * 9))
    assert (same.low, same.high, same.grows) == (0, 0, False)


def test_a_reboot_begins_anew() -> None:
    before, after = looks(*range(0, 60_000, 10_000)), looks(10, 20, 30, 40, 50, 60, boot="b")
    after = [CountSample(look.at + timedelta(days=1), look.value, "b") for look in after]
    found = grown([*before, *after])
    assert (found.counted, found.per_hour) == (6, 10)


def test_a_reboot_is_seen_also_where_the_count_is_higher_by_then() -> None:
    told = [*looks(10, 20, 30), *(CountSample(BEGAN + timedelta(days=9) + at * HOUR, 500 + at, "b") for at in range(5))]
    assert grown(told).per_hour == 1


def test_what_was_freed_begins_anew() -> None:
    assert grown(looks(5_000, 6_000, 100, 200, 300, 400, 500, 600)).per_hour == 100


def test_a_boot_that_is_not_known_is_no_reboot() -> None:
    told = [CountSample(BEGAN + at * HOUR, 100.0 * at, "a" if at % 2 else "") for at in range(1, 9)]
    assert grown(told).counted == 8


def test_harm_that_is_there_already_is_said_and_not_foretold() -> None:
    found = grown(looks(*range(25_000, 31_000, 1_000)))
    assert found.is_harmful
    assert found.harm_in is None
    assert "This many do harm already" in growth_words(found)


def test_harm_in_a_lifetime_is_years_away() -> None:
    found = grown(looks(*(100 + at * 0.001 for at in range(10))), HarmThreshold(28_571, "x"))
    assert found.harm_in is None
    assert "years away" in growth_words(found)


def test_looks_out_of_order_twice_and_without_a_number_do_no_harm() -> None:
    told = looks(*range(0, 1_000, 100))
    shuffled = [*reversed(told), told[3], CountSample(BEGAN + HOUR / 2, float("nan"), "a")]
    assert grown(shuffled) == grown(told)


def test_months_of_looks_cost_little_and_keep_both_ends() -> None:
    found = grown(looks(*range(3_000)))
    assert found.counted == 3_000
    assert len(found.looks) == 48
    assert (found.looks[0].value, found.latest.value) == (0, 2_999)
    assert found.per_hour == pytest.approx(1)


def test_it_is_read_from_the_record_as_it_was_written() -> None:
    found = grown(looks(*range(8_571, 18_572, 1_000)))
    assert read(Growth, to_json_types(found)) == found


def test_the_interval_holds_the_true_rate_as_often_as_it_says() -> None:
    """A leak of 50 an hour, counted with noise, 400 seeds that were fixed beforehand."""
    held = told_growing = 0
    for seed in range(400):
        chance = random.Random(seed)
        at = sorted(chance.sample(range(1, 400), 24))
        told = [CountSample(BEGAN + hour * HOUR, 2_000 + 50 * hour + chance.gauss(0, 1_500), "a") for hour in at]
        found = grown(told)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 50 <= found.high
        told_growing += found.grows is True
    assert 0.92 <= held / 400 <= 0.985, held
    assert told_growing / 400 > 0.99


def test_noise_alone_is_rarely_called_growth() -> None:
    called = 0
    for seed in range(400):
        chance = random.Random(10_000 + seed)
        found = grown(looks(*(1_000 + chance.gauss(0, 50) for _ in range(20))))
        called += found.grows is True
    assert called / 400 <= 0.05, called


@given(st.lists(st.tuples(st.integers(0, 10_000), st.floats(0, 1e9), st.sampled_from(["", "a", "b"])), max_size=40))
def test_whatever_was_counted_the_interval_is_around_the_rate(rows: list[tuple[int, float, str]]) -> None:
    told = [CountSample(BEGAN + timedelta(minutes=at), value, boot) for at, value, boot in rows]
    assert list(since_reset(told)) == sorted(since_reset(told), key=lambda look: look.at)
    found = growth("x", GROWS, told, HARM)
    if found is not None:
        assert growth_words(found)
        if found.low is not None and found.high is not None:
            assert found.low <= found.per_hour <= found.high
