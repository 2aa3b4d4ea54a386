"""The settings in force: flag before environment before zombie.toml before default, each with its origin."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from bot.domain.setting import Option, Reader, Setting, Several, key_readers, options_of, rows_of
from bot.settings.chooser import Chooser, ChosenValue
from bot.settings.file import SettingsFile, expanded_path
from bot.settings.general import General
from bot.settings.tables import (
    ActingLogin,
    ActSettings,
    ExtrasSettings,
    KubernetesSettings,
    PolicySettings,
    RetentionSettings,
    RouteSettings,
    SlackSettings,
    StormSettings,
)

T = TypeVar("T")
Members = Mapping[str, type[Any]]  # the settings of members, such as sources, by the name of their table
NO_MEMBERS: Members = {}
NO_TABLES: Mapping[str, str] = {}
_NO_PASSWORD = re.compile(r"\A(postgres[a-z+0-9]*://[^:@/?#]+):?@")  # a server's URL with a user alone
OWN_SEVERAL: Mapping[str, type[Several]] = {"route": RouteSettings}


@dataclass(frozen=True, slots=True)
class Settings(General):
    """Every setting in force, typed: each table by its name, those of members by their type (`of`).

    Shape: `given` are the rows with their origins; `written` is the literal content of zombie.toml's tables.
    """

    slack: SlackSettings = SlackSettings()
    policy: PolicySettings = PolicySettings()
    act: ActSettings = ActSettings()
    members: Mapping[str, Any] = field(default_factory=dict)
    storm: StormSettings = StormSettings()
    retention: RetentionSettings = RetentionSettings()
    kubernetes: KubernetesSettings = KubernetesSettings()
    extras: ExtrasSettings = ExtrasSettings()
    acting_login: ActingLogin = ActingLogin()
    routes: tuple[RouteSettings, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    given: tuple[ChosenValue, ...] = field(default=(), repr=False)
    written: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def load(
        cls,
        flags: Mapping[str, Any],
        environment: Mapping[str, str],
        folder: Path,
        home: Path | None = None,
        members: Members = NO_MEMBERS,
        absent: Mapping[str, str] = NO_TABLES,
    ) -> Settings:
        """Take every setting from the first origin that gives it.

        Shape: `flags` are by setting's name; paths in flags and environment are relative to `folder`, the current
        folder, and `home` is their `~`. A file's paths are relative to its folder; a blank variable counts as not
        set. `members` can be read with `of`; `absent` are tables that are left out, each with the extra that has it.

        Raises: SettingsError for an invalid value, with file and line if it is in a file.
        """
        chooser = Chooser(flags, environment, folder, home)
        rows = all_rows(members)
        config = chooser.choose(rows[""].pop("config"))
        file = SettingsFile()
        if config.value is not None:
            several = {**OWN_SEVERAL, **_several(members)}
            file = SettingsFile.read(config.value, home, rows, all_keys(members), several, absent)
        given = [config]
        made: dict[str, dict[str, Any]] = {}
        for table, settings in rows.items():
            chosen = {name: chooser.choose(row, file.rows.get(row.name)) for name, row in settings.items()}
            given += chosen.values()
            made[table] = {name: choice.value for name, choice in chosen.items()} | dict(file.tables.get(table, {}))
        login = ActingLogin(**file.acting_login)
        if login.key is not None and config.value is not None:
            login = replace(login, key=expanded_path(str(login.key), config.value.absolute().parent, home))
        tables = {name: kind(**made[name]) for name, kind in _tables(members).items()}
        return cls(
            config=config.value,
            **made[""],
            members={
                name: tuple(kind(**table) for table in file.several.get(name, ()))
                if issubclass(kind, Several)
                else tables.pop(name)
                for name, kind in members.items()
            },
            **tables,
            acting_login=login,
            routes=tuple(RouteSettings(**route) for route in file.several.get("route", ())),
            links=dict(file.links),
            given=tuple(given),
            written=file.written,
        )

    def of(self, kind: type[T]) -> T:
        """Return the settings of that member; its defaults if it was not loaded."""
        return next((member for member in self.members.values() if isinstance(member, kind)), None) or kind()

    def every(self, kind: type[T]) -> tuple[T, ...]:
        """Return the settings of that member which may stand several times, in the file's order."""
        several = [member for member in self.members.values() if isinstance(member, tuple)]
        return tuple(each for member in several for each in member if isinstance(each, kind))

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every secret in force, literally: no log line may contain any of them."""
        texts = [str(given.value) for given in self.given if given.setting.secret and given.value]
        words = [word for text in texts for word in (text, *text.split(","), _password(text), quote(text, safe=""))]
        return tuple(dict.fromkeys(word.strip() for word in words if word.strip()))

    def in_tables(self) -> Iterator[tuple[str, Any]]:
        """Yield each setting that only zombie.toml can have: its name, and its text there or None."""
        members = {name: type(values) for name, values in self.members.items() if not isinstance(values, tuple)}
        for name, readers in all_keys(members).items():
            written = self.written.get(name, {})
            yield from ((f"{name}.{key}", written.get(key)) for key in readers)
        yield from ((f"ssh.act.{key}", value) for key, value in self.written.get("ssh", {}).get("act", {}).items())
        yield from ((f"links.{name}", template) for name, template in self.links.items())
        several = [*OWN_SEVERAL, *(self.members.keys() - members.keys())]
        yield from ((name, table) for name in several for table in self.written.get(name, ()))


def all_options(members: Members = NO_MEMBERS) -> dict[str, dict[str, Option]]:
    """Return what every key of zombie.toml is for, table by table; those without a table first, under an empty name.

    Shape: a table that may stand several times is named [NAME].
    """
    tables: dict[str, dict[str, Option]] = {"": {}}
    for rows in all_rows(members).values():
        for row in rows.values():
            table, _, key = row.key.rpartition(".")
            if row.key:
                tables.setdefault(table, {})[key] = Option(row.help, row.default, row.like)
    several = {f"[{name}]": kind for name, kind in {**_several(members), **OWN_SEVERAL}.items()}
    for name, kind in {**_tables(members), "ssh.act": ActingLogin, **several}.items():
        if options := options_of(kind):
            tables.setdefault(name, {}).update(options)
    return tables


def _several(members: Members) -> dict[str, type[Several]]:
    return {name: kind for name, kind in members.items() if issubclass(kind, Several)}


def _tables(members: Members) -> Members:
    """Every table, in the order in which they are shown: that of the fields, with those of members among them."""
    tables: dict[str, type[Any]] = {}
    for found in fields(Settings):
        if found.name == "members":
            tables |= {name: kind for name, kind in members.items() if not issubclass(kind, Several)}
        elif is_dataclass(found.default) and found.name != "acting_login":  # a table within a table
            tables[found.name] = type(found.default)
    return tables


def all_rows(members: Members = NO_MEMBERS) -> dict[str, dict[str, Setting]]:
    """Return every row by its field's name, table by table; those without a table first, under an empty name."""
    tables = {name: dict(rows_of(kind, f"{name}_")) for name, kind in _tables(members).items()}
    return {"": dict(rows_of(General)), **tables}


