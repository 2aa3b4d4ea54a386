"""Puts together the checks of `serve`: what reads nodes, and what judges them and puts that on record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.app.metric_history import InventoryHistory, with_history
from bot.response.diagnosis.diagnosis import Diagnosis
from bot.response.diagnosis.recorder import VerdictRecorder
from bot.response.diagnosis.scheduler import AT_ONCE, CheckScheduler

if TYPE_CHECKING:
    from bot.app.bot import Bot
    from bot.sources.prometheus import PrometheusHistory


@dataclass(frozen=True, slots=True)
class Checking:
    """The parts that a service needs; `history` is None where no Prometheus is set."""

    scheduler: CheckScheduler
    diagnosis: Diagnosis
    history: PrometheusHistory | None


def checking(bot: Bot) -> Checking:
    """Put them together; the cards of checks follow each while it runs.

    Raises: SettingsError when PROMETHEUS_URL or PYROSCOPE_URL is not an address.
    """
    settings, known, stores, acts = bot.settings, bot.known, bot.stores, bot.acting
    read, history = with_history(bot.diagnose or acts.triage.diagnose, settings, known)
    scheduler = CheckScheduler(read, bot.log, settings.parallel or AT_ONCE, settings.slack.each_at_once)
    past = InventoryHistory(history, known) if history is not None else None
    recorder = VerdictRecorder(stores.ledger, acts.proposer, bot.log, stores.kept_cases, stores.readings, past)
    people = acts.policy.kinds
    diagnosis = Diagnosis(scheduler, bot.record, recorder, known, acts.playbooks, bot.log, (bot.cards,), people=people)
    return Checking(scheduler, diagnosis, history)
