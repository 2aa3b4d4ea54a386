"""Chooses a setting's value by order of origin: flag, environment, zombie.toml, default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from bot.domain.duration import duration_text
from bot.domain.errors import SettingsError
from bot.domain.safe_text import one_line
from bot.domain.setting import Key, placed

MOST_SECRET_CHARACTERS = 65536


@dataclass(frozen=True, slots=True)
class ChosenValue:
    """A setting's value, and its origin."""

    key: Key
    value: Any = field(repr=False)  # it may be a secret, and a repr may be logged
    origin: str  # "--inventory", "ZOMBIE_INVENTORY", "zombie.toml:3" or "default"
    written: Any = field(default=None, repr=False)  # what zombie.toml has, as TOML has it

    @property
    def shown(self) -> str:
        """The value for people; for a secret only that it is set."""
        if self.value is None or self.value in ((), ""):
            return ""
        if self.key.secret:
            return "********"
        match self.value:
            case timedelta():
                return duration_text(self.value)
            case tuple():
                return ", ".join(one_line(str(part)) for part in self.value)
            case bool():
                return "true" if self.value else "false"
        return one_line(str(self.value))


class Chooser:
    """Takes settings from the first origin that gives them; paths in flags and environment are relative to `folder`."""

    def __init__(
        self, flags: Mapping[str, Any], environment: Mapping[str, str], folder: Path, home: Path | None
    ) -> None:
        self._flags = flags
        self._environment = environment
        self._folder = folder
        self._home = home

    def choose(self, key: Key, in_file: tuple[Any, str, Any] | None = None) -> ChosenValue:
        """Return a setting's value; `in_file` is what zombie.toml has for it, where, and as it is written.

        Raises: SettingsError for an invalid value.
        """
        flag = self._flags.get(key.name) if key.flag else None
        if flag not in (None, [], (), ""):
            return self._read(key, flag, key.flag)
        if key.environment and (text := self._environment.get(key.environment, "").strip()):
            return self._read(key, text, key.environment)
        if key.secret and (credential := self._credential(key.environment)):
            read = self._read(key, credential, key.environment)
            return replace(read, origin=f"CREDENTIALS_DIRECTORY/{key.environment}")
        if in_file is not None:
            return ChosenValue(key, *in_file)
        if key.where_it_exists and (path := self._folder / key.where_it_exists).is_file():
            return ChosenValue(key, path, "default")
        return ChosenValue(key, key.default, "default")

    def _credential(self, name: str) -> str:
        """Return a secret from the file of its name in CREDENTIALS_DIRECTORY; empty if there is none.

        Source: https://systemd.io/CREDENTIALS/. Mounted secrets of Docker and Kubernetes are such files, too.

        Raises: SettingsError when the file cannot be read.
        """
        folder = self._environment.get("CREDENTIALS_DIRECTORY", "")
        path = Path(folder) / name
        if not folder or not path.exists():
            return ""
        try:
            with path.open(encoding="utf-8") as file:
                return file.read(MOST_SECRET_CHARACTERS).strip()
        except (OSError, UnicodeDecodeError) as no:
            raise SettingsError(
                f"The file {path}, which holds {name}, cannot be read.", "Check its owner, its mode and its text."
            ) from no

    def _read(self, key: Key, value: Any, origin: str) -> ChosenValue:
        """What a flag or the environment gives.

        Raises: SettingsError when it is not of the key's kind.
        """
        try:
            return ChosenValue(key, placed(key.kind.from_text(value), self._folder, self._home), origin)
        except ValueError as no:
            shown = "set" if key.secret else f'"{one_line(str(value), 40)}"'
            raise SettingsError(f"{origin} is {shown}; it should be {no}.", key.help) from None
