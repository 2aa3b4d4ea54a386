"""From an alert in PagerDuty to the cure, and to a second alert where there is none: a real process, real SSH."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from bot.demo.faults import Fault
from bot.demo.fleet_leaks import AUTO_RESTART
from bot.demo.pagerduty.account import Incident
from bot.demo.pagerduty.webhooks import RetryPolicy
from bot.demo.slack.message import Message
from bot.demo.slack.people import ALERTS, BOT_USER
from tests.alerts.pagerduty import PagerDuty, account
from tests.nodes.acting_fleet import Site, site
from tests.serving import Served
from tests.slack.replicas import NO_REPORTS
from tests.slack.workspace import SlackWorkspace, workspace

pytestmark = pytest.mark.slow
SECRET = "whsec-of-these-tests"
LONG = timedelta(seconds=90)
SETTINGS = f"""
[check]
samples = 1
[slack]
alerts_channel = "{ALERTS.id}"
[policy]
acting = true
approver_groups = ["S0SRE00001"]
[act]
units = ["ecs.service"]
validation = "1s"
reboot_deadline = "5s"
[pagerduty]
relist_every = "1s"
{NO_REPORTS}"""
SOON = RetryPolicy(timedelta(seconds=5), tuple(timedelta(seconds=0.2) for _ in range(100)))


@dataclass
class World:
    """Two nodes, one of which swallows its reboots; a Slack, a PagerDuty, and the bot between them."""

    here: Site
    slack: SlackWorkspace
    pagerduty: PagerDuty
    bot: Served | None = None

    async def serve(self) -> Served:
        """Start the bot; PagerDuty brings its webhooks there."""
        raising = {
            "PAGERDUTY_EVENTS_URL": self.pagerduty.events_url,
            "PAGERDUTY_ROUTING_KEY": self.pagerduty.routing_key,
            "PAGERDUTY_WEBHOOK_SECRETS": f"another-secret,{SECRET}",
        }
        bot = self.bot = await self.here.serve({**self.slack.environment, **self.pagerduty.environment, **raising})
        for one in self.pagerduty.webhooks.subscriptions.values():
            one.url = f"{bot.address}/pagerduty"
        return bot

    async def note(self, page: Incident, *words: str) -> str:
        """Wait until the one note of a page says this."""

        def said() -> str | None:
            found = self.pagerduty.note_on(page)
            return found if all(word in found for word in words) else None

        return await self.pagerduty.until(said, LONG, f"a note saying {words}") or ""

    async def approve(self, user: str = "bob") -> Message:
        """Approve what waits in the channel of alerts, and return its card as it was then."""

        def offered() -> Message | None:
            ours = [one for one in self.slack.messages(ALERTS.id) if one.user == BOT_USER]
            return next((one for one in ours if '"approve"' in json.dumps(one.blocks)), None)

        card = await self.slack.until(offered, LONG, "a card with a button")
        await self.slack.click(user, card, "approve")
        view = await self.slack.until(lambda: self.slack.modal(user), what="the dialog")
        await self.slack.submit(user, view, {"reason": "it is drained"})
        return card


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    nodes = {"node-1": (AUTO_RESTART, None), "node-2": (AUTO_RESTART, Fault.SWALLOWS_REBOOT)}
    async with AsyncExitStack() as stack:
        slack = await stack.enter_async_context(workspace())
        pagerduty = await stack.enter_async_context(account(retry_policy=SOON))
        here = await stack.enter_async_context(site(tmp_path, nodes, SETTINGS))
        pagerduty.deliver_to("http://127.0.0.1:9/", SECRET)
        one = World(here, slack, pagerduty)
        try:
            yield one
        finally:
            if one.bot is not None:
                await one.bot.end()


async def test_alert_is_diagnosed_approved_cured_and_its_note_tells_it(world: World) -> None:
    bot = await world.serve()
    page = world.pagerduty.account.trigger("a core is pinned", {"host": "node-1"})
    await world.note(page, "node-1: CRITICAL, leaked-memory-cgroups", "Waits for approval: disable ecs.service")
    card = await world.approve()
    assert f'"url": "https://zombie-demo.pagerduty.com/incidents/{page.id}"' in json.dumps(card.blocks)
    note = await world.note(page, "Resolved: node-1", "Approved by slack:", "“it is drained”", "record ")
    assert world.here.machine("node-1").reboots == 1
    assert (page.status, world.pagerduty.asked("update_incident")) == ("triggered", [])
    assert not world.pagerduty.asked("enqueue")
    head = next(line.removeprefix("record ") for line in note.splitlines() if line.startswith("record "))
    assert (await world.here.zombie("audit", "verify", "--head", head)).status == 0
    assert await bot.end() == 0
    told = {line["event"] for line in bot.lines}
    assert not told & {"show_failed", "advance_failed", "delivery_failed", "task_failed", "pagerduty_refused"}
    logged = json.dumps(bot.lines)
    assert not any(one in logged for one in (SECRET, world.pagerduty.token, world.pagerduty.routing_key))


@pytest.mark.long
async def test_what_was_acted_on_and_not_fixed_becomes_one_alert_that_starts_nothing(world: World) -> None:
    bot = await world.serve()
    page = world.pagerduty.account.trigger("a core is pinned", {"host": "node-2"})
    await world.note(page, "Waits for approval")
    await world.approve()
    await world.note(page, "Escalated: node-2")
    raised = await world.pagerduty.until(
        lambda: [one for one in world.pagerduty.account.incidents.values() if one is not page], LONG, "an alert of ours"
    )
    assert [one.title.partition(".")[0] for one in raised or ()] == ["node-2: acted, but not fixed"]
    await world.pagerduty.webhooks.settled()
    assert await bot.end() == 0
    bot = await world.serve()  # which shows again what ended
    later = world.pagerduty.account.trigger("a core is pinned", {"host": "node-1"})
    await world.note(later, "node-1: CRITICAL")
    assert len(world.pagerduty.account.incidents) == 3
    listed = json.loads((await world.here.zombie("incidents", "--json")).out)
    assert sorted(one["node"] for one in listed) == ["node-1", "node-2"]
    assert {one["source"]["id"] for one in listed} == {page.id, later.id}
