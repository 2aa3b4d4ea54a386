"""How long a step usually takes: the durations of earlier steps of the same kind, from the record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from bot.domain.contracts import Log, NodeDirectory
from bot.domain.errors import ImpossibleEvent, InventoryError, UnreadableEntry
from bot.domain.events import StepVerified
from bot.domain.incident import Incident, IncidentSummary
from bot.domain.safe_text import one_line
from bot.domain.transitions import State

if TYPE_CHECKING:
    from bot.ledger import Ledger

KIND = "instance_type"  # the label that groups nodes by kind
FEWEST = 3  # with fewer nothing is said
WITHIN = timedelta(days=180)
_REMEMBERED = 2000  # running steps
_MOST = 40  # incidents that are folded for an answer: the newest of the node's kind
_FEW = 10  # up to so many: shortest and longest; with more: the middle 80 %


@dataclass(frozen=True, slots=True)
class UsualTime:
    """The range of durations in `times` earlier cases; `kind` is theirs, empty for nodes of any kind."""

    shortest: timedelta
    longest: timedelta
    times: int
    kind: str = ""


@dataclass(frozen=True, slots=True)
class UsualTimes:
    """Says how long steps usually take. `nodes` knows each node's labels."""

    ledger: Ledger
    nodes: NodeDirectory
    log: Log
    _known: dict[tuple[str, int], UsualTime | None] = field(default_factory=dict)  # by incident and step

    async def under_way(self, group: Iterable[Incident]) -> dict[str, UsualTime]:
        """Return how long the running steps usually take, by incident; the record is read once for each.

        Raises: LedgerError when the ledger cannot be asked.
        """
        found: dict[str, UsualTime] = {}
        for incident in group:
            step = incident.step_under_way
            if step is None or incident.proposal is None:
                continue
            key = (incident.id, step.number)
            if key not in self._known:
                action = incident.proposal.plan.steps[step.number - 1].action
                self._known[key] = await self.of(incident, action, step.started_at)
                while len(self._known) > _REMEMBERED:
                    del self._known[next(iter(self._known))]
            if (usual := self._known[key]) is not None:
                found[incident.id] = usual
        return found

    async def of(self, incident: Incident, action: str, now: datetime) -> UsualTime | None:
        """Return how long an action usually takes on nodes like the incident's, or on any node if too few are known.

        Shape: only steps with a proof count; None where fewer than `FEWEST` are on record.
        Raises: LedgerError when the ledger cannot be asked.
        """
        kind = self._node_kind(incident.node)
        ended = [
            summary
            for summary in await self.ledger.incidents()
            if summary.state is State.RESOLVED and summary.id != incident.id and now - summary.updated_at <= WITHIN
        ]
        ended.sort(key=lambda summary: (summary.updated_at, summary.id), reverse=True)
        if kind:
            alike = await self._earlier_durations(
                (summary for summary in ended if self._node_kind(summary.node) == kind), action
            )
            if len(alike) >= FEWEST:
                return _usual_time(alike, kind)
        anywhere = await self._earlier_durations(ended, action)
        return _usual_time(anywhere, "") if len(anywhere) >= FEWEST else None

    def _node_kind(self, node: str) -> str:
        try:
            return one_line(self.nodes.find(node).labels.get(KIND, ""), 60)
        except InventoryError:  # it may be gone
            return ""

    async def _earlier_durations(self, summaries: Iterable[IncidentSummary], action: str) -> list[timedelta]:
        found: list[timedelta] = []
        for number, summary in enumerate(summaries):
            if number >= _MOST:
                break
            try:
                earlier = await self.ledger.incident(summary.id)
            except (ImpossibleEvent, UnreadableEntry) as no:
                self.log("record_unreadable", incident=summary.id, error=one_line(str(no)))
                continue
            steps = earlier.proposal.plan.steps if earlier is not None and earlier.proposal is not None else ()
            for record, step in zip(earlier.steps if earlier is not None else (), steps, strict=False):
                outcome = record.outcome
                if step.action == action and isinstance(outcome, StepVerified) and not outcome.otherwise:
                    found.append(outcome.took)
        return found


def _usual_time(times: Sequence[timedelta], kind: str) -> UsualTime:
    ordered = sorted(times)
    aside = len(ordered) // 10 if len(ordered) >= _FEW else 0
    return UsualTime(ordered[aside], ordered[-1 - aside], len(ordered), kind)
