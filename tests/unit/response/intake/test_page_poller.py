"""What is taken in of PagerDuty without a webhook: once, and only what is new."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from unittest.mock import AsyncMock

import pytest

from bot.demo.pagerduty.account import Incident
from bot.domain.alert import AlertStatus, Delivery, Reporter
from bot.domain.errors import LedgerUnavailable, PagerDutyUnavailable
from bot.domain.intake_contracts import StormLimits
from bot.ledger import Database
from bot.ledger.dedup_store import DedupStore
from bot.ledger.inbox import Inbox
from bot.ledger.leases import Leases
from bot.response.intake.page_poller import PagePoller
from bot.sources.pagerduty import SOURCE, alarm_of_page
from tests.alerts.pagerduty import PagerDuty, account, client
from tests.known import known
from tests.slack.workspace import SteppedClock

HOUR = timedelta(hours=1)


class Bench:
    """A watch over a PagerDuty, with an inbox and cases of its own, at a clock that stands still."""

    def __init__(
        self, pagerduty: PagerDuty, watch: PagePoller, inbox: Inbox, cases: DedupStore, clock: SteppedClock
    ) -> None:
        self.pagerduty = pagerduty
        self.watch = watch
        self.inbox = inbox
        self.cases = cases
        self.clock = clock

    def taken(self) -> list[Delivery]:
        """See to everything that waits, as the intake does, and return it."""
        found = [one.delivery for one in self.inbox.claim.now(100)]
        for one in found:
            assert one.alarm is not None
            if one.alarm.happening is AlertStatus.RESOLVED:
                self.cases.record_over.now(one)
            else:
                self.cases.record_firing.now(one, "", f"g-{one.alarm.case.lower()}", StormLimits())
            self.inbox.mark_done.now(one)
        return found

    def told(self) -> list[tuple[str, str]]:
        """What was taken in, by page."""
        return [(one.alarm.case, one.alarm.happening.value) for one in self.taken() if one.alarm is not None]

    def webhook(self, page: Incident) -> None:
        """Take a page in as a webhook tells of it."""
        event = {"id": f"E{page.id}", "event_type": "incident.triggered", "data": {"id": page.id}}
        self.inbox.keep.now(SOURCE.delivery({"event": event}))
        self.taken()


@pytest.fixture
async def bench(sqlite: Database) -> AsyncIterator[Bench]:
    clock = SteppedClock()
    async with account(clock=clock) as pagerduty, client(pagerduty) as asking:
        inbox, cases = Inbox(Leases(sqlite, "one", time=clock)), DedupStore(sqlite, time=clock)
        watch = PagePoller(asking, inbox, cases, alarm_of_page, clock, lambda *_, **__: None, asyncio.Event())
        yield Bench(pagerduty, watch, inbox, cases, clock)


async def test_page_that_no_webhook_told_of_is_taken_in_once(bench: Bench) -> None:
    page = bench.pagerduty.account.trigger("node is slow")
    for _ in range(2):
        await bench.watch.poll_pages(bench.clock() - HOUR)
    assert bench.told() == [(page.id, "fired")]
    assert await bench.watch.poll_pages(bench.clock() - HOUR) == 1, "its alerts are seen for the first time"
    bench.taken()
    assert await bench.watch.poll_pages(bench.clock() - HOUR) == 0


async def test_page_that_a_webhook_told_of_is_not_opened_again(bench: Bench) -> None:
    page = bench.pagerduty.account.trigger("node is slow")
    bench.webhook(page)
    await bench.watch.poll_pages(bench.clock() - HOUR)
    (again,) = bench.taken()
    assert again.id.startswith("alerts-")
    assert [one.case for one in bench.cases.open_cases.now(again.source, bench.clock() - HOUR)] == [page.id]


async def test_alert_that_is_added_later_is_told_as_new(bench: Bench) -> None:
    page = bench.pagerduty.account.trigger("node is slow")
    bench.webhook(page)
    await bench.watch.poll_pages()
    bench.taken()
    bench.clock.move(timedelta(minutes=20))
    assert await bench.watch.poll_pages() == 0
    bench.pagerduty.account.add_alert(page, "another node", {"host": "node-2"})
    assert await bench.watch.poll_pages() == 1
    (added,) = bench.taken()
    assert known(added.alarm).occurred_at == page.created_at, "its alerts say when they began"
    assert await bench.watch.poll_pages() == 0


async def test_alert_that_could_not_be_stored_is_found_by_the_next_look(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = bench.pagerduty.account.trigger("node is slow")
    bench.webhook(page)
    await bench.watch.poll_pages()
    bench.pagerduty.account.add_alert(page, "another node", {"host": "node-2"})
    with monkeypatch.context() as blip:
        blip.setattr(Inbox, "keep", AsyncMock(side_effect=LedgerUnavailable("The database is locked.")))
        with pytest.raises(LedgerUnavailable):
            await bench.watch.poll_pages()
    assert await bench.watch.poll_pages() == 1


async def test_alerts_that_were_read_are_not_taken_in_again(bench: Bench) -> None:
    page = bench.pagerduty.account.trigger("node is slow", alerts=3)
    bench.webhook(page)
    await bench.watch.mark_alerts_read(page.id, [{"status": "triggered"}] * 3)
    assert await bench.watch.poll_pages() == 0
    bench.watch._seen.clear()  # as another runner has it, which did not read them
    assert await bench.watch.poll_pages() == 0
    assert bench.taken() == []
    bench.pagerduty.account.add_alert(page, "another node", {"host": "node-2"})
    assert await bench.watch.poll_pages() == 1


async def test_many_pages_without_counts_are_asked_for_a_few_at_a_time(bench: Bench) -> None:
    bench.pagerduty.account.counts_alerts = False
    pages = [bench.pagerduty.account.trigger("node is slow") for _ in range(50)]
    for page in pages:
        bench.webhook(page)
    for looks in (1, 2):
        await bench.watch.poll_pages()
        assert len(bench.pagerduty.asked("alerts")) == 20 * looks
    await bench.watch.poll_pages()
    assert {one.path.split("/")[2] for one in bench.pagerduty.asked("alerts")} == {page.id for page in pages}
    bench.taken()
    bench.pagerduty.account.add_alert(pages[40], "another node", {"host": "node-2"})
    assert sum([await bench.watch.poll_pages() for _ in range(3)]) == 1


async def test_nothing_is_asked_while_nothing_is_open(bench: Bench) -> None:
    bench.pagerduty.account.trigger("of another service")
    assert await bench.watch.poll_pages() == 0
    assert not bench.pagerduty.asked()


async def test_end_that_no_webhook_told_of_is_told(bench: Bench) -> None:
    page = bench.pagerduty.account.trigger("node is slow")
    bench.webhook(page)
    bench.clock.move(timedelta(minutes=1))
    bench.pagerduty.account.resolve(page)
    await bench.watch.poll_pages()
    assert bench.told() == [(page.id, "resolved")]
    assert await bench.watch.poll_pages(bench.clock() - HOUR) == 0


@pytest.mark.parametrize("restarts", [False, True])
async def test_page_that_came_back_is_told_as_reopened(bench: Bench, restarts: bool) -> None:
    page = bench.pagerduty.account.trigger("node is slow")
    bench.webhook(page)
    bench.clock.move(timedelta(minutes=1))
    bench.pagerduty.account.resolve(page)
    await bench.watch.poll_pages()
    bench.taken()
    await bench.watch.poll_pages(bench.clock() - HOUR)
    bench.clock.move(timedelta(minutes=1))
    bench.pagerduty.account.reopen(page)
    if restarts:
        bench.watch = replace(bench.watch)
    await bench.watch.poll_pages(bench.clock() - HOUR)
    assert bench.told() == [(page.id, "reopened")]
    assert [one.case for one in bench.cases.open_cases.now(SOURCE.name, bench.clock() - HOUR)] == [page.id]


async def test_page_older_than_the_list_is_looked_at_by_itself(bench: Bench) -> None:
    page = bench.pagerduty.account.trigger("old", created_at=bench.clock() - 72 * HOUR)
    bench.webhook(page)
    await bench.watch.poll_pages()
    bench.taken()
    bench.pagerduty.account.add_alert(page, "another node", {"host": "node-2"})
    assert await bench.watch.poll_pages() == 1


async def test_what_the_bot_raised_itself_starts_nothing(bench: Bench) -> None:
    bench.pagerduty.account.trigger("node-1: acted, but not fixed", key="zombie-7k3m9x2qpv")
    assert await bench.watch.poll_pages(bench.clock() - HOUR) == 0


async def test_what_is_closed_already_starts_nothing(bench: Bench) -> None:
    bench.pagerduty.account.resolve(bench.pagerduty.account.trigger("over"))
    assert await bench.watch.poll_pages(bench.clock() - HOUR) == 0


async def test_pagerduty_that_is_down_is_told_and_caught_up_with_later(bench: Bench) -> None:
    page = bench.pagerduty.account.trigger("node is slow")
    bench.pagerduty.faults.is_down = True
    with pytest.raises(PagerDutyUnavailable):
        await bench.watch.poll_pages(bench.clock() - HOUR)
    bench.pagerduty.faults.clear()
    await bench.watch.poll_pages(bench.clock() - HOUR)
    assert bench.told() == [(page.id, "fired")]


async def test_person_who_raised_a_page_is_read_where_no_webhook_told_of_it(bench: Bench) -> None:
    by_hand = bench.pagerduty.account.trigger("node is slow", by=bench.pagerduty.account.person)
    by_machine = bench.pagerduty.account.trigger("node is hot")
    await bench.watch.poll_pages(bench.clock() - HOUR)
    raised = {one.alarm.case: one.alarm.raised_by for one in bench.taken() if one.alarm is not None}
    assert raised[by_machine.id] is None
    person = known(raised[by_hand.id])
    assert person.id == bench.pagerduty.account.person.id


async def test_whoever_reopened_a_page_of_which_no_webhook_told_is_somebody_unknown(bench: Bench) -> None:
    page = bench.pagerduty.account.trigger("node is slow")
    bench.pagerduty.account.resolve(page)
    await bench.watch.poll_pages(bench.clock() - HOUR)
    bench.clock.move(timedelta(minutes=1))
    bench.pagerduty.account.reopen(page)
    await bench.watch.poll_pages(bench.clock() - HOUR)
    (again,) = [one.alarm for one in bench.taken() if one.alarm is not None]
    assert (again.happening, again.raised_by) == (AlertStatus.REOPENED, Reporter(""))


@pytest.mark.parametrize("entry", [None, {"type": "trigger_log_entry_reference", "id": "R1"}, {"agent": None}])
def test_page_that_does_not_say_who_raised_it_counts_as_raised_by_somebody(entry: object) -> None:
    alarm = known(alarm_of_page({"id": "Q1", "first_trigger_log_entry": entry}, AlertStatus.FIRED, None))
    assert alarm.raised_by == Reporter("")
