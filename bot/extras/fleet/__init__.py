"""Fleets: which nodes have a cause, how sick nodes differ from their peers, sweeps that run by themselves, workers."""

from __future__ import annotations

from bot.extras.fleet.settings import SweepSettings, WorkersSettings
from bot.seats import Extra

EXTRA = Extra(
    "fleet",
    "reading and comparing many nodes at once",
    commands={
        "fleet": "bot.extras.fleet.command",
        "diff": "bot.extras.fleet.diff_command",
        "worker": "bot.extras.fleet.worker_command",
    },
    settings={"workers": WorkersSettings, "sweep": SweepSettings},
    buttons=("who-else",),
    serves="bot.extras.fleet.serving:serving",
    chat="bot.extras.fleet.serving:chat",
)
