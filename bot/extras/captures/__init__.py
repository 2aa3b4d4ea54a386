"""Captures: perf records on a node for hours, and what its cores did just before a symptom goes on record."""

from __future__ import annotations

from bot.extras.captures.settings import CaptureSettings
from bot.seats import Extra

EXTRA = Extra(
    "captures",
    "recording on a node for hours",
    needs=("profiles",),
    commands={"capture": "bot.extras.captures.command"},
    settings={"capture": CaptureSettings},
    serves="bot.extras.captures.serving:serving",
    chat="bot.extras.captures.serving:chat",
    rights="bot.extras.captures.recorder_commands:rolling_rights",
    reports="bot.extras.captures.in_report:shown",
)
