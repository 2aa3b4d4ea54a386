"""A site's own tables: `tables/NAME.toml` in a folder of playbooks; its rows are added to ours."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from bot.domain.errors import PlaybookError
from bot.domain.problems import Problems
from bot.domain.toml_text import TomlText, is_absent, read_toml_file

_LIMIT_BYTES = 256 * 1024
T = TypeVar("T")


class SiteTable:
    """A table of a site.

    Shape: `problems` collects what is wrong with a row while it is read. `left_out` says why rows cannot be used, by
    their names; of all of them, where the table itself cannot, by the empty name.
    """

    def __init__(self, path: Path) -> None:
        self.source = str(path.absolute())
        self.problems = Problems(str(path), PlaybookError)
        self.left_out: dict[str, str] = {}
        self._path, self._toml = path, TomlText({}, "")
        try:
            self._toml = read_toml_file(path, "the table", _LIMIT_BYTES, self.problems)
        except PlaybookError as no:
            self.left_out[""] = str(no)

    @property
    def rows(self) -> Mapping[str, Any]:
        """What it says, as TOML has it; nothing where it cannot be used."""
        return self._toml.data

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

    def check_columns(self, name: str, row: Any, kinds: Mapping[str, type], needed: Iterable[str]) -> bool:
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
        """Return the line of a row, or of a column in it."""
        row = (name,) if name in self.rows else name.split(".", 1)  # a line of the kernel log has a ring before it
        return self._toml.line_of(*row, column)


_WANTED: dict[type, str] = {str: "a text", list: "a list of texts"}


def site_tables(folders: Iterable[Path], name: str) -> Iterator[SiteTable]:
    """Yield the tables of that name in these folders; a folder without one has none."""
    for path in (folder / "tables" / f"{name}.toml" for folder in folders):
        if not is_absent(path):
            yield SiteTable(path)
