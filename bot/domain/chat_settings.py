"""The settings that the table of each chat has: where it is used, and how much of it one person may use."""

from __future__ import annotations

from dataclasses import dataclass

from bot.domain import defaults
from bot.domain.allowance import CHECKS_PER_PERSON, Allowance
from bot.domain.setting import allowance, count, names, option
from bot.domain.toml_table import TomlTable


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """Where people may ask, where alerts are posted, and how much each person may ask for."""

    channels: frozenset[str] = option(names, frozenset())
    alerts_channel: str = option(TomlTable.text, "")
    each_at_once: int = option(count(1), defaults.CHECKS_EACH_AT_ONCE)  # readings of a person
    checks_per_person: Allowance = option(allowance, CHECKS_PER_PERSON)
