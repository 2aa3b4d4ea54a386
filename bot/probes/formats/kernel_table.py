"""The table of the kernel log's wordings: what a line tells, by the first row that knows it.

Source: `playbooks/tables/kernel-log.toml`, which says what its columns are. A site's rows are added to ours: a line
that one of them knows is told by ours all the same.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from bot.domain.builtin_playbooks import SiteRows, builtin_rows
from bot.probes.formats.kernel_line import KernelEvent, KernelLine

# Kinds that tell nothing by themselves; `kernel_story.py` knows what they add to the lines around them. What the driver
# is, it also says at the end of lines that do tell something.
PARTS_OF_A_STORY = (
    "frame",
    "head",
    "stalled-core",
    "driver",
    "counted",
    "limit-frame",
    "oom-ended",
    "removable",
    "unplugged",
)
# Kinds that no row has: what a story tells, a complaint without a word of failure, one like which the kernel left more
# out, and what a line's level tells.
COMPLAINTS = ("complaint", "mending", "repeated")
WITHOUT_ROWS = ("stack-memcg-walk", *COMPLAINTS[1:], "error", "grave", "begun")
_OF_A_STORY = {"stack-memcg-walk": ("frame", "head")}  # which lines make it
SITES_RING = "site"  # on the node all rows of sites have one
STARVED, _STARVED_AFTER_USECS = "nic-starved", 5_000_000  # the driver's own limit, TX_TIMEOUT
_SWAPPED_IN = ("", "2.17.0")


class Pattern(Protocol):
    """A compiled pattern of `re` or of re2."""

    def match(self, string: str) -> Any: ...


@dataclass(frozen=True, slots=True)
class KernelLogRow:
    """A row of the table. `lines` are patterns, or the texts of them, which are not compiled before they are needed.

    Shape: a line of a row in `any_case` holds one of `has` in some case.
    """

    name: str
    kind: str
    lines: tuple[str | Pattern, ...]
    has: tuple[str, ...] = ()
    node: str = ""
    run: int = 0
    any_case: bool = False
    harmless_once: bool = False
    fails: bool = False

    @property
    def ring(self) -> str:
        """The node's ring that keeps its lines."""
        return self.name.partition(".")[0]

    @property
    def is_ena(self) -> bool:
        """True for what Amazon's driver says: its complaints are the reasons of its resets."""
        return self.name.startswith("nic.ena-")

    def may_know(self, says: str) -> bool:
        """True for a text that holds one of the row's literals; no line of a row is without."""
        if not self.has:
            return True
        text, lower = (says.lower(), str.lower) if self.any_case else (says, str)
        return any(_contains_in_order(text, lower(has)) for has in self.has)

    def groups(self, says: str) -> Mapping[str, str | None] | None:
        """Return what a line names, None for a line that this row does not know."""
        if not self.may_know(says):
            return None  # most patterns are never compiled
        for line in self.lines:
            found = (_compiled(line) if isinstance(line, str) else line).match(says)
            if found is not None:
                groups: Mapping[str, str | None] = found.groupdict()
                return groups
        return None


@dataclass(frozen=True, slots=True)
class Found:
    """What a row tells of a line. `bus` is the address of an ENA device, which its other lines may name alone."""

    row: KernelLogRow
    event: KernelEvent
    groups: Mapping[str, str | None]
    bus: str = ""


def _contains_in_order(text: str, has: str) -> bool:
    at = 0
    for piece in has.split("*"):
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True


@dataclass(frozen=True)
class KernelTable:
    """Our rows in their order, a site's after them, and what is neither event nor error.

    Shape: `failing` is awk's pattern of the words for what was not done, by which the widest rows are found; `common`
    are words by which none is looked for.
    """

    rows: tuple[KernelLogRow, ...]
    ordinary: tuple[str, ...]
    ordinary_anywhere: tuple[str, ...]
    begun: tuple[str, ...]
    habits: tuple[str, ...]
    failing: str
    common: str
    of_sites: tuple[KernelLogRow, ...] = ()

    @functools.cached_property
    def kinds(self) -> frozenset[str]:
        """Every kind that an event may have."""
        told = {row.kind for row in (*self.rows, *self.of_sites)}
        return frozenset(told.difference(PARTS_OF_A_STORY).union(WITHOUT_ROWS))

    @functools.cached_property
    def rings(self) -> tuple[str, ...]:
        """The rings of our rows, in the order in which the node asks for them."""
        return tuple(dict.fromkeys(row.ring for row in self.rows))

    def rings_of(self, kinds: Iterable[str]) -> frozenset[str]:
        """Return the rings of the lines that tell these kinds; every ring for a kind that no row of ours tells."""
        return frozenset().union(*(self._rings_by_kind.get(kind, (*self.rings, SITES_RING)) for kind in kinds))

    @functools.cached_property
    def _rings_by_kind(self) -> Mapping[str, frozenset[str]]:
        told = {row.kind: (row.kind,) for row in self.rows} | _OF_A_STORY
        return {kind: frozenset(row.ring for row in self.rows if row.kind in kinds) for kind, kinds in told.items()}

    @functools.cached_property
    def _driver(self) -> KernelLogRow:
        return next(row for row in self.rows if row.name == "nic.ena-driver")

    @functools.cached_property
    def _by_literal(self) -> Sequence[tuple[str, Sequence[int]]]:
        numbers = dict[str, list[int]]()
        for number, row in enumerate(self.rows):
            if row.kind != "driver":
                for has in row.has or ("",):
                    numbers.setdefault(max(has.lower().split("*"), key=len), []).append(number)
        return tuple(numbers.items())

    def _likely(self, says: str) -> Iterator[KernelLogRow]:
        """Yield the rows that may know a text, in their order; most texts hold few of the rows' literals."""
        lower = says.lower()
        likely = {number for literal, numbers in self._by_literal if literal in lower for number in numbers}
        return (self.rows[number] for number in sorted(likely))

    def find(self, line: KernelLine, version: str = "") -> Found | None:
        """Return what the first row that knows a line tells; `version` is ENA's, empty where the log has none."""
        for row in self._likely(line.says):
            if (groups := row.groups(line.says)) is not None:
                return Found(row, _event_of_row(row, groups, line, version), groups, groups.get("bus") or "")
        return None

    def event(self, line: KernelLine) -> KernelEvent | None:
        """Return a line's event, None for a line that tells none by itself."""
        found = self.find(line)
        return None if found is None or found.row.kind in PARTS_OF_A_STORY else found.event

    def ena_version(self, line: KernelLine) -> str:
        """Return the version of the ENA driver that a line names, without the g, or nothing."""
        groups = self._driver.groups(line.says)
        return (groups["version"] or "").rstrip("g") if groups else ""

    def site_events(self, line: KernelLine) -> Iterator[KernelEvent]:
        """Yield what a site's own rows tell of a line."""
        for row in self.of_sites:
            groups = row.groups(line.says)
            if groups is not None:
                yield _event_of_row(row, groups, line)

    def is_harmless_once(self, line: KernelLine) -> bool:
        """True for a line that is no harm unless it repeats, at whatever level the kernel prints it."""
        found = self.find(line)
        return found is not None and found.row.harmless_once

    def is_habit(self, says: str) -> bool:
        """True for the text of a line that healthy kernels call an error too."""
        return _compiled("|".join(self.habits)).match(says) is not None


