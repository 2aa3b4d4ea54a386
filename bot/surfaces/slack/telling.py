"""What a card says beside its incidents, as one value, so that it stays a function of what it is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from bot.domain.incident import Incident
from bot.domain.policy import Policy
from bot.domain.transitions import State


@dataclass(frozen=True, slots=True)
class Telling:
    """What is told beside what is on record.

    Shape: `head` is the beginning of the hash by which the record ends, for cards that close. By incident: `checking`
    is who said yes while the node is looked at again, `waits_for` why an approved plan does not begin yet; `undoable`
    are those whose first step can be taken back.
    """

    policy: Policy
    head: str = ""
    checking: Mapping[str, str] = field(default_factory=dict)
    waits_for: Mapping[str, str] = field(default_factory=dict)
    undoable: frozenset[str] = frozenset()

    def decides_until(self, incident: Incident) -> datetime | None:
        """Return until when the incident's plan can be decided."""
        return None if incident.proposed_at is None else incident.proposed_at + self.policy.approval_expires

    def begins_until(self, incident: Incident) -> datetime | None:
        """Return until when what was approved may begin."""
        return None if incident.approval is None else incident.approval.at + self.policy.approval_expires

    def answers_until(self, incident: Incident) -> datetime | None:
        """Return until when an open question can be answered."""
        return None if incident.asked_at is None else incident.asked_at + self.policy.approval_expires

    def is_open(self, incident: Incident) -> bool:
        """True while the incident's plan waits for a decision that nobody is about to take."""
        return incident.state is State.PROPOSED and incident.id not in self.checking
