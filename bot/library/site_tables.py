"""A site's own tables: `tables/NAME.toml` in a folder of playbooks; its rows are added to ours."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bot.domain.errors import PlaybookError
from bot.domain.problems import Problems, decode_file
from bot.domain.safe_text import one_line

_LIMIT_BYTES = 256 * 1024


class SiteTable:
    """A table that was read; `problems` collects what is wrong with its rows."""

    def __init__(self, path: Path, raw: bytes) -> None:
        self.source = str(path.absolute())
        self.problems = Problems(str(path), PlaybookError)
        self._text = decode_file(raw, _LIMIT_BYTES, self.problems)
        try:
            self.rows: dict[str, Any] = tomllib.loads(self._text)
        except tomllib.TOMLDecodeError as error:
            found = re.search(r"at line (\d+)", str(error))
            self.problems.fail(int(found[1]) if found else 0, f"is not TOML: {error}")

    @property
    def definition(self) -> str:
        """All that it says, as text; comments and the order of its rows are left out."""
        return json.dumps(self.rows, sort_keys=True, default=str)

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
    """Yield the tables of that name in these folders; a folder without one has none.

    Raises: PlaybookError when one cannot be read, or is no TOML.
    """
    for folder in folders:
        path = folder / "tables" / f"{name}.toml"
        try:
            raw = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise PlaybookError(f"{one_line(str(path), 300)} cannot be read: {error.strerror}.") from None
        yield SiteTable(path, raw)
