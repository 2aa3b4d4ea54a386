"""A node's profile can be said after it was read, also where its stacks outgrew memory; what came is kept."""

from __future__ import annotations

import asyncio
import gzip
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bot.domain.errors import ConnectionLost
from bot.domain.node import Node
from bot.extras.profiles import reader
from bot.extras.profiles.capture_wire import CaptureEnd, Facts
from bot.extras.profiles.counts import Counts
from bot.extras.profiles.nodes import EXIT_UNREACHABLE, Profiling, profile_node
from bot.extras.profiles.perf_command import CaptureRequest
from bot.extras.profiles.profiler import Captured
from bot.extras.profiles.selection import Selection
from tests.unit.extras.profiles.test_counts import spilled

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
