"""The report of an incident, to be forwarded: a page, Markdown, and a file in its card's thread."""

from __future__ import annotations

from bot.seats import Extra

EXTRA = Extra(
    "reports",
    "reports of incidents",
    needs=("cases",),
    buttons=("report",),
    commands={"report": "bot.extras.reports.command"},
    thread_files="bot.extras.reports.report_maker:thread_files",
)
