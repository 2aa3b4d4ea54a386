"""A lab of a test's own, through the program as a person runs it."""

import gzip
import os
import subprocess
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from bot.app.lab import lab, recipe
from bot.domain.errors import UsageError
from bot.lab import tools
from bot.lab.node import LabNode
from bot.lab.program import Program
from bot.lab.trial import leaked, leaking
from bot.lab.virtual_machine import speaks_ssh
from tests.conftest import missing

ROOT = Path(__file__).parents[2]
CAP_SYS_ADMIN = 21  # linux/capability.h
MANY = 10_500  # zombies that are as many as one node is given here
BOOT = timedelta(minutes=8)  # the image's making included


def require() -> None:
    """Skip, with the reason, where this machine cannot run virtual nodes; a missing tool fails where CI=true."""
    import pytest

    try:
        tools.need({**tools.FOR_QEMU, **tools.FOR_THE_IMAGE})
    except UsageError as error:
        missing(str(error))
    made = recipe("bookworm").digest
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "zombie/lab"
    if (cache / made / "recipe.digest").is_file():
        return
    if os.geteuid() != 0:
        pytest.skip("the lab's image is not in the cache, and making it needs root")
    effective = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("CapEff:"))
    if not int(effective.split()[1], 16) >> CAP_SYS_ADMIN & 1:
        pytest.skip("the lab's image is not in the cache, and making it needs mounts, which root may not make here")


@dataclass(frozen=True)
class Bench:
    """A lab in a folder of its own; images come from the user's cache, so that they are made once.

    Shape: `record` is the name of the ledger; what was done to a node in one does not count in another.
    """

    folder: Path
    record: str = "zombie"

    @property
    def program(self) -> Program:
        """This program, with nothing of whoever runs the tests but what their machine needs."""
        environment = {**os.environ, "ZOMBIE_STATE_DIR": str(self.folder)}
        return Program.beside(environment, self.folder / "lab/zombie.toml", self.folder / f"{self.record}.db")

    @property
    def environment(self) -> dict[str, str]:
        return dict(self.program.environment)

    def argv(self, *words: str) -> list[str]:
        return Program.argv(*words)

    def zombie(self, *words: str, within: timedelta = timedelta(minutes=4)) -> subprocess.CompletedProcess[str]:
        """Run a command line to its end."""
        return self.program.run(*words, within_seconds=within.total_seconds())

    def up(self, *words: str) -> LabNode:
        """Boot, and return the first node."""
        done = self.zombie("lab", "up", *words, within=BOOT)
        assert done.returncode == 0, done.stderr
        print(done.stderr)
        return self.node()

    def node(self, name: str = "lab-1") -> LabNode:
        """Return a node that runs."""
        return lab(self.environment).node(name)

    @property
    def settings(self) -> Path:
        """The settings that the lab wrote for its nodes."""
        return lab(self.environment).settings

    def check(self, *more: str) -> dict[str, Any]:
        """Return the verdict on the first node, as the JSON document tells it."""
        recorded = ("--record", str(self.folder / "said")) if os.environ.get("ZOMBIE_LAB_CAPTURES") else ()
        verdict = self.program.check("lab-1", *recorded, *more)
        print(verdict["status"], verdict["cause"], verdict["summary"], verdict["unread"], verdict["took_seconds"])
        return verdict

    def keep(self, name: str) -> None:
        """Keep what the node answered to the last check, where ZOMBIE_LAB_CAPTURES names a folder for captures.

        A person then gives it its label in tests/captures/nodes/verdicts.toml.
        """
        if folder := os.environ.get("ZOMBIE_LAB_CAPTURES"):
            said = (self.folder / "said" / "lab-1.jsonl").read_bytes()
            (Path(folder) / f"{name}.jsonl.gz").write_bytes(gzip.compress(said, mtime=0))

    def check_all(self) -> dict[str, Any]:
        """Return a verdict for which everything was read: kept waiting, an emulated node may not tell all in time."""
        verdict, looks = self.check(), 1
        while verdict["unread"] and looks < 4:
            verdict, looks = self.check(), looks + 1
        return verdict

    def remediating(self, incident: str, *more: str) -> tuple[str, ...]:
        """Return the words by which a second person approves an incident's plan; its window has time for one look."""
        return self.program.approving(incident, *more)

    def told(self, incident: str) -> dict[str, Any]:
        """Return an incident as `incidents show --json` prints it."""
        return self.program.incident(incident)

    def fault(self, name: str, *more: str) -> str:
        """Make a fault, or take it away, and return the figure that proves it."""
        done = self.zombie("lab", "fault", "lab-1", name, *more, within=timedelta(minutes=15))
        assert done.returncode == 0, done.stdout + done.stderr
        print(done.stdout)
        return done.stdout.strip()


def leaks(bench: Bench, many: int = MANY) -> None:
    """Give the first node the founding disease, and wait for the end of its first burst: then it has time again.

    Shape: from `many` zombies on ecs.service leaks as slowly as an agent would, about two a second.
    """
    node = bench.node()
    assert node.run(leaking(many)).ok
    bench.fault("leaked-memory-cgroups")
    counted = node.run(f"{leaked(many)}; count", within_seconds=600)
    assert counted.ok, counted.stderr
    print(counted.stdout.strip(), "memory cgroups are removed and not freed")


def dying(node: LabNode) -> int:
    """Ask the kernel itself, as root and without the bot, how many memory cgroups are removed and not freed."""
    if node.cgroups == "v2":
        said = node.run("cat /sys/fs/cgroup/cgroup.stat").stdout.split()
        return int(said[said.index("nr_dying_descendants") + 1])
    said = node.run("grep ^memory /proc/cgroups; find /sys/fs/cgroup/memory -type d | wc -l").stdout.split()
    return int(said[2]) - int(said[-1])


def boot_id(node: LabNode) -> str:
    """Return which boot this is."""
    return node.run("cat /proc/sys/kernel/random/boot_id").stdout.strip()


def booted(node: LabNode) -> tuple[str, int]:
    """Return which boot this is, and how many the node's own journal knows."""
    said = node.run("cat /proc/sys/kernel/random/boot_id; journalctl --list-boots -q | wc -l").stdout.split()
    return said[0], int(said[1])


def answers(node: LabNode) -> bool:
    """True while an SSH server speaks at the node's address."""
    return speaks_ssh(node.address, node.port)
