"""Puts together the files for Slack's threads: reports and pictures of profiles."""

from __future__ import annotations

from bot.app.parts import now
from bot.app.reports import ReportMaker
from bot.domain.contracts import Log, Outbox
from bot.surfaces.slack.calls import Timing
from bot.surfaces.slack.connection import SlackConnection
from bot.surfaces.slack.report_file import ReportFile
from bot.surfaces.slack.sketch_file import SketchFile
from bot.surfaces.slack.thread_files import ThreadFiles


def slack_files(made: ReportMaker, slack: SlackConnection, outbox: Outbox, timing: Timing, log: Log) -> ThreadFiles:
    """Return what makes and sends these files."""
    kinds = (ReportFile(made.page), SketchFile())
    return ThreadFiles(kinds, slack.uploads, outbox, timing, now, log)
