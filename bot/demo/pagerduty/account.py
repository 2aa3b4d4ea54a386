"""A PagerDuty account: its services, people and incidents."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from bot.demo.slack.changes import Changes
from bot.domain.contracts import Clock

WEB = "https://zombie-demo.pagerduty.com"
RandomBytes: TypeAlias = Callable[[int], bytes]
Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class User:
    """A user of the account: a person or an integration."""

    id: str
    name: str
    email: str


@dataclass(frozen=True, slots=True)
class Service:
    """A service, and the routing key of its Events API integration."""

    id: str
    name: str
    routing_key: str


@dataclass(slots=True)
class Alert:
    """An alert of an incident. If it came by e-mail, its text is in the log entry's channel, not in its body."""

    id: str
    summary: str
    key: str
    created_at: datetime
    severity: str = "critical"
    details: Any = None
    contexts: list[Json] = field(default_factory=list)
    mail: str = ""
    status: str = "triggered"
    entry: str = ""


@dataclass(slots=True)
class Note:
    """A note on an incident."""

    id: str
    content: str
    user: User
    created_at: datetime
    updated_at: datetime


@dataclass(slots=True)
class Incident:
    """An incident with its alerts, notes and fields."""

    id: str
    number: int
    title: str
    service: Service
    key: str
    created_at: datetime
    status: str = "triggered"
    urgency: str = "high"
    alerts: list[Alert] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    fields: dict[str, Any] = field(default_factory=dict)
    acknowledged_by: User | None = None
    changed_at: datetime | None = None
    raised_by: User | None = None
    log: list[AccountEvent] = field(default_factory=list, repr=False)  # all that happened to it, the oldest first


@dataclass(frozen=True, slots=True)
class AccountEvent:
    """An event that webhooks may report."""

    kind: str
    incident: Incident
    agent: User | Service | None
    at: datetime
    note: Note | None = None


class Account:
    """The state of an account. `listeners` are called with every event."""

    def __init__(self, clock: Clock, random_bytes: RandomBytes) -> None:
        self.clock = clock
        self.changes = Changes()
        self._random_bytes = random_bytes
        self.listeners: list[Callable[[AccountEvent], None]] = []
        self.services: dict[str, Service] = {}
        self.users: dict[str, User] = {}
        self.incidents: dict[str, Incident] = {}
        self.counts_alerts = True  # a test can switch the counts off
        self.web = WEB  # where people see incidents
        self.service("gpu-fleet")
        self.user("Ann Oncall", "ann@example.com")
        self.bot = self.user("Zombie Bot", "zombie@example.com")

    def new_id(self, letter: str, length: int = 13) -> str:
        """Return an id of PagerDuty's form, such as `Q3B15VLMF3ASBD`."""
        return letter + base64.b32encode(self._random_bytes(length)).decode()[:length]

    def service(self, name: str) -> Service:
        """Return the service of that name, and make it if there is none."""
        if name not in self.services:
            self.services[name] = Service(self.new_id("P", 6), name, self._random_bytes(16).hex())
        return self.services[name]

    def user(self, name: str, email: str) -> User:
        """Add a person."""
        user = User(self.new_id("P", 6), name, email)
        self.users[user.id] = user
        return user

    @property
    def person(self) -> User:
        """The person on call."""
        return next(iter(self.users.values()))

    # --- events

    def trigger(
        self,
        title: str,
        details: Any = None,
        *,
        service: str = "gpu-fleet",
        alerts: int = 1,
        mail: str = "",
        contexts: tuple[Mapping[str, Any], ...] = (),
        by: User | None = None,
        created_at: datetime | None = None,
        key: str = "",
    ) -> Incident:
        """Open an incident with `alerts` alerts; `by` is the person who raised it by hand."""
        key = key or self._random_bytes(16).hex()
        incident = Incident(
            self.new_id("Q"), len(self.incidents) + 1, title, self.service(service), key, created_at or self.clock()
        )
        incident.raised_by = by
        self.incidents[incident.id] = incident
        for number in range(alerts):
            self.add_alert(incident, title, details, mail=mail, contexts=contexts, key=key if not number else "")
        self._notify_listeners("incident.triggered", incident, by or incident.service)
        return incident

    def add_alert(
        self,
        incident: Incident,
        summary: str,
        details: Any = None,
        *,
        mail: str = "",
        contexts: tuple[Mapping[str, Any], ...] = (),
        key: str = "",
        severity: str = "critical",
    ) -> Alert:
        """Add an alert to an incident. PagerDuty sends no webhook for that."""
        alert = Alert(
            self.new_id("Q"),
            summary,
            key or self._random_bytes(16).hex(),
            self.clock(),
            severity,
            details,
            [dict(context) for context in contexts],
            mail,
            entry=self.new_id("R"),
        )
        incident.alerts.append(alert)
        self.changes.wake()
        return alert

    def acknowledge(self, incident: Incident, by: User) -> None:
        """Acknowledge an incident."""
        incident.status, incident.acknowledged_by = "acknowledged", by
        incident.changed_at = self.clock()
        self._notify_listeners("incident.acknowledged", incident, by)

    def resolve(self, incident: Incident, by: User | None = None) -> None:
        """Resolve an incident and its alerts."""
        incident.status, incident.changed_at = "resolved", self.clock()
        for alert in incident.alerts:
            alert.status = "resolved"
        self._notify_listeners("incident.resolved", incident, by or incident.service)

    def reopen(self, incident: Incident, by: User | None = None) -> None:
        """Reopen a resolved incident."""
        incident.status, incident.changed_at = "triggered", self.clock()
        for alert in incident.alerts:
            alert.status = "triggered"
        self._notify_listeners("incident.reopened", incident, by or self.person)

    def annotate(self, incident: Incident, content: str, by: User) -> Note:
        """Add a note."""
        now = self.clock()
        note = Note(self.new_id("P"), content, by, now, now)
        incident.notes.append(note)
        self._notify_listeners("incident.annotated", incident, by, note)
        return note

    def edit(self, incident: Incident, note: Note, content: str) -> None:
        """Change a note."""
        note.content, note.updated_at = content, self.clock()
        self.changes.wake()

    def enqueue(self, routing_key: str, action: str, key: str, payload: Mapping[str, Any]) -> Incident | None:
        """Take an event of the Events API. A second trigger with the key of an open alert changes nothing."""
        service = next((known for known in self.services.values() if known.routing_key == routing_key), None)
        if service is None:
            return None
        found = next(
            (incident for incident in self.incidents.values() if incident.key == key and incident.status != "resolved"),
            None,
        )
        if action == "trigger" and found is None:
            summary = str(payload.get("summary", ""))
            return self.trigger(summary, payload.get("custom_details"), service=service.name, key=key)
        if action == "resolve" and found is not None:
            self.resolve(found)
        if action == "acknowledge" and found is not None:
            self.acknowledge(found, self.person)
        self.changes.wake()
        return found

    def _notify_listeners(
        self, kind: str, incident: Incident, agent: User | Service | None, note: Note | None = None
    ) -> None:
        happened = AccountEvent(kind, incident, agent, self.clock(), note)
        incident.log.append(happened)
        for listener in list(self.listeners):
            listener(happened)
        self.changes.wake()
