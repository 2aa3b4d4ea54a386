"""A command line as it is typed, run within the test's own process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bot.__main__ import main
from tests.record.ledgers import ledger_url


class Ran(NamedTuple):
    """How a command ended, and what it said."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed for programs."""
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class CommandLine:
    """Runs commands in a folder, where no inventory, settings or ledger are but those that a test puts there."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *words: str) -> Ran:
        self.capsys.readouterr()
        try:
            status = main(words)
        except SystemExit as leaves:
            status = int(leaves.code or 0)
        return Ran(status, *self.capsys.readouterr())

    def ledger(self) -> str:
        """Return the URL of the ledger that commands use, which is made if it is not there."""
        return ledger_url(self.folder / "state" / "zombie.db")

    def unreachable(self, *nodes: str) -> None:
        """Make an inventory of nodes that nobody can reach, which is a verdict too, and a quick one."""
        (self.folder / "known_hosts").touch()
        rows = (f'[nodes.{name}]\naddress = "127.0.0.1"\nport = 1\n' for name in nodes)
        (self.folder / "inventory.toml").write_text('[ssh]\nknown_hosts = "known_hosts"\n' + "".join(rows))
