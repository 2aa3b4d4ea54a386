"""Judging recorded cases over and over: why a verdict was given, and which verdicts changed playbooks would flip."""

from __future__ import annotations

from bot.seats import Extra

EXTRA = Extra(
    "cases",
    "saying why a verdict was given, and comparing playbooks on recorded cases",
    commands={"why": "bot.extras.cases.why_command", "backtest": "bot.extras.cases.backtest_command"},
    explains="bot.extras.cases.explaining:explains",
    serves="bot.extras.cases.explaining:serving",
)
