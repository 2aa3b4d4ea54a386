"""What sources bring: malformed, strange, recorded, and what of it is kept."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.alert import AlertStatus
from bot.domain.errors import MalformedDelivery
from bot.sources import grafana
from bot.sources.grafana import GrafanaSettings
from bot.sources.pagerduty import signals_of
from tests.alerts.bodies import BEGAN_AT, SECRET, group_alert, group_body, page_alert, page_event, raw
from tests.alerts.source_edge import (
    ALERTMANAGER,
    BATCH,
    MEMBERS,
    PAGERDUTY,
    Member,
    edge,
    grafana_signature,
    members,
)
from tests.contract.corpus import CORPUS
from tests.examples import up_to

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
async def test_genuine_and_malformed_is_the_senders_fault(member: Member) -> None:
    async with edge(member.source) as at:
        for body in MALFORMED:
            assert await at.post(member, body) == 400, body[:80]
        assert at.inbox.found == {}


async def test_missing_and_mistyped_fields_of_an_event_are_no_fault() -> None:
    async with edge(PAGERDUTY.source) as at:
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


@pytest.mark.parametrize("kind", ["incident.annotated", "incident.unsupported", "pagey.ping", "service.updated", "x"])
async def test_events_that_do_not_concern_us_are_taken_and_dropped(kind: str) -> None:
    async with edge(PAGERDUTY.source) as at:
        assert await at.post(PAGERDUTY, raw(page_event(kind=kind, data="of another shape"))) == 202
        assert (at.inbox.found, at.counted) == ({}, [("pagerduty", "ignored")])


@members
async def test_our_own_trouble_is_tried_again_and_never_dropped(member: Member) -> None:
    async with edge(member.source) as at:
        at.inbox.broken = True
        assert await at.post(member, member.body) == 503
        at.inbox.broken = False
        assert await at.post(member, member.body) == 202


async def test_source_without_a_secret_is_not_mounted() -> None:
    async with edge(ALERTMANAGER.source) as at:
        assert await at.post(PAGERDUTY, PAGERDUTY.body) == 404
        async with at.client.get(f"{at.address}/alertmanager") as answer:
            assert answer.status == 405


def test_grafana_with_a_timestamp_keeps_its_window() -> None:
    source = grafana.SOURCE.webhook(GrafanaSettings(webhook_secret=SECRET, timestamp_header="X-Grafana-Timestamp"))
    assert source is not None

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
    kept = PAGERDUTY.source.delivery(raw(body))
    signals = signals_of([page_alert("A1", {"token": "tok-123456", "host": "node-1"})])
    assert "hunter2" not in str(kept)
    assert "hunter3" not in str(ALERTMANAGER.source.delivery(raw(group_body([group_alert("n", password="hunter3")]))))
    assert ("tok-123456" not in str(signals[0].body), "node-1" in str(signals[0].body)) == (True, True)


@pytest.mark.parametrize("lacking", [(), ("groupKey",), ("groupKey", "groupLabels")])
def test_groups_that_differ_in_a_secret_alone_are_two_and_each_keeps_its_name(lacking: tuple[str, ...]) -> None:
    def case(value: str) -> str:
        alert = group_alert("node-1:9100", token=value) | {"fingerprint": ""}
        body = group_body([alert]) | {"groupLabels": {"token": value}, "groupKey": f'{{}}:{{token="{value}"}}'}
        alarm = ALERTMANAGER.source.delivery(raw({k: v for k, v in body.items() if k not in lacking})).alarm
        assert alarm is not None
        assert value not in alarm.case
        return alarm.case

    assert case("db-tls") == case("db-tls") != case("web-tls")


def test_same_alerts_again_are_a_repetition_and_a_new_beginning_is_none() -> None:
    def name(*alerts: dict[str, Any]) -> str:
        return ALERTMANAGER.source.delivery(raw(group_body(alerts))).id

    one, two = group_alert("node-1:9100"), group_alert("node-2:9100")
    later = group_alert("node-1:9100", at=BEGAN_AT + timedelta(hours=1))
    assert name(one, two) == name(two, one)
    words = one | {"annotations": {"summary": "2 nodes are not ready: node-1, node-2"}}
    assert len({name(one), name(one, two), name(later), name(words), name(one | {"status": "resolved"})}) == 5


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


@settings(max_examples=up_to(150), deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), json_values | st.dictionaries(st.sampled_from(KEYS), json_values)))
def test_whatever_comes_is_understood_or_refused(told: dict[str, Any]) -> None:
    for member in MEMBERS:
        try:
            delivery = member.source.delivery(raw(told))
        except MalformedDelivery:
            continue
        assert delivery.id.isprintable()


def recordings(folder: str) -> list[Any]:
    found = sorted((CORPUS / folder).glob("*")) if CORPUS.is_dir() else []
    return [pytest.param(path, id=path.name) for path in found] or [pytest.param(None, id="none")]


@pytest.mark.parametrize("path", recordings("pagerduty"))
async def test_recorded_event_is_accepted(path: Any) -> None:
    if path is None:
        pytest.skip("the corpus of recordings is not here (ZOMBIE_CORPUS)")
    async with edge(PAGERDUTY.source) as at:
        body = path.read_bytes()
        assert await at.post(PAGERDUTY, body) == 202
        resolved = "resolved" in path.name
        assert [one.alarm.happening for one in at.inbox.found.values() if one.alarm is not None] == (
            [AlertStatus.RESOLVED] if resolved else []
        )


@pytest.mark.parametrize("path", recordings("alertmanager"))
async def test_recorded_group_is_accepted(path: Any) -> None:
    if path is None:
        pytest.skip("the corpus of recordings is not here (ZOMBIE_CORPUS)")
    async with edge(ALERTMANAGER.source) as at:
        text = path.read_text().replace("[...]", "[]").replace(",\n  ...\n", "\n")  # as a documentation leaves out
        told = json.loads(text)
        bodies = [told] if "groupKey" in told else [_group_of(name, one) for name, one in told.items()]
        for body in bodies:
            assert await at.post(ALERTMANAGER, raw(body)) == 202
        assert len(at.inbox.found) == sum(1 for body in bodies if body["alerts"])


def _group_of(name: str, template: dict[str, Any]) -> dict[str, Any]:
    """The group that a template of an alert stands for, with a label for each of its variants."""
    chosen = {key.removeprefix("labels."): values[0] for key, values in template["parameters"].items()}
    labels = template["payload"]["labels"] | chosen | {"alertname": name}
    alert = {"status": "firing", "labels": labels, "annotations": {"summary": template["payload"]["summary"]}}
    return {"version": "4", "groupKey": f"{{}}:{{alertname={name!r}}}", "status": "firing", "alerts": [alert]}
