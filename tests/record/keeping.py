"""Puts events on record as the program does: an approved incident, and a step's beginning, which takes its node."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from bot.domain.action import Plan, Step
from bot.domain.claim import Claim
from bot.domain.entry import Entry
from bot.domain.events import AlertReceived, Approved, IncidentEvent, PlanProposed, StepStarted, Triaged
from bot.domain.fold import fold
from bot.domain.policy import Limits
from bot.ledger import Ledger
from tests.record.incidents import ALERT, APPROVER, ASKER, STEPS, VERDICT, by_whom


def keep(ledger: Ledger, stream: str, events: Iterable[IncidentEvent]) -> tuple[Entry, ...]:
    """Append events to an incident, from its beginning on or where it stands, and return its entries."""
    for event in events:
        stands = ledger.read.now(stream)
        if isinstance(event, StepStarted):
            incident = fold(stands)
            assert incident.proposal is not None
            limits, never_mind = Limits(at_once=99), timedelta(days=-1)  # several tests' incidents have the same plan
            plan, machine_id = incident.proposal.plan, incident.proposal.binds.get("machine_id", "")
            claim = Claim(
                incident.node,
                plan.remedy,
                "r1",
                limits,
                machine_id=machine_id,
                cure=plan.cure,
                not_again_within=never_mind,
            )
            ledger.begin.now(stream, len(stands), event, by_whom(event), claim)
        else:
            ledger.append.now(stream, len(stands), event, by_whom(event))
    return ledger.read.now(stream)


def approved(
    ledger: Ledger, incident: str, node: str, steps: tuple[Step, ...] = STEPS, *, wave: str = ""
) -> PlanProposed:
    """Put an approved incident on record, and return its plan; the entry of its first step would be the fifth."""
    plan = Plan(node, steps)
    proposal = PlanProposed.of(plan, {})
    ledger.append.now(incident, 0, AlertReceived(ALERT, node, wave=wave), ASKER)
    ledger.append.now(incident, 1, Triaged(replace(VERDICT, node=node, plan=plan)), "bot")
    ledger.append.now(incident, 2, proposal, "bot")
    ledger.append.now(incident, 3, Approved(proposal.digest, "it leaks"), APPROVER)
    return proposal
