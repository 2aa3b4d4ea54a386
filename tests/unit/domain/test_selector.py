"""Selectors mean exactly the nodes that they say, and a sample is as large as it says."""

from contextlib import suppress
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.errors import UsageError
from bot.domain.node import Node
from bot.domain.sample import Sample
from bot.domain.selector import Selector, SelectorKind, valid_namespace

GPU = Node("ray-gpu-1a-0417", "10.0.0.1", labels={"role": "gpu", "az": "us-east-1a"})


@pytest.mark.parametrize(
    ("text", "kind", "covers"),
    [
        ("ray-gpu-1a-0417", SelectorKind.NAME, True),
        ("ray-gpu-1a-041", SelectorKind.NAME, False),
        ("ray-gpu-1a-*", SelectorKind.GLOB, True),
        ("ray-gpu-1[bc]-*", SelectorKind.GLOB, False),
        ("*", SelectorKind.GLOB, True),
        ("role=gpu", SelectorKind.LABELS, True),
        ("role=gpu,az=us-east-1a", SelectorKind.LABELS, True),
        ("role=gpu,az=us-east-1b", SelectorKind.LABELS, False),
        ("nothing=", SelectorKind.LABELS, False),
        ("pod/train-7", SelectorKind.WORKLOAD, False),
        ("job/train.7", SelectorKind.WORKLOAD, False),
    ],
)
def test_selector_says_what_it_goes_by_and_whom_it_covers(text: str, kind: SelectorKind, covers: bool) -> None:
    selector = Selector.of(text)
    assert (selector.kind, selector.covers(GPU)) == (kind, covers)


@pytest.mark.parametrize(
    "text",
    ["", "-oProxyCommand=x", "role=$(id)", "role=a b", "role=gpu,", "role=*", "pod/", "pod/../x", "pod/A", "node/x",
     "job/a/b", "a\nb", "a;b", "<!channel>", "x" * 300, "role=gpu\n", "`id`"],
)  # fmt: skip
def test_what_says_no_nodes_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(UsageError, match="does not say which nodes") as caught:
        Selector.of(text)
    assert "\n" not in caught.value.sentence


def test_two_values_of_a_label_are_refused_rather_than_one_of_them_taken() -> None:
    with pytest.raises(UsageError, match="no node has two values of role") as caught:
        Selector.of("role=gpu,az=us-east-1a,role=web")
    assert "role=gpu role=web" in caught.value.try_next
    assert Selector.of("role=gpu,role=gpu").covers(GPU)


@given(st.text(max_size=60))
def test_any_text_is_a_selector_or_a_sentence(text: str) -> None:
    with suppress(UsageError):
        assert Selector.of(text).covers(GPU) in (True, False)


@pytest.mark.parametrize("text", ["", "UPPER", "a/b", "-x", "x" * 64, "a?b", "ray\n"])
def test_namespace_cannot_leave_its_place_in_a_path(text: str) -> None:
    with pytest.raises(UsageError):
        valid_namespace(text)


@pytest.mark.parametrize("text", ["", "0", "0%", "-5%", "101%", "5.5", "nan%", "5 %", "1e3", "٥"])
def test_no_sample(text: str) -> None:
    with pytest.raises(UsageError):
        Sample.of(text)


@given(st.integers(0, 400), st.integers(1, 500) | st.floats(0.01, 100).map(lambda share: f"{share:.2f}%"))
def test_sample_is_in_order_without_repetition_and_of_its_size(nodes: int, size: int | str) -> None:
    sample, items = Sample.of(str(size)), list(range(nodes))
    drawn = sample.draw(items, Random(7))
    assert list(drawn) == sorted(set(drawn))
    assert len(drawn) == (sample.size(nodes) if nodes else 0) <= nodes
