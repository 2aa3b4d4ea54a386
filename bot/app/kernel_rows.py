"""A site's own rows of the kernel log: `tables/kernel-log.toml` in a folder of playbooks, added to ours.

None of ours is replaced or removed: a line that a site's row knows is told by ours all the same, the site's lines have
rings of their own on the node, and no row of a site's tells that something is over. Patterns are RE2 expressions, as in
playbooks: none of a site's can run forever.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bot.domain.safe_text import one_line
from bot.library.custom_probes import compiled
from bot.library.shapes import SLUG
from bot.library.site_tables import SiteTable, site_tables
from bot.probes.formats.kernel_table import PARTS_OF_A_STORY, ROWS_OF_SITES, WITHOUT_ROWS, Row, own_table, plain_line

_COLUMNS: dict[str, type] = {"kind": str, "lines": list, "has": list, "from": str, "seen": list, "never": list}
_ENDS = ("mounted", "link-back", "heat-off", "nfs-answers")  # end what ours found
_GROUPS = {"device", "process"}
_LEAST = 5  # characters of a literal: the node sends every line that holds one
_MOST = 8_000  # characters of all literals: they are part of one argument of the node's own awk


def add_kernel_rows(folders: Iterable[Path]) -> None:
    """Know also the lines of these folders' tables; a folder without a table adds none.

    Raises: PlaybookError, with file and line, when a table cannot be used, or a `seen` or `never` of it is not kept.
    """
    for site in site_tables(folders, "kernel-log"):
        rows = [row for name, columns in _named(site) if (row := _row(name, columns, site)) is not None]
        if sum(len(has) for row in rows for has in row.has) > _MOST:
            site.problems.add(0, f"has more than {_MOST:,} characters of literals in all; shorten them")
        site.problems.stop_if_any()
        ROWS_OF_SITES.add(site.source, rows)


def _named(site: SiteTable) -> Iterator[tuple[str, Any]]:
    for ring, rows in site.rows.items():
        if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
            site.fault(f'"{one_line(ring, 60)}" is no row; write [RING.NAME], and under it lines, has and seen', ring)
            continue
        for name, row in rows.items():
            whole = f"{ring}.{name}"
            if ring in own_table().rings:
                site.fault(f'the ring "{ring}" is ours, and a storm of yours would push ours out; name your own', whole)
            elif not re.match(SLUG, ring):
                site.fault(f'"{one_line(ring, 60)}" is no name of a ring; write small letters, digits and -', whole)
            else:
                yield whole, row


def _row(name: str, columns: dict[str, Any], site: SiteTable) -> Row | None:
    before = len(site.problems)
    if not site.has_columns(name, columns, _COLUMNS, ("lines", "has", "seen")):
        return None
    kind = columns.get("kind", name.partition(".")[0])
    if kind in (*PARTS_OF_A_STORY, *WITHOUT_ROWS, *_ENDS) or not re.match(SLUG, kind):
        site.fault(f'no row of a site tells "{one_line(kind, 60)}"; choose another kind', name, "kind")
    for has in columns["has"]:
        if len(max(has.split("*"), key=len)) < _LEAST or not has.isprintable():
            site.fault(f'"{one_line(has, 60)}" is no literal; write {_LEAST} characters or more', name, "has")
    at = site.line(name, "lines")
    patterns = [compiled(line, lambda says: site.problems.add(at, f"lines {says}")) for line in columns["lines"]]
    for pattern in patterns:
        if pattern is not None and (pattern.match("") or len(pattern.groupindex) != pattern.groups):
            site.problems.add(at, "a line of lines is found in an empty text, or has a group without a name")
        elif pattern is not None and not _GROUPS.issuperset(pattern.groupindex):
            site.problems.add(at, "a line of lines has another group than device or process")
    if len(site.problems) > before:
        return None
    row = Row(name, kind, tuple(patterns), tuple(columns["has"]))
    for seen in columns["seen"]:
        says, marks = plain_line(seen)
        groups = row.groups(says)
        if groups is None or {key: value for key, value in groups.items() if value} != marks:
            site.fault(f'lines and has do not find "{one_line(says, 60)}" with what it marks', name, "seen")
    for never in columns.get("never", ()):
        if row.groups(never) is not None:
            site.fault(f'lines find "{one_line(never, 60)}"', name, "never")
    return row
