"""Every setting, where its value came from, and what may stand in zombie.toml."""

from bot.settings.settings import Given, Settings

__all__ = ["Given", "Settings"]
