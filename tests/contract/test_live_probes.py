"""Every probe asks this very machine, through a real batch and a real shell, as root and as nobody in particular."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.domain.command import Command, Completed, Outputs
from bot.domain.probe import Probe, Unread
from bot.probes import PROBES
from bot.probes.cpu import PROBE as CPU
from bot.probes.cpu import CpuReading
from bot.probes.processes import PROBE as PROCESSES
from bot.probes.processes import ProcessesReading
from tests.readings.recorded import read_this_machine, run

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="probes read Linux")

EVERYWHERE = {"cpu", "interrupts", "processes", "reclaim", "softirq"}  # /proc has these on every Linux
OWN_SESSION = Command("session", ("sh", "-c", "read -r _ _ _ _ _ session _ </proc/self/stat; echo $session"))
BROKEN = ("syntax error", "not found", "unexpected", "awk:", "illegal", "bad substitution", "Usage:", "unrecognized")


def read(probe: Probe, runs: list[Completed]) -> object:
    return probe.read(Outputs(*(done for done in runs if done.probe == probe.name)))


@pytest.mark.parametrize("user", [None, "nobody"])
def test_every_command_runs_here_and_is_understood(user: str | None) -> None:
    if user is not None and os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    probes = list(PROBES.values())
    runs = read_this_machine(probes, samples=2, user=user)
    assert {done.probe for done in runs} == set(PROBES)
    for probe in probes:
        reading = read(probe, runs)
        assert isinstance(reading, (Unread, probe.reading))
        if probe.name in EVERYWHERE:
            assert not isinstance(reading, Unread), reading
    for done in runs:
        assert done.exit_status is not None, done
        assert not any(word in done.stderr for word in BROKEN), done
        assert not done.cut, done.name


def test_every_way_to_watch_the_cores_agrees_on_how_many_there_are() -> None:
    (command,) = CPU.commands
    ways = [argv for argv in (command.argv, *command.alternatives) if shutil.which(argv[0])]
    assert ways[-1][0] == "sh"
    for argv in ways:
        probe = replace(CPU, commands=(replace(command, argv=argv, alternatives=()),))
        cpu = read(probe, read_this_machine([probe], samples=2))
        assert isinstance(cpu, CpuReading), cpu
        assert (len(cpu.seconds), cpu.cores) == (2, os.cpu_count())
        assert all(0.9 < core.span_seconds < 2 for second in cpu.seconds for core in second)


# A program like those written in Go: its first thread sleeps on one core, another works in the kernel on the last.
THREADED = """
import os, threading
def work():
    os.sched_setaffinity(threading.get_native_id(), {max(os.sched_getaffinity(0))})
    null, zero = os.open("/dev/null", os.O_WRONLY), os.open("/dev/zero", os.O_RDONLY)
    while True:
        os.write(null, os.read(zero, 1 << 22))
threading.Thread(target=work, daemon=True).start()
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
print("ready", flush=True)
input()
"""


@pytest.fixture
def threaded() -> Iterator[int]:
    command = [sys.executable, "-c", THREADED]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as busy:
        assert busy.stdout is not None
        assert busy.stdout.readline() == b"ready\n"
        yield busy.pid
        busy.kill()


def test_the_core_of_a_busy_thread_is_named_and_our_own_work_is_not(threaded: int) -> None:
    telling = replace(CPU, commands=(*CPU.commands, OWN_SESSION))
    runs = read_this_machine([PROCESSES, telling], samples=3)
    reading = read(PROCESSES, runs)
    assert isinstance(reading, ProcessesReading), reading
    (busy,) = [process for process in reading.busiest if process.pid == threaded]
    assert busy.sys_seconds > 0.1  # of some three seconds, on a machine that may have little left to give
    assert busy.cores_in_kernel == {max(os.sched_getaffinity(0))}
    (own,) = [done.stdout.strip() for done in runs if done.name == "session"]
    assert int(own) > 1
    sessions = {process.raw.rpartition(")")[2].split()[3]: process.name for process in reading.busiest}
    assert own not in sessions, sessions


AWKS = [found for name in ("mawk", "gawk", "original-awk", "busybox") if (found := shutil.which(name))]
FRAGMENTS = [
    (probe.name, command.name)
    for probe in PROBES.values()
    for command in probe.commands
    if any("awk" in word for word in (*command.argv, *sum(command.alternatives, ())))
]


@pytest.mark.parametrize("awk", AWKS)
@pytest.mark.parametrize(("probe", "name"), FRAGMENTS)
def test_every_awk_takes_every_fragment(awk: str, probe: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "awk").symlink_to(awk)
    (command,) = [command for command in PROBES[probe].commands if command.name == name]
    for argv in (command.argv, *command.alternatives):
        words = [word.replace("{samples}", "1").replace("{rest}", "0.7") for word in argv]
        if shutil.which(words[0]) is None:
            continue
        environment = {"PATH": f"{tmp_path}:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=30, check=False)
        assert not any(word in done.stderr for word in BROKEN), done.stderr


@pytest.mark.parametrize("awk", AWKS)
def test_every_awk_finds_the_busy_process(awk: str, threaded: int, tmp_path: Path) -> None:
    (tmp_path / "awk").symlink_to(awk)
    words = [word.replace("{rest}", "0.7") for word in PROCESSES.commands[0].argv]
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "LC_ALL": "C"}
    done = subprocess.run(
        words, env=environment, capture_output=True, text=True, timeout=30, check=True, start_new_session=True
    )
    reading = PROCESSES.read(Outputs(run("processes", done.stdout)))
    assert threaded in [process.pid for process in reading.busiest], done.stdout
