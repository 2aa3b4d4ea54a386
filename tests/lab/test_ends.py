"""However a lab ends, nothing of it is left: no process, no port, no mount, no file."""

import signal
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from tests.lab.bench import ROOT, Bench, answers
from tests.waiting import until

pytestmark = [pytest.mark.lab, pytest.mark.slow]


def processes_of(folder: Path) -> list[str]:
    """Return the command lines that name a folder, those of this test's own session excepted."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in line and "qemu" in line:
            found.append(line)
    return found


def test_down_leaves_nothing_of_two_nodes_that_were_different_machines(own: Bench) -> None:
    own.up("--nodes", "2", "--memory", "512")
    nodes = [own.node(name) for name in ("lab-1", "lab-2")]
    ids = [node.run("cat /etc/machine-id /etc/hostname /proc/sys/kernel/hostname").stdout.split() for node in nodes]
    assert ids[0][0] != ids[1][0]
    assert [each[2] for each in ids] == ["lab-1", "lab-2"]
    assert all(answers(node) for node in nodes)
    assert own.zombie("lab", "down").returncode == 0
    assert not any(answers(node) for node in nodes)
    assert processes_of(own.folder) == []
    assert list(own.folder.rglob("*")) == []
    assert str(own.folder) not in Path("/proc/self/mountinfo").read_text()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_boot_leaves_nothing(own: Bench, how: signal.Signals) -> None:
    with subprocess.Popen(
        own.argv("lab", "up", "--memory", "512"), cwd=ROOT, env=own.environment, stderr=subprocess.DEVNULL
    ) as starting:
        until(lambda: processes_of(own.folder), within=timedelta(minutes=8), what="QEMU's start")
        starting.send_signal(how)
        assert starting.wait(60) == 130
    assert processes_of(own.folder) == []
    assert list(own.folder.rglob("*")) == []
