"""Puts together profiles and rolling captures for `serve`: requests, looks and cards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bot.app.cases import judge
from bot.app.check import PROGRAM
from bot.app.parts import nonce, now, ssh_scripts
from bot.app.rolling import rolling_control
from bot.app.stores import Stores
from bot.domain.contracts import Log
from bot.domain.playbook import Playbooks
from bot.inventory import Inventory
from bot.response.capture.look_turns import LookTurns
from bot.response.capture.profile_runner import ProfileRunner
from bot.response.capture.profiler import Profiler
from bot.response.capture.reweigher import Reweigher
from bot.response.capture.rolling_keeper import RollingKeeper
from bot.response.capture.rolling_watch import RollingWatch
from bot.response.capture.sketches import Sketches
from bot.response.record import IncidentRecord
from bot.settings import Settings
from bot.surfaces.slack.background import Background
from bot.surfaces.slack.capture_cards import CaptureCards
from bot.surfaces.slack.connection import SlackConnection
from bot.surfaces.slack.poster import Poster
from bot.surfaces.slack.profiles import SlackProfiles
from bot.surfaces.slack.symptom_replies import SymptomReplies


@dataclass(frozen=True, slots=True)
class SlackCaptures:
    """The parts that a service needs; `keeper` looks once a minute, the others listen to Slack."""

    profiles: SlackProfiles
    cards: CaptureCards
    keeper: RollingKeeper


def slack_captures(
    settings: Settings,
    known: Inventory,
    stores: Stores,
    environment: Mapping[str, str],
    playbooks: Playbooks,
    slack: SlackConnection,
    poster: Poster,
    background: Background,
    watching: Background,
    log: Log,
) -> SlackCaptures:
    """Put them together; `watching` is cancelled at once when the bot stops."""
    sketches = Sketches(stores.kept_cases, now, PROGRAM, log)
    record = IncidentRecord(stores.ledger, log)
    weighing = Reweigher(record, stores.ledger, stores.kept_cases, judge(playbooks), log)
    desk = ProfileRunner(Profiler(ssh_scripts(environment), nonce), record, log, weighing, sketches)
    watch, turns = (
        RollingWatch(rolling_control(settings, stores.ledger, environment), sketches),
        LookTurns(stores.chat_requests),
    )
    cards = CaptureCards(
        watch,
        turns,
        known,
        stores.ledger,
        poster,
        stores.outbox,
        slack,
        background,
        watching,
        log,
        stores.chat_requests,
    )
    beside = SymptomReplies(
        sketches, stores.ledger, poster, stores.outbox, stores.leases, stores.chat_requests, background, log
    )
    keeper = RollingKeeper(watch, known, turns, log, (cards, beside))
    profiles = SlackProfiles(desk, poster, stores.chat_requests, background, log)
    return SlackCaptures(profiles, cards, keeper)
