"""Puts together profiles for `serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.app.cases import judge
from bot.app.check import PROGRAM
from bot.app.parts import nonce, now, ssh_scripts
from bot.response.capture.profile_runner import ProfileRunner
from bot.response.capture.profiler import Profiler
from bot.response.capture.reweigher import Reweigher
from bot.response.capture.sketches import Sketches
from bot.surfaces.slack.profiles import SlackProfiles

if TYPE_CHECKING:
    from bot.app.bot import Bot


def slack_profiles(bot: Bot) -> SlackProfiles:
    """Put them together."""
    stores, posting, log = bot.stores, bot.posting, bot.log
    sketches = Sketches(stores.kept_cases, now, PROGRAM, log)
    weighing = Reweigher(bot.record, stores.ledger, stores.kept_cases, judge(bot.playbooks), log)
    desk = ProfileRunner(Profiler(ssh_scripts(bot.environment), nonce), bot.record, log, weighing, sketches)
    return SlackProfiles(desk, posting.poster, stores.chat_requests, posting.work, log)
