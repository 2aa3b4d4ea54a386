"""The JSON of PagerDuty's REST API: https://developer.pagerduty.com/api-reference."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from bot.demo.pagerduty.account import WEB, Alert, Incident, Json, Note, Service, User

API = "https://api.pagerduty.com"


def instant_json(at: datetime) -> str:
    """Return an instant as PagerDuty writes it."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def reference_json(kind: str, identifier: str, summary: str, path: str) -> Json:
    """Return a reference object."""
    here = f"{path}/{identifier}"
    return {"id": identifier, "type": kind, "summary": summary, "self": f"{API}{here}", "html_url": f"{WEB}{here}"}


def agent_json(who: User | Service | None) -> Json | None:
    """Return a reference to the user or service that did something."""
    if who is None:
        return None
    if isinstance(who, Service):
        return reference_json("service_reference", who.id, who.name, "/services")
    return reference_json("user_reference", who.id, who.name, "/users")


def user_json(who: User) -> Json:
    """Return a person."""
    return {**reference_json("user", who.id, who.name, "/users"), "name": who.name, "email": who.email, "role": "user"}


def incident_json(incident: Incident, web: str, with_entry: bool = False) -> Json:
    """Return an incident as the REST API shows it; `with_entry` includes its first log entry, not only a reference."""
    whole: Json = reference_json("incident", incident.id, f"[#{incident.number}] {incident.title}", "/incidents")
    return {
        **whole,
        "html_url": f"{web}/incidents/{incident.id}",
        "incident_number": incident.number,
        "incident_key": incident.key,
        "title": incident.title,
        "description": incident.title,
        "created_at": instant_json(incident.created_at),
        "status": incident.status,
        "last_status_change_at": instant_json(incident.changed_at or incident.created_at),
        "urgency": incident.urgency,
        "service": reference_json("service_reference", incident.service.id, incident.service.name, "/services"),
        "assignments": [],
        "acknowledgements": [{"acknowledger": agent_json(incident.acknowledged_by)}]
        if incident.acknowledged_by
        else [],
        "teams": [],
        "priority": None,
        "first_trigger_log_entry": first_entry_json(incident, with_entry),
        "alert_counts": {
            "all": len(incident.alerts),
            "triggered": sum(1 for alert in incident.alerts if alert.status == "triggered"),
            "resolved": sum(1 for alert in incident.alerts if alert.status == "resolved"),
        },
    }


def first_entry_json(incident: Incident, with_entry: bool) -> Json:
    """Return the log entry with which an incident began, or the reference to it."""
    entry = incident.alerts[0].entry if incident.alerts else f"R{incident.id}"
    if not with_entry:
        return reference_json("trigger_log_entry_reference", entry, "Triggered", "/log_entries")
    return {
        **reference_json("trigger_log_entry", entry, "Triggered", "/log_entries"),
        "created_at": instant_json(incident.created_at),
        "agent": agent_json(incident.raised_by or incident.service),
        "channel": {"type": "web_trigger" if incident.raised_by else "api"},
    }


def alert_json(alert: Alert, incident: Incident) -> Json:
    """Return an alert of an incident."""
    kind = (
        "generic_email_inbound_integration_reference" if alert.mail else "events_api_v2_inbound_integration_reference"
    )
    body: Json = {"type": "alert_body", "contexts": alert.contexts}
    if alert.details is not None:
        body["details"] = alert.details
    return {
        **reference_json("alert", alert.id, alert.summary, "/alerts"),
        "created_at": instant_json(alert.created_at),
        "status": alert.status,
        "alert_key": alert.key,
        "service": reference_json("service_reference", incident.service.id, incident.service.name, "/services"),
        "first_trigger_log_entry": reference_json(
            "trigger_log_entry_reference", alert.entry, "Triggered", "/log_entries"
        ),
        "incident": reference_json("incident_reference", incident.id, incident.title, "/incidents"),
        "suppressed": False,
        "severity": alert.severity,
        "integration": reference_json(kind, incident.service.id, "Integration", "/services"),
        "body": body,
    }


def log_entry_json(alert: Alert, incident: Incident, channels: bool) -> Json:
    """Return an alert's first log entry. `channels` adds the channel, which holds an e-mail's text."""
    channel: Json = {"type": "email" if alert.mail else "api"}
    if channels and alert.mail:
        channel |= {
            "summary": alert.summary,
            "subject": alert.summary,
            "body": alert.mail,
            "body_content_type": "text/plain",
        }
    return {
        **reference_json("trigger_log_entry", alert.entry, "Triggered", "/log_entries"),
        "created_at": instant_json(alert.created_at),
        "agent": agent_json(incident.service),
        "channel": channel,
        "incident": reference_json("incident_reference", incident.id, incident.title, "/incidents"),
        "contexts": [],
        "event_details": {"description": alert.summary},
    }


def note_json(note: Note) -> Json:
    """Return a note."""
    return {
        "id": note.id,
        "user": agent_json(note.user),
        "channel": {"summary": "The PagerDuty website or APIs"},
        "content": note.content,
        "created_at": instant_json(note.created_at),
        "updated_at": instant_json(note.updated_at),
    }


def error_json(message: str, code: int, *errors: str) -> Any:
    """Return an error."""
    return {"error": {"message": message, "code": code, "errors": list(errors)}}
