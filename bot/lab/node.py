"""A node of the lab, saved to a file; faults log in to it as root with the OpenSSH client."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

from bot.domain.errors import UsageError
from bot.lab.process import Process

_SSH_OPTIONS = (
    "IdentitiesOnly=yes",
    "IdentityAgent=none",
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    "GlobalKnownHostsFile=/dev/null",
    "ConnectTimeout=30",
    "ServerAliveInterval=10",
    "ServerAliveCountMax=6",
)


@dataclass(frozen=True, slots=True)
class Answer:
    """Output and exit status of a command."""

    status: int
    stdout: str
    stderr: str

    @property
    def ok(self) -> bool:
        """True when it succeeded."""
        return self.status == 0


@dataclass(frozen=True, slots=True)
class LabNode:
    """A running node.

    Shape: `folder` has its disk, console and host keys. `cgroups` is v1 or v2.
    """

    name: str
    cgroups: str
    address: str
    port: int
    process: Process
    folder: Path
    root_key: Path

    @property
    def known_hosts(self) -> Path:
        """A known_hosts file with this node's host key."""
        return self.folder / "known_hosts"

    @property
    def console(self) -> Path:
        """The log of the node's console."""
        return self.folder / "console.log"

    def run(self, script: str, within_seconds: float = 120.0) -> Answer:
        """Run a shell script as root on the node.

        Raises: UsageError when the node does not run, or the script does not end in time.
        """
        if not self.process.runs:
            raise UsageError(f"{self.name} is no longer running.", f"Its console: {self.console}")
        argv = ["ssh", "-q", "-T", "-F", "none", "-i", str(self.root_key), "-p", str(self.port)]
        for option in (*_SSH_OPTIONS, f"UserKnownHostsFile={self.known_hosts}"):
            argv += ["-o", option]
        argv += [f"root@{self.address}", "sh -s"]
        try:
            done = subprocess.run(
                argv,
                input=script,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=within_seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise UsageError(f"{self.name} did not answer within {within_seconds:g} s.") from error
        return Answer(done.returncode, done.stdout, done.stderr)

    def save(self) -> None:
        """Save the node for later commands."""
        row = asdict(self) | {"folder": str(self.folder), "root_key": str(self.root_key)}
        (self.folder / "node.json").write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> LabNode:
        """Load a saved node. Raises: UsageError for one that shares this machine's kernel."""
        row = json.loads((folder / "node.json").read_text(encoding="utf-8"))
        if row.pop("kind", "qemu") != "qemu":  # saved by an earlier program
            raise UsageError(
                f"{folder.name} is a container of an earlier version.", "That version stops it: zombie lab down"
            )
        row |= {"process": Process(**row["process"]), "folder": folder, "root_key": Path(row["root_key"])}
        return cls(**row)
