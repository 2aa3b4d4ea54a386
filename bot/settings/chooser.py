"""Chooses a setting's value by order of origin: flag, environment, zombie.toml, default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from bot.domain.duration import duration_text, parse_duration
from bot.domain.errors import SettingsError
from bot.domain.listen_address import host_and_port
from bot.domain.safe_text import one_line
from bot.domain.setting import Setting, SettingKind
from bot.settings.file import duration_fault, expanded_path

MOST_SECRET_CHARACTERS = 65536


@dataclass(frozen=True, slots=True)
class ChosenValue:
    """A setting's value, and its origin."""

    setting: Setting
    value: Any = field(repr=False)  # it may be a secret, and a repr may be logged
    origin: str  # "--inventory", "ZOMBIE_INVENTORY", "zombie.toml:3" or "default"

    @property
    def shown(self) -> str:
        """The value for people; for a secret only that it is set."""
        if self.value is None or self.value in ((), ""):
            return ""
        if self.setting.secret:
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

    def choose(self, row: Setting, in_file: tuple[Any, str] | None = None) -> ChosenValue:
        """Return a row's value; `in_file` is what zombie.toml has for it, and where.

        Raises: SettingsError for an invalid value.
        """
        flag = self._flags.get(row.name)
        if row.flag and flag is not None and flag not in ([], (), ""):
            return ChosenValue(row, self._converted(row, flag, row.flag), row.flag)
        text = self._environment.get(row.environment, "").strip() if row.environment else ""
        if text:
            return ChosenValue(row, self._converted(row, text, row.environment), row.environment)
        if row.secret and (credential := self._credential(row.environment)):
            return ChosenValue(
                row, self._converted(row, credential, row.environment), f"CREDENTIALS_DIRECTORY/{row.environment}"
            )
        if in_file is not None:
            return ChosenValue(row, *in_file)
        if row.where_it_exists and (path := self._folder / row.where_it_exists).is_file():
            return ChosenValue(row, path, "default")
        return ChosenValue(row, row.default, "default")

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

    def _converted(self, row: Setting, value: Any, origin: str) -> Any:
        """A flag's or the environment's value, converted to the setting's kind."""

        def wrong(says: str) -> SettingsError:
            text = duration_text(value) if isinstance(value, timedelta) else one_line(str(value), 40)
            shown = "set" if row.secret else f'"{text}"'
            return SettingsError(f"{origin} is {shown}; it should be {says}.", row.help)

        match row.kind:
            case SettingKind.PATH:
                return expanded_path(str(value), self._folder, self._home)
            case SettingKind.PATHS:
                parts = value.split(":") if isinstance(value, str) else value
                return tuple(expanded_path(str(part), self._folder, self._home) for part in parts if str(part).strip())
            case SettingKind.NUMBER:
                text = str(value)
                number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
                if not row.low <= number <= row.high:
                    raise wrong(f"a whole number from {row.low} to {row.high}")
                return number
            case SettingKind.DURATION:
                try:
                    duration = value if isinstance(value, timedelta) else parse_duration(_seconds(value))
                except ValueError:
                    raise wrong('a time like "30s" or "2m"') from None
                if fault := duration_fault(row, duration):
                    raise wrong(fault.removeprefix("should be "))
                return duration
            case SettingKind.LISTEN:
                try:
                    host_and_port(str(value))
                except ValueError:
                    raise wrong("an address to listen on, like 127.0.0.1:8080") from None
            case SettingKind.FLAG:
                words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
                if str(value).lower() not in words:
                    raise wrong("true or false")
                return words[str(value).lower()]
        return str(value)


def _seconds(value: Any) -> Any:
    """Bare seconds, which flags and the environment can give only as text."""
    text = str(value)
    return float(text) if text.replace(".", "", 1).isdigit() and text.isascii() and len(text) < 12 else value
