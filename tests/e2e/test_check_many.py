"""`zombie check` of many simulated nodes: what came is whole, whenever it ends and whoever reads it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence

import pytest

from tests.e2e import faulty_servers
from tests.nodes.simulated_fleet import ROOT, FleetProcess, fleet_of

CHECK = ["check", "--all", "--json", "--samples", "1", "--parallel", "40"]
PROGRAM = [sys.executable, "-P", "-m", "bot", *CHECK]
# The same as if there were many more nodes: two processes beside it parse and evaluate what they answer.
_BESIDE = (
    "import sys, bot.app.many_nodes as many; from bot.__main__ import main; "
    "many.how_many = lambda nodes, cores: 2; sys.exit(main(sys.argv[1:]))"
)
PROGRAM_BESIDE = [sys.executable, "-P", "-c", _BESIDE]
WITH_OTHERS_BESIDE = [*PROGRAM_BESIDE, *CHECK]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
COUNT = 30


@pytest.fixture(scope="module")
def fleet() -> Iterator[FleetProcess]:
    with fleet_of(COUNT) as fleet:
        yield fleet


def started(fleet: FleetProcess, *ports: int, program: Sequence[str] = PROGRAM) -> subprocess.Popen[str]:
    inventory = fleet.names(COUNT, ports)
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*program, "--inventory", str(inventory)], stdout=pipe, stderr=pipe, text=True, env=ENVIRONMENT
    )


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
        with started(fleet, program=[*WITH_OTHERS_BESIDE, *more]) as running:
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
        command = [*WITH_OTHERS_BESIDE, "--inventory", str(inventory)]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=ENVIRONMENT) as running:
            assert running.stdout is not None
            assert running.stderr is not None
            first = running.stdout.readline() + running.stdout.readline()  # before the run is over
            running.send_signal(signal.SIGINT)
            out, err = running.stdout.read(), running.stderr.read()
    nodes = json.loads(first + out)["nodes"]
    assert 1 <= len(nodes) <= COUNT
    assert "zzz" not in [node["node"] for node in nodes]
    assert f"interrupted, {len(nodes)} of {COUNT + 1} nodes were judged" in err
    assert running.returncode == 130
    assert "Traceback" not in err


def test_reader_that_leaves_ends_the_run_quietly(fleet: FleetProcess) -> None:
    with started(fleet, program=WITH_OTHERS_BESIDE) as running:
        assert running.stdout is not None
        running.stdout.close()
        running.wait(timeout=60)
        assert running.stderr is not None
        assert "Traceback" not in running.stderr.read()
    assert running.returncode == 141


def test_sweep_of_whole_checks_beside_answers_for_every_node(fleet: FleetProcess) -> None:
    sweep = [*PROGRAM_BESIDE, "fleet", "*", "--full", "--json", "--samples", "1"]
    with faulty_servers.refusing() as refused, started(fleet, refused, program=sweep) as running:
        out, err = running.communicate(timeout=120)
    told = json.loads(out)
    assert (told["asked"], told["answered"], told["complete"]) == (COUNT + 1, COUNT, True), err
    assert [(node["node"], node["class"]) for node in told["unreachable"]] == [("other-0", "refused")]
    assert {cause["judged"] for cause in told["causes"]} == {"full"}
    assert running.returncode == 4
