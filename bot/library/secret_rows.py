"""A site's own rows of secrets: `tables/secrets.toml` in a folder of playbooks, added to ours.

No row of ours is replaced or removed. A form is an RE2 expression, as in playbooks: none of a site's can run forever.
The secret is its group `secret`; without one, all of the match. Each `seen` has it between « and ».
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bot.domain.safe_text import one_line
from bot.domain.secret_forms import FORMS_OF_SITES, MARK, SecretForm, own_marks, own_names
from bot.library.custom_probes import compiled
from bot.library.site_tables import SiteTable, site_tables

_COLUMNS: dict[str, type] = {"form": str, "says": str, "has": list, "seen": list, "never": list}


def add_secret_rows(folders: Iterable[Path]) -> None:
    """Search every text also for the forms in these folders' tables; a folder without a table adds none.

    Raises: PlaybookError, with file and line, when a table cannot be used, or a `seen` or `never` of it is not kept.
    """
    for table in site_tables(folders, "secrets"):
        forms = [form for name, row in table.rows.items() if (form := _form(name, row, table)) is not None]
        table.problems.stop_if_any()
        FORMS_OF_SITES.add(table.source, forms)


def _form(name: str, row: Any, table: SiteTable) -> SecretForm | None:
    problems, before = table.problems, len(table.problems)
    if name in own_names():
        table.fault(f'a row of ours is called "{name}", and none of ours is replaced; give it another name', name)
    if not table.has_columns(name, row, _COLUMNS, ("form", "has", "seen")) or len(problems) > before:
        return None
    at = table.line(name, "form")
    pattern = compiled(row["form"], lambda says: problems.add(at, f"form {says}"))
    if pattern is None or len(problems) > before:
        return None
    says = row.get("says", "")
    if says and not _SAYS.fullmatch(says):
        problems.add(table.line(name, "says"), "says should be a few words of letters, digits, spaces, _ and -")
        return None
    mark = f"[redacted: {says}]" if says else MARK
    if any(pattern.search(each) for each in ("", mark, *own_marks())):
        problems.add(at, "form is found in an empty text or in a mark; make it find a secret alone")
        return None
    form = SecretForm(name, tuple(has.lower() for has in row["has"]), (), False, mark, False, pattern)
    for seen in row["seen"]:
        if fault := _fault(form, seen):
            problems.add(table.line(name, "seen"), fault)
    for never in row.get("never", ()):
        if form.cut(never) != never:
            problems.add(table.line(name, "never"), f'form finds "{one_line(never, 60)}"')
    return form


_SAYS = re.compile(r"\w[\w -]{0,39}", re.ASCII)


def _fault(form: SecretForm, seen: str) -> str:
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
