"""Counts that outgrow the memory are in a file, none is dropped, and the tree of a flame graph adds them up."""

from __future__ import annotations

import asyncio
import gzip
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.errors import ConnectionLost, ProfileError
from bot.domain.node import Node
from bot.extras.profiles import reader
from bot.extras.profiles.capture_wire import CaptureEnd, Facts
from bot.extras.profiles.counts import Counts
from bot.extras.profiles.flame_tree import flame_tree
from bot.extras.profiles.nodes import EXIT_UNREACHABLE, Profiling, profile_node
from bot.extras.profiles.perf_command import CaptureRequest
from bot.extras.profiles.profiler import Captured
from bot.extras.profiles.selection import Selection

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


NODE = Node("node-1", "10.0.0.1")
TEXT = b"".join(
    b"kubelet 77/78 [039] %d.%06d: cycles: \n\tffffffff81000010 function_%d+0x10 ([kernel.kallsyms])\n\n" % (1, at, at)
    for at in range(2000)
)


class Samples:
    """A profiler whose node sends this text, or breaks the connection."""

    def __init__(self, text: bytes) -> None:
        self.text = text

    async def profile(self, node: Node, request: CaptureRequest, hand_on: Any, anyway: bool) -> Captured:
        if not self.text:
            raise ConnectionLost("The connection broke.")
        hand_on(self.text)
        return Captured(node.name, request, "cycles", Facts(), CaptureEnd())


def profiled(text: bytes, folder: Path) -> Any:
    what = Profiling(CaptureRequest(), Selection(), kept_in=folder)
    samples: Any = Samples(text)
    return asyncio.run(profile_node(samples, NODE, what))


def test_profile_whose_stacks_outgrew_memory_is_said_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "Counts", partial(Counts, limit_bytes=20_000))
    found = profiled(TEXT, tmp_path)
    assert spilled()
    document = found.document()
    assert document["samples"] == 2000
    assert document["hot"]["process"] == "kubelet"
    assert gzip.decompress(found.kept.read_bytes()) == TEXT


def test_nothing_is_kept_of_a_node_that_sent_nothing(tmp_path: Path) -> None:
    found = profiled(b"", tmp_path)
    assert (found.exit_status, list(tmp_path.iterdir())) == (EXIT_UNREACHABLE, [])
