"""Puts together what posts in Slack: the connection to it, and what sends cards, pictures and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bot.actions import ACTIONS
from bot.app.alerts import channel_of
from bot.app.explaining import Explainer
from bot.app.json_log import JsonLog
from bot.app.parts import now
from bot.app.reports import ReportMaker
from bot.app.stores import Stores
from bot.domain.contracts import Log
from bot.domain.errors import UnknownIncident
from bot.domain.wave import Wave
from bot.inventory import Inventory
from bot.library import Library
from bot.response.intake.intake import Rules, why_nothing_in_storm
from bot.surfaces.hooks import Counted
from bot.surfaces.slack.background import Background
from bot.surfaces.slack.calls import Timing
from bot.surfaces.slack.check_cards import CheckCards
from bot.surfaces.slack.connection import SlackConnection
from bot.surfaces.slack.member import SlackTokens
from bot.surfaces.slack.pictures import Pictures
from bot.surfaces.slack.poster import Poster
from bot.surfaces.slack.report_file import ReportFile
from bot.surfaces.slack.sketch_file import SketchFile
from bot.surfaces.slack.storm_board import StormBoard
from bot.surfaces.slack.thread_files import ThreadFiles
from bot.surfaces.slack.wave_cards import PlansFile
from bot.surfaces.slack.why_replies import WhyReplies
from bot.surfaces.view.plan_words import PlanWords
from bot.surfaces.waves import WavePlans, wave_plans


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


def slack_posting(
    tokens: SlackTokens, stores: Stores, made: ReportMaker, timing: Timing, json_log: JsonLog, counted: Counted
) -> SlackPosting:
    """Put them together; `made` makes the reports, and `counted` hears of each delivery."""
    log = json_log.log
    connection = SlackConnection(tokens, timing, now, log, json_log.logger("slack"), counted)
    pictures = Pictures(connection.uploads, stores.outbox, timing, now, log)

    async def plans_of(name: str) -> tuple[Wave, WavePlans]:
        if (wave := await stores.waves.find(name)) is None:
            raise UnknownIncident(f"There is no wave {name!r}.", "zombie wave lists them.")
        found = [await stores.ledger.incident(member.incident) for member in wave.proposal.members]
        incidents = {incident.id: incident for incident in found if incident is not None}
        return wave, wave_plans(wave, incidents, PlanWords(ACTIONS))

    kinds = (ReportFile(made.page), SketchFile(), PlansFile(plans_of))
    files = ThreadFiles(kinds, connection.uploads, stores.outbox, timing, now, log)
    poster = Poster(connection.calls, stores.outbox, timing, now, log, pictures, files)
    return SlackPosting(connection, poster, pictures, Background(log), Background(log))


def check_cards(
    posting: SlackPosting,
    stores: Stores,
    rules: Rules,
    known: Inventory,
    playbooks: Library,
    links: Mapping[str, str],
    log: Log,
) -> CheckCards:
    """Return the cards of nodes that are being read, and of storms of alerts."""
    storms = StormBoard(
        stores.cases,
        rules.brakes,
        stores.leases,
        posting.poster,
        channel_of(rules),
        why_nothing_in_storm(rules.brakes),
        known.labels,
        posting.watching,
        log,
    )
    whys = WhyReplies(Explainer(playbooks).sentences, posting.poster, posting.work, posting.pictures)
    return CheckCards(posting.poster, storms, PlanWords(ACTIONS), links, whys, posting.pictures)