def _event_of_row(
    row: KernelLogRow, groups: Mapping[str, str | None], line: KernelLine, version: str = ""
) -> KernelEvent:
    core, queue, napi = groups.get("core"), groups.get("queue"), groups.get("napi")
    if pair := groups.get("pair"):
        core, queue = (pair, groups["other"]) if version in _SWAPPED_IN else (groups["other"], pair)
    scheduled = None if napi is None else napi != "0"
    is_starved = row.kind == STARVED or (scheduled and _usecs_since_napi(groups) > _STARVED_AFTER_USECS)
    mends = row.kind == "complaint" and groups.get("fails", "") is None
    return KernelEvent(
        kind=STARVED if is_starved else "mending" if mends else row.kind,
        text=line.raw,
        since_boot=line.since_boot,
        device=groups.get("device") or groups.get("bus") or "",
        core=int(core) if core else None,
        queue=int(queue) if queue else None,
        process=groups.get("process") or "",
        napi_scheduled=True if row.kind == STARVED else scheduled,
    )


def _usecs_since_napi(groups: Mapping[str, str | None]) -> int:
    usecs = groups.get("usecs") or groups.get("us") or groups.get("u")
    return int(usecs) if usecs else int(groups.get("msecs") or 0) * 1000


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def expanded(pattern: str, parts: Mapping[str, str]) -> str:
    """Return a pattern with its parts in place of their names."""
    while (whole := _PART.sub(lambda found: parts[found[1]], pattern)) != pattern:
        pattern = whole
    return pattern


_PART = re.compile(r"\{([a-z]+)\}")


def _parsed_rows(document: Mapping[str, Any], parts: Mapping[str, str]) -> Iterator[KernelLogRow]:
    for ring, rows in document.items():
        for name, row in rows.items():
            yield KernelLogRow(
                f"{ring}.{name}",
                row.get("kind", ring),
                tuple(expanded(line, parts) for line in row["lines"]),
                tuple(row.get("has", ())),
                row.get("node", ""),
                row.get("run", 0),
                any("(?i:" in line for line in row["lines"]),
                row.get("harmless_once", False),
                row.get("fails", False),
            )


@functools.cache
def own_table() -> KernelTable:
    """Return our rows.

    Raises: OSError or ValueError when our table cannot be read.
    """
    document = builtin_rows("kernel-log")
    tables = {name: rows for name, rows in document.items() if isinstance(rows, dict)}
    parts = tables.pop("parts")
    listed = {name: tuple(document[name]) for name in ("ordinary", "ordinary_anywhere", "begun", "habits")}
    return KernelTable(
        tuple(_parsed_rows(tables, parts)), **listed, failing=document["failing"], common=document["common"]
    )


def plain_line(seen: str) -> tuple[str, dict[str, str]]:
    """Return a line of a row's `seen` without its marks, and what these mark.

    Example:
    >>> plain_line("NVRM: GPU «device=0000:3b:00.0» is gone")
    ('NVRM: GPU 0000:3b:00.0 is gone', {'device': '0000:3b:00.0'})
    """
    return _MARK.sub(lambda found: "" if found[1] == "kind" else found[2], seen), dict(_MARK.findall(seen))


_MARK = re.compile(r"«(\w+)=([^»]*)»")
ROWS_OF_SITES: SiteRows[KernelLogRow] = SiteRows()


@ROWS_OF_SITES.cached
def table() -> KernelTable:
    """Return the table: our rows, and those of sites."""
    own, added = own_table(), tuple(ROWS_OF_SITES)
    return replace(own, of_sites=added) if added else own
