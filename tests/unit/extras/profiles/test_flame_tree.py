"""The tree of a flame graph: weights add up, names that sort between are joined, and two profiles are compared."""

from __future__ import annotations

from typing import Any

from bot.extras.profiles.counts import Counts
from bot.extras.profiles.flame_tree import flame_tree


def counts(**stacks: int) -> Counts:
    made = Counts()
    made.add((stack.replace("__", ";").encode(), times) for stack, times in stacks.items())
    return made


def called(node: dict[str, Any]) -> dict[str, Any]:
    return {child["name"]: child for child in node.get("children", [])}


def test_weights_add_up() -> None:
    root = flame_tree(counts(a__b__c=3, a__b=2, a__d=5)).values()
    assert root["value"] == called(root)["a"]["value"] == 10
    assert {name: node["value"] for name, node in called(called(root)["a"]).items()} == {"b": 5, "d": 5}


def test_names_that_sort_between_a_stack_and_deeper_ones_break_nothing() -> None:
    made = Counts()
    made.add(((b"a;b", 1), (b"a;b!x", 1), (b"a;b;c", 1), (b"a", 1)))
    root = flame_tree(made).values()
    assert {name: node["value"] for name, node in called(called(root)["a"]).items()} == {"b": 2, "b!x": 1}


def test_earlier_profile_is_stretched_to_the_weight_of_the_later() -> None:
    root = flame_tree(counts(a__b=30, a__c=10), counts(a__b=1, a__c=3)).values(compares=True)
    deltas = {name: node["delta"] for name, node in called(called(root)["a"]).items()}
    assert (root["value"], root["delta"], deltas) == (40, 0, {"b": 20, "c": -20})


def test_what_is_too_narrow_is_left_out() -> None:
    root = flame_tree(counts(a__wide=10_000, a__thin=1)).values()
    assert set(called(called(root)["a"])) == {"wide"}
