"""A profile taken from a card is evaluated with the kept case; if the verdict changes, the node is read again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from bot.domain.alert import BOT
from bot.domain.case import Case
from bot.domain.contracts import Log
from bot.domain.entry import Append
from bot.domain.errors import CaseError, Conflict, ImpossibleEvent, LedgerError, PlaybookError, UsageError
from bot.domain.events import AlertCleared, AlertJoined, AlertReceived, Cancelled, PlanWithheld, ProfileTaken, Triaged
from bot.domain.incident import Incident, newest
from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.domain.verdict import Verdict, outcome_parts
from bot.ledger import CaseStore, Ledger
from bot.probes.profile import PROFILE, as_run
from bot.response.incident_record import IncidentRecord, short_id

TRIES = 5
Judge: TypeAlias = Callable[[Case, str], Awaitable[Verdict]]  # a case by a playbook's name


@dataclass(frozen=True, slots=True)
class VerdictReevaluator:
    """Says whether a profile changes a verdict, and opens the incident in which the node is read again with it.

    The kept case decides this without the node; a plan is offered only on new readings.
    """

    record: IncidentRecord
    ledger: Ledger
    cases: CaseStore
    judge: Judge
    log: Log

    async def reevaluate_with_profile(self, incident: Incident, taken: ProfileTaken) -> str:
        """Return what follows from a profile, in a sentence; empty where nothing does.

        Shape: an incident that a person has decided, or that its source ended, is left as it is.
        """
        try:
            return await self._reevaluate(incident, taken)
        except (LedgerError, CaseError, PlaybookError, UsageError) as no:
            self.log("profile_not_weighed", incident=incident.id, error=one_line(str(no)))
            return ""

    async def _reevaluate(self, incident: Incident, taken: ProfileTaken) -> str:
        incident = await self._newest(incident)
        if not taken.reading or not _is_undecided(incident):
            return ""
        changed = await self._verdict_change(incident, taken.reading)
        if not changed:
            return ""
        name = short_id("profiled", incident.id)
        for _ in range(TRIES):
            try:
                # Together: a crash in between would leave a card without an offer and without a reading.
                await self.ledger.append_together(
                    (*_withdrawal(incident, changed, name), _new_incident(incident, taken, name))
                )
            except (Conflict, ImpossibleEvent):  # it changed meanwhile, or another profile was first
                now = await self._newest(incident)
                if now.id != incident.id or not _is_undecided(now):
                    return ""
                incident = now
            except LedgerError as error:
                self.log("profile_not_weighed", incident=incident.id, error=one_line(str(error)))
                return f"It changes the verdict ({changed}), and that could not be written down: check the node again."
            else:
                return f"It changes the verdict ({changed}): the node is read again as incident {name}, on this card."
        self.log("profile_not_weighed", incident=incident.id, error="the incident changed too often")
        return f"It changes the verdict ({changed}): check the node again."

    async def _newest(self, incident: Incident) -> Incident:
        """Return the latest that the card shows of the node now."""
        group = newest(await self.record.incidents_of_card(incident.card))
        return next((member for member in reversed(group) if member.node == incident.node), incident)

    async def _verdict_change(self, incident: Incident, reading: str) -> str:
        """Return how the profile changes the verdict on the kept case; empty where it does not."""
        triage = incident.triage
        case = await self.cases.of_verdict(incident.id, triage) if triage is not None else None
        if case is None:
            self.log("profile_not_weighed", incident=incident.id, error="what the node said is not kept")
            return ""
        own = tuple(run for run in case.runs if run.probe != PROFILE.name)
        before = await self.judge(case, incident.playbook)
        now = await self.judge(replace(case, runs=(*own, as_run(reading))), incident.playbook)
        if outcome_parts(before) == outcome_parts(now):
            return ""
        return f"{_decisive_words(before)} → {_decisive_words(now)}"


def _withdrawal(incident: Incident, changed: str, name: str) -> tuple[Append, ...]:
    """The end of the offer; nothing where there is none."""
    if incident.state is not State.PROPOSED:
        return ()
    because = f"A profile changes the verdict: {changed}. The node is read again, as incident {name}."
    return (Append(incident.id, incident.seq, (Cancelled(because),), BOT),)


def _new_incident(incident: Incident, taken: ProfileTaken, name: str) -> Append:
    received = AlertReceived(
        incident.alert,
        incident.node,
        incident.card,
        incident.playbook,
        channel=incident.channel,
        withheld=incident.withholds,
        storm=incident.storm,
        askers=incident.askers,
    )
    # Its other alerts, and what is over by then: their pages show the new incident, which ends when the last one does.
    joined = [AlertJoined(alert) for alert in incident.joined]
    over = {(alert.kind, alert.id): None for alert in incident.alerts if incident.is_cleared(alert.kind, alert.id)}
    cleared = [AlertCleared(*alert) for alert in over]
    return Append(name, 0, (received, *joined, *cleared, taken), incident.alert.asked_by or BOT)


def _is_undecided(incident: Incident) -> bool:
    if incident.undoes or incident.is_over:
        return False
    if incident.ended:
        return isinstance(incident.ending, Triaged | PlanWithheld)
    return incident.state is State.PROPOSED


def _decisive_words(verdict: Verdict) -> str:
    words = (verdict.cause or verdict.status.value, verdict.confidence.value if verdict.confidence is not None else "")
    offer = "with a plan" if verdict.plan is not None else "no plan"
    return f"{' '.join(filter(None, words))}, {offer}"
