"""Every source, over the web edge that it is mounted on: what proves it, what it may bring, and what is answered."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import aiohttp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.alarm import Delivery, Happening
from bot.domain.errors import LedgerUnavailable, MalformedDelivery
from bot.sources.alertmanager import AlertmanagerSource
from bot.sources.grafana import GrafanaSource
from bot.sources.pagerduty import PagerDutySource, signals_of
from bot.sources.source import Source
from bot.surfaces.hooks import Hooks
from bot.surfaces.web import WebEdge
from tests.alarms import BEGAN_AT, SECRET, group_alert, group_body, page_alert, page_event, raw, signature
from tests.conftest import missing
from tests.contract.corpus import CORPUS

BATCH = raw(group_body([group_alert("node-1:9100"), group_alert("node-2:9100", "resolved")]))


def grafana_signature(body: bytes, secret: str = SECRET, stamp: str = "") -> str:
    before = f"{stamp}:".encode() if stamp else b""
    return hmac.new(secret.encode(), before + body, hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class Member:
    """One source, a body that it would bring, and what proves a body to be its own."""

    source: Source
    body: bytes
    prove: Callable[[bytes], dict[str, str]]
    forged: tuple[Mapping[str, str], ...]

    def id(self) -> str:
        return str(self.source.kind)


PAGERDUTY = Member(
    PagerDutySource(["an older secret", SECRET]),
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
    AlertmanagerSource(SECRET),
    BATCH,
    lambda body: {"Authorization": f"Bearer {SECRET}"},
    ({"Authorization": f"Basic {SECRET}"}, {"Authorization": "Bearer "}, {"Authorization": f"Bearer {SECRET}x"}),
)
GRAFANA = Member(
    GrafanaSource(SECRET),
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

    async def keep(self, delivery: Delivery) -> bool:
        if self.broken:
            raise LedgerUnavailable("The disk is full.")
        is_new = delivery.key not in self.found
        self.found.setdefault(delivery.key, delivery)
        return is_new

    async def claim(self, at_once: int, busy: Any = ()) -> tuple[Any, ...]:
        return ()

    async def done(self, delivery: Delivery) -> None: ...

    async def failed(self, delivery: Delivery, retry_after: timedelta, error: str) -> None: ...

    async def waiting(self) -> int:
        return len(self.found)


@dataclass
class Edge:
    """A web edge with sources on it."""

    address: str
    inbox: Kept
    client: aiohttp.ClientSession
    arrived: list[None] = field(default_factory=list)
    counted: list[tuple[str, str]] = field(default_factory=list)

    async def post(self, member: Member, body: bytes, headers: Mapping[str, str] | None = None) -> int:
        proof = member.prove(body) if headers is None else headers
        async with self.client.post(self.address + member.source.path, data=body, headers=proof) as answer:
            return answer.status


@asynccontextmanager
async def edge(*sources: Source) -> AsyncIterator[Edge]:
    async def ready() -> str:
        return ""

    async with aiohttp.ClientSession(auto_decompress=False) as client:
        found = Edge("", Kept(), client)
        hooks = Hooks(
            found.inbox, lambda: BEGAN_AT, lambda event, **fields: None, lambda: found.arrived.append(None),
            lambda source, outcome, seconds: found.counted.append((source, outcome)),
        )  # fmt: skip
        web = WebEdge("127.0.0.1:0", ready, hooks.posts(sources))
        found.address = await web.start()
        try:
            yield found
        finally:
            await web.stop()


def over(member: Member, work: Callable[[Edge], Any]) -> Any:
    async def whole() -> Any:
        async with edge(member.source) as found:
            return await work(found)

    return asyncio.run(whole())


@members
def test_genuine_delivery_is_kept_before_it_is_answered(member: Member) -> None:
    async def work(at: Edge) -> None:
        assert await at.post(member, member.body) == 202
        (kept,) = at.inbox.found.values()
        assert kept.alarm is not None
        assert (kept.source, kept.alarm.happening, len(at.arrived)) == (member.source.kind, Happening.FIRED, 1)
        assert at.counted == [(member.source.kind.value, "accepted")]

    over(member, work)


@members
def test_replayed_delivery_is_taken_and_is_no_second_one(member: Member) -> None:
    async def work(at: Edge) -> None:
        assert [await at.post(member, member.body) for _ in range(3)] == [202] * 3
        again = member.prove(member.body) | {"X-Webhook-Id": "of-a-replay"}
        assert await at.post(member, member.body, again) == 202
        assert (len(at.inbox.found), len(at.arrived)) == (1, 1)

    over(member, work)


@members
def test_unproven_delivery_is_refused_and_not_kept(member: Member) -> None:
    async def work(at: Edge) -> None:
        for headers in ({}, *member.forged):
            assert await at.post(member, member.body, headers) == 401, headers
        assert at.inbox.found == {}

    over(member, work)


@pytest.mark.parametrize("member", SIGNED, ids=Member.id)
def test_one_changed_byte_is_refused(member: Member) -> None:
    async def work(at: Edge) -> None:
        proof = member.prove(member.body)
        for place in range(0, len(member.body), 97):
            changed = member.body[:place] + bytes([member.body[place] ^ 1]) + member.body[place + 1 :]
            assert await at.post(member, changed, proof) == 401
        assert await at.post(member, member.body + b" ", proof) == 401
        assert at.inbox.found == {}

    over(member, work)


@members
def test_too_long_and_packed_bodies_are_not_read(member: Member) -> None:
    async def work(at: Edge) -> None:
        assert await at.post(member, b" " * 300_000) == 413
        packed = gzip.compress(member.body)
        for encoding in ("gzip", "identity", "br"):
            assert await at.post(member, packed, member.prove(packed) | {"Content-Encoding": encoding}) == 415
        long = json.loads(member.body) | {"padding": "x" * 200_000}
        assert await at.post(member, raw(long)) == 202

    over(member, work)


ANYTHING: tuple[Any, ...] = (None, 7, [], {}, "x")
MALFORMED = (
    b"",
    b"\xff\xfe",
    b"null",
    b"[]",
    b"{",
    b'{"event": NaN}',
    b'{"event": null, "alerts": null}',
    b'{"event": {"id": 7, "event_type": "incident.triggered"}, "alerts": [[]]}',
    b'{"event": {"id": "E1", "event_type": "incident.triggered", "data": []}, "alerts": {}}',
    b'{"event": {"id": "E1\\u0000", "event_type": "incident.triggered", "data": {"id": "Q1"}}, "alerts": "x"}',
    b'{"event": {"id": "E1", "event_type": "incident.triggered", "data": {"id": ""}}, "alerts": [null]}',
    b'{"event": {"event_type": "incident.triggered"}}',
    b'{"a":' * 100 + b"1" + b"}" * 100,
    b"[" * 100_000 + b"]" * 100_000,
    b'{"n": ' + b"9" * 10_000 + b"}",
)


@members
def test_genuine_and_malformed_is_the_senders_fault(member: Member) -> None:
    async def work(at: Edge) -> None:
        for body in MALFORMED:
            assert await at.post(member, body) == 400, body[:80]
        assert at.inbox.found == {}

    over(member, work)


def test_missing_and_mistyped_fields_of_an_event_are_no_fault() -> None:
    async def work(at: Edge) -> None:
        event = page_event()["event"]
        for number, name in enumerate((*event["data"], "agent", "client", "occurred_at", "resource_type")):
            for kind, value in enumerate(ANYTHING):
                told = {**event, "id": f"E{number}-{kind}", "data": dict(event["data"])}
                (told["data"] if name in event["data"] and name != "id" else told)[name] = value
                if name == "id":
                    continue
                assert await at.post(PAGERDUTY, raw({"event": told})) == 202, (name, value)
        bare = {"id": "bare", "event_type": "incident.triggered", "data": {"id": "Q1"}}
        assert await at.post(PAGERDUTY, raw({"event": bare})) == 202

    over(PAGERDUTY, work)


@pytest.mark.parametrize("kind", ["incident.annotated", "incident.unsupported", "pagey.ping", "service.updated", "x"])
def test_events_that_do_not_concern_us_are_taken_and_dropped(kind: str) -> None:
    async def work(at: Edge) -> None:
        assert await at.post(PAGERDUTY, raw(page_event(kind=kind, data="of another shape"))) == 202
        assert (at.inbox.found, at.counted) == ({}, [("pagerduty", "ignored")])

    over(PAGERDUTY, work)


@members
def test_our_own_trouble_is_tried_again_and_never_dropped(member: Member) -> None:
    async def work(at: Edge) -> None:
        at.inbox.broken = True
        assert await at.post(member, member.body) == 503
        at.inbox.broken = False
        assert await at.post(member, member.body) == 202

    over(member, work)


def test_source_without_a_secret_is_not_mounted() -> None:
    async def work(at: Edge) -> None:
        assert await at.post(PAGERDUTY, PAGERDUTY.body) == 404
        async with at.client.get(f"{at.address}/alertmanager") as answer:
            assert answer.status == 405

    over(ALERTMANAGER, work)


def test_grafana_with_a_timestamp_keeps_its_window() -> None:
    source = GrafanaSource(SECRET, "X-Grafana-Timestamp", timedelta(minutes=5))

    def is_genuine(at: datetime, signed_at: datetime, sent_at: datetime | None = None) -> bool:
        stamp = str(int((sent_at or signed_at).timestamp()))
        proof = grafana_signature(BATCH, SECRET, str(int(signed_at.timestamp())))
        return source.is_genuine({"x-grafana-timestamp": stamp, "x-grafana-alerting-signature": proof}, BATCH, at)

    assert is_genuine(BEGAN_AT + timedelta(minutes=5), BEGAN_AT)
    assert not is_genuine(BEGAN_AT + timedelta(minutes=6), BEGAN_AT)
    assert not is_genuine(BEGAN_AT, BEGAN_AT + timedelta(minutes=6))
    assert not is_genuine(BEGAN_AT + timedelta(minutes=6), BEGAN_AT, BEGAN_AT + timedelta(minutes=6))
    for stamp in ("", "now", "1e9", "٣", "9" * 20):
        assert not source.is_genuine({"x-grafana-timestamp": stamp}, BATCH, BEGAN_AT)


def test_secrets_of_a_body_are_not_kept() -> None:
    body = page_event(title="password: hunter2 on node-1")
    kept = PAGERDUTY.source.delivery({}, raw(body))
    signals = signals_of([page_alert("A1", {"token": "tok-123456", "host": "node-1"})])
    assert "hunter2" not in str(kept.alarm and kept.alarm.body)
    assert ("tok-123456" not in str(signals[0].body), "node-1" in str(signals[0].body)) == (True, True)


def test_same_alerts_again_are_a_repetition_and_a_new_beginning_is_none() -> None:
    def name(*alerts: dict[str, Any]) -> str:
        return ALERTMANAGER.source.delivery({}, raw(group_body(alerts))).id

    one, two = group_alert("node-1:9100"), group_alert("node-2:9100")
    later = group_alert("node-1:9100", at=BEGAN_AT + timedelta(hours=1))
    assert name(one, two) == name(two, one)
    assert len({name(one), name(one, two), name(later), name(group_alert("node-1:9100", "resolved"))}) == 4


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=20,
)
KEYS = (
    "event",
    "id",
    "event_type",
    "data",
    "agent",
    "alerts",
    "labels",
    "status",
    "startsAt",
    "groupKey",
    "fingerprint",
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), json_values | st.dictionaries(st.sampled_from(KEYS), json_values)))
def test_whatever_comes_is_understood_or_refused(told: dict[str, Any]) -> None:
    for member in MEMBERS:
        try:
            delivery = member.source.delivery({}, raw(told))
        except MalformedDelivery:
            continue
        assert delivery.id.isprintable()


def recordings(folder: str) -> list[Any]:
    found = sorted((CORPUS / folder).glob("*")) if CORPUS.is_dir() else []
    return [pytest.param(path, id=path.name) for path in found] or [pytest.param(None, id="none")]


@pytest.mark.parametrize("path", recordings("pagerduty"))
def test_recorded_event_is_accepted(path: Any) -> None:
    if path is None:
        missing("the corpus of recordings is not here (ZOMBIE_CORPUS)")

    async def work(at: Edge) -> None:
        body = path.read_bytes()
        assert await at.post(PAGERDUTY, body) == 202
        resolved = "resolved" in path.name
        assert [one.alarm.happening for one in at.inbox.found.values() if one.alarm is not None] == (
            [Happening.RESOLVED] if resolved else []
        )

    over(PAGERDUTY, work)


@pytest.mark.parametrize("path", recordings("alertmanager"))
def test_recorded_group_is_accepted(path: Any) -> None:
    if path is None:
        missing("the corpus of recordings is not here (ZOMBIE_CORPUS)")

    async def work(at: Edge) -> None:
        text = path.read_text().replace("[...]", "[]").replace(",\n  ...\n", "\n")  # as a documentation leaves out
        told = json.loads(text)
        bodies = [told] if "groupKey" in told else [_group_of(name, one) for name, one in told.items()]
        for body in bodies:
            assert await at.post(ALERTMANAGER, raw(body)) == 202
        assert len(at.inbox.found) == sum(1 for body in bodies if body["alerts"])

    over(ALERTMANAGER, work)


def _group_of(name: str, template: dict[str, Any]) -> dict[str, Any]:
    """The group that a template of an alert stands for, with a label for each of its variants."""
    chosen = {key.removeprefix("labels."): values[0] for key, values in template["parameters"].items()}
    labels = template["payload"]["labels"] | chosen | {"alertname": name}
    alert = {"status": "firing", "labels": labels, "annotations": {"summary": template["payload"]["summary"]}}
    return {"version": "4", "groupKey": f"{{}}:{{alertname={name!r}}}", "status": "firing", "alerts": [alert]}
