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

    channels: frozenset[str] = option(
        names, frozenset(), "The only channels where checks may be asked for; empty: every channel that the bot is in."
    )
    alerts_channel: str = option(
        TomlTable.text, "", "The channel of alerts' cards: C… in Slack, 19:…@thread.tacv2 in Teams.", like='"C012AB3CD"'
    )
    each_at_once: int = option(
        count(1), defaults.CHECKS_EACH_AT_ONCE, "How many nodes are read at once for one person."
    )
    checks_per_person: Allowance = option(
        allowance, CHECKS_PER_PERSON, "How many checks one person may ask for, and in which time."
    )
