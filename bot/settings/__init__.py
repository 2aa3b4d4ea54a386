"""Every setting, where its value came from, and what may stand in zombie.toml."""

from bot.settings.settings import Given, Settings, database_url

__all__ = ["Given", "Settings", "database_url"]
