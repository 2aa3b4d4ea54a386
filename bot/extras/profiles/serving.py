"""Puts together profiles for `serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.app.cases import judge
from bot.app.parts import nonce, now, ssh_scripts
from bot.app.version import program_name
from bot.chat.context import ChatContext
from bot.extras.profiles.chat import ChatProfiles, ProfileChat
from bot.extras.profiles.chat_file import SketchFile
from bot.extras.profiles.profiler import Profiler
from bot.extras.profiles.reweigher import Reweigher
from bot.extras.profiles.runner import ProfileRunner
from bot.extras.profiles.sketches import Sketches

if TYPE_CHECKING:
    from bot.app.bot import Bot


def chat(bot: Bot, context: ChatContext) -> ProfileChat:
    """Return what takes the button *Profile*, and what people type about profiles."""
    stores, posting, log = bot.stores, bot.posting, bot.log
    sketches = Sketches(stores.kept_cases, now, program_name(), log)
    weighing = Reweigher(bot.record, stores.ledger, stores.kept_cases, judge(bot.playbooks), log)
    runner = ProfileRunner(Profiler(ssh_scripts(bot.environment), nonce), bot.record, log, weighing, sketches)
    profiles = ChatProfiles(runner, posting.poster, stores.chat_requests, posting.work, log)
    return ProfileChat(context, profiles, bot.known)


def files(bot: Bot) -> tuple[SketchFile, ...]:
    """Return the pictures in the threads of cards."""
    return (SketchFile(),)
