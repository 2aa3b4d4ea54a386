"""`zombie fleet --scheduler` and `zombie worker`: one sweep, read by several programs over real SSH."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bot.demo.faults import Fault
from bot.demo.fleet_leaks import AUTO_RESTART, STOPPED
from bot.demo.fleet_other_faults import BUSY
from tests.nodes.acting_fleet import POLICY, Site, site
from tests.nodes.workers import workshop

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow
LEAK = "leaked-memory-cgroups"
NODES = {
    "gpu-1a-1": (AUTO_RESTART, None),
    "gpu-1a-2": (STOPPED, None),
    "gpu-1b-1": (BUSY, None),
    "gpu-1b-2": (BUSY, Fault.OTHER_HOST_KEY),
}
ACTING_KEY = '[ssh.act]\nuser = "zombie-act"\nkey = "/nowhere/acting_key"\n'


async def swept(here: Site, *words: str, status: int = 1) -> tuple[dict[str, Any], str]:
    done = await here.zombie("fleet", *words, "--json")
    assert done.status == status, done.err
    return json.loads(done.out), done.err


def timeless(told: dict[str, Any]) -> dict[str, Any]:
    """Without what is measured anew each time."""
    for node in told.get("nodes", ()):
        del node["summary"]
    return {name: value for name, value in told.items() if name != "seconds"}


async def test_workers_tell_what_one_machine_tells_and_do_nothing_on_any_node(tmp_path: Path) -> None:
    async with site(tmp_path, NODES, POLICY + ACTING_KEY) as here:
        with workshop(tmp_path, here.environ) as shop:
            for _ in range(2):
                shop.worker()
            for words in (("role=gpu", "--cause", LEAK), ("role=gpu", "--full"), ("gpu-1a-*", "--parallel", "1")):
                alone, _ = await swept(here, *words)
                spread, said = await swept(here, *words, "--scheduler", shop.url)
                assert timeless(spread) == timeless(alone)
                assert spread["complete"]
                assert f"2 workers at {shop.url}" in said
            assert sum(worker.said.count("zombie: read") for worker in shop.workers) >= 4
            pair = ("gpu-1a-1", "gpu-1a-2", "--against", "gpu-1b-1", "--json")
            differs = [await here.zombie("diff", *pair, *more) for more in ((), ("--scheduler", shop.url))]
            assert json.loads(differs[0].out)["differences"]
            assert differs[0].out == differs[1].out
            assert [worker.end() for worker in shop.workers] == [0, 0]
        assert [here.machine(name).done for name in NODES] == [[], [], [], []]
