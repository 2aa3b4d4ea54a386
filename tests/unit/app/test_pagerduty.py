"""PagerDuty as the settings have it: who is asked, what is refused, and what the intake is told of a page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot.app.pagerduty import PagerDutyParts, pagerduty_parts
from bot.domain.alert import AlertGroup, AlertStatus
from bot.domain.errors import SettingsError
from bot.ledger import Ledger
from bot.ledger.dedup_store import DedupStore
from bot.ledger.inbox import Inbox
from bot.ledger.leases import Leases
from bot.response.incident_record import null_log
from bot.settings import Settings
from bot.sources import settings_of
from bot.sources.pagerduty_http import Access
from bot.sources.pagerduty_settings import PagerDutySettings
from tests.alerts.pagerduty import QUICK, PagerDuty, account
from tests.alerts.pages import of_page
from tests.known import known
from tests.record.ledgers import ledger_in


def settings(folder: Path, toml: str = "", **environment: str) -> Settings:
    (folder / "zombie.toml").write_text(toml)
    return Settings.load({}, environment, folder, members=settings_of())


def environment(pagerduty: PagerDuty) -> dict[str, str]:
    return {
        "PAGERDUTY_API_TOKEN": pagerduty.token,
        "PAGERDUTY_API_URL": pagerduty.api_url,
        "PAGERDUTY_FROM": pagerduty.sender,
        "PAGERDUTY_ROUTING_KEY": pagerduty.routing_key,
        "PAGERDUTY_EVENTS_URL": pagerduty.events_url,
    }


async def tell(name: str, says: str) -> None:
    """Nobody listens."""


@asynccontextmanager
async def parts(pagerduty: PagerDuty, folder: Path, toml: str = "") -> AsyncIterator[tuple[PagerDutyParts, Inbox]]:
    with ledger_in(folder) as database:
        inbox = Inbox(Leases(database, "one"))
        stores: Any = SimpleNamespace(
            database=database,
            ledger=Ledger(database),
            inbox=inbox,
            cases=DedupStore(database),
        )
        found = settings(folder, toml, **environment(pagerduty))
        made = known(pagerduty_parts(found, stores, lambda *_, **__: None, tell, asyncio.Event(), QUICK))
        try:
            yield made, inbox
        finally:
            await made.stop()


async def test_settings_are_all_it_takes_to_write_a_note(tmp_path: Path) -> None:
    async with account() as pagerduty, parts(pagerduty, tmp_path) as (made, _):
        made.start()
        page = pagerduty.account.trigger("node is slow")
        await made.surface.show([of_page(page.id)])
        await pagerduty.until(lambda: pagerduty.note_on(page), what="the note")


async def test_what_is_due_at_the_end_is_still_sent(tmp_path: Path) -> None:
    async with account() as pagerduty:
        page = pagerduty.account.trigger("node is slow")
        async with parts(pagerduty, tmp_path) as (made, _):
            await made.surface.show([of_page(page.id)])
        assert pagerduty.note_on(page)


async def test_polling_house_finds_its_pages_without_a_webhook(tmp_path: Path) -> None:
    toml = '[pagerduty]\npoll = true\npoll_every = "1s"\n'
    async with account() as pagerduty, parts(pagerduty, tmp_path, toml) as (made, inbox):
        page = pagerduty.account.trigger("node is slow")
        made.start()
        kept = await pagerduty.until(lambda: inbox.claim.now(10), what="a delivery")
        assert [one.delivery.alarm.case for one in kept if one.delivery.alarm] == [page.id]
        assert not pagerduty.asked("subscriptions"), "there is none to be watched"


def alarm(page: str) -> AlertGroup:
    return AlertGroup("pagerduty", page, AlertStatus.FIRED, whole=False)


async def test_page_is_about_its_alerts_and_the_custom_fields_that_others_set(tmp_path: Path) -> None:
    toml = '[pagerduty]\nfields = { verdict = "zombie_verdict" }\n'
    async with account() as pagerduty, parts(pagerduty, tmp_path, toml) as (made, _):
        page = pagerduty.account.trigger("node is slow", {"host": "node-1"})
        page.fields |= {"environment": "node-2", "empty": None, "zombie_verdict": "node-3: CRITICAL"}
        told = known(await made.completed(alarm(page.id)))
        assert (len(told.signals), told.body) == (1, {"custom_fields": {"environment": "node-2"}})
        raised = pagerduty.account.trigger("acted, but not fixed", key="zombie-7k3m9x2qpv")
        assert await made.completed(alarm(raised.id)) is None


async def test_account_without_custom_fields_is_asked_for_them_once(tmp_path: Path) -> None:
    async with account() as pagerduty, parts(pagerduty, tmp_path) as (made, _):
        page = pagerduty.account.trigger("node is slow", {"host": "node-1"})
        pagerduty.faults.status("fields", 403)
        for _ in range(2):
            told = known(await made.completed(alarm(page.id)))
            assert len(told.signals) == 1
        assert len(pagerduty.asked("fields")) == 1


def test_without_a_token_there_is_no_pagerduty(tmp_path: Path) -> None:
    nobody: Any = None
    assert pagerduty_parts(settings(tmp_path), nobody, null_log, tell, nobody) is None


@pytest.mark.parametrize("name", ["PAGERDUTY_API_URL", "PAGERDUTY_EVENTS_URL"])
def test_secrets_go_nowhere_in_the_clear(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError, match=name):
        Access.of(settings(tmp_path, **{name: "http://pagerduty.example"}).of(PagerDutySettings))


def test_tokens_are_shown_nowhere(tmp_path: Path) -> None:
    read = settings(tmp_path, PAGERDUTY_API_TOKEN="u+hunter2", PAGERDUTY_ROUTING_KEY="hunter2hunter2")
    shown = [one.shown for one in read.given] + [repr(read), repr(Access.of(read.of(PagerDutySettings)))]
    assert "hunter2" not in "".join(shown)
