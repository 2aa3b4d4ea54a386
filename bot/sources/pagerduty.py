"""PagerDuty's v3 webhooks: https://developer.pagerduty.com/docs/webhooks-overview, and the signature:
https://developer.pagerduty.com/docs/verifying-webhook-signatures (it holds no time, so nothing can be too old).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from bot.domain.alert import AlertGroup, Delivery, Happening, Reporter, SourceAlert
from bot.domain.examined import Examined
from bot.domain.pagerduty import OURS, PAGERDUTY
from bot.sources.body import TITLE, any_alike, harmless, inner, instant, labels, name, read_body, signed, table, text
from bot.sources.pagerduty_settings import PagerDutySettings
from bot.sources.source import Body, ServingBot, Source, Told

PATH = "/pagerduty"
HAPPENINGS: Mapping[str, Happening] = {
    "incident.triggered": Happening.FIRED,
    "incident.reopened": Happening.REOPENED,
    "incident.resolved": Happening.RESOLVED,
}


class PagerDutyWebhook:
    """Takes what PagerDuty brings; several secrets are good at once while one is changed for another."""

    kind = PAGERDUTY
    path = PATH

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = tuple(secrets)

    def is_genuine(self, headers: Mapping[str, str], body: bytes, now: datetime) -> bool:
        """True when one of the signatures is by one of our secrets."""
        given = [signature.strip() for signature in headers.get("x-pagerduty-signature", "").split(",")]
        return any_alike(given, [f"v1={signed(secret, body)}" for secret in self._secrets])

    def delivery(self, headers: Mapping[str, str], body: bytes) -> Delivery:
        """Return what the one event of the request tells.

        Raises: MalformedDelivery when it is not of the documented form.
        """
        return _delivery(read_body(body))


def _delivery(body: Body) -> Delivery:
    event = table(body.get("event"), "event")
    event_id, kind = name(event, "id", "event"), name(event, "event_type", "event")
    happening = HAPPENINGS.get(kind)
    if happening is None:  # also our own notes, which come back as incident.annotated
        return Delivery(PAGERDUTY, event_id, None, kind)
    data = table(event.get("data"), "event.data")
    if is_ours(data):
        return Delivery(PAGERDUTY, event_id, None, kind)
    agent = inner(event, "agent")
    raiser = _raiser(agent) if happening is not Happening.RESOLVED else None
    alarm = alarm_of(data, happening, instant(event, "occurred_at"), raiser)
    # The event's id, not the header's of the delivery: that one is not signed, and a replay could bring another.
    return Delivery(PAGERDUTY, event_id, alarm, kind)


def is_ours(incident: Mapping[str, Any]) -> bool:
    """True for an incident of PagerDuty that the bot raised itself: it is for people, and starts no diagnosis."""
    return str(incident.get("incident_key") or "").startswith(OURS)


def alarm_of(
    incident: Mapping[str, Any], happening: Happening, occurred_at: datetime | None, raised_by: Reporter | None = None
) -> AlertGroup:
    """Return the alarm that an incident of PagerDuty is, from a webhook or from its REST API alike.

    Raises: MalformedDelivery when it has no id.
    """
    service = text(inner(incident, "service"), "summary")
    told = {
        "service": service,
        "service_id": text(inner(incident, "service"), "id"),
        "urgency": text(incident, "urgency"),
        "priority": text(inner(incident, "priority"), "summary"),
        "team": ", ".join(text(table, "summary") for table in _tables(incident.get("teams"))),
    }
    return AlertGroup(
        PAGERDUTY,
        case=name(incident, "id", "event.data"),
        happening=happening,
        title=text(incident, "title", TITLE) or text(incident, "summary", TITLE),
        occurred_at=occurred_at,
        labels={key: value for key, value in told.items() if value},
        body=harmless({key: incident.get(key) for key in ("title", "description", "custom_fields") if key in incident}),
        url=_url(incident),
        whole=False,  # a webhook says nothing of the alerts that the incident is about
        raised_by=raised_by,
    )


def alarm_of_page(incident: Mapping[str, Any], happening: Happening, occurred_at: datetime | None) -> AlertGroup | None:
    """Return the alarm that an incident is as the REST API has it; None for one that the bot raised itself.

    Shape: who raised it stands in `first_trigger_log_entry.agent`, which is there where the incident was asked for with
    `include[]=first_trigger_log_entries`. Where it is not, and of one that was reopened, nobody can tell who raised it:
    that counts as a person whom nobody knows.
    Raises: MalformedDelivery when it has no id.
    """
    return None if is_ours(incident) else alarm_of(incident, happening, occurred_at, _first_raiser(incident, happening))


def signals_of(alerts: Iterable[Mapping[str, Any]]) -> tuple[SourceAlert, ...]:
    """Return the alerts of an incident, as GET /incidents/{id}/alerts has them; the bot's own are left out.

    Shape: https://developer.pagerduty.com/api-reference (Alert): `body.details`, `body.cef_details`, `body.contexts`.
    """
    return tuple(_signal(alert) for alert in alerts if not str(alert.get("alert_key", "")).startswith(OURS))


def _signal(alert: Mapping[str, Any]) -> SourceAlert:
    body = inner(alert, "body")
    told = {"severity": text(alert, "severity"), "service": text(inner(alert, "service"), "summary")}
    return SourceAlert(
        key=text(alert, "id"),
        firing=alert.get("status") != "resolved",
        title=text(alert, "summary", TITLE),
        labels=labels(body, "details") | {key: value for key, value in told.items() if value},
        body=harmless({key: alert.get(key) for key in ("summary", "alert_key", "body", "log_entry") if alert.get(key)}),
    )


def _raiser(agent: Mapping[str, Any]) -> Reporter | None:
    """A person, where one raised it; a service or an integration is none."""
    if text(agent, "type") not in ("user_reference", "user"):
        return None
    return Reporter(text(agent, "id"), text(agent, "summary"), text(agent, "email"))


def _first_raiser(incident: Mapping[str, Any], happening: Happening) -> Reporter | None:
    if happening is Happening.RESOLVED:
        return None
    agent = inner(inner(incident, "first_trigger_log_entry"), "agent")
    if happening is Happening.REOPENED or not text(agent, "type"):
        return Reporter("")
    return _raiser(agent)


def _url(incident: Mapping[str, Any]) -> str:
    url = text(incident, "html_url", 500)
    return url if url.startswith("https://") else ""


def _tables(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _told(body: Body) -> Told:
    """What a file tells: an event, or an incident as the REST API has it; with either there may be its alerts."""
    alerts = signals_of(_tables(body.get("alerts")))
    if isinstance(incident := body.get("incident"), dict):
        alarm = alarm_of(incident, Happening.FIRED, None)
        return Told(Delivery(PAGERDUTY, alarm.case, alarm), alerts)
    return Told(_delivery(body), alerts)


def _webhook(settings: PagerDutySettings) -> PagerDutyWebhook | None:
    return PagerDutyWebhook(settings.secrets) if settings.secrets else None


async def _examine(settings: PagerDutySettings, bot: ServingBot) -> Sequence[Examined]:
    from bot.sources.pagerduty_examination import PagerDutyExamination  # it loads an HTTP client

    return await PagerDutyExamination(settings, bot).look()


SOURCE = Source(
    PAGERDUTY,
    "PagerDuty",
    PATH,
    PagerDutySettings,
    _webhook,
    recognises=lambda body: "event" in body or "incident" in body,
    told=_told,
    names_in=lambda settings: (settings.node_paths, settings.node_patterns),
    examine=_examine,
)
