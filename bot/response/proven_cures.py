"""What was proven on real kernels: which cause with which cure, on which of them, and by which version.

Source: `playbooks/tables/proven.toml`, written by `zombie lab prove`. Beside each row it keeps what the sick node said.
The tests judge that anew and compare cause, status, confidence and the plan with its commands: a row that this program
would not earn again does not ship.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from bot.domain.action import ProvenOn
from bot.domain.builtin_playbooks import builtin_playbooks

GONE = "gone"  # the status of a row whose fault does not arise on its kernel
_HEAD = """\
# What was proven in virtual machines with Debian's own kernels: `zombie lab prove` writes it, and docs/lab.md says how.
#
# [[proven]]  A fault that was really made. The node without it got no such verdict, with it the right one. `cure` are
#             the actions that the bot then carried out with a person's yes, after which the node was well; without any,
#             undoing the fault was the cure. `undone`: the bot took its own actions back too. `status = "gone"`: as
#             much was done as makes the fault elsewhere, and here neither the fault nor its verdict was there.
# [not-here]  Causes that cannot be made in a virtual machine: why, and where their words come from.
"""


@dataclass(frozen=True, slots=True)
class ProvenRow:
    """A fault on a kernel.

    Shape: `harm` is what the verdict said of it; `seconds` is how long the last run took, and `on` its day.
    """

    cause: str
    fault: str
    cure: tuple[str, ...]
    status: str
    harm: str
    suite: str
    kernel: str
    systemd: int
    cgroups: str
    runs: int
    healed: int
    undone: bool
    seconds: int
    on: str
    version: str

    @property
    def series(self) -> str:
        """The kernel's series, such as 6.1."""
        return series_of(self.kernel)

    @property
    def key(self) -> tuple[str, str, str]:
        """Which fault on which machine."""
        return self.fault, self.suite, self.cgroups

    @property
    def recording(self) -> str:
        """The file's name of what the node said when the verdict was the right one; empty where nothing was judged."""
        return "" if self.status == GONE else f"{self.fault}--{self.suite}-{self.cgroups}.jsonl.gz"


@dataclass(frozen=True, slots=True)
class ProvenTable:
    """All rows, and why other causes cannot be made here."""

    rows: tuple[ProvenRow, ...]
    not_here: tuple[tuple[str, str], ...]

    def with_row(self, row: ProvenRow) -> ProvenTable:
        """Return the table with this row in place of an earlier one of the same fault and machine."""
        kept = (other for other in self.rows if other.key != row.key)
        return ProvenTable(tuple(sorted((*kept, row), key=_order)), self.not_here)

    def text(self) -> str:
        """Return it as a file."""
        parts = [_HEAD, *map(_section, self.rows)]
        parts.append("\n".join(["[not-here]", *(f"{name} = {_toml(why)}" for name, why in self.not_here)]))
        return "\n\n".join(part.rstrip() for part in parts) + "\n"


def proven_file() -> Path:
    """Return the path of the table that comes with the program."""
    return builtin_playbooks() / "tables" / "proven.toml"


def read_table(path: Path) -> ProvenTable:
    """Return what a file holds.

    Raises: OSError or ValueError when it cannot be read.
    """
    whole = tomllib.loads(path.read_text("utf-8"))
    rows = (
        ProvenRow(**{each.name: row[each.name] for each in fields(ProvenRow)} | {"cure": tuple(row["cure"])})
        for row in whole.get("proven", ())
    )
    return ProvenTable(tuple(rows), tuple(whole.get("not-here", {}).items()))


@functools.cache
def proven_table() -> ProvenTable:
    """Return the table that comes with the program."""
    return read_table(proven_file())


def proven_on(cause: str, cure: Sequence[str], kernel: str = "", own_figures: bool = False) -> ProvenOn:
    """Return on which kernels a cause with this cure was proven, and whether on this one.

    Shape: the sentence says what was proven, where, and what that is worth on the node's own kernel. `own_figures`:
    the playbook judges the cause by other figures than those that were proven.
    """
    table = proven_table()
    rows = _rows(cause, cure)
    if not rows:
        why = dict(table.not_here).get(cause, "no run of it on a real kernel is on record")
        return ProvenOn((), False, f"Not proven: {why}.")
    here, gone = series_of(kernel), [row for row in table.rows if row.cause == cause and row.status == GONE]
    on = _series(rows)
    runs, healed = sum(row.runs for row in rows), sum(row.healed for row in rows)
    often = f" (healed {healed} of {runs} times)" if healed < runs else ""
    shipped = " with the shipped figures" if own_figures else ""
    if not here:
        this_node = "this node's kernel is not known"
    elif here in on:
        this_node = f"this node runs {here}"
    elif here in _series(gone):
        this_node = f"this node runs {here}, where the fault did not arise"
    else:
        this_node = f"untried on this node's {here}"
    healed_here = any(row.healed == row.runs and row.series == here for row in rows)
    return ProvenOn(
        tuple(on),
        healed_here and not own_figures,
        f"This cured test VMs with Linux {_joined(on)}{shipped}{often}; {this_node}.",
    )


def _rows(cause: str, cure: Sequence[str]) -> list[ProvenRow]:
    return [row for row in proven_table().rows if (row.cause, row.cure) == (cause, tuple(cure)) and row.status != GONE]


def series_of(kernel: str) -> str:
    """Return a kernel's series.

    Example:
    >>> series_of("6.1.0-50-cloud-amd64"), series_of("7.2.12+deb14-cloud-amd64"), series_of("")
    ('6.1', '7.2', '')
    """
    found = re.match(r"\d+\.\d+", kernel)
    return found[0] if found else ""


def _series(rows: Iterable[ProvenRow]) -> list[str]:
    return sorted({row.series for row in rows}, key=_numbers)


def _joined(names: Sequence[str]) -> str:
    return " and ".join(names) if len(names) < 3 else ", ".join(names)  # short: it stands on a card


def _numbers(series: str) -> list[int]:
    return [int(number) for number in series.split(".") if number]


def _order(row: ProvenRow) -> tuple[object, ...]:
    return row.cause, row.fault, _numbers(row.series), row.cgroups


def _section(row: ProvenRow) -> str:
    return "\n".join(["[[proven]]", *(f"{name} = {_toml(value)}" for name, value in asdict(row).items())])


def _toml(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    escaped = "".join(f"\\u{ord(sign):04x}" if sign in '"\\' or ord(sign) < 32 else sign for sign in str(value))
    return f'"{escaped}"'
