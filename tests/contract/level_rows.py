"""Tables of whole nodes, each with one line of its kernel at the level that the source gives it."""

from __future__ import annotations

from pathlib import Path

from tests.contract.asked import Asked
from tests.independent import kinds
from tests.independent.machine import Machine

_TABLES = Path(__file__).with_name("levels")


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
