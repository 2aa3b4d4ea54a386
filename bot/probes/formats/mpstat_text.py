"""The tables that `mpstat -P ALL 1 N` prints, in any language and by any sysstat since 8.

Defined in: sysstat, mpstat(1) and mpstat.c: each sample has a header and a row for each core; averages come last.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bot.domain.errors import CannotRead
from bot.domain.safe_text import one_line
from bot.probes.formats.core_second import CoreSecond, core_second, sample_seconds

_COLOUR = re.compile(r"(?:\\x1b|\x1b)\[[0-9;]*m")  # S_COLORS=always; escapes arrive visible
_SHARE = re.compile(r"[0-9]{1,4}(?:[.,][0-9]{1,4})?", re.ASCII)
_NAMES = {"%user": "usr", "%system": "sys"}  # names in old sysstat
_NEEDED = frozenset({"usr", "nice", "sys", "iowait", "irq", "soft", "steal", "idle"})
_KNOWN = _NEEDED | {"guest", "gnice"}


@dataclass(slots=True)
class _Table:
    """A sample: the clock before it, the positions of its columns, and its rows."""

    since: str
    core_at: int
    columns: dict[str, int]
    width: int
    rows: list[tuple[list[str], str]] = field(default_factory=list)
    clock: str = ""


def mpstat_text(text: str) -> tuple[tuple[CoreSecond, ...], ...]:
    """Return the samples, oldest first.

    Shape: other tables (NUMA nodes, interrupts) and averages are skipped. Without averages at the end the run was cut
    short, and its last sample is left out, because it may be incomplete.

    Raises: CannotRead when there is no sample, or a row does not fit its header.
    """
    tables, ended = _tables(text)
    tables = [table for table in tables if table.rows]
    if not tables:
        raise CannotRead("cpu: mpstat printed no table of cores")
    if any(table.clock == table.since for table in tables):
        raise CannotRead("cpu: mpstat printed only its average since boot, which is not a sample")
    if not ended:
        tables.pop()
    if not tables:
        raise CannotRead("cpu: mpstat was cut short before its first sample was complete")
    span = sample_seconds([tables[0].since, *(table.clock for table in tables)])
    samples = tuple(_sample(table, span) for table in tables)
    if not any(samples):
        raise CannotRead("cpu: mpstat printed no row for a single core")
    return samples


def _tables(text: str) -> tuple[list[_Table], bool]:
    tables: list[_Table] = []
    table: _Table | None = None
    ended = False
    for line in text.split("\n"):
        plain = _COLOUR.sub("", line)
        words = plain.split()
        if any(word.startswith("%") or word.endswith("/s") for word in words):
            table = _header(words)
            if table is not None and not any(character.isdigit() for character in table.since):
                table, ended = None, True  # "Average:" in any language
            if table is not None:
                tables.append(table)
        elif table is not None and words:
            clock = " ".join(words[: table.core_at])
            if table.clock not in ("", clock):  # a header may precede several samples
                table = _Table(table.clock, table.core_at, table.columns, table.width)
                tables.append(table)
            table.clock = clock
            table.rows.append((words, " ".join(plain.split())))
    return tables, ended


def _header(words: list[str]) -> _Table | None:
    if "CPU" not in words:
        return None
    core_at = words.index("CPU")
    columns: dict[str, int] = {}
    for at, word in enumerate(words):
        name = _NAMES.get(word, word.removeprefix("%"))
        if word.startswith("%") and name in _KNOWN:
            columns[name] = at
    return _Table(" ".join(words[:core_at]), core_at, columns, len(words)) if columns.keys() >= _NEEDED else None


def _sample(table: _Table, span: float) -> tuple[CoreSecond, ...]:
    cores: dict[int, CoreSecond | None] = {}
    for words, raw in table.rows:
        name = words[table.core_at] if len(words) > table.core_at else ""
        if name == "all":  # with -T this row lacks the columns of the core's place
            continue
        if len(words) != table.width or not re.fullmatch(r"[0-9]{1,5}", name) or int(name) in cores:
            raise CannotRead(f"cpu: a row of mpstat is malformed ({one_line(raw, 60)})")
        shares: dict[str, float] = {}
        for column, at in table.columns.items():
            if not _SHARE.fullmatch(words[at]):
                raise CannotRead(f"cpu: a share in mpstat's table is not a number ({one_line(words[at], 20)})")
            shares[column] = float(words[at].replace(",", "."))
        cores[int(name)] = core_second(int(name), shares, raw, span)
    return tuple(core for _, core in sorted(cores.items()) if core is not None)
