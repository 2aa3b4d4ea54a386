"""This program, run as a person runs it: one process a command, with the lab's settings and a record of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.domain.errors import UsageError

_ROOT = Path(__file__).parents[2]
_OURS = ("ZOMBIE_", "SLACK_", "PAGERDUTY_", "TEAMS_")
_STATE = "ZOMBIE_STATE_DIR"


@dataclass(frozen=True, slots=True)
class Program:
    """This program's command line.

    Shape: `environment` is all that its commands get; `settings` is the file that they are given.
    """

    environment: Mapping[str, str]
    settings: Path

    @classmethod
    def beside(cls, environment: Mapping[str, str], settings: Path, database: Path) -> Program:
        """Return it with a record of its own: of the settings in `environment` only the lab's place is kept."""
        kept = {name: value for name, value in environment.items() if not name.startswith(_OURS) or name == _STATE}
        return cls({**kept, "ZOMBIE_DATABASE_URL": f"sqlite:///{database}", "PYTHONPATH": str(_ROOT)}, settings)

    @staticmethod
    def argv(*words: str) -> list[str]:
        """Return the command line of a process that runs these words."""
        return [sys.executable, "-P", "-m", "bot", *words]

    def run(self, *words: str, within_seconds: float = 240) -> subprocess.CompletedProcess[str]:
        """Run a command to its end.

        Raises: subprocess.TimeoutExpired when it does not end in time.
        """
        return subprocess.run(
            self.argv(*words),
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=within_seconds,
            check=False,
        )

    def check(self, node: str, *more: str) -> dict[str, Any]:
        """Return the verdict on a node, as the JSON document says it.

        Raises: UsageError when there is none.
        """
        done = self.run("check", node, "--config", str(self.settings), "--json", *more)
        if done.returncode not in (0, 1, 3, 4):  # unreachable is a verdict too
            raise UsageError(f"The check of {node} ended with {done.returncode}: {done.stderr.strip()[-600:]}")
        verdict: dict[str, Any] = json.loads(done.stdout)["nodes"][0]
        return verdict

    def incident(self, incident: str) -> dict[str, Any]:
        """Return an incident as `incidents show --json` prints it."""
        shown: dict[str, Any] = json.loads(self.run("incidents", "show", incident, "--json").stdout)
        return shown

    def approving(self, incident: str, *more: str) -> tuple[str, ...]:
        """Return the words by which alice approves an incident's plan, and carries it out."""
        words = ("--approve-as", "alice", "--reason", "the lab's own fault")
        return ("remediate", incident, "--config", str(self.settings), *words, "--validation", "10s", *more)
