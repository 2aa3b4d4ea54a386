"""A site's own rows of secrets: `tables/secrets.toml` in a folder of playbooks, added to ours.

No row of ours is replaced or removed. A form is an RE2 expression, as in playbooks: none of a site's can run forever.
The secret is its group `secret`; without one, all of the match. Each `seen` has it between « and ».
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bot.domain.errors import PlaybookError
from bot.domain.problems import Problems, decode_file
from bot.domain.safe_text import one_line
from bot.domain.secret_forms import MARK, SecretForm, add_forms, own_marks, own_names
from bot.library.custom_probes import compiled

_LIMIT_BYTES = 256 * 1024
_COLUMNS: dict[str, Any] = {"form": str, "says": str, "has": list, "seen": list, "never": list}


def add_secret_rows(folders: Iterable[Path]) -> None:
    """Search every text also for the forms in these folders' tables; a folder without a table adds none.

    Raises: PlaybookError, with file and line, when a table cannot be used, or a `seen` or `never` of it is not kept.
    """
    for folder in folders:
        path = folder / "tables" / "secrets.toml"
        try:
            raw = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise PlaybookError(f"{one_line(str(path), 300)} cannot be read: {error.strerror}.") from None
        add_forms(str(path.absolute()), _forms(str(path), raw))


def _forms(file: str, raw: bytes) -> list[SecretForm]:
    problems = Problems(file, PlaybookError)
    text = decode_file(raw, _LIMIT_BYTES, problems)
    try:
        rows = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        problems.fail(int(found[1]) if found else 0, f"is not TOML: {error}")
    forms = [form for name, row in rows.items() if (form := _form(name, row, text, problems)) is not None]
    problems.stop_if_any()
    return forms


def _form(name: str, row: Any, text: str, problems: Problems) -> SecretForm | None:
    line, before = _line(text, name), len(problems)
    if not isinstance(row, dict):
        problems.add(line, f'"{name}" is no row; write [{name}] and under it form, has and seen')
        return None
    if name in own_names():
        problems.add(line, f'a row of ours is called "{name}", and none of ours is replaced; give it another name')
    for column, value in row.items():
        if column not in _COLUMNS:
            problems.unknown(_line(text, name, column), "column", column, _COLUMNS, name)
        elif type(value) is not _COLUMNS[column] or not all(
            isinstance(each, str) and each for each in (value if type(value) is list else [value])
        ):
            wanted = "a text" if _COLUMNS[column] is str else "a list of texts"
            problems.add(_line(text, name, column), f"{column} should be {wanted}")
    problems_of = [each for each in ("form", "has", "seen") if not row.get(each)]
    if problems_of:
        problems.add(line, f'"{name}" needs {" and ".join(problems_of)}')
    if len(problems) > before:
        return None
    at = _line(text, name, "form")
    pattern = compiled(row["form"], lambda says: problems.add(at, f"form {says}"))
    if pattern is None or len(problems) > before:
        return None
    says = row.get("says", "")
    if says and not _SAYS.fullmatch(says):
        problems.add(_line(text, name, "says"), "says should be a few words of letters, digits, spaces, _ and -")
        return None
    mark = f"[redacted: {says}]" if says else MARK
    if any(pattern.search(each) for each in ("", mark, *own_marks())):
        problems.add(at, "form is found in an empty text or in a mark; make it find a secret alone")
        return None
    form = SecretForm(name, tuple(has.lower() for has in row["has"]), (), False, mark, False, pattern)
    for seen in row["seen"]:
        if fault := _fault(form, seen):
            problems.add(_line(text, name, "seen"), fault)
    for never in row.get("never", ()):
        if form.cut(never) != never:
            problems.add(_line(text, name, "never"), f'form finds "{one_line(never, 60)}"')
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


def _line(text: str, name: str, column: str = "") -> int:
    """Return the line of a row, or of a column in it; that of the row where it is written on one."""
    inside = found = 0
    for number, line in enumerate(text.split("\n"), 1):
        if header := re.match(r"\s*\[\s*[\"']?([^\]\"']+?)[\"']?\s*\]", line):
            inside = number if header[1] == name else 0
            found = found or inside
            if column and header[1] == f"{name}.{column}":
                return number
        elif key := re.match(r"\s*[\"']?([^\"'=]+?)[\"']?\s*[.=]", line):
            if column and inside and key[1] == column:
                return number
            if not inside and key[1].split(".")[0] == name:
                found = found or number
    return found