def table_names() -> frozenset[str]:
    """Return the names of zombie.toml's own tables."""
    return frozenset({*all_rows(), *all_keys(), *OWN_SEVERAL, "ssh", "links", "check"})


def all_keys(members: Members = NO_MEMBERS) -> dict[str, Mapping[str, Reader[Any]]]:
    """Return the reader of each key that only zombie.toml can have, table by table."""
    return {name: keys for name, kind in _tables(members).items() if (keys := key_readers(kind))}


def database_url(environment: Mapping[str, str], folder: Path | None = None) -> str:
    """Return where the record is: ZOMBIE_DATABASE_URL, or else a file in ZOMBIE_STATE_DIR or the XDG state folder.

    Shape: zombie.toml cannot set it, so a command that only needs the record reads no settings file. A server's URL
    without a password gets that of ZOMBIE_DATABASE_PASSWORD.

    Raises: SettingsError when any of them is invalid.
    """
    chooser = Chooser({}, environment, folder or Path.cwd(), home_of(environment))
    rows = dict(rows_of(General))
    if url := str(chooser.choose(rows["database_url"]).value):
        password = str(chooser.choose(rows["database_password"]).value)
        return _NO_PASSWORD.sub(lambda found: f"{found[1]}:{quote(password, safe='')}@", url) if password else url
    return f"sqlite:///{state_folder(environment, folder) / 'zombie.db'}"


def home_of(environment: Mapping[str, str]) -> Path:
    """Return the home of whoever runs this program."""
    return Path(environment.get("HOME") or Path.home())


def check_address(environment: Mapping[str, str]) -> None:
    """Refuse a ZOMBIE_LISTEN that is no address, also for a command that reads no settings.

    Raises: SettingsError.
    """
    Chooser({}, environment, Path.cwd(), None).choose(dict(rows_of(General))["listen"])


def state_folder(environment: Mapping[str, str], folder: Path | None = None) -> Path:
    """Return the folder for the program's persistent files: ZOMBIE_STATE_DIR, or else the XDG state folder.

    Source: https://specifications.freedesktop.org/basedir-spec/latest/ (a relative folder there counts as none).

    Raises: SettingsError when it is invalid.
    """
    home = home_of(environment)
    xdg = Path(environment.get("XDG_STATE_HOME") or "")
    chooser = Chooser({}, environment, folder or Path.cwd(), home)
    state_dir = chooser.choose(dict(rows_of(General))["state_dir"]).value
    return Path(state_dir or (xdg if xdg.is_absolute() else home / ".local" / "state") / "zombie")


def _password(url: str) -> str:
    try:
        return urlsplit(url).password or ""
    except ValueError:
        return ""
