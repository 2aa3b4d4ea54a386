"""PagerDuty's v3 webhooks: https://developer.pagerduty.com/docs/webhooks-overview, and the signature:
https://developer.pagerduty.com/docs/verifying-webhook-signatures (it holds no time, so nothing can be too old).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from bot.domain.alert import AlertGroup, AlertStatus, Delivery, Reporter, SourceAlert
from bot.domain.doctor_finding import DoctorFinding
from bot.domain.pagerduty import OURS, PAGERDUTY
from bot.sources.body import (
    TITLE,
    any_alike,
    harmless,
    hmac_of,
    instant,
    labels,
    name,
    object_in,
    table,
    text,
)
from bot.sources.pagerduty_settings import PagerDutySettings
from bot.sources.source import Body, ParsedFile, Proof, ServingBot, Source

PATH = "/pagerduty"
CASE_EVENTS: Mapping[str, AlertStatus] = {
    "incident.triggered": AlertStatus.FIRED,
    "incident.reopened": AlertStatus.REOPENED,
    "incident.resolved": AlertStatus.RESOLVED,
}


def _delivery(body: Body) -> Delivery:
    event = table(body.get("event"), "event")
    event_id, kind = name(event, "id", "event"), name(event, "event_type", "event")
    happening = CASE_EVENTS.get(kind)
    if happening is None:  # also our own notes, sent back as incident.annotated
        return Delivery(PAGERDUTY, event_id, None, kind)
    data = table(event.get("data"), "event.data")
    if is_ours(data):
        return Delivery(PAGERDUTY, event_id, None, kind)
    agent = object_in(event, "agent")
    raiser = _raiser(agent) if happening is not AlertStatus.RESOLVED else None
    alarm = alarm_of(data, happening, instant(event, "occurred_at"), raiser)
    # The event's id, not the delivery id in the header: that is not signed, so a replay could change it.
    return Delivery(PAGERDUTY, event_id, alarm, kind)


def is_ours(incident: Mapping[str, Any]) -> bool:
    """True for an incident of PagerDuty that the bot raised: it is for people, and starts no diagnosis."""
    return str(incident.get("incident_key") or "").startswith(OURS)


def alarm_of(
    incident: Mapping[str, Any], happening: AlertStatus, occurred_at: datetime | None, raised_by: Reporter | None = None
) -> AlertGroup:
    """Return an incident of PagerDuty as an alert group, from a webhook or from the REST API.

    Raises: MalformedDelivery when it has no id.
    """
    service = text(object_in(incident, "service"), "summary")
    found = {
        "service": service,
        "service_id": text(object_in(incident, "service"), "id"),
        "urgency": text(incident, "urgency"),
        "priority": text(object_in(incident, "priority"), "summary"),
        "team": ", ".join(text(table, "summary") for table in _tables(incident.get("teams"))),
    }
    return AlertGroup(
        PAGERDUTY,
        case=name(incident, "id", "event.data"),
        happening=happening,
        title=text(incident, "title", TITLE) or text(incident, "summary", TITLE),
        occurred_at=occurred_at,
        labels={key: value for key, value in found.items() if value},
        body=harmless({key: incident.get(key) for key in ("title", "description") if key in incident}),
        url=_url(incident),
        whole=False,  # a webhook does not list the incident's alerts
        raised_by=raised_by,
    )


def alarm_of_page(
    incident: Mapping[str, Any], happening: AlertStatus, occurred_at: datetime | None
) -> AlertGroup | None:
    """Return an incident from the REST API as an alert group; None for an incident that the bot raised.

    Shape: who raised it is in `first_trigger_log_entry.agent`, present if the incident was requested with
    `include[]=first_trigger_log_entries`. Without it, or if the incident was reopened, it is not known who raised it:
    that counts as an unknown person.
    Raises: MalformedDelivery when it has no id.
    """
    return None if is_ours(incident) else alarm_of(incident, happening, occurred_at, _first_raiser(incident, happening))


def signals_of(alerts: Iterable[Mapping[str, Any]]) -> tuple[SourceAlert, ...]:
    """Return an incident's alerts from GET /incidents/{id}/alerts; the bot's own are left out.

    Shape: https://developer.pagerduty.com/api-reference (Alert): `body.details`, `body.cef_details`, `body.contexts`.
    """
    return tuple(_signal(alert) for alert in alerts if not str(alert.get("alert_key", "")).startswith(OURS))


def _signal(alert: Mapping[str, Any]) -> SourceAlert:
    body = object_in(alert, "body")
    found = {"severity": text(alert, "severity"), "service": text(object_in(alert, "service"), "summary")}
    return SourceAlert(
        key=text(alert, "id"),
        firing=alert.get("status") != "resolved",
        title=text(alert, "summary", TITLE),
        labels=labels(body, "details") | {key: value for key, value in found.items() if value},
        body=harmless({key: alert.get(key) for key in ("summary", "alert_key", "body", "log_entry") if alert.get(key)}),
        since=instant(alert, "created_at"),
    )


def _raiser(agent: Mapping[str, Any]) -> Reporter | None:
    """The person who raised it; None for a service or an integration."""
    if text(agent, "type") not in ("user_reference", "user"):
        return None
    return Reporter(text(agent, "id"), text(agent, "summary"), text(agent, "email"))


def _first_raiser(incident: Mapping[str, Any], happening: AlertStatus) -> Reporter | None:
    if happening is AlertStatus.RESOLVED:
        return None
    agent = object_in(object_in(incident, "first_trigger_log_entry"), "agent")
    if happening is AlertStatus.REOPENED or not text(agent, "type"):
        return Reporter("")
    return _raiser(agent)


def _url(incident: Mapping[str, Any]) -> str:
    url = text(incident, "html_url", 500)
    return url if url.startswith("https://") else ""


def _tables(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _parse_event_file(body: Body) -> ParsedFile:
    """The contents of a file: an event, or an incident from the REST API; either may come with its alerts."""
    alerts = signals_of(_tables(body.get("alerts")))
    if isinstance(incident := body.get("incident"), dict):
        alarm = alarm_of(incident, AlertStatus.FIRED, None)
        return ParsedFile(Delivery(PAGERDUTY, alarm.case, alarm), alerts)
    return ParsedFile(_delivery(body), alerts)


def _proof(settings: PagerDutySettings) -> Proof | None:
    """Ask for a signature with any of our secrets; several are valid at once, for rotation."""

    def is_genuine(headers: Mapping[str, str], body: bytes, now: datetime) -> bool:
        given = [signature.strip() for signature in headers.get("x-pagerduty-signature", "").split(",")]
        return any_alike(given, [f"v1={hmac_of(secret, body)}" for secret in settings.secrets])

    return is_genuine if settings.secrets else None


async def _examine(settings: PagerDutySettings, bot: ServingBot) -> Sequence[DoctorFinding]:
    from bot.sources.pagerduty_examination import PagerDutyExamination  # loads an HTTP client

    return await PagerDutyExamination(settings, bot).look()


SOURCE = Source(
    PAGERDUTY,
    "PagerDuty",
    PATH,
    PagerDutySettings,
    _proof,
    delivery=_delivery,
    recognises=lambda body: "event" in body or "incident" in body,
    parse_file=_parse_event_file,
    names_in=lambda settings: (settings.node_paths, settings.node_patterns),
    examine=_examine,
)
