"""The demo's PagerDuty: the bot's settings for it, and the alerts that can be fired by a click."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from bot.app.parts import now
from bot.demo.pagerduty.page import Suggestion
from bot.demo.pagerduty.server import PagerDuty
from bot.demo.pagerduty.webhooks import Subscription
from bot.domain.node import Node

MANY = 8
NOWHERE = "http://127.0.0.1:9/"  # until the bot has an address


@asynccontextmanager
async def demo_pagerduty(nodes: Sequence[Node], port: int = 0) -> AsyncIterator[tuple[PagerDuty, Subscription]]:
    """Run a PagerDuty while the block runs, with a subscription that later gets the bot's address."""
    async with PagerDuty.start(clock=now, random_bytes=os.urandom, port=port) as pagerduty:
        pagerduty.page.suggestions = suggestions(nodes)
        yield pagerduty, pagerduty.deliver_to(NOWHERE, os.urandom(20).hex())


def environment_of(pagerduty: PagerDuty, subscription: Subscription) -> dict[str, str]:
    """Return the bot's environment for it."""
    return {
        "PAGERDUTY_API_TOKEN": pagerduty.token,
        "PAGERDUTY_API_URL": pagerduty.api_url,
        "PAGERDUTY_EVENTS_URL": pagerduty.events_url,
        "PAGERDUTY_FROM": pagerduty.sender,
        "PAGERDUTY_ROUTING_KEY": pagerduty.routing_key,
        "PAGERDUTY_WEBHOOK_SECRETS": ",".join(subscription.secrets),
    }


def suggestions(nodes: Sequence[Node]) -> tuple[Suggestion, ...]:
    """Return the alerts that can be fired; the first is this project's first case, by its instance id."""
    first = nodes[0]
    named = first.labels.get("instance_id", first.name)
    many = [node.name for node in nodes[:MANY]]
    return (
        Suggestion(
            f"the first case: a core of {first.name} is pinned",
            "A core is pinned in the kernel: training jobs fail",
            {"instance_id": named, "metric": "node_cpu_seconds_total{mode='system'}", "for": "10m"},
        ),
        Suggestion(f"{len(many)} nodes at once", "Training jobs fail on a whole rack", {"nodes": many}),
        Suggestion("an alert that names no node", "Job 4711 failed", {"message": "see the dashboard"}),
    )
