"""Puts together the checks of `serve`: what reads nodes, and what judges them and puts that on record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.app.factories import chat_settings
from bot.response.diagnosis.diagnosis import Diagnosis
from bot.response.diagnosis.recorder import VerdictRecorder
from bot.response.diagnosis.scheduler import AT_ONCE, CheckScheduler
from bot.seats import ReadsMore

if TYPE_CHECKING:
    from bot.app.bot import Bot


@dataclass(frozen=True, slots=True)
class CheckService:
    """The parts that a service needs; `more` is what extras read beside each check."""

    scheduler: CheckScheduler
    diagnosis: Diagnosis
    more: Sequence[ReadsMore]


def make_check_service(bot: Bot) -> CheckService:
    """Put them together; the cards of checks follow each while it runs.

    Raises: SettingsError when an extra that reads more cannot be used as it is set up.
    """
    settings, stores, acts = bot.settings, bot.stores, bot.acting
    more: list[ReadsMore] = bot.seated("reads_more")
    read = bot.diagnose or acts.triage.diagnose
    for each in more:
        read = each.beside(read)
    scheduler = CheckScheduler(read, bot.log, settings.parallel or AT_ONCE, chat_settings(settings).each_at_once)
    recorder = VerdictRecorder(stores.ledger, acts.proposer, bot.log, stores.case_store, stores.readings, more)
    people, known = acts.policy.kinds, bot.known
    diagnosis = Diagnosis(scheduler, bot.record, recorder, known, acts.playbooks, bot.log, (bot.cards,), people=people)
    return CheckService(scheduler, diagnosis, more)
