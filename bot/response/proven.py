"""What was proven on real kernels: which cause with which cure, on which of them, and by which version.

Source: `playbooks/tables/proven.toml`, written by `zombie lab prove`. Each row has the digest of the code that it
proved, the cause's own and its actions': where that has changed since, it is a row of an earlier version. Words do not
count: a better sentence decides nothing else.
"""

from __future__ import annotations

import functools
import hashlib
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from bot.causes import CAUSES
from bot.domain.builtin_playbooks import builtin_playbooks

_BOT = Path(__file__).parents[1]
_IMPORTS = re.compile(r"^from bot\.causes(?:\.(\w+))? import (\([^)]*\)|.+)$", re.MULTILINE)
_WORDS = re.compile(
    r'(?P<prefix>\b[rbfRBF]{1,2})?(?P<string>"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|'
    r"'(?:\\.|[^'\\\n])*')|#[^\n]*|\s+"
)
_PROSE = re.compile(r"[^\\\[\]{}^$|*+?]*\s[^\\\[\]{}^$|*+?]*\s[^\\\[\]{}^$|*+?]*")  # two spaces, and no pattern
_CLOSED = re.compile(r",([)\]}])")  # whether a list stands on one line or on several
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

    Shape: `harm` is what the verdict said of it; `digest` is that of the cause's and its actions' files; `seconds` is
    how long the last run took, and `on` its day.
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
    digest: str

    @property
    def series(self) -> str:
        """The kernel's series, such as 6.1."""
        return series_of(self.kernel)

    @property
    def stands(self) -> bool:
        """True while the cause and its actions are those that were proven."""
        return self.digest == digest_of(self.cause, self.cure)

    @property
    def key(self) -> tuple[str, str, str]:
        """Which fault on which machine."""
        return self.fault, self.suite, self.cgroups


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


@functools.cache
def digest_of(cause: str, cure: tuple[str, ...]) -> str:
    """Return the digest of the code that says what a cause is and what its cure does; empty where there is none."""
    try:
        paths = [*_cause_files(cause), *sorted({_action_file(action) for action in cure})]
        texts = [path.read_text("utf-8") for path in paths]
    except (OSError, KeyError):
        return ""
    code = (text if path.suffix == ".yaml" else _code_of(text) for path, text in zip(paths, texts, strict=True))
    return hashlib.sha256("\0".join(code).encode()).hexdigest()[:16]


def proven_words(cause: str, cure: Sequence[str], kernel: str = "") -> str:
    """Return, as a short sentence, on which kernels a cause with this cure was proven, and whether on this one."""
    table = proven_table()
    rows = [row for row in table.rows if (row.cause, row.cure) == (cause, tuple(cure))]
    if not rows:
        why = dict(table.not_here).get(cause)
        return f"Not proven here: {why}." if why else "Not proven here: no run of it on a real kernel is on record."
    standing = [row for row in rows if row.stands]
    if not standing:
        return f"An earlier version proven on {_and(_series(rows))}."
    here, gone = series_of(kernel), [row for row in table.rows if row.cause == cause and row.status == GONE]
    on = _series(standing)
    runs, healed = sum(row.runs for row in standing), sum(row.healed for row in standing)
    often = f" (healed {healed} of {runs} times)" if healed < runs else ""
    here_ = ""
    if here and here not in on:
        here_ = f"; on {here} it did not arise" if here in _series(gone) else f"; not tried on {here}"
    return f"Proven on {_and(on)}{often}{here_}."


def is_proven(cause: str, cure: Sequence[str], kernel: str) -> bool:
    """True where this cure healed this cause on a kernel of the same series, as both are now."""
    return any(
        row.stands and row.status != GONE and row.healed == row.runs and row.series == series_of(kernel)
        for row in proven_table().rows
        if (row.cause, row.cure) == (cause, tuple(cure))
    )


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


def _and(names: Sequence[str]) -> str:
    return " and ".join([*([", ".join(names[:-1])] if names[1:] else []), names[-1]])


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


def _cause_files(cause: str) -> list[Path]:
    """The file of a cause, and those of the room that it imports."""
    file = builtin_playbooks() / "causes" / f"{cause}.yaml"
    if file.is_file():
        return [file]
    room = _BOT / "causes"
    found, waiting = set[Path](), [room / f"{CAUSES[cause].evaluate.__module__.rpartition('.')[2]}.py"]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        for inside, names in _IMPORTS.findall(path.read_text("utf-8")):
            imported = (room / f"{name}.py" for name in ([inside] if inside else re.findall(r"\w+", names)))
            waiting += [file for file in imported if file.is_file()]
    return sorted(found)


def _code_of(text: str) -> str:
    """Return what decides in a file of Python: no comments, layout or sentences.

    Example:
    >>> _code_of("x = 1  # one") == _code_of("x =  1"), _code_of("x = 1") == _code_of("x = 2")
    (True, False)
    >>> _code_of('x = "it is one"') == _code_of('x = "it is a one"'), _code_of('x = "a"') == _code_of('x = "b"')
    (True, False)
    """
    return _CLOSED.sub(r"\1", _WORDS.sub(_kept, text))


def _kept(found: re.Match[str]) -> str:
    """A string that decides, such as a name or a pattern; nothing of anything else."""
    prefix, string = found["prefix"] or "", found["string"] or ""
    decides = string and "f" not in prefix.lower() and not string.startswith('"""') and not _PROSE.fullmatch(string)
    return found[0] if decides else ""


def _action_file(action: str) -> Path:
    own = _BOT / "actions" / f"{action}.py"
    return own if own.is_file() else own.with_name("unit_verbs.py")
