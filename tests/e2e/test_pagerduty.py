"""An alert fires in PagerDuty, and nobody does anything: the whole bot, the simulated PagerDuty and Slack."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.demo.pagerduty.account import Incident
from bot.demo.pagerduty.webhooks import RetryPolicy
from bot.demo.slack.access import DEFAULT_SCOPES
from bot.demo.slack.people import ALERTS, ALICE, TEAM_ID
from bot.domain.fold import fold
from bot.domain.verdict import Verdict
from tests.alerts.pagerduty import PagerDuty, account
from tests.slack.service import Bot, Readings, card_saying, cards, serving
from tests.slack.workspace import SlackWorkspace, workspace
from tests.unit.surfaces.verdicts import FOUNDING

SECRET = "whsec-of-these-tests"
SOON = RetryPolicy(timedelta(seconds=5), tuple(timedelta(seconds=0.05) for _ in range(20)))
TOML = f'[slack]\nalerts_channel = "{ALERTS.id}"\n[pagerduty]\nwatch_every = "100ms"\nrelist_every = "100ms"\n'
LEAK = "leaked-memory-cgroups"


class Stage:
    """The bot between its PagerDuty and its Slack."""

    def __init__(self, slack: SlackWorkspace, pagerduty: PagerDuty, folder: Path) -> None:
        self.slack = slack
        self.pagerduty = pagerduty
        self.folder = folder
        self.readings = Readings(without_plan)
        self.bot: Bot

    @asynccontextmanager
    async def serving(self, toml: str = TOML, **environment: str) -> AsyncIterator[Bot]:
        """Run the bot; webhooks go to it from then on."""
        variables = {
            **self.pagerduty.environment,
            "PAGERDUTY_WEBHOOK_SECRETS": SECRET,
            **environment,
        }
        if variables["PAGERDUTY_WEBHOOK_SECRETS"] and not self.pagerduty.webhooks.subscriptions:
            self.pagerduty.deliver_to("http://127.0.0.1:9/", SECRET)
        async with serving(self.slack, self.folder, self.readings, nodes=60, toml=toml, environment=variables) as bot:
            for one in self.pagerduty.webhooks.subscriptions.values():
                one.url = f"{bot.address}/pagerduty"
            yield bot

    async def note_saying(self, page: Incident, *words: str, within: timedelta = timedelta(seconds=60)) -> str:
        """Wait until the one note of a page says this, and return it."""

        def note() -> str | None:
            found = self.pagerduty.note_on(page)
            return found if all(word in found for word in words) else None

        found = await self.pagerduty.until(note, timeout=within, what=f"a note saying {words}")
        assert found is not None
        return found


def without_plan(name: str) -> Verdict:
    return replace(FOUNDING, node=name, plan=None)


@pytest.fixture
async def stage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stage]:
    async with AsyncExitStack() as stack:
        slack = await stack.enter_async_context(workspace(scopes=DEFAULT_SCOPES | getattr(request, "param", set())))
        pagerduty = await stack.enter_async_context(account(retry_policy=SOON))
        yield Stage(slack, pagerduty, tmp_path)


async def test_alert_has_a_card_and_a_note_and_whoever_joins_has_a_note_too(stage: Stage) -> None:
    pagerduty = stage.pagerduty
    async with stage.serving() as bot:
        page = pagerduty.account.trigger("a core is pinned", {"host": "node-7"})
        note = await stage.note_saying(page, "node-7: CRITICAL", LEAK)
        card = await card_saying(stage.slack, LEAK, ALERTS.id)
        assert "node-7" in card.text
        assert note.splitlines()[-1].startswith("[zombie ")
        assert page.status == "triggered"
        await pagerduty.until(
            lambda: [one for one in pagerduty.webhooks.brought if one.kind == "incident.annotated"],
            what="the echo of the note",
        )
        await pagerduty.webhooks.settled()
        assert len(await bot.ledger.incidents()) == len(pagerduty.asked("add_note")) == 1, "its echo starts nothing"

        second = pagerduty.account.trigger("a core is pinned", {"host": "node-7"})
        await stage.note_saying(second, "node-7: CRITICAL")
        pagerduty.account.add_alert(page, "a core is pinned", {"host": "node-8"})
        await stage.note_saying(page, "2 nodes: 2 critical", "node-8")
        assert len(cards(stage.slack, ALERTS.id)) == len({one.card for one in await bot.ledger.incidents()}) == 1
    assert stage.readings.asked == {"node-7": 1, "node-8": 1}


async def test_disabled_subscription_is_told_and_caught_up_with_once_it_is_on(stage: Stage) -> None:
    toml = f'{TOML}[policy]\nacting = true\napprovers = ["U0ALICE001"]\n'
    async with stage.serving(toml) as bot:
        await stage.pagerduty.until(lambda: stage.pagerduty.asked("subscriptions"), what="the first look")
        (subscription,) = stage.pagerduty.webhooks.subscriptions.values()
        stage.pagerduty.webhooks.disable(subscription)
        await card_saying(stage.slack, "has disabled its webhook subscription", ALERTS.id)
        missed = stage.pagerduty.account.trigger("a core is pinned", {"host": "node-9"})
        home = await stage.slack.open_home("alice")
        assert home.is_acknowledged
        await stage.slack.until(lambda: "disabled" in str(stage.slack.home("alice")), what="App Home")
        stage.pagerduty.webhooks.enable(subscription)
        await stage.note_saying(missed, "node-9: CRITICAL")
        await card_saying(stage.slack, "is on again; 1 page was missed", ALERTS.id)
        assert len(await bot.ledger.incidents()) == 1


KNOWN = {"users:read.email"}


@pytest.mark.parametrize(
    ("stage", "is_guest", "asked_by"),
    [
        (KNOWN, False, f"slack:{TEAM_ID}/{ALICE.id}"),
        (KNOWN, True, "pagerduty:ALICE"),
        (set(), False, "pagerduty:ALICE"),
    ],
    indirect=["stage"],
    ids=["by their address", "not by the account of a guest", "else as PagerDuty names them"],
)
async def test_who_raised_a_page_by_hand_counts_as_the_asker(stage: Stage, is_guest: bool, asked_by: str) -> None:
    stage.slack.state.add_user(replace(ALICE, is_guest=is_guest))
    async with stage.serving() as bot:
        alice = stage.pagerduty.account.user(ALICE.real_name, ALICE.email)
        page = stage.pagerduty.account.trigger("look at this", {"host": "node-7"}, by=alice)
        await stage.note_saying(page, "node-7: CRITICAL")
        (incident,) = await bot.ledger.incidents()
        found = fold(await bot.ledger.read(incident.id)).alert.asked_by
        assert found.replace(alice.id, "ALICE") == asked_by
