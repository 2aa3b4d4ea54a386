"""Suggestions are near, few and quick, whatever was asked for."""

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.nearest import did_you_mean, nearest


def test_typo_case_and_part_of_a_name_are_recognised() -> None:
    known = ["node-123", "node-124", "gpu-1.example.org"]
    assert set(nearest("node-12", known)) == {"node-123", "node-124"}
    assert nearest("NODE-124", known)[0] == "node-124"
    assert nearest("example", known) == ("gpu-1.example.org",)
    assert nearest("zzz", known) == ()


def test_names_that_differ_in_case_alone_are_both_offered() -> None:
    assert set(nearest("NODE", ["node", "Node"])) == {"node", "Node"}


def test_few_known_names_are_listed_when_none_is_near() -> None:
    assert did_you_mean("zzz", ["a", "b"]) == "Known are: a, b."
    assert did_you_mean("zzz", []) == "None are known."
    assert did_you_mean("zzz", [str(n) for n in range(50)]) == "There are 50 to choose from."


@given(st.text(max_size=300), st.lists(st.text(max_size=20), max_size=10))
@settings(deadline=None)
def test_only_known_names_are_ever_offered(wrong: str, known: list[str]) -> None:
    near = nearest(wrong, known)
    assert set(near) <= set(known)
    assert len(near) <= 3


def test_hostile_name_does_not_make_the_search_slow() -> None:
    known = [f"node-{n}" for n in range(10_000)]
    began = time.process_time()
    nearest("-edon" * 50_000, known)
    assert time.process_time() - began < 2
