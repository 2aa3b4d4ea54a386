"""v3 webhooks: signed over their raw bytes, retried until accepted, in order for each incident.

Behaviour: https://developer.pagerduty.com/docs/webhooks-overview, signatures:
https://developer.pagerduty.com/docs/verifying-webhook-signatures
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import json
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, timedelta

from aiohttp import ClientError, ClientSession, ClientTimeout

from bot.demo.pagerduty.account import Account, AccountEvent, Json
from bot.demo.pagerduty.rest_json import agent_json, instant_json, reference_json

DROPS = 3  # this many webhooks lost in a row disable the subscription
EVENTS = (
    "incident.acknowledged",
    "incident.annotated",
    "incident.priority_updated",
    "incident.reopened",
    "incident.resolved",
    "incident.triggered",
)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long PagerDuty waits for an answer, and before each retry. After the last retry it gives up."""

    answer: timedelta = timedelta(seconds=5)
    tries_after: tuple[timedelta, ...] = tuple(timedelta(seconds=seconds) for seconds in (1, 5, 30, 120, 600))


@dataclass(slots=True)
class Subscription:
    """Where webhooks go. While a secret is rotated there are several `secrets`."""

    id: str
    url: str
    secrets: list[str]
    events: tuple[str, ...] = EVENTS
    active: bool = True
    is_disabled: bool = False
    drops: int = 0
    queues: dict[str, deque[tuple[str, str, bytes]]] = field(default_factory=dict)

    @property
    def is_listening(self) -> bool:
        """Whether webhooks are sent."""
        return self.active and not self.is_disabled

    def form(self) -> Json:
        """Return the subscription as the REST API shows it, without its secret."""
        return {
            "id": self.id,
            "type": "webhook_subscription",
            "active": self.active,
            "description": "The bot",
            "events": list(self.events),
            "filter": {"type": "account_reference"},
            "delivery_method": {
                "id": f"PF{self.id[2:]}",
                "type": "http_delivery_method",
                "url": self.url,
                "secret": None,
                "temporarily_disabled": self.is_disabled,
                "custom_headers": [],
            },
        }


def sign(secrets: Iterable[str], body: bytes) -> str:
    """Return the value of the signature header."""
    return ",".join(f"v1={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}" for secret in secrets)


