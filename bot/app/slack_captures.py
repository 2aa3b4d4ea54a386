"""Puts together profiles and rolling captures for `serve`: requests, looks and cards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.app.cases import judge
from bot.app.check import PROGRAM
from bot.app.parts import nonce, now, ssh_scripts
from bot.app.rolling import rolling_control
from bot.response.capture.look_turns import LookTurns
from bot.response.capture.profile_runner import ProfileRunner
from bot.response.capture.profiler import Profiler
from bot.response.capture.reweigher import Reweigher
from bot.response.capture.rolling_keeper import RollingKeeper
from bot.response.capture.rolling_watch import RollingWatch
from bot.response.capture.sketches import Sketches
from bot.surfaces.slack.capture_cards import CaptureCards
from bot.surfaces.slack.profiles import SlackProfiles
from bot.surfaces.slack.symptom_replies import SymptomReplies

if TYPE_CHECKING:
    from bot.app.bot import Bot


@dataclass(frozen=True, slots=True)
class SlackCaptures:
    """The parts that a service needs; `keeper` looks once a minute, the others listen to Slack."""

    profiles: SlackProfiles
    cards: CaptureCards
    keeper: RollingKeeper


def slack_captures(bot: Bot) -> SlackCaptures:
    """Put them together."""
    stores, posting, log = bot.stores, bot.posting, bot.log
    poster, kept = posting.poster, stores.chat_requests
    sketches = Sketches(stores.kept_cases, now, PROGRAM, log)
    weighing = Reweigher(bot.record, stores.ledger, stores.kept_cases, judge(bot.playbooks), log)
    desk = ProfileRunner(Profiler(ssh_scripts(bot.environment), nonce), bot.record, log, weighing, sketches)
    watch = RollingWatch(rolling_control(bot.settings, stores.ledger, bot.environment), sketches)
    turns = LookTurns(kept)
    cards = CaptureCards(
        watch,
        turns,
        bot.known,
        stores.ledger,
        poster,
        stores.outbox,
        posting.connection,
        posting.work,
        posting.watching,
        log,
        kept,
    )
    beside = SymptomReplies(sketches, stores.ledger, poster, stores.outbox, stores.leases, kept, posting.work, log)
    keeper = RollingKeeper(watch, bot.known, turns, log, (cards, beside))
    return SlackCaptures(SlackProfiles(desk, poster, kept, posting.work, log), cards, keeper)
