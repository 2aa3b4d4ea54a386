"""How long the approval of a wave lasts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from bot.domain import defaults
from bot.domain.setting import option
from bot.domain.toml_table import TomlTable

if TYPE_CHECKING:
    from bot.domain.policy import Policy


def _lasts(table: TomlTable, name: str) -> timedelta | None:
    return table.duration(name, timedelta(days=7))


@dataclass(frozen=True, slots=True)
class WaveSettings:
    """How long the approval of a wave lasts after the last yes."""

    expires: timedelta = option(
        _lasts, defaults.WAVE_EXPIRES, "How long the approval of a wave lasts, from the last yes."
    )

    def over(self, policy: Policy) -> Policy:
        """Return the policy with it."""
        return replace(policy, wave_expires=self.expires)
