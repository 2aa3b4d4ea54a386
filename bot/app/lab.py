"""Puts together the lab: its folders, and the rights of the bot's login on its nodes."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

from bot.app.acting import acting_rights
from bot.app.extras import rights_of, shipped
from bot.app.factories import sudoers
from bot.lab.lab import SETTINGS, Lab
from bot.lab.recipe import Recipe
from bot.response.execution.sudoers import acting_sudoers_text, capture_sudoers_text
from bot.settings import Settings, home_of, state_folder
from bot.settings.tables import ActSettings

LOGIN = "zombie"


def lab(environment: Mapping[str, str]) -> Lab:
    """Return this user's lab: images in the XDG cache folder, running machines in the state folder.

    Source: https://specifications.freedesktop.org/basedir-spec/latest/ (a relative folder there counts as none).
    """
    home = home_of(environment)
    cache = Path(environment.get("XDG_CACHE_HOME") or "")
    images = (cache if cache.is_absolute() else home / ".cache") / "zombie" / "lab"
    return Lab(state_folder(environment) / "lab", images, say)


def recipe(suite: str) -> Recipe:
    """Return the recipe of the nodes' image, with the lines for playbooks, for profiles and for the lab's acting."""
    act = tomllib.loads(SETTINGS)["act"]
    rules = ActSettings(units=frozenset(act["units"]), start_units=frozenset(act["start_units"]))
    allowed = acting_rights(Settings(act=rules))
    return Recipe.of(
        sudoers(LOGIN) + capture_sudoers_text(LOGIN, rights_of(shipped().on)) + acting_sudoers_text(LOGIN, allowed),
        suite,
    )


def say(text: str) -> None:
    """Print progress for people who wait."""
    print(text, file=sys.stderr, flush=True)
