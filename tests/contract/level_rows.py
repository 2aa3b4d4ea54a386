"""Tables of whole nodes, by the lines of their kernels: in trouble, or only talking."""

from __future__ import annotations

from pathlib import Path

from tests.contract.asked import Asked
from tests.independent import kinds
from tests.independent.machine import Machine

_TABLES = Path(__file__).with_name("levels")
_LAST_SECONDS = 120


def rows(name: str, status: str) -> list[Asked]:
    """Read a table.

    Shape: title | machine | seconds since the newest line | seconds between lines | how many | causes | line.
    """
    lines = (_TABLES / name).read_text(encoding="utf-8").splitlines()
    return [_asked(line, status) for line in lines if line and not line.startswith("#")]


def _asked(row: str, status: str) -> Asked:
    title, kind, newest, every, count, causes, line = row.split(" | ", 6)
    machine: Machine = Machine() if kind == "any" else getattr(kinds, kind)()
    return Asked(title, machine.log_every(float(newest), float(every), int(count), line), status, causes)


def speakers() -> list[Asked]:
    """Read the table of speakers.

    Shape: `= title | machine | status | cause`, then a line of the log each: seconds after the boot, and its text.
    """
    return [_speaker(block) for block in (_TABLES / "speakers.txt").read_text(encoding="utf-8").split("\n= ")[1:]]


def _speaker(block: str) -> Asked:
    head, *lines = (line for line in block.splitlines() if line and not line.startswith("#"))
    title, kind, status, cause = head.split(" | ")
    said = [(float(at), text) for at, _, text in (line.partition(" ") for line in lines)]
    machine = getattr(kinds, kind)(up=max(said[-1][0] + _LAST_SECONDS, 900))
    return Asked(title, machine.log(*((machine.facts.up - at, text) for at, text in said)), status, cause)
