"""Puts together what posts in Slack: the connection to it, and what sends cards, pictures and files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.actions import ACTIONS
from bot.app.alerts import channel_of
from bot.app.parts import now
from bot.domain.verdict import Verdict
from bot.response.intake.intake import why_nothing_in_storm
from bot.seats import Explains
from bot.surfaces.slack.background import Background
from bot.surfaces.slack.blocks import OF_EXTRAS
from bot.surfaces.slack.check_cards import CheckCards
from bot.surfaces.slack.connection import SlackConnection
from bot.surfaces.slack.pictures import Pictures
from bot.surfaces.slack.poster import Poster
from bot.surfaces.slack.storm_board import StormBoard
from bot.surfaces.slack.thread_files import ThreadFiles
from bot.surfaces.slack.why_replies import WhyReplies
from bot.surfaces.view.context import ViewContext
from bot.surfaces.view.plan_words import PlanWords

if TYPE_CHECKING:
    from bot.app.bot import Bot


@dataclass(frozen=True, slots=True)
class SlackPosting:
    """The parts by which everything is posted.

    Shape: when the bot stops, `work` is finished, and `watching` is cancelled at once. `view` is what
    all cards have in common.
    """

    connection: SlackConnection
    poster: Poster
    pictures: Pictures
    work: Background
    watching: Background
    view: ViewContext


def slack_posting(bot: Bot) -> SlackPosting:
    """Put them together."""
    stores, timing, log = bot.stores, bot.timing, bot.log
    connection = SlackConnection(bot.tokens, timing, now, log, bot.json_log.logger("slack"), bot.metered.counted)
    pictures = Pictures(connection.uploads, stores.outbox, timing, now, log)

    kinds = [kind for kinds in bot.seated("thread_files") for kind in kinds]
    absent = OF_EXTRAS.difference(*(extra.buttons for extra in bot.extras))
    files = ThreadFiles(kinds, connection.uploads, stores.outbox, timing, now, log)
    poster = Poster(connection.calls, stores.outbox, timing, now, log, pictures, files)
    asks = tuple(bot.seated("asks"))
    view = ViewContext(words=PlanWords(ACTIONS), links=bot.settings.links, absent=absent, asks=asks)
    return SlackPosting(connection, poster, pictures, Background(log), Background(log), view)


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
    explains: list[Explains] = bot.seated("explains")

    async def explain(verdict: Verdict) -> Sequence[str]:
        return [sentence for each in explains for sentence in await each(verdict)]

    whys = WhyReplies(explain, posting.poster, posting.work, posting.pictures) if explains else None
    return CheckCards(posting.poster, storms, posting.view, whys, posting.pictures)
