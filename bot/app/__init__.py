"""The composition root: the only room that imports all others and reads environment, clock and randomness."""

from __future__ import annotations

from bot.app.check import DEADLINE_BEYOND_WINDOW, PROGRAM, Check, brief, check, exit_status, growth_of
from bot.app.kubernetes import draining
from bot.app.listings import listing_words
from bot.app.parts import (
    incident_id,
    inventory,
    library,
    local_transport,
    now,
    ssh_transport,
    sudoers,
    this_machine,
)
from bot.app.watching import shown_progress, terminal_width

__all__ = [
    "DEADLINE_BEYOND_WINDOW",
    "PROGRAM",
    "Check",
    "brief",
    "check",
    "draining",
    "exit_status",
    "growth_of",
    "incident_id",
    "inventory",
    "library",
    "listing_words",
    "local_transport",
    "now",
    "shown_progress",
    "ssh_transport",
    "sudoers",
    "terminal_width",
    "this_machine",
]
