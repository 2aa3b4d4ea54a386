"""Alertmanager's webhook, version 4: https://prometheus.io/docs/alerting/latest/configuration/#webhook_config

It does not sign requests: a bearer token of `http_config.authorization` proves their origin.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.domain.alert import AlertGroup, AlertStatus, Delivery, SourceAlert
from bot.domain.errors import MalformedDelivery
from bot.domain.json_form import canonical
from bot.domain.setting import secret
from bot.sources.body import (
    MOST_SIGNALS,
    TITLE,
    harmless,
    instant,
    is_bearer,
    labels,
    object_in,
    table,
    text,
)
from bot.sources.source import Proof, Source

NAME, PATH = "alertmanager", "/alertmanager"
_LONGEST_CASE = 120


@dataclass(frozen=True, slots=True)
class AlertmanagerSettings:
    """The settings that prove a request to be Alertmanager's."""

    token: str = secret("The bearer token that Alertmanager sends; it switches /alertmanager on.", "ALERTMANAGER_TOKEN")


def delivery_of_group(kind: str, body: Mapping[str, Any]) -> Delivery:
    """Return the delivery of a group of alerts; Grafana uses the same form.

    Raises: MalformedDelivery when it has no alerts, or a malformed alert.
    """
    alerts = body.get("alerts")
    if not isinstance(alerts, list):
        raise MalformedDelivery("alerts is not a list.")
    rows = [table(alert, f"alerts[{at}]") for at, alert in enumerate(alerts[:MOST_SIGNALS])]
    if not rows:
        return Delivery(kind, _digest(kind, "empty", str(body.get("groupKey", ""))), None, "no alerts")
    signals = tuple(_signal(row) for row in rows)
    case = _group_case(body, signals)
    truncated = body.get("truncatedAlerts")
    unseen = truncated if isinstance(truncated, int) and not isinstance(truncated, bool) and truncated > 0 else 0
    unseen += max(0, len(alerts) - MOST_SIGNALS)
    pairs = list(zip(rows, signals, strict=True))
    firing = [(row, signal) for row, signal in pairs if signal.firing]
    field = "startsAt" if firing else "endsAt"
    instants = [at for row, _ in firing or pairs if (at := instant(row, field)) is not None]
    shared = labels(body, "commonLabels") | labels(body, "groupLabels")
    # Alertmanager takes the group's status from the alerts that it sends: it says nothing of those left out.
    is_over = not firing and not unseen and body.get("status") != "firing"
    alarm = AlertGroup(
        kind,
        case,
        AlertStatus.RESOLVED if is_over else AlertStatus.FIRED,
        title=_title(body, shared, signals),
        occurred_at=max(instants, default=None),
        signals=signals,
        labels=shared | {"receiver": text(body, "receiver")},
        body=harmless({key: body[key] for key in ("groupLabels", "commonLabels", "commonAnnotations") if key in body}),
        url=_url(text(body, "externalURL", 500)),
        unseen=unseen,
    )
    # A repeated notification has the same alerts with the same start times and words: an alert about many nodes keeps
    # its fingerprint while its annotations name another.
    turns = sorted(
        f"{signal.key} {signal.firing} {text(row, 'startsAt')} {canonical(row.get('annotations'))}"
        for row, signal in pairs
    )
    return Delivery(kind, _digest(kind, case, str(alarm.unseen), *turns), alarm, text(body, "status"))


def _signal(row: Mapping[str, Any]) -> SourceAlert:
    body = labels(row, "labels")
    notes = object_in(row, "annotations")
    said = "\n".join(f"{label}={value}" for label, value in sorted(body.items()))
    key = text(row, "fingerprint", 100) or _digest(_told_apart(said, object_in(row, "labels")))
    return SourceAlert(
        key=key,
        firing=row.get("status") != "resolved",
        title=text(notes, "summary") or text(notes, "description") or body.get("alertname", ""),
        labels=body,
        body=harmless({name: row[name] for name in ("labels", "annotations", "values", "valueString") if name in row}),
        since=instant(row, "startsAt"),
    )


def _group_case(body: Mapping[str, Any], signals: tuple[SourceAlert, ...]) -> str:
    """The group's own name; the end of a long name is replaced by its digest."""
    key = text(body, "groupKey", 100_000)
    if not key:
        shared = sorted(labels(body, "groupLabels").items()) or [("alert", signal.key) for signal in signals[:1]]
        key = "{" + ", ".join(f'{label}="{value}"' for label, value in shared) + "}"
    key = _told_apart(key, [body.get("groupKey"), body.get("groupLabels")])
    return key if len(key) <= _LONGEST_CASE else f"{key[: _LONGEST_CASE - 20]}…{_digest(key)[:16]}"


def _told_apart(name: str, raw: Any) -> str:
    """Return a name with a digest of all that it was made from, where a secret was cut out of it.

    Two groups may differ in that value alone. It is no easier to guess than from Alertmanager's own fingerprint of an
    alert, a digest of all labels that is stored as well.
    """
    return f"{name} {_digest(canonical(raw))[:16]}" if "[redacted" in name else name


def _title(body: Mapping[str, Any], shared: Mapping[str, str], signals: tuple[SourceAlert, ...]) -> str:
    notes = object_in(body, "commonAnnotations")
    said = (text(body, "title"), text(notes, "summary"), text(notes, "description"), shared.get("alertname", ""))
    first = next((signal for signal in signals if signal.firing), signals[0])
    return next((title[:TITLE] for title in (*said, first.title) if title), "")


def _url(url: str) -> str:
    return url if url.startswith(("https://", "http://")) else ""


def _digest(*words: str) -> str:
    return hashlib.sha256("\n".join(words).encode(errors="backslashreplace")).hexdigest()[:32]


def _proof(settings: AlertmanagerSettings) -> Proof | None:
    token = settings.token.strip()
    return (lambda headers, body, now: is_bearer(headers.get("authorization", ""), token)) if token else None


SOURCE = Source(
    NAME,
    "Alertmanager",
    PATH,
    AlertmanagerSettings,
    _proof,
    delivery=lambda body: delivery_of_group(NAME, body),
    recognises=lambda body: "alerts" in body and body.get("version") == "4",
)
