"""The settings in force: flag before environment before zombie.toml before default, each with its origin."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from bot.domain.setting import Key, Several, keys_of
from bot.settings.chooser import Chooser, ChosenValue
from bot.settings.file import SettingsFile
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
_ACTING_LOGIN = "ssh.act"  # a table within one that has nothing else: the inventory says how nodes are read
OWN_SEVERAL: Mapping[str, type[Several]] = {"route": RouteSettings}


@dataclass(frozen=True, slots=True)
class Settings(General):
    """Every setting in force, typed: each table by its name, those of members by their type (`of`).

    Shape: `given` are all values with their origins; `written` is the literal content of zombie.toml.
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
        keys, several = all_keys(members), several_tables(members)
        config: Path | None = chooser.choose(keys[""]["config"]).value
        file = SettingsFile()
        if config is not None:
            in_file = [key for of_table in keys.values() for key in of_table.values() if key.toml]
            file = SettingsFile.read(config, home, in_file, several, absent)
        chosen = {
            table: {name: chooser.choose(key, file.values.get(key.toml)) for name, key in of_table.items()}
            for table, of_table in keys.items()
        }
        values = {
            table: {name: choice.value for name, choice in of_table.items()} for table, of_table in chosen.items()
        }
        made: dict[str, Any] = {name: kind(**values[name]) for name, kind in tables(members).items() if name}
        made |= {name: tuple(kind(**each) for each in file.several.get(name, ())) for name, kind in several.items()}
        return cls(
            **values[""],
            members={name: made.pop(name) for name in members},
            acting_login=made.pop(_ACTING_LOGIN),
            routes=made.pop("route"),
            given=tuple(choice for of_table in chosen.values() for choice in of_table.values()),
            written=file.written,
            **made,
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
        texts = [str(given.value) for given in self.given if given.key.secret and given.value]
        words = [word for text in texts for word in (text, *text.split(","), _password(text), quote(text, safe=""))]
        return tuple(dict.fromkeys(word.strip() for word in words if word.strip()))

    def in_tables(self) -> Iterator[tuple[str, Any, Key | None]]:
        """Yield each setting that only zombie.toml can have: its name, its text there or None, and what declares it."""
        for given in self.given:
            if given.key.toml == "links":  # its keys are people's own
                yield from ((f"links.{name}", template, None) for name, template in self.links.items())
            elif given.key.only_in_file:
                yield given.key.toml, given.written, given.key
        several = [*OWN_SEVERAL, *(name for name, member in self.members.items() if isinstance(member, tuple))]
        yield from ((name, table, None) for name in several for table in self.written.get(name, ()))


def tables(members: Members = NO_MEMBERS) -> dict[str, type[Any]]:
    """Return the dataclass of every table, in the order in which they are shown: that of the fields.

    Shape: those without a table are under an empty name; of members are those that stand once.
    """
    found: dict[str, type[Any]] = {"": General}
    for each in fields(Settings):
        if each.name == "members":
            found |= {name: kind for name, kind in members.items() if not issubclass(kind, Several)}
        elif is_dataclass(each.default):
            found[_ACTING_LOGIN if each.name == "acting_login" else each.name] = type(each.default)
    return found


def several_tables(members: Members = NO_MEMBERS) -> dict[str, type[Several]]:
    """Return the dataclass of every table that may stand several times."""
    return {**{name: kind for name, kind in members.items() if issubclass(kind, Several)}, **OWN_SEVERAL}


def all_keys(members: Members = NO_MEMBERS) -> dict[str, dict[str, Key]]:
    """Return every setting by its field's name, table by table; those without a table first, under an empty name."""
    return {table: keys_of(kind, table) for table, kind in tables(members).items()}


def table_names() -> frozenset[str]:
    """Return the names of zombie.toml's own tables."""
    places = {key.toml.partition(".")[0] for of_table in all_keys().values() for key in of_table.values()}
    return frozenset({*tables(), *OWN_SEVERAL, *places})


def database_url(environment: Mapping[str, str], folder: Path | None = None) -> str:
    """Return where the record is: ZOMBIE_DATABASE_URL, or else a file in ZOMBIE_STATE_DIR or the XDG state folder.

    Shape: zombie.toml cannot set it, so a command that only needs the record reads no settings file. A server's URL
    without a password gets that of ZOMBIE_DATABASE_PASSWORD.

    Raises: SettingsError when any of them is invalid.
    """
    if url := str(_of_environment("database_url", environment, folder)):
        password = str(_of_environment("database_password", environment, folder))
        return _NO_PASSWORD.sub(lambda found: f"{found[1]}:{quote(password, safe='')}@", url) if password else url
    return f"sqlite:///{state_folder(environment, folder) / 'zombie.db'}"


def home_of(environment: Mapping[str, str]) -> Path:
    """Return the home of whoever runs this program."""
    return Path(environment.get("HOME") or Path.home())


def check_address(environment: Mapping[str, str]) -> None:
    """Refuse a ZOMBIE_LISTEN that is no address, also for a command that reads no settings.

    Raises: SettingsError.
    """
    _of_environment("listen", environment, None)


def state_folder(environment: Mapping[str, str], folder: Path | None = None) -> Path:
    """Return the folder for the program's persistent files: ZOMBIE_STATE_DIR, or else the XDG state folder.

    Source: https://specifications.freedesktop.org/basedir-spec/latest/ (a relative folder there counts as none).

    Raises: SettingsError when it is invalid.
    """
    home = home_of(environment)
    xdg = Path(environment.get("XDG_STATE_HOME") or "")
    state_dir = _of_environment("state_dir", environment, folder)
    return Path(state_dir or (xdg if xdg.is_absolute() else home / ".local" / "state") / "zombie")


def _of_environment(name: str, environment: Mapping[str, str], folder: Path | None) -> Any:
    """A general setting's value by the environment alone, with paths relative to the folder, or else to the current."""
    chooser = Chooser({}, environment, folder or Path.cwd(), home_of(environment))
    return chooser.choose(keys_of(General)[name]).value


def _password(url: str) -> str:
    try:
        return urlsplit(url).password or ""
    except ValueError:
        return ""