class Webhooks:
    """Sends the account's events to the subscriptions."""

    def __init__(self, account: Account, session: ClientSession, retry_policy: RetryPolicy) -> None:
        self.subscriptions: dict[str, Subscription] = {}
        self._account = account
        self._session = session
        self._persistence = retry_policy
        self._tasks: set[asyncio.Task[None]] = set()
        account.listeners.append(self._on_event)

    def subscribe(self, url: str, secret: str, events: Iterable[str] = EVENTS) -> Subscription:
        """Send these events to an address from now on."""
        subscription = Subscription(self._account.new_id("PY", 5), url, [secret], tuple(events))
        self.subscriptions[subscription.id] = subscription
        return subscription

    def enable(self, subscription: Subscription) -> None:
        """Enable a subscription again. Missed webhooks are not sent."""
        subscription.is_disabled, subscription.drops = False, 0
        self._account.changes.wake()

    def disable(self, subscription: Subscription) -> None:
        """Disable a subscription, as after three lost webhooks in a row."""
        subscription.is_disabled = True
        subscription.queues.clear()
        self._account.changes.wake()

    def ping(self, subscription: Subscription) -> None:
        """Send the test event, even to a disabled subscription."""
        self._deliver(subscription, "pagey", "pagey.ping", _ping_payload(self._account))

    async def close(self) -> None:
        """Stop sending."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- delivery

    def _on_event(self, happened: AccountEvent) -> None:
        for subscription in self.subscriptions.values():
            if subscription.is_listening and happened.kind in subscription.events:
                self._deliver(
                    subscription, happened.incident.id, happened.kind, _event_payload(happened, self._account)
                )

    def _deliver(self, subscription: Subscription, resource: str, kind: str, event: Json) -> None:
        webhook = (self._account.new_id("W", 20), kind, json.dumps(event).encode())
        if resource in subscription.queues:  # a failing webhook delays those behind it
            subscription.queues[resource].append(webhook)
            return
        subscription.queues[resource] = deque([webhook])
        task = asyncio.create_task(
            self._deliver_queue(subscription, resource), name=f"webhooks {subscription.id} {resource}"
        )
        self._tasks.add(task)
        task.add_done_callback(self._delivery_done)

    def _delivery_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._account.changes.wake()

    async def _deliver_queue(self, subscription: Subscription, resource: str) -> None:
        queue = subscription.queues[resource]
        try:
            while queue and subscription.queues.get(resource) is queue:
                await self._deliver_webhook(subscription, *queue[0])
                with contextlib.suppress(IndexError):
                    queue.popleft()
        finally:
            if subscription.queues.get(resource) is queue:
                del subscription.queues[resource]

    async def _deliver_webhook(self, subscription: Subscription, webhook_id: str, kind: str, body: bytes) -> None:
        """Deliver a webhook. Time-outs, 5xx and 429 are retried; any other 4xx gives up at once."""
        for wait in (*self._persistence.tries_after, None):
            status = await self._post(subscription, webhook_id, kind, body)
            if 200 <= status < 300:
                subscription.drops = 0
                return
            if wait is None or (400 <= status < 500 and status != 429):
                break
            await asyncio.sleep(wait.total_seconds())
            if not subscription.is_listening and kind != "pagey.ping":
                return
        subscription.drops += 1
        if subscription.drops >= DROPS:
            self.disable(subscription)

    async def _post(self, subscription: Subscription, webhook_id: str, kind: str, body: bytes) -> int:
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "PagerDuty-Webhook/V3.0",
            "X-PagerDuty-Signature": sign(subscription.secrets, body),
            "X-Webhook-Id": webhook_id,
            "X-Webhook-Subscription": subscription.id,
        }
        try:
            async with self._session.post(
                subscription.url,
                data=body,
                headers=headers,
                timeout=ClientTimeout(total=self._persistence.answer.total_seconds()),
                allow_redirects=False,
            ) as response:
                return response.status
        except (ClientError, TimeoutError):
            return 0


def _event_payload(happened: AccountEvent, account: Account) -> Json:
    """Return a v3 webhook's payload: an incident without its alerts, or a note."""
    incident = happened.incident
    data: Json = {
        **reference_json("incident", incident.id, incident.title, "/incidents"),
        "html_url": f"{account.web}/incidents/{incident.id}",
        "number": incident.number,
        "status": incident.status,
        "incident_key": incident.key,
        "created_at": instant_json(incident.created_at),
        "title": incident.title,
        "service": reference_json("service_reference", incident.service.id, incident.service.name, "/services"),
        "assignees": [agent_json(account.person)] if incident.status != "resolved" else [],
        "escalation_policy": reference_json(
            "escalation_policy_reference", "PESC001", "Default", "/escalation_policies"
        ),
        "teams": [],
        "priority": None,
        "urgency": incident.urgency,
        "conference_bridge": None,
        "resolve_reason": None,
        "incident_type": {"name": "incident_default"},
    }
    if happened.note is not None:
        data = {
            "incident": reference_json("incident_reference", incident.id, incident.title, "/incidents"),
            "id": happened.note.id,
            "content": happened.note.content,
            "trimmed": False,
            "type": "incident_note",
        }
    return {
        "event": {
            "id": account.new_id("0", 26),
            "event_type": happened.kind,
            "resource_type": "incident",
            "occurred_at": happened.at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "agent": agent_json(happened.agent),
            "client": None,
            "data": data,
        }
    }


def _ping_payload(account: Account) -> Json:
    """Return the test event."""
    return {
        "event": {
            "id": account.new_id("0", 26),
            "event_type": "pagey.ping",
            "resource_type": "pagey",
            "occurred_at": instant_json(account.clock()),
            "agent": None,
            "client": None,
            "data": {"message": "Hello from your friend Pagey!", "type": "ping"},
        }
    }
