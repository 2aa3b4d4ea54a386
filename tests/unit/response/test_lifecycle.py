"""What an incident needs next, by its source and state."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from bot.domain.alert import Alert
from bot.domain.contracts import AdvanceLater
from bot.domain.errors import Conflict
from bot.domain.events import AlertReceived, PlanWithheld, Triaged
from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.response.diagnosis.diagnosis import LOOK_AGAIN, Diagnosis
from bot.response.execution.remediation import Remediation
from bot.response.incident_record import IncidentRecord
from bot.response.lifecycle import INTERRUPTED, Lifecycle
from tests.record.incidents import HEALTHY, NODE, TRIAGED, entries

RECEIVED = AlertReceived(Alert("pagerduty", "Q1"), NODE, "g1", "node-health")


def incident(*events: Any, kind: str = "pagerduty", **more: Any) -> Incident:
    alert = Alert(kind, "x/y", "slack:T1/U1" if kind == "slack" else "")
    return fold(entries([replace(RECEIVED, alert=alert, **more), *events], "i1"))


@dataclass
class Parts:
    """The record, the diagnosis and the remediation of one incident, in memory."""

    found: Incident
    reading: bool = False
    is_late: bool = False
    did: list[Any] = field(default_factory=list)

    async def advanced(self) -> AdvanceLater | None:
        record, diagnosis = cast("IncidentRecord", self), cast("Diagnosis", _Diagnosis(self))
        return await Lifecycle(record, diagnosis, cast("Remediation", self), frozenset(("slack", "terminal"))).advance(
            "i1"
        )

    async def find(self, _: str) -> Incident:
        self.did.append("found")
        return self.found

    async def append(self, found: Incident, event: Any, _: str) -> Incident:
        if self.is_late:
            raise Conflict("Somebody else went on with it.")
        self.did.append(event)
        return replace(found, ending=event)

    async def step(self, _: Incident) -> AdvanceLater | None:
        self.did.append("stepped")
        return None


@dataclass
class _Diagnosis:
    parts: Parts

    def is_reading(self, _: str) -> bool:
        return self.parts.reading

    async def advance(self, _: Incident) -> AdvanceLater:
        self.parts.did.append("read")
        return LOOK_AGAIN


@pytest.mark.parametrize("kind", ["slack", "pagerduty", "alertmanager", "grafana", "a newer program"])
async def test_opened_incident_of_every_source_is_read(kind: str) -> None:
    parts = Parts(incident(kind=kind))
    assert await parts.advanced() == LOOK_AGAIN
    assert parts.did == ["found", "read"]


async def test_what_is_being_read_costs_nothing() -> None:
    parts = Parts(incident(), reading=True)
    assert (await parts.advanced(), parts.did) == (LOOK_AGAIN, [])


@pytest.mark.parametrize(
    "other", [incident(kind="terminal"), incident(undoes="i0"), incident(node=""), incident(TRIAGED, kind="slack")]
)
async def test_everything_else_is_the_remediations(other: Incident) -> None:
    parts = Parts(other)
    assert (await parts.advanced(), parts.did) == (None, ["found", "stepped"])


async def test_plan_that_an_older_program_never_offered_is_withheld_and_says_so() -> None:
    parts = Parts(incident(TRIAGED))
    assert (await parts.advanced(), parts.did) == (None, ["found", PlanWithheld(INTERRUPTED)])
    parts = Parts(incident(TRIAGED, withheld="Route 1 is read-only."))
    assert (await parts.advanced(), parts.did) == (None, ["found", PlanWithheld("Route 1 is read-only.")])
    late = Parts(incident(TRIAGED), is_late=True)
    assert (await late.advanced(), late.did) == (AdvanceLater(), ["found"])


async def test_what_has_ended_is_not_touched() -> None:
    parts = Parts(incident(Triaged(HEALTHY)))
    assert (await parts.advanced(), parts.did) == (None, ["found", "stepped"])
