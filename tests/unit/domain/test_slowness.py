"""How slowly a node answers is told by most of its answers, and not by a few that hang."""

import pytest

from bot.domain.command import FEWEST_RUNS, USUAL_SECONDS, slowness


def seconds(*times_as_long: float) -> list[float]:
    return [times * USUAL_SECONDS for times in times_as_long]


def test_slow_node_is_as_slow_as_most_of_its_answers() -> None:
    assert slowness(seconds(*[8.0] * 20)) == pytest.approx(8)


def test_few_commands_that_hang_make_no_node_slow() -> None:
    assert slowness(seconds(*[1.0] * 30, *[400.0] * 7)) == pytest.approx(1)


def test_too_few_answers_say_nothing() -> None:
    assert slowness(seconds(*[50.0] * (FEWEST_RUNS - 1))) is None
