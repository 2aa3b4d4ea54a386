"""Profiles: perf samples a node for seconds, and its text, from there or from a file, is counted, said and drawn."""

from __future__ import annotations

from bot.seats import Extra

EXTRA = Extra(
    "profiles",
    "sampling nodes with perf",
    commands={"profile": "bot.extras.profiles.command"},
    buttons=("profile",),
    chat="bot.extras.profiles.serving:chat",
    thread_files="bot.extras.profiles.serving:files",
    rights="bot.extras.profiles.perf_command:capture_rights",
    reports="bot.extras.profiles.in_report:shown",
)
