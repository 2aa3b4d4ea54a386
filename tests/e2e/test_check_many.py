"""`zombie check` of many simulated nodes: what came is whole, whenever it ends and whoever reads it."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e import faulty_servers
from tests.nodes.simulated_fleet import FleetProcess, fleet_of
from tests.program import Started
from tests.waiting import until

CHECK = ["check", "--all", "--json", "--samples", "1", "--parallel", "40"]
# The same as if there were many more nodes: two processes beside it ask them too.
BESIDE = (
    "import sys, bot.app.many_nodes as many; from bot.__main__ import main; "
    "many.worker_count = lambda nodes, cores: 2; sys.exit(main(sys.argv[1:]))"
)
COUNT = 30


@pytest.fixture(scope="module")
def fleet() -> Iterator[FleetProcess]:
    with fleet_of(COUNT) as fleet:
        yield fleet


def started(fleet: FleetProcess, *ports: int, words: Sequence[str] = CHECK, script: str = "") -> Started:
    return Started(*words, "--inventory", str(fleet.names(COUNT, ports)), script=script)


@contextmanager
def started_with_silent_last(fleet: FleetProcess) -> Iterator[Started]:
    """Check with processes beside; the last node, zzz, says nothing."""
    with faulty_servers.listening() as silent:
        inventory = fleet.names(COUNT, [silent.getsockname()[1]])
        head, other, *rest = inventory.read_text().replace("[nodes.other-0]", "[nodes.zzz]").split("\n[nodes.")
        inventory.write_text("\n[nodes.".join([head, *rest, other]))
        with Started(*CHECK, "--inventory", str(inventory), script=BESIDE) as running:
            yield running


def test_refused_nodes_stand_in_their_place_and_hold_up_nobody(fleet: FleetProcess) -> None:
    with (
        faulty_servers.refusing() as refused,
        faulty_servers.full() as black_hole,
        started(fleet, refused, black_hole) as running,
    ):
        out, err = running.communicate(timeout=60)
    nodes = json.loads(out)["nodes"]
    assert [node["node"] for node in nodes] == ["other-0", "other-1", *(f"node-{n:03}" for n in range(1, COUNT + 1))]
    assert [node["status"] for node in nodes] == ["unreachable"] * 2 + ["healthy"] * COUNT, err
    assert running.returncode == 4


def test_processes_beside_leave_out_readings_too(fleet: FleetProcess) -> None:
    for more in ([], ["--no-readings"]):
        with started(fleet, words=[*CHECK, *more], script=BESIDE) as running:
            out, err = running.communicate(timeout=60)
        nodes = json.loads(out)["nodes"]
        assert len(nodes) == COUNT, err
        assert [bool(node["readings"]) for node in nodes] == [not more] * COUNT
        assert all(node["ruled_out"] for node in nodes)


def test_ctrl_c_leaves_a_whole_document_of_what_came(fleet: FleetProcess) -> None:
    with started_with_silent_last(fleet) as running:
        first = running.stdout.readline() + running.stdout.readline()  # before the run is over
        running.send_signal(signal.SIGINT)
        out, err = running.communicate()
    nodes = json.loads(first + out)["nodes"]
    assert 1 <= len(nodes) <= COUNT
    assert "zzz" not in [node["node"] for node in nodes]
    assert f"interrupted, {len(nodes)} of {COUNT + 1} nodes were judged" in err
    assert running.returncode == 130
    assert "Traceback" not in err


def test_reader_that_leaves_ends_the_run_quietly(fleet: FleetProcess) -> None:
    with started(fleet, script=BESIDE) as running:
        running.stdout.close()
        running.wait(timeout=60)
        assert "Traceback" not in running.stderr.read()
    assert running.returncode == 141


def test_processes_beside_end_with_the_one_that_shows_what_came(fleet: FleetProcess) -> None:
    with started_with_silent_last(fleet) as running:
        running.stdout.readline()
        others = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
        assert len(others) == 2
        running.kill()
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in others), what="the end of the others")
