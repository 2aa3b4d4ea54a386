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
            "PAGERDUTY_API_TOKEN": self.pagerduty.token,
            "PAGERDUTY_API_URL": self.pagerduty.api_url,
            "PAGERDUTY_FROM": self.pagerduty.sender,
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


async def test_alert_becomes_card_and_note_without_a_person(stage: Stage) -> None:
    async with stage.serving():
        page = stage.pagerduty.account.trigger("a core is pinned", {"host": "node-7"})
        note = await stage.note_saying(page, "node-7: CRITICAL", LEAK)
        card = await card_saying(stage.slack, LEAK, ALERTS.id)
        assert "node-7" in card.text
        assert note.splitlines()[-1].startswith("[zombie ")
        assert page.status == "triggered"
    assert stage.readings.asked == {"node-7": 1}


async def test_own_note_comes_back_and_starts_nothing(stage: Stage) -> None:
    async with stage.serving() as bot:
        page = stage.pagerduty.account.trigger("a core is pinned", {"host": "node-7"})
        await stage.note_saying(page, LEAK)
        await stage.pagerduty.until(
            lambda: [one for one in stage.pagerduty.webhooks.brought if one.kind == "incident.annotated"],
            what="the echo of the note",
        )
        await stage.pagerduty.webhooks.settled()
        assert len(await bot.ledger.incidents()) == 1
        assert len(stage.pagerduty.asked("add_note")) == 1


async def test_fifty_nodes_are_one_card_and_one_note(stage: Stage) -> None:
    async with stage.serving():
        page = stage.pagerduty.account.trigger("a rack is slow", {"hosts": [f"node-{n}" for n in range(1, 51)]})
        # 3.9 s where nothing else runs: fifty incidents are opened, read and decided, and the machine may be busy.
        note = await stage.note_saying(page, "50 nodes: 50 critical", within=timedelta(seconds=60))
        await card_saying(stage.slack, "50 nodes: 50 critical", ALERTS.id)
        assert len(cards(stage.slack, ALERTS.id)) == 1
        assert len(note) < 2000


async def test_alert_added_later_is_read_too(stage: Stage) -> None:
    async with stage.serving():
        page = stage.pagerduty.account.trigger("a core is pinned", {"host": "node-7"})
        await stage.note_saying(page, "node-7: CRITICAL")
        stage.pagerduty.account.add_alert(page, "a core is pinned", {"host": "node-8"})
        await stage.note_saying(page, "2 nodes: 2 critical", "node-8")
        assert len(cards(stage.slack, ALERTS.id)) == 1


async def test_pagerduty_that_is_down_gets_its_notes_later_and_webhooks_are_kept(stage: Stage) -> None:
    async with stage.serving():
        stage.pagerduty.faults.is_down = True
        pages = [stage.pagerduty.account.trigger(f"node-{number} is slow") for number in (1, 2, 3)]
        for number in (1, 2, 3):
            await card_saying(stage.slack, f"node-{number}", ALERTS.id)
        stage.pagerduty.faults.clear()
        for number, page in enumerate(pages, 1):
            await stage.note_saying(page, f"node-{number}: CRITICAL")


async def test_note_that_pagerduty_had_not_taken_is_sent_by_the_next_run(stage: Stage) -> None:
    async with stage.serving():
        page = stage.pagerduty.account.trigger("node-7 is slow")
        stage.pagerduty.faults.is_down = True
        await card_saying(stage.slack, LEAK, ALERTS.id)
    assert not stage.pagerduty.note_on(page)
    stage.pagerduty.faults.clear()
    async with stage.serving():
        await stage.note_saying(page, "node-7: CRITICAL")
    assert stage.readings.asked["node-7"] == 1


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


async def test_house_without_inbound_http_polls(stage: Stage) -> None:
    toml = f'[slack]\nalerts_channel = "{ALERTS.id}"\n[pagerduty]\npoll = true\npoll_every = "100ms"\n'
    async with stage.serving(toml, PAGERDUTY_WEBHOOK_SECRETS="") as bot:
        page = stage.pagerduty.account.trigger("a core is pinned", {"host": "node-7"})
        await stage.note_saying(page, "node-7: CRITICAL")
        stage.pagerduty.account.resolve(page)
        await stage.note_saying(page, "Resolved: node-7")
        assert len(await bot.ledger.incidents()) == 1


async def test_page_that_is_resolved_upstream_has_its_note_say_so(stage: Stage) -> None:
    async with stage.serving():
        page = stage.pagerduty.account.trigger("a core is pinned", {"host": "node-7"})
        await stage.note_saying(page, "node-7: CRITICAL")
        stage.pagerduty.account.resolve(page)
        await stage.note_saying(page, "Resolved: node-7")


async def test_second_page_inside_the_cool_down_has_its_own_note_and_the_first_ones_card(stage: Stage) -> None:
    async with stage.serving() as bot:
        first = stage.pagerduty.account.trigger("a core is pinned", {"host": "node-7"})
        await stage.note_saying(first, "node-7: CRITICAL")
        second = stage.pagerduty.account.trigger("a core is pinned", {"host": "node-7"})
        await stage.note_saying(second, "node-7: CRITICAL")
        assert len(cards(stage.slack, ALERTS.id)) == 1
        assert len({one.card for one in await bot.ledger.incidents()}) == 1


async def asker(stage: Stage) -> str:
    """Who is on record as having asked, where a person raises a page by hand."""
    async with stage.serving() as bot:
        alice = stage.pagerduty.account.user(ALICE.real_name, ALICE.email)
        page = stage.pagerduty.account.trigger("look at this", {"host": "node-7"}, by=alice)
        await stage.note_saying(page, "node-7: CRITICAL")
        (incident,) = await bot.ledger.incidents()
        return fold(await bot.ledger.read(incident.id)).alert.asked_by.replace(alice.id, "ALICE")


@pytest.mark.parametrize("stage", [{"users:read.email"}], indirect=True)
async def test_who_raised_a_page_by_hand_is_known_by_their_address_and_counts_as_the_asker(stage: Stage) -> None:
    assert await asker(stage) == f"slack:{TEAM_ID}/{ALICE.id}"


@pytest.mark.parametrize("stage", [{"users:read.email"}], indirect=True)
async def test_who_raised_a_page_by_hand_is_not_known_by_the_account_of_a_guest(stage: Stage) -> None:
    stage.slack.state.add_user(replace(ALICE, is_guest=True))
    assert await asker(stage) == "pagerduty:ALICE"


async def test_who_raised_a_page_by_hand_and_is_not_known_is_named_as_pagerduty_does(stage: Stage) -> None:
    assert await asker(stage) == "pagerduty:ALICE"
