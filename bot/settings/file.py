"""Reads zombie.toml; every error is reported with its line and the nearest valid name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from bot.domain.errors import SettingsError
from bot.domain.problems import Problems
from bot.domain.setting import Key, Several, keys_of, placed
from bot.domain.toml_table import TomlTable
from bot.domain.toml_text import read_toml_file

_LIMIT_BYTES = 1024 * 1024
_GONE = {  # keys that were taken away, by table, and what to do
    "capture": {"approval": "is gone: a capture only reads, and begins without a yes. Take this line out."},
    "pagerduty": {"schedule": "is gone: PagerDuty itself calls who is on call. Take this line out."},
}


_Known: TypeAlias = "Mapping[str, Key | _Known]"  # what a table may contain: keys, and tables of their own


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """The values in a file; what it leaves out is absent.

    Shape: `values` are by their place ("policy.approvers"), each with its line and as it is written; `several` are the
    tables that may stand several times, `written` is all of it as TOML has it.
    """

    values: Mapping[str, tuple[Any, str, Any]] = field(default_factory=dict)
    several: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    written: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        path: Path,
        home: Path | None,
        keys: Iterable[Key],
        several: Mapping[str, type[Several]],
        absent: Mapping[str, str],
    ) -> SettingsFile:
        """Read it whole; `keys` and `several` are what it may contain, `absent` the tables that are left out.

        Raises: SettingsError, with a line for each fault.
        """
        problems = Problems(str(path), SettingsError)
        toml = read_toml_file(path, "the settings", _LIMIT_BYTES, problems)
        top = TomlTable(toml, (), problems)
        for name in filter(top.__contains__, absent):
            top.wrong(name, f"is a table of {absent[name]}, which is left out ([extras] off in this file)")
        values = {
            key.toml: (placed(value, path.absolute().parent, home), f"{path}:{table.line_of(name)}", table.value(name))
            for table, name, key, value in _values(top, _by_table(keys), (*several, *absent))
        }
        every = {
            name: tuple(_entry_values(name, kind, table) for table in top.array(name)) for name, kind in several.items()
        }
        problems.raise_if_any()
        return cls(values, every, toml.data)


def _by_table(keys: Iterable[Key]) -> _Known:
    known: dict[str, Any] = {}
    for key in keys:
        *tables, name = key.toml.split(".")
        table = known
        for part in tables:
            table = table.setdefault(part, {})
        table[name] = key
    return known


def _values(table: TomlTable, known: _Known, more: Iterable[str] = ()) -> Iterator[tuple[TomlTable, str, Key, Any]]:
    """Yield each value in a table and in its tables, with its place; `more` are names that are read elsewhere."""
    gone = _GONE.get(table.name, {})
    for name in filter(table.__contains__, gone):
        table.wrong(name, gone[name])
    table.only((*known, *more, *gone))
    for name, key in known.items():
        if not isinstance(key, Key):
            if (inner := table.table(name)) is not None:
                yield from _values(inner, key)
        elif (value := key.kind.from_toml(table, name)) is not None:
            yield table, name, key, value


def _entry_values(name: str, kind: type[Several], table: TomlTable) -> Mapping[str, Any]:
    for key in kind.needed:
        if key not in table:
            table.wrong(key, f"is missing: a {name} needs {' and '.join(kind.needed)}")
    return {key: value for _, key, _, value in _values(table, keys_of(kind))}
