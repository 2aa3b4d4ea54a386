"""Puts together the checks of `serve`: what reads nodes, and what judges them and puts that on record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.app.acting import Acting
from bot.app.metric_history import InventoryHistory, with_history
from bot.app.stores import Stores
from bot.domain.contracts import Log
from bot.inventory import Inventory
from bot.response.diagnosis.diagnosis import Diagnosis
from bot.response.diagnosis.progress import Follower
from bot.response.diagnosis.recorder import VerdictRecorder
from bot.response.diagnosis.scheduler import AT_ONCE, CheckScheduler, Diagnose
from bot.response.record import IncidentRecord
from bot.settings import Settings

if TYPE_CHECKING:
    from bot.sources.prometheus import PrometheusHistory


@dataclass(frozen=True, slots=True)
class Checking:
    """The parts that a service needs; `history` is None where no Prometheus is set."""

    scheduler: CheckScheduler
    diagnosis: Diagnosis
    history: PrometheusHistory | None


def checking(
    settings: Settings,
    known: Inventory,
    stores: Stores,
    acting: Acting,
    record: IncidentRecord,
    followers: Sequence[Follower],
    log: Log,
    diagnose: Diagnose | None = None,
) -> Checking:
    """Put them together; `followers` show checks while they run, and `diagnose` reads a node, by default over SSH.

    Raises: SettingsError when PROMETHEUS_URL or PYROSCOPE_URL is not an address.
    """
    read, history = with_history(diagnose or acting.triage.diagnose, settings, known)
    scheduler = CheckScheduler(read, log, settings.parallel or AT_ONCE, settings.slack.each_at_once)
    past = InventoryHistory(history, known) if history is not None else None
    recorder = VerdictRecorder(stores.ledger, acting.proposer, log, stores.kept_cases, stores.readings, past)
    people = acting.policy.kinds
    diagnosis = Diagnosis(scheduler, record, recorder, known, acting.playbooks, log, followers, people=people)
    return Checking(scheduler, diagnosis, history)
