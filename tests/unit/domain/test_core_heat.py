"""What the heat of cores says in words is what its samples say."""

from __future__ import annotations

from dataclasses import replace

from bot.domain.core_heat import CoreHeat
from bot.domain.json_form import read, to_json_types
from tests.unit.surfaces.heats import heat_of


def test_words_name_the_core_how_long_it_was_hot_and_the_others() -> None:
    assert heat_of().words == "core 39: 100 % kernel time in 4 of 5 s; the other 95 below 20 %"
    assert heat_of().alt_text.startswith("Heat map of 96 cores over 5 s; core 39: 100 % kernel time in 4 of 5 s")


def test_words_follow_the_samples() -> None:
    heat = heat_of(4, hot=0)
    busy = replace(heat, percents=(heat.percents[0], (3, 47, 2, 2, 2), *heat.percents[2:]))
    assert "the other 3 below 50 %" in busy.words
    two = replace(heat, percents=(heat.percents[0], (3, 97, 2, 2, 2), *heat.percents[2:]))
    assert "for a while also core 1; the other 2 below 20 %" in two.words


def test_what_was_not_read_is_told_and_counts_as_nothing() -> None:
    heat = heat_of(4, hot=0, unread=frozenset({(0, 1), (2, 0)}))
    assert "in 3 of 5 s" in heat.words
    assert "2 of 20 samples not read" in heat.words
    alone = CoreHeat("kernel time", 0, (0, 1), (1.0,), ((100,), (None,)))
    assert "below" not in alone.words, "nothing is said of cores of which nothing was read"


def test_many_hot_cores_are_counted() -> None:
    heat = heat_of(8, hot=0)
    hot = replace(heat, percents=(heat.percents[0], *[(95,) * 5] * 7))
    assert "for a while also cores 1, 2, 3 and 4 more" in hot.words


def test_it_is_kept_and_read_again_as_it_was() -> None:
    heat = heat_of(8, hot=3, unread=frozenset({(1, 1)}))
    assert read(CoreHeat, to_json_types(heat)) == heat
