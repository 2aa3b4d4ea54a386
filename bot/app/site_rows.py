"""A site's own tables: `tables/NAME.toml` in a folder of playbooks, each checked with file and line, and added to ours.

None of ours is replaced or removed: what a site says of what ours know is refused, or counts after ours. A row with a
mistake is left out and named. Patterns are RE2 expressions, as in playbooks: none of a site's can run forever.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bot.domain.cause import Cause
from bot.domain.cause import left_out as of_site
from bot.domain.nearest import did_you_mean
from bot.domain.protected import LEFT_OUT, OF_SITES, UNITS_OF_SITES
from bot.domain.safe_text import one_line
from bot.domain.secret_forms import FORMS_OF_SITES, MARK, SecretForm, own_marks, own_names
from bot.library.custom_probes import compiled
from bot.library.shapes import SLUG
from bot.library.site_tables import SiteTable, site_tables
from bot.probes.formats.functions import SIGNATURES_OF_SITES, Signature, own_signatures, whole_names
from bot.probes.formats.gpu_events import MEANINGS_OF_SITES, XidKind, XidMeaning, own_meanings
from bot.probes.formats.kernel_table import (
    PARTS_OF_A_STORY,
    ROWS_OF_SITES,
    WITHOUT_ROWS,
    KernelLogRow,
    own_table,
    plain_line,
)


def add_site_rows(folders: Iterable[Path]) -> tuple[Cause, ...]:
    """Know also what these folders' tables say; a folder without tables adds nothing.

    Shape: a row that cannot be used, or whose `seen` or `never` is not kept, is left out; returned is what stands for
    each such row among the causes. Forms of secrets are never left out: what was shown cannot be taken back.

    Raises: PlaybookError, with file and line, when a form of a secret cannot be used.
    """
    folders = tuple(folders)
    _add_secret_rows(folders)
    left_out: list[Cause] = []
    for name, (read, probe) in _READ.items():
        for site in site_tables(folders, name):
            read(site)
            left_out += [of_site(f"{name}.toml {row}".strip(), why, (probe,)) for row, why in site.left_out.items()]
    return tuple(left_out)


def _add_units(site: SiteTable) -> None:
    pairs = [pair for pairs in site.rows_by_name(site.rows.items(), _unit_names).values() for pair in pairs]
    if site.left_out:  # whatever it protects is not known, so no unit is stopped; nor is what else a reboot ends
        pairs.append(("*", frozenset({"protected", LEFT_OUT})))
    UNITS_OF_SITES.add(site.source, pairs, site.definition)


def _add_meanings(site: SiteTable) -> None:
    MEANINGS_OF_SITES.add(site.source, site.rows_by_name(site.rows.items(), _xid_meaning).items(), site.definition)


def _add_signatures(site: SiteTable) -> None:
    SIGNATURES_OF_SITES.add(site.source, site.rows_by_name(site.rows.items(), _signature).values(), site.definition)


def _unit_names(site: SiteTable, name: str, row: Any) -> list[tuple[str, frozenset[str]]] | None:
    if name == "agents":
        site.fault("the agents are ours alone; write units under a name of your own", name)
        return None
    if not site.check_columns(name, row, {"is": list, "names": list}, ("is", "names")):
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


def _xid_meaning(site: SiteTable, name: str, row: Any) -> XidMeaning | None:
    texts = dict.fromkeys(("kind", "name", "action", "from"), str)
    kinds = [kind.value for kind in XidKind]
    if name in own_meanings():
        site.fault(f"{name} is ours, and none of ours is replaced", name)
    elif not _CODE.fullmatch(name):
        site.fault(f'"{one_line(name, 60)}" is no code of an Xid', name)
    elif not site.check_columns(name, row, texts, ("kind", "name", "action")):
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
    if not site.check_columns(name, row, {**texts, "seen": list, "never": list}, ("functions", "does", "seen")):
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


# --- Lines of the kernel's log

_OF_KERNEL_LOG: dict[str, type] = {"kind": str, "lines": list, "has": list, "from": str, "seen": list, "never": list}
_ENDS = ("mounted", "link-back", "heat-off", "nfs-answers")  # end what ours found
_GROUPS = {"device", "process"}
_LEAST = 5  # characters of a literal: the node sends every line that holds one
_MOST = 8_000  # characters of all literals: they are part of one argument of the node's own awk


def _add_kernel_rows(site: SiteTable) -> None:
    # A line that a site's row knows is told by ours all the same, the site's lines have rings of their own on the node,
    # and no row of a site's tells that something is over.
    rows = [*site.rows_by_name(_kernel_rows(site), _kernel_row).values()]
    if sum(len(has) for row in rows for has in row.has) > _MOST:
        site.leave_out_all(f"has more than {_MOST:,} characters of literals in all; shorten them")
        rows = []
    ROWS_OF_SITES.add(site.source, rows, site.definition)


def _kernel_rows(site: SiteTable) -> Iterator[tuple[str, Any]]:
    for ring, rows in site.rows.items():
        if isinstance(rows, dict) and all(isinstance(row, dict) for row in rows.values()):
            yield from ((f"{ring}.{name}", row) for name, row in rows.items())
        else:
            yield ring, None


def _kernel_row(site: SiteTable, name: str, columns: dict[str, Any] | None) -> KernelLogRow | None:
    ring = name.partition(".")[0]
    if columns is None:
        site.fault(f'"{one_line(ring, 60)}" is no row; write [RING.NAME], and under it lines, has and seen', ring)
        return None
    if ring in own_table().rings:
        site.fault(f'the ring "{ring}" is ours, and a storm of yours would push ours out; name your own', name)
    elif not re.match(SLUG, ring):
        site.fault(f'"{one_line(ring, 60)}" is no name of a ring; write small letters, digits and -', name)
    if not site.check_columns(name, columns, _OF_KERNEL_LOG, ("lines", "has", "seen")):
        return None
    kind = columns.get("kind", ring)
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
    if site.problems:
        return None
    row = KernelLogRow(name, kind, tuple(patterns), tuple(columns["has"]))
    for seen in columns["seen"]:
        says, marks = plain_line(seen)
        groups = row.groups(says)
        if groups is None or {key: value for key, value in groups.items() if value} != marks:
            site.fault(f'lines and has do not find "{one_line(says, 60)}" with what it marks', name, "seen")
    for never in columns.get("never", ()):
        if row.groups(never) is not None:
            site.fault(f'lines find "{one_line(never, 60)}"', name, "never")
    return row


# --- Forms of secrets

_OF_SECRETS: dict[str, type] = {"form": str, "says": str, "has": list, "seen": list, "never": list}


def _add_secret_rows(folders: Iterable[Path]) -> None:
    # The secret is the form's group `secret`; without one, all of the match. Each `seen` has it between « and ».
    for table in site_tables(folders, "secrets"):
        forms = table.rows_by_name(table.rows.items(), _secret_form)
        table.stop_if_left_out()
        FORMS_OF_SITES.add(table.source, forms.values())


def _secret_form(table: SiteTable, name: str, row: Any) -> SecretForm | None:
    problems = table.problems
    if name in own_names():
        table.fault(f'a row of ours is called "{name}", and none of ours is replaced; give it another name', name)
    if not table.check_columns(name, row, _OF_SECRETS, ("form", "has", "seen")) or problems:
        return None
    at = table.line(name, "form")
    pattern = compiled(row["form"], lambda says: problems.add(at, f"form {says}"))
    if pattern is None or problems:
        return None
    says = row.get("says", "")
    if says and not _SAYS.fullmatch(says):
        problems.add(table.line(name, "says"), "says should be a few words of letters, digits, spaces, _ and -")
        return None
    mark = f"[redacted: {says}]" if says else MARK
    if any(pattern.search(each) for each in ("", mark, *own_marks())):
        problems.add(at, "form is found in an empty text or in a mark; make it find a secret alone")
        return None
    form = SecretForm(name, tuple(has.lower() for has in row["has"]), (), False, mark, "", pattern)
    for seen in row["seen"]:
        if fault := _example_fault(form, seen):
            problems.add(table.line(name, "seen"), fault)
    for never in row.get("never", ()):
        if form.cut(never) != never:
            problems.add(table.line(name, "never"), f'form finds "{one_line(never, 60)}"')
    return form


_SAYS = re.compile(r"\w[\w -]{0,39}", re.ASCII)


def _example_fault(form: SecretForm, seen: str) -> str:
    """Return what is wrong with a form by a text it should find, or nothing."""
    shown, plain = one_line(seen, 60), re.sub("[«»]", "", seen)
    stays = re.split("«[^«»]+»", seen)
    cut = form.cut(plain)
    if len(stays) < 2:
        return f'write the secret in "{shown}" between « and »'
    if not any(has in plain.lower() for has in form.has):
        return f'"{shown}" holds none of has'
    if cut == plain:
        return f'form does not find "{shown}"'
    if cut != form.mark.join(stays):
        return f'form makes "{one_line(cut, 80)}" of "{shown}"; all between « and » goes, and nothing else'
    if form.cut(cut) != cut:
        return f'form finds something again in "{one_line(cut, 80)}"; once should be enough'
    return ""


# --- Each table, and the probe whose reading it is about: with a row left out, that may say less than there is

_READ: Mapping[str, tuple[Callable[[SiteTable], None], str]] = {
    "kernel-log": (_add_kernel_rows, "kernel_log"),
    "units": (_add_units, "units"),
    "xid": (_add_meanings, "kernel_log"),
    "functions": (_add_signatures, "profile"),
}
