"""Reads zombie.toml; every error is reported with its line and the nearest valid name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from bot.domain.duration import duration_text
from bot.domain.errors import SettingsError
from bot.domain.link_template import link_template_fault
from bot.domain.problems import Problems
from bot.domain.setting import Reader, Setting, SettingKind, Several, key_readers
from bot.domain.toml_table import TomlTable
from bot.domain.toml_text import read_toml_file
from bot.settings.tables import ActingLogin

_LIMIT_BYTES = 1024 * 1024
_SSH, _ACT, _LINKS = "ssh", "act", "links"
_GONE = {  # keys that were taken away, by table, and what to do
    "capture": {"approval": "is gone: a capture only reads, and begins without a yes. Take this line out."},
    "pagerduty": {"schedule": "is gone: PagerDuty itself calls who is on call. Take this line out."},
}


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """The values in a file; what it leaves out is absent.

    Shape: `rows` are by setting's name, with the line; `tables` by table and key, `several` the tables that may stand
    several times. `written` is the tables' content, as TOML has it.
    """

    rows: Mapping[str, tuple[Any, str]] = field(default_factory=dict)
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    acting_login: Mapping[str, Any] = field(default_factory=dict)
    several: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    written: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        path: Path,
        home: Path | None,
        rows: Mapping[str, Mapping[str, Setting]],
        keys: Mapping[str, Mapping[str, Reader[Any]]],
        several: Mapping[str, type[Several]],
        absent: Mapping[str, str],
    ) -> SettingsFile:
        """Read it whole; `rows`, `keys` and `several` are what it may contain, by table, `absent` what is left out.

        Raises: SettingsError, with a line for each fault.
        """
        problems = Problems(str(path), SettingsError)
        toml = read_toml_file(path, "the settings", _LIMIT_BYTES, problems)
        top = TomlTable(toml, (), problems)
        keyed = {row.key: row for of_table in rows.values() for row in of_table.values() if row.key}
        tables = dict.fromkeys(name for key in keyed if (name := key.rpartition(".")[0]))
        for name in filter(top.__contains__, absent):
            top.wrong(name, f"is a table of {absent[name]}, which is left out ([extras] off in this file)")
        top.only((*(key for key in keyed if "." not in key), *tables, *keys, *several, *absent, _SSH, _LINKS))
        found_rows: dict[str, tuple[Any, str]] = {}
        found: dict[str, Mapping[str, Any]] = {}
        for name in ("", *dict.fromkeys((*tables, *keys))):
            table = top.table(name) if name else top
            if table is None:
                continue
            here = {key.rpartition(".")[2]: row for key, row in keyed.items() if key.rpartition(".")[0] == name}
            if name:
                gone = _GONE.get(name, {})
                for key in filter(table.__contains__, gone):
                    table.wrong(key, gone[key])
                table.only((*here, *keys.get(name, ()), *gone))
            for key, row in here.items():
                value = _row_value(row, table, key, path.absolute().parent, home)
                if value is not None:
                    found_rows[row.name] = value, f"{path}:{table.line_of(key)}"
            found[name] = _key_values(keys.get(name, {}), table)
        login: Mapping[str, Any] = {}
        if (ssh := top.table(_SSH)) is not None:
            ssh.only((_ACT,))  # the inventory says how nodes are reached for reading
            login = _fields_of(ActingLogin, act) if (act := ssh.table(_ACT)) is not None else {}
        every = {
            name: tuple(_entry_values(name, kind, table) for table in top.array(name)) for name, kind in several.items()
        }
        links = _links(top)
        problems.raise_if_any()
        in_tables = {name: toml.data[name] for name in (*keys, *several, _SSH, _LINKS) if name in toml.data}
        return cls(found_rows, found, login, every, links, in_tables)


def _entry_values(name: str, kind: type[Several], table: TomlTable) -> Mapping[str, Any]:
    for key in kind.needed:
        if key not in table:
            table.wrong(key, f"is missing: a {name} needs {' and '.join(kind.needed)}")
    return _fields_of(kind, table)


def _links(top: TomlTable) -> Mapping[str, str]:
    table = top.table(_LINKS)
    links: dict[str, str] = {}
    for name in table.names if table is not None else ():
        assert table is not None
        if (template := table.text(name)) is not None:
            if fault := link_template_fault(template):
                table.wrong(name, fault)
            links[name] = template
    return links


def expanded_path(text: str, folder: Path, home: Path | None) -> Path:
    """Return the path that a person wrote, relative to a folder or to their home."""
    if home is not None and (text == "~" or text.startswith("~/")):
        return home / text[2:]
    return folder / text


def duration_fault(row: Setting, duration: timedelta) -> str | None:
    """Return what is wrong with a row's duration; None where it is within its bounds."""
    low, high = timedelta(seconds=row.low), timedelta(seconds=row.high)
    return None if low <= duration <= high else f'should be from "{duration_text(low)}" to "{duration_text(high)}"'


def _fields_of(kind: type[Any], table: TomlTable) -> Mapping[str, Any]:
    """A table's keys, which have to be fields of that dataclass."""
    readers = key_readers(kind)
    table.only(readers)
    return _key_values(readers, table)


def _key_values(readers: Mapping[str, Reader[Any]], table: TomlTable) -> Mapping[str, Any]:
    found = {key: read(table, key) for key, read in readers.items()}
    return {key: value for key, value in found.items() if value is not None}


def _row_value(row: Setting, table: TomlTable, key: str, folder: Path, home: Path | None) -> Any:
    match row.kind:
        case SettingKind.NUMBER:
            return table.integer(key, row.low, row.high)
        case SettingKind.FLAG:
            return table.flag(key)
        case SettingKind.PATHS:
            texts = table.texts(key)
            return tuple(expanded_path(text, folder, home) for text in texts) if texts is not None else None
        case SettingKind.DURATION:
            duration = table.duration(key)
            if duration is not None and (fault := duration_fault(row, duration)):
                table.wrong(key, fault)
            return duration
    text = table.text(key)
    return expanded_path(text, folder, home) if row.kind is SettingKind.PATH and text is not None else text
