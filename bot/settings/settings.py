"""The settings in force: flag before environment before zombie.toml before default, and where each came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bot.domain.duration import parse_duration, written
from bot.domain.errors import SettingsError
from bot.domain.problems import Problems, decode_file
from bot.domain.safe_text import one_line
from bot.domain.toml_table import TomlTable
from bot.domain.toml_text import read_toml
from bot.settings.rows import SETTINGS, Kind, Setting
from bot.settings.tables import NAMES, check_tables

_LIMIT_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Given:
    """One setting's value, and where it came from."""

    setting: Setting
    value: Any = field(repr=False)  # it may be a secret, and a repr may be logged
    origin: str  # "--inventory", "ZOMBIE_INVENTORY", "zombie.toml:3" or "default"

    @property
    def shown(self) -> str:
        """The value for a person to read; a secret only says that it is there."""
        if self.value is None or self.value == ():
            return ""
        if self.setting.secret:
            return "********"
        match self.value:
            case timedelta():
                return written(self.value)
            case tuple():
                return ", ".join(one_line(str(one)) for one in self.value)
            case bool():
                return "true" if self.value else "false"
        return one_line(str(self.value))


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting in force.

    Shape: `tables` is what zombie.toml holds beside them, checked by key and kind.
    """

    given: tuple[Given, ...]
    tables: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(
        cls,
        flags: Mapping[str, Any],
        environment: Mapping[str, str],
        folder: Path,
        home: Path | None = None,
        rows: Sequence[Setting] = SETTINGS,
    ) -> Settings:
        """Put the settings together; `flags` are by setting's name, and None or empty where they were not given.

        Shape: a relative path is from `folder`, in zombie.toml from the file's folder; a blank text in the environment
        is as if it were not there.

        Raises: SettingsError when a value is not what its setting may be, with file and line where it stands in a file.
        """
        reader = _Reader(flags, environment, folder, home)
        config = next((row for row in rows if row.name == "config"), None)
        file = reader.choose(config, None) if config is not None else None
        toml = _File.read(file.value, home, rows) if file is not None and file.value is not None else None
        given = tuple(file if row is config and file is not None else reader.choose(row, toml) for row in rows)
        return cls(given, toml.tables if toml is not None else {})

    def get(self, name: str) -> Any:
        """Return the value of the setting of that name."""
        return next(one.value for one in self.given if one.setting.name == name)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every secret in force, word by word: what no line of the log may hold, whatever its form."""
        texts = [str(one.value) for one in self.given if one.setting.secret and one.value]
        words = [word for text in texts for word in (text, *text.split(","), _password(text))]
        return tuple(dict.fromkeys(word.strip() for word in words if word.strip()))

    @property
    def inventory(self) -> Path | None:
        """The inventory's file, None where nobody named one and none is here."""
        path: Path | None = self.get("inventory")
        return path

    @property
    def playbooks(self) -> tuple[Path, ...]:
        """Folders of further playbooks."""
        paths: tuple[Path, ...] = self.get("playbooks")
        return paths

    @property
    def playbook(self) -> str:
        """The playbook that a check uses."""
        return str(self.get("playbook"))

    @property
    def samples(self) -> int:
        """How many seconds a check watches a node."""
        return int(self.get("samples"))

    @property
    def deadline(self) -> timedelta | None:
        """When a check gives up on a node, None for the usual time beyond the window."""
        deadline: timedelta | None = self.get("deadline")
        return deadline

    @property
    def parallel(self) -> int:
        """How many nodes are checked at once."""
        return int(self.get("parallel"))


def _password(url: str) -> str:
    try:
        return urlsplit(url).password or ""
    except ValueError:
        return ""


def database_url(environment: Mapping[str, str], folder: Path | None = None) -> str:
    """Return where the record is: ZOMBIE_DATABASE_URL, or else a file in ZOMBIE_STATE_DIR or the XDG state folder.

    Shape: no file of settings says it, so that a command which needs the record alone reads none.

    Source: https://specifications.freedesktop.org/basedir-spec/latest/ (a relative folder there counts as none).

    Raises: SettingsError when one of them is not what it may be.
    """
    home = Path(environment.get("HOME") or Path.home())
    rows = [row for row in SETTINGS if row.name in ("database_url", "state_dir")]
    given = Settings.load({}, environment, folder or Path.cwd(), home, rows)
    if url := given.get("database_url"):
        return str(url)
    xdg = Path(environment.get("XDG_STATE_HOME") or "")
    state = given.get("state_dir") or (xdg if xdg.is_absolute() else home / ".local" / "state") / "zombie"
    return f"sqlite:///{Path(state) / 'zombie.db'}"


