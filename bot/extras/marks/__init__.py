"""Marks: people say whether verdicts were right, and a cause in doubt offers no plan."""

from __future__ import annotations

from bot.seats import Extra

EXTRA = Extra(
    "marks",
    "saying whether a verdict was right, and doubting a cause",
    commands={
        "mark": "bot.extras.marks.command",
        "playbooks stats": "bot.extras.marks.stats_command",
        "playbooks looked-at": "bot.extras.marks.looked_at_command",
    },
    doubts="bot.extras.marks.store:MarkDoubts",
    counts="bot.extras.marks.store:counts",
    chat="bot.extras.marks.chat:chat",
    asks="bot.extras.marks.chat:asks",
)
