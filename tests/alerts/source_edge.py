"""Every source on a web edge of its own, and what it would bring."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import aiohttp
import pytest

from bot.domain.alert import Delivery
from bot.domain.errors import LedgerUnavailable
from bot.domain.intake_contracts import GivenUpDelivery
from bot.sources import alertmanager, grafana, pagerduty
from bot.sources.alertmanager import AlertmanagerSettings
from bot.sources.grafana import GrafanaSettings
from bot.sources.pagerduty_settings import PagerDutySettings
from bot.sources.source import Source, Webhook
from bot.surfaces.hooks import MOST_AT_ONCE, Hooks
from bot.surfaces.web import WebEdge
from bot.surfaces.web_limits import Bodies, ConnectionLimits
from tests.alerts.bodies import BEGAN_AT, SECRET, group_alert, group_body, page_event, raw, signature

BATCH = raw(group_body([group_alert("node-1:9100"), group_alert("node-2:9100", "resolved")]))


def grafana_signature(body: bytes, secret: str = SECRET, stamp: str = "") -> str:
    before = f"{stamp}:".encode() if stamp else b""
    return hmac.new(secret.encode(), before + body, hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class Member:
    """One source, a body that it would bring, and what proves a body to be its own."""

    source: Webhook
    body: bytes
    prove: Callable[[bytes], dict[str, str]]
    forged: tuple[Mapping[str, str], ...]

    def id(self) -> str:
        return str(self.source.kind)


def door(source: Source, settings: Any) -> Webhook:
    webhook = source.webhook(settings)
    assert webhook is not None
    return webhook


PAGERDUTY = Member(
    door(pagerduty.SOURCE, PagerDutySettings(webhook_secrets=f"an older secret, {SECRET}")),
    raw(page_event()),
    lambda body: {"X-PagerDuty-Signature": f"v1={'0' * 64}, {signature(body)}"},
    (
        {"X-PagerDuty-Signature": signature(raw(page_event()), "another secret")},
        {"X-PagerDuty-Signature": signature(raw(page_event())).replace("v1=", "v0=")},
        {"X-PagerDuty-Signature": "v1="},
        {"X-PagerDuty-Signature": ", ,v1=é"},
    ),
)
ALERTMANAGER = Member(
    door(alertmanager.SOURCE, AlertmanagerSettings(token=SECRET)),
    BATCH,
    lambda body: {"Authorization": f"Bearer {SECRET}"},
    ({"Authorization": f"Basic {SECRET}"}, {"Authorization": "Bearer "}, {"Authorization": f"Bearer {SECRET}x"}),
)
GRAFANA = Member(
    door(grafana.SOURCE, GrafanaSettings(webhook_secret=SECRET)),
    BATCH,
    lambda body: {"X-Grafana-Alerting-Signature": grafana_signature(body)},
    (
        {"X-Grafana-Alerting-Signature": grafana_signature(BATCH, "another")},
        {"X-Grafana-Alerting-Signature": grafana_signature(BATCH, SECRET, "1795253400")},
    ),
)
MEMBERS = (PAGERDUTY, ALERTMANAGER, GRAFANA)
SIGNED = (PAGERDUTY, GRAFANA)
members = pytest.mark.parametrize("member", MEMBERS, ids=Member.id)


@dataclass
class Kept:
    """An inbox in memory."""

    found: dict[str, Delivery] = field(default_factory=dict)
    broken: bool = False
    open: asyncio.Event = field(default_factory=asyncio.Event)
    full: asyncio.Event = field(default_factory=asyncio.Event)  # two were brought
    asked: int = 0

    def __post_init__(self) -> None:
        self.open.set()

    async def keep(self, delivery: Delivery) -> bool:
        self.asked += 1
        if self.asked == 2:
            self.full.set()
        await self.open.wait()
        if self.broken:
            raise LedgerUnavailable("The disk is full.")
        is_new = delivery.key not in self.found
        self.found.setdefault(delivery.key, delivery)
        return is_new

    async def claim(self, at_once: int, busy: Any = ()) -> tuple[Any, ...]:
        return ()

    async def mark_done(self, delivery: Delivery) -> None: ...

    async def mark_failed(self, delivery: Delivery, retry_after: timedelta, error: str) -> None: ...

    async def give_up(self, delivery: Delivery, error: str) -> None: ...

    async def given_up(self) -> tuple[GivenUpDelivery, ...]:
        return ()

    async def waiting(self) -> int:
        return len(self.found)


class Arrivals(asyncio.Event):
    """Counts how often something new was kept."""

    def __init__(self) -> None:
        super().__init__()
        self.times = 0

    def set(self) -> None:
        self.times += 1


@dataclass
class Edge:
    """A web edge with sources on it."""

    address: str
    inbox: Kept
    client: aiohttp.ClientSession
    arrived: Arrivals = field(default_factory=Arrivals)
    counted: list[tuple[str, str]] = field(default_factory=list)
    unauthorized: list[str] = field(default_factory=list)  # by path
    logged: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    seconds: float = 0.0  # what the clock says by which lines are spared

    def log(self, event: str, **fields: Any) -> None:
        self.logged.append((event, fields))

    async def post(self, member: Member, body: bytes, headers: Mapping[str, str] | None = None) -> int:
        proof = member.prove(body) if headers is None else headers
        async with self.client.post(self.address + member.source.path, data=body, headers=proof) as answer:
            return answer.status


@asynccontextmanager
async def edge(
    *sources: Webhook,
    most_at_once: int = MOST_AT_ONCE,
    bodies: Bodies | None = None,
    connections: ConnectionLimits | None = None,
) -> AsyncIterator[Edge]:
    """These sources on a web edge, for the length of a block."""

    async def ready() -> str:
        return ""

    async with aiohttp.ClientSession(auto_decompress=False) as client:
        found = Edge("", Kept(), client)
        hooks = Hooks(
            found.inbox,  # type: ignore[arg-type]
            lambda: BEGAN_AT,
            found.log,
            found.arrived,
            lambda source, outcome, seconds: found.counted.append((source, outcome)),
            most_at_once=most_at_once,
        )
        web = WebEdge(
            "127.0.0.1:0",
            ready,
            hooks.posts(sources),
            log=found.log,
            unauthorized=found.unauthorized.append,
            bodies=bodies,
            connections=connections,
            clock=lambda: found.seconds,
        )
        found.address = await web.start()
        try:
            yield found
        finally:
            await web.stop()
