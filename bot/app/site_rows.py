"""A site's own tables: `tables/NAME.toml` in a folder of playbooks, each checked with file and line, and added to ours.

None of ours is replaced or removed: what a site says of what ours know is refused, or counts after ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from bot.app.kernel_rows import add_kernel_rows
from bot.domain.nearest import did_you_mean
from bot.domain.protected import OF_SITES, UNITS_OF_SITES
from bot.domain.safe_text import one_line
from bot.library.custom_probes import compiled
from bot.library.secret_rows import add_secret_rows
from bot.library.site_tables import SiteTable, site_tables
from bot.probes.formats.functions import SIGNATURES_OF_SITES, Signature, own_signatures, whole_names
from bot.probes.formats.gpu_events import MEANINGS_OF_SITES, XidKind, XidMeaning, own_meanings


def add_site_rows(folders: Iterable[Path]) -> None:
    """Know also what these folders' tables say; a folder without tables adds nothing.

    Raises: PlaybookError, with file and line, when a table cannot be used.
    """
    folders = tuple(folders)
    add_secret_rows(folders)
    add_kernel_rows(folders)
    for site in site_tables(folders, "units"):
        UNITS_OF_SITES.add(site.source, [pair for pairs in _rows(site, _units).values() for pair in pairs])
    for site in site_tables(folders, "xid"):
        MEANINGS_OF_SITES.add(site.source, _rows(site, _meaning).items())
    for site in site_tables(folders, "functions"):
        SIGNATURES_OF_SITES.add(site.source, _rows(site, _signature).values())


def _rows(site: SiteTable, read: Callable[[SiteTable, str, Any], Any]) -> Mapping[str, Any]:
    rows = {name: row for name, columns in site.rows.items() if (row := read(site, name, columns)) is not None}
    site.problems.stop_if_any()
    return rows


def _units(site: SiteTable, name: str, row: Any) -> list[tuple[str, frozenset[str]]] | None:
    if name == "agents":
        site.fault("the agents are ours alone; write units under a name of your own", name)
        return None
    if not site.has_columns(name, row, {"is": list, "names": list}, ("is", "names")):
        return None
    for word in row["is"]:
        if word not in OF_SITES:
            site.fault(f'a unit of a site cannot be "{one_line(word, 60)}". {did_you_mean(word, OF_SITES)}', name, "is")
    for unit in row["names"]:
        if not _UNIT.fullmatch(unit):
            site.fault(f'"{one_line(unit, 60)}" is no name of units', name, "names")
    # Nobody may stop what the node cannot do without.
    words = frozenset(row["is"]) | ({"protected"} if "essential" in row["is"] else set())
    return [(unit, words) for unit in row["names"]]


def _meaning(site: SiteTable, name: str, row: Any) -> XidMeaning | None:
    texts = dict.fromkeys(("kind", "name", "action", "from"), str)
    kinds = [kind.value for kind in XidKind]
    if name in own_meanings():
        site.fault(f"{name} is ours, and none of ours is replaced", name)
    elif not _CODE.fullmatch(name):
        site.fault(f'"{one_line(name, 60)}" is no code of an Xid', name)
    elif not site.has_columns(name, row, texts, ("kind", "name", "action")):
        pass
    elif row["kind"] not in kinds:
        site.fault(f'kind is "{one_line(row["kind"], 60)}". {did_you_mean(row["kind"], kinds)}', name, "kind")
    else:
        return XidMeaning(XidKind(row["kind"]), one_line(row["name"], 80), one_line(row["action"], 160))
    return None


def _signature(site: SiteTable, name: str, row: Any) -> Signature | None:
    texts = dict.fromkeys(("functions", "does", "points_at", "from"), str)
    if any(name == ours.name for ours in own_signatures()):
        site.fault(f'a row of ours is called "{name}", and none of ours is replaced', name)
        return None
    if not site.has_columns(name, row, {**texts, "seen": list, "never": list}, ("functions", "does", "seen")):
        return None
    at = site.line(name, "functions")
    pattern = compiled(whole_names(row["functions"]), lambda says: site.problems.add(at, f"functions {says}"))
    if pattern is None:
        return None
    for column, found in (("seen", "do not find"), ("never", "find")):
        for function in row.get(column, ()):
            if (pattern.fullmatch(function) is None) is (column == "seen"):
                site.fault(f'functions {found} "{one_line(function, 60)}"', name, column)
    says = (one_line(row.get(each, ""), 160) for each in ("does", "points_at", "from"))
    return Signature(name, pattern, *says)


_UNIT = re.compile(r"(?=.*[A-Za-z0-9]{2})[A-Za-z0-9:_.\\@*-]{1,255}")
_CODE = re.compile(r"[1-9][0-9]{0,3}")
