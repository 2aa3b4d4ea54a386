"""Puts events on record as the program does: a step's beginning takes its node."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from bot.domain.claim import Claim
from bot.domain.entry import Entry
from bot.domain.events import IncidentEvent, StepStarted
from bot.domain.fold import fold
from bot.domain.policy import Limits
from bot.ledger import Ledger
from tests.record.incidents import by_whom


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
