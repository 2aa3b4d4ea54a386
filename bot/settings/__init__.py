"""Every setting, the origin of its value, and what zombie.toml may contain."""

from bot.settings.chooser import ChosenValue
from bot.settings.settings import (
    Settings,
    all_keys,
    check_address,
    database_url,
    home_of,
    several_tables,
    state_folder,
    table_names,
)

__all__ = [
    "ChosenValue",
    "Settings",
    "all_keys",
    "check_address",
    "database_url",
    "home_of",
    "several_tables",
    "state_folder",
    "table_names",
]
