"""Alarms for tests: bodies as PagerDuty, Alertmanager and Grafana send them, made here."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

BEGAN_AT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
SECRET = "whsec-of-these-tests"


def raw(body: Any) -> bytes:
    """A body as it is sent."""
    return json.dumps(body).encode()


def signature(body: bytes, secret: str = SECRET) -> str:
    """What PagerDuty signs a body with."""
    return "v1=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def page_event(
    event: str = "E1",
    page: str = "Q1",
    kind: str = "incident.triggered",
    title: str = "core pinned on a node",
    at: datetime = BEGAN_AT,
    agent: Any = None,
    **more: Any,
) -> dict[str, Any]:
    """A v3 event of PagerDuty."""
    data = {
        "id": page,
        "type": "incident",
        "html_url": f"https://example.pagerduty.com/incidents/{page}",
        "number": 5,
        "status": kind.rpartition(".")[2],
        "incident_key": "d387d7bd2e0a4294a5307339dfe1669a",
        "created_at": at.isoformat(),
        "title": title,
        "service": {"id": "PSVC1", "type": "service_reference", "summary": "Batch nodes"},
        "assignees": [],
        "teams": [],
        "priority": None,
        "urgency": "high",
        "conference_bridge": None,
        "resolve_reason": None,
    }
    told = {
        "id": event,
        "event_type": kind,
        "resource_type": "incident",
        "occurred_at": at.isoformat().replace("+00:00", "Z"),
        "agent": agent,
        "client": None,
        "data": data | more,
    }
    return {"event": told}


def page_alert(key: str, details: Any, status: str = "triggered") -> dict[str, Any]:
    """An alert of a page, as PagerDuty's REST API has it."""
    return {
        "id": key,
        "type": "alert",
        "summary": "CPU at 100 %",
        "status": status,
        "alert_key": f"key-{key}",
        "severity": "critical",
        "service": {"id": "PSVC1", "summary": "Batch nodes"},
        "body": {"type": "alert_body", "details": details, "contexts": []},
    }


def group_alert(instance: str, status: str = "firing", at: datetime = BEGAN_AT, **labels: str) -> dict[str, Any]:
    """One alert of Alertmanager's."""
    told = {"alertname": "CorePinned", "instance": instance, "severity": "critical"} | labels
    name = hashlib.sha256(json.dumps(sorted(told.items())).encode()).hexdigest()[:16]
    return {
        "status": status,
        "labels": told,
        "annotations": {"summary": f"A core of {instance} is pinned"},
        "startsAt": at.isoformat().replace("+00:00", "Z"),
        "endsAt": "0001-01-01T00:00:00Z",
        "generatorURL": "http://prometheus.example/graph",
        "fingerprint": name,
    }


def group_body(alerts: Sequence[dict[str, Any]], truncated: int = 0) -> dict[str, Any]:
    """What Alertmanager tells of a group."""
    firing = any(one["status"] == "firing" for one in alerts)
    return {
        "version": "4",
        "groupKey": '{}:{alertname="CorePinned"}',
        "truncatedAlerts": truncated,
        "status": "firing" if firing else "resolved",
        "receiver": "zombie",
        "groupLabels": {"alertname": "CorePinned"},
        "commonLabels": {"alertname": "CorePinned", "severity": "critical"},
        "commonAnnotations": {},
        "externalURL": "http://alertmanager.example",
        "alerts": list(alerts),
    }
