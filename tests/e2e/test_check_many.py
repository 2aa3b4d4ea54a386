"""`zombie check` of many simulated nodes: what came is whole, whenever it ends and whoever reads it."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Sequence

import pytest

from tests.e2e import faulty_servers
from tests.nodes.simulated_fleet import FleetProcess, fleet_of
from tests.program import Started

CHECK = ["check", "--all", "--json", "--samples", "1", "--parallel", "40"]
# The same as if there were many more nodes: two processes beside it parse and evaluate what they answer.
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
    with faulty_servers.listening() as silent:
        inventory = fleet.names(COUNT, [silent.getsockname()[1]])
        names = inventory.read_text().replace("[nodes.other-0]", "[nodes.zzz]")
        head, other, *rest = names.split("\n[nodes.")
        inventory.write_text("\n[nodes.".join([head, *rest, other]))  # the silent one is the last
        with Started(*CHECK, "--inventory", str(inventory), script=BESIDE) as running:
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


def test_sweep_of_whole_checks_beside_answers_for_every_node(fleet: FleetProcess) -> None:
    sweep = ["fleet", "*", "--full", "--json", "--samples", "1"]
    with faulty_servers.refusing() as refused, started(fleet, refused, words=sweep, script=BESIDE) as running:
        out, err = running.communicate(timeout=120)
    told = json.loads(out)
    assert (told["asked"], told["answered"], told["complete"]) == (COUNT + 1, COUNT, True), err
    assert [(node["node"], node["class"]) for node in told["unreachable"]] == [("other-0", "refused")]
    assert {cause["judged"] for cause in told["causes"]} == {"full"}
    assert running.returncode == 4
