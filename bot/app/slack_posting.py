"""Puts together what posts in Slack: the connection to it, and what sends cards, pictures and files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.actions import ACTIONS
from bot.app.alerts import channel_of
from bot.app.explaining import Explainer
from bot.app.parts import now
from bot.response.intake.intake import why_nothing_in_storm
from bot.surfaces.slack.background import Background
from bot.surfaces.slack.check_cards import CheckCards
from bot.surfaces.slack.connection import SlackConnection
from bot.surfaces.slack.pictures import Pictures
from bot.surfaces.slack.poster import Poster
from bot.surfaces.slack.report_file import ReportFile
from bot.surfaces.slack.sketch_file import SketchFile
from bot.surfaces.slack.storm_board import StormBoard
from bot.surfaces.slack.thread_files import ThreadFiles
from bot.surfaces.slack.why_replies import WhyReplies
from bot.surfaces.view.plan_words import PlanWords

if TYPE_CHECKING:
    from bot.app.bot import Bot


@dataclass(frozen=True, slots=True)
class SlackPosting:
    """The parts by which everything is posted.

    Shape: when the bot stops, `work` is finished, and `watching` is cancelled at once.
    """

    connection: SlackConnection
    poster: Poster
    pictures: Pictures
    work: Background
    watching: Background


def slack_posting(bot: Bot) -> SlackPosting:
    """Put them together."""
    stores, timing, log = bot.stores, bot.timing, bot.log
    connection = SlackConnection(bot.tokens, timing, now, log, bot.json_log.logger("slack"), bot.metered.counted)
    pictures = Pictures(connection.uploads, stores.outbox, timing, now, log)

    kinds = (ReportFile(bot.reports.page), SketchFile(), *(kind for kinds in bot.of_extras("files") for kind in kinds))
    files = ThreadFiles(kinds, connection.uploads, stores.outbox, timing, now, log)
    poster = Poster(connection.calls, stores.outbox, timing, now, log, pictures, files)
    return SlackPosting(connection, poster, pictures, Background(log), Background(log))


def check_cards(bot: Bot) -> CheckCards:
    """Return the cards of nodes that are being read, and of storms of alerts."""
    posting, rules = bot.posting, bot.rules
    storms = StormBoard(
        bot.stores.cases,
        rules.brakes,
        bot.stores.leases,
        posting.poster,
        channel_of(rules),
        why_nothing_in_storm(rules.brakes),
        bot.known.labels,
        posting.watching,
        bot.log,
    )
    whys = WhyReplies(Explainer(bot.playbooks).sentences, posting.poster, posting.work, posting.pictures)
    return CheckCards(posting.poster, storms, PlanWords(ACTIONS), bot.settings.links, whys, posting.pictures)
