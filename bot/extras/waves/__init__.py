"""Waves: a cure for many nodes under a single approval, one node first, then more."""

from __future__ import annotations

from bot.extras.waves.settings import WaveSettings
from bot.seats import Extra

EXTRA = Extra(
    "waves",
    "curing many nodes under a single approval",
    commands={"wave": "bot.extras.waves.command"},
    settings={"waves": WaveSettings},
    serves="bot.extras.waves.serving:serving",
    holds="bot.extras.waves.store:check_may_begin",
    follows="bot.extras.waves.store:FOLLOWER",
    chat="bot.extras.waves.serving:chat",
    counts="bot.extras.waves.serving:counts",
    cures="bot.extras.waves.serving:cures",
    thread_files="bot.extras.waves.serving:files",
)
