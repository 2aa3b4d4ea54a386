"""A site's own tables: `tables/NAME.toml` in a folder of playbooks; its rows are added to ours."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from bot.domain.errors import PlaybookError
from bot.domain.problems import Problems, decode_file

_LIMIT_BYTES = 256 * 1024
T = TypeVar("T")


class SiteTable:
    """A table of a site.

    Shape: `problems` collects what is wrong with a row while it is read. `left_out` says why rows cannot be used, by
    their names; of all of them, where the table itself cannot, by the empty name.
    """

    def __init__(self, path: Path, raw: bytes | OSError) -> None:
        self.source = str(path.absolute())
        self.problems = Problems(str(path), PlaybookError)
        self.left_out: dict[str, str] = {}
        self.rows: dict[str, Any] = {}
        self._path, self._text = path, ""
        try:
            self.rows = self._loaded(raw)
        except PlaybookError as no:
            self.left_out[""] = str(no)

    def _loaded(self, raw: bytes | OSError) -> dict[str, Any]:
        if isinstance(raw, OSError):
            self.problems.fail(0, f"cannot be read: {raw.strerror}")
        self._text = decode_file(raw, _LIMIT_BYTES, self.problems)
        try:
            return tomllib.loads(self._text)
        except tomllib.TOMLDecodeError as error:
            found = re.search(r"at line (\d+)", str(error))
            last = self._text.rstrip().count("\n") + 1  # "at end of document"
            self.problems.fail(int(found[1]) if found else last, f"is not TOML: {error}")

    def rows_by_name(
        self, rows: Iterable[tuple[str, Any]], read: Callable[[SiteTable, str, Any], T | None]
    ) -> dict[str, T]:
        """Return what `read` makes of each row, by its name; a row with a problem is left out."""
        found: dict[str, T] = {}
        for name, columns in rows:
            self.problems = Problems(str(self._path), PlaybookError)
            row = read(self, name, columns)
            if self.problems:
                self.left_out[name] = str(self.problems.error())
            elif row is not None:
                found[name] = row
        return found

    def leave_out_all(self, says: str) -> None:
        """Leave out the table itself."""
        self.problems = Problems(str(self._path), PlaybookError)
        self.problems.add(0, says)
        self.left_out = {"": str(self.problems.error())}

    def stop_if_left_out(self) -> None:
        """Raise PlaybookError, with all that is wrong, where anything is left out."""
        if self.left_out:
            raise PlaybookError("\n".join(self.left_out.values()))

    @property
    def definition(self) -> str:
        """All that is used of it, as text; comments and the order of its rows are not part of it."""
        if "" in self.left_out:
            return ""
        used = {
            name: {each: row for each, row in rows.items() if f"{name}.{each}" not in self.left_out}
            if isinstance(rows, dict)
            else rows
            for name, rows in self.rows.items()
            if name not in self.left_out
        }
        return json.dumps(used, sort_keys=True, default=str)

    def fault(self, says: str, name: str, column: str = "") -> None:
        """Note what is wrong with a row, or with a column of it."""
        self.problems.add(self.line(name, column), says)

    def has_columns(self, name: str, row: Any, kinds: Mapping[str, type], needed: Iterable[str]) -> bool:
        """Note a row's unknown columns, values of another type, and what it lacks; True without any."""
        before = len(self.problems)
        if not isinstance(row, dict):
            wanted = " and ".join(needed)
            self.fault(f'"{name}" is no row; write [{name}] and under it {wanted}', name)
            return False
        for column, value in row.items():
            if column not in kinds:
                self.problems.unknown(self.line(name, column), "column", column, kinds, name)
            elif type(value) is not kinds[column] or not all(
                isinstance(each, str) and each for each in (value if type(value) is list else [value])
            ):
                self.fault(f"{column} should be {_WANTED[kinds[column]]}", name, column)
        if lacking := [each for each in needed if not row.get(each)]:
            self.fault(f'"{name}" needs {" and ".join(lacking)}', name)
        return len(self.problems) == before

    def line(self, name: str, column: str = "") -> int:
        """Return the line of a row, or of a column in it; that of the row where it is written on one."""
        inside = found = 0
        for number, line in enumerate(self._text.split("\n"), 1):
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


_WANTED: dict[type, str] = {str: "a text", list: "a list of texts"}


def site_tables(folders: Iterable[Path], name: str) -> Iterator[SiteTable]:
    """Yield the tables of that name in these folders; a folder without one has none."""
    for folder in folders:
        path = folder / "tables" / f"{name}.toml"
        raw: bytes | OSError
        try:
            raw = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raw = error
        yield SiteTable(path, raw)
