"""Puts together profiles for `serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.app.cases import case_judge
from bot.app.factories import nonce, now, ssh_scripts
from bot.app.version import program_name
from bot.chat.context import ChatContext
from bot.extras.profiles.chat import ProfileChat
from bot.extras.profiles.chat_file import SketchFile
from bot.extras.profiles.profiler import Profiler
from bot.extras.profiles.reevaluator import VerdictReevaluator
from bot.extras.profiles.runner import ProfileRunner
from bot.extras.profiles.sketches import Sketches

if TYPE_CHECKING:
    from bot.app.bot import Bot


def chat(bot: Bot, context: ChatContext) -> ProfileChat:
    """Return what takes the button *Profile*, and what people type about profiles."""
    sketches = Sketches(bot.stores.case_store, now, program_name(), bot.log)
    reevaluator = VerdictReevaluator(
        bot.record, bot.stores.ledger, bot.stores.case_store, case_judge(bot.playbooks), bot.log
    )
    runner = ProfileRunner(Profiler(ssh_scripts(bot.environment), nonce), bot.record, bot.log, reevaluator, sketches)
    return ProfileChat(context, bot.known, runner, bot.posting.poster, bot.posting.work)


def files(bot: Bot) -> tuple[SketchFile, ...]:
    """Return the pictures in the threads of cards."""
    return (SketchFile(),)
