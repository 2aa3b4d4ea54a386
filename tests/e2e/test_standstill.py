"""`zombie check` of healthy nodes while this very program gets no processor: none of them is called unreachable."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot.transport.ssh_login import LOGIN_LIMIT
from tests.contract.ways import promised
from tests.e2e import faulty_servers
from tests.nodes.simulated_fleet import FleetProcess, fleet_of
from tests.program import Started
from tests.waiting import until

COUNT = 12
ARGUMENTS = ["check", "--all", "--json", "--samples", "1", "--parallel", "40", "--inventory"]
STANDSTILL_SECONDS = LOGIN_LIMIT.total_seconds() + 4

# A thread that sleeps in C and keeps the interpreter's lock meanwhile: nothing else in the program goes on. It begins
# once so many connections are open.
HOLDING = """
import ctypes, os, sys, threading, time
from bot.__main__ import main
held, free, begun = float(sys.argv.pop(1)), float(sys.argv.pop(1)), int(sys.argv.pop(1))
def hold():
    while len(os.listdir("/proc/self/fd")) < begun:
        time.sleep(0.005)
    while True:
        ctypes.PyDLL(None).usleep(int(held * 1e6))
        time.sleep(free)
threading.Thread(target=hold, daemon=True).start()
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def fleet() -> Iterator[FleetProcess]:
    with fleet_of(COUNT) as fleet:
        yield fleet


def connections(pid: int) -> int:
    """How many sockets a process has open."""
    links = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            links.append(str(link.readlink()))
        except OSError:
            continue
    return sum(link.startswith("socket:") for link in links)


def verdicts(out: str) -> Counter[tuple[str, str]]:
    return Counter((node["status"], node["summary"]) for node in json.loads(out)["nodes"])


def test_stopped_program_takes_up_every_node_where_it_was(fleet: FleetProcess) -> None:
    """As Ctrl-Z and fg, for longer than any login may take."""
    with Started(*ARGUMENTS, str(fleet.inventory)) as running:
        until(lambda: connections(running.pid) >= 5, what="5 connections")
        running.send_signal(signal.SIGSTOP)
        threading.Event().wait(STANDSTILL_SECONDS)
        running.send_signal(signal.SIGCONT)
        out, err = running.communicate(timeout=60)
    assert {status for status, _ in verdicts(out)} == {"healthy"}, (verdicts(out), err)
    assert running.returncode == 0


def held(inventory: Path, seconds: float, free: float, begun: int) -> tuple[str, float]:
    """Check all nodes while the interpreter is held up again and again; return what was told and how long it took."""
    began = time.monotonic()
    with Started(str(seconds), str(free), str(begun), *ARGUMENTS, str(inventory), script=HOLDING) as running:
        out, err = running.communicate(timeout=120)
    assert "Traceback" not in err, err
    return out, time.monotonic() - began


def test_program_that_hardly_gets_the_processor_calls_no_node_unreachable(fleet: FleetProcess) -> None:
    out, _ = held(fleet.inventory, 1.5, 0.05, COUNT)
    assert {status for status, _ in verdicts(out)} == {"healthy"}, verdicts(out)


def test_silent_node_ends_in_its_bound_and_is_still_said_to_be_silent(fleet: FleetProcess) -> None:
    with faulty_servers.listening() as silent:
        inventory = fleet.names(3, [silent.getsockname()[1]])
        out, took = held(inventory, 0.5, 0.6, 0)
    first, *others = json.loads(out)["nodes"]
    assert (first["status"], first["summary"].rsplit(" ", 1)[-1]) == ("unreachable", "[banner-stall]")
    assert [node["status"] for node in others] == ["healthy"] * 3
    assert took < promised(2 * LOGIN_LIMIT + timedelta(seconds=8))
