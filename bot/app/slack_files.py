"""Puts together the files for Slack's threads: reports and pictures of profiles."""

from __future__ import annotations

from bot.app.parts import now
from bot.app.reports import ReportMaker
from bot.domain.contracts import Log, Outbox
from bot.surfaces.slack.calls import Timing
from bot.surfaces.slack.connection import SlackConnection
from bot.surfaces.slack.enclosed_report import EnclosedReport
from bot.surfaces.slack.enclosed_sketch import EnclosedSketch
from bot.surfaces.slack.enclosures import Enclosures


def slack_files(made: ReportMaker, slack: SlackConnection, outbox: Outbox, timing: Timing, log: Log) -> Enclosures:
    """Return what makes and sends these files."""
    kinds = (EnclosedReport(made.page), EnclosedSketch())
    return Enclosures(kinds, slack.uploads, outbox, timing, now, log)
