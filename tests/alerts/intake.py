"""An intake over one database, with a clock that is handed in and a PagerDuty that is told what to say."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from bot.domain.alert import AlertGroup, Reporter
from bot.domain.events import Triaged
from bot.domain.incident import Incident
from bot.domain.intake_contracts import StormLimits
from bot.domain.node import Node
from bot.domain.transitions import State
from bot.domain.verdict import Status, Verdict
from bot.extras.waves.store import WaveStore
from bot.ledger import Database, Leases, Ledger
from bot.ledger.dedup_store import DedupStore
from bot.ledger.inbox import Inbox
from bot.response.intake.alert_recorder import AlertRecorder
from bot.response.intake.intake import Intake, IntakeRules
from bot.response.intake.routing import Route, Routes
from bot.sources import alertmanager, pagerduty
from bot.sources.pagerduty import signals_of
from tests.alerts.bodies import BEGAN_AT, group_body, page_alert, page_event

NODES = tuple(Node(f"node-{number}", f"10.0.0.{number}", labels={"hostname": "shared"}) for number in (1, 2, 3))
MINUTE = timedelta(minutes=1)
ROUTES = Routes(
    (
        Route(1, {"source": "pagerduty", "service": "Look only*"}, "node-health", "CQUIET", "read-only"),
        Route(2, {"severity": "page"}, "network-resets", "CALERTS", "remedies"),
    ),
    Route(0, {}, "node-health", "CALERTS", "remedies"),
)
STALE_AFTER = timedelta(minutes=15)
ALERTS = [page_alert("A1", {"host": "node-1"})]


class Stage:
    """An intake over one database, with a clock that is handed in and a PagerDuty that is told what to say."""

    def __init__(self, database: Database) -> None:
        self.now = BEGAN_AT
        self.alerts: dict[str, Sequence[dict[str, Any]]] = {}
        self.fields: dict[str, str] = {}
        self.refuses: list[Exception] = []
        self.people: dict[str, str] = {}
        self.seen: list[str] = []
        self.lines: list[tuple[str, dict[str, Any]]] = []
        self.leases = Leases(database, "one", time=self.clock)
        self.ledger = Ledger(database, self.clock)
        self.inbox = Inbox(self.leases)
        self.cases = DedupStore(database, self.clock)
        self.recorder = AlertRecorder(self.ledger)
        self.waves = WaveStore(database, self.clock)
        self.brakes = StormLimits(storm_alerts=3)
        self.intake = self.build()

    def build(self) -> Intake:
        rules = IntakeRules(ROUTES, self.brakes, STALE_AFTER)
        return Intake(
            self.inbox, self.cases, self.recorder, rules, NODES, self, asyncio.Event(), self.clock,
            lambda event, **fields: self.lines.append((event, fields)),
            complete=self.completed, person_of=self.person,
        )  # fmt: skip

    def clock(self) -> datetime:
        return self.now

    def changed(self, group: str, /) -> None:
        self.seen.append(group)

    def decided(self, incident_id: str, /) -> None:
        raise AssertionError("nothing is decided here")

    def waits_for(self, incident_id: str, /) -> str:
        return ""

    async def completed(self, alarm: AlertGroup) -> AlertGroup | None:
        if self.refuses:
            raise self.refuses.pop(0)
        fields = {"custom_fields": self.fields}
        return replace(alarm, signals=signals_of(self.alerts.get(alarm.case, ALERTS)), body={**alarm.body, **fields})

    async def person(self, raiser: Reporter) -> str:
        return self.people.get(raiser.id, "")

    async def page(self, event: str, page: str = "Q1", **more: Any) -> None:
        more = {"at": self.now} | more
        await self.kept(pagerduty.SOURCE.delivery(page_event(event, page, **more)))

    async def group(self, *alerts: dict[str, Any], truncated: int = 0) -> None:
        await self.kept(alertmanager.SOURCE.delivery(group_body(alerts, truncated)))

    async def kept(self, delivery: Any) -> None:
        await asyncio.to_thread(self.leases.beat.now)
        self.now += timedelta(milliseconds=1)
        await self.inbox.keep(delivery)
        await self.worked()

    async def worked(self) -> None:
        while await self.intake.start_waiting_deliveries():
            while running := set(self.intake._underway.values()):
                await asyncio.wait(running)
                await asyncio.sleep(0)

    async def incidents(self) -> list[Incident]:
        found: list[Incident] = []
        for group in dict.fromkeys([one.group for one in await self.ledger.incidents()][::-1]):
            found += await self.recorder.group(group)
        return found

    async def over(self) -> dict[str, bool]:
        """Whether the alerts of each node are over."""
        return {one.node: one.is_over for one in await self.incidents()}

    async def triage(self) -> None:
        for one in await self.incidents():
            if one.state is State.OPENED and one.node:
                healthy = Triaged(Verdict(one.node, Status.HEALTHY, None, None, "Healthy"))
                await self.ledger.append(one.id, one.seq, healthy, "bot")


def nodes(incidents: Sequence[Incident]) -> list[str]:
    """The nodes of these incidents."""
    return sorted(one.node for one in incidents)