@dataclass(frozen=True, slots=True)
class _File:
    """What zombie.toml gives, by setting's name, with the line."""

    values: Mapping[str, tuple[Any, str]]
    tables: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path, home: Path | None, rows: Sequence[Setting]) -> _File:
        problems = Problems(str(path), SettingsError)
        try:
            with path.open("rb") as file:
                raw = file.read(_LIMIT_BYTES + 1)
        except OSError as no:
            problems.fail(0, f"the settings cannot be read: {no.strerror}")
        toml = read_toml(decode_file(raw, _LIMIT_BYTES, problems), problems)
        top = TomlTable(toml, (), problems)
        keyed = {row.key: row for row in rows if row.key}
        of_tables: dict[str, list[str]] = {}
        for key in keyed:
            table_name, _, name = key.rpartition(".")
            of_tables.setdefault(table_name, []).append(name)
        top.only((*of_tables.get("", ()), *(name for name in of_tables if name), *NAMES))
        check_tables(top)
        values: dict[str, tuple[Any, str]] = {}
        for table_name, names in of_tables.items():
            table = top.table(table_name) if table_name else top
            if table is None:
                continue
            if table_name and table_name not in NAMES:
                table.only(names)
            for name in names:
                row = keyed[f"{table_name}.{name}".lstrip(".")]
                value = _from_table(row, table, name, path.absolute().parent, home)
                if value is not None:
                    values[row.name] = value, f"{path}:{table.line_of(name)}"
        problems.stop_if_any()
        return cls(values, {name: toml.data[name] for name in NAMES if name in toml.data})


def _from_table(row: Setting, table: TomlTable, key: str, folder: Path, home: Path | None) -> Any:
    match row.kind:
        case Kind.NUMBER:
            return table.integer(key, row.low, row.high)
        case Kind.FLAG:
            return table.flag(key)
        case Kind.PATHS:
            texts = table.texts(key)
            return tuple(_path(text, folder, home) for text in texts) if texts is not None else None
        case Kind.DURATION:
            duration = table.duration(key)
            if duration is not None and (fault := _duration_fault(row, duration)):
                table.wrong(key, fault)
            return duration
    text = table.text(key)
    return _path(text, folder, home) if row.kind is Kind.PATH and text is not None else text


class _Reader:
    """Chooses between the places in which a setting may be given."""

    def __init__(
        self, flags: Mapping[str, Any], environment: Mapping[str, str], folder: Path, home: Path | None
    ) -> None:
        self._flags = flags
        self._environment = environment
        self._folder = folder
        self._home = home

    def choose(self, row: Setting, file: _File | None) -> Given:
        flag = self._flags.get(row.name)
        if row.flag and flag is not None and flag not in ([], (), ""):
            return Given(row, self._taken(row, flag, row.flag), row.flag)
        text = self._environment.get(row.environment, "").strip() if row.environment else ""
        if text:
            return Given(row, self._taken(row, text, row.environment), row.environment)
        if file is not None and row.name in file.values:
            value, origin = file.values[row.name]
            return Given(row, value, origin)
        if row.where_it_exists and (path := self._folder / row.where_it_exists).is_file():
            return Given(row, path, "default")
        return Given(row, row.default, "default")

    def _taken(self, row: Setting, value: Any, origin: str) -> Any:
        """A flag's or the environment's value as the setting's kind."""

        def wrong(says: str) -> SettingsError:
            shown = "set" if row.secret else f'"{one_line(str(value), 40)}"'
            return SettingsError(f"{origin} is {shown}; it should be {says}.", row.help)

        match row.kind:
            case Kind.PATH:
                return _path(str(value), self._folder, self._home)
            case Kind.PATHS:
                parts = value.split(":") if isinstance(value, str) else value
                return tuple(_path(str(part), self._folder, self._home) for part in parts if str(part).strip())
            case Kind.NUMBER:
                text = str(value)
                number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
                if not row.low <= number <= row.high:
                    raise wrong(f"a whole number from {row.low} to {row.high}")
                return number
            case Kind.DURATION:
                try:
                    duration = value if isinstance(value, timedelta) else parse_duration(_seconds(value))
                except ValueError:
                    raise wrong('a time like "30s" or "2m"') from None
                if fault := _duration_fault(row, duration):
                    raise wrong(fault.removeprefix("should be "))
                return duration
            case Kind.FLAG:
                words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
                if str(value).lower() not in words:
                    raise wrong("true or false")
                return words[str(value).lower()]
        return str(value)


def _seconds(value: Any) -> Any:
    """Bare seconds, which flags and the environment can only write as text."""
    text = str(value)
    return float(text) if text.replace(".", "", 1).isdigit() and text.isascii() and len(text) < 12 else value


def _duration_fault(row: Setting, duration: timedelta) -> str | None:
    low, high = timedelta(seconds=row.low), timedelta(seconds=row.high)
    return None if low <= duration <= high else f'should be from "{written(low)}" to "{written(high)}"'


def _path(text: str, folder: Path, home: Path | None) -> Path:
    if home is not None and (text == "~" or text.startswith("~/")):
        return home / text[2:]
    return folder / text
