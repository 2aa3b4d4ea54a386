"""What stands beside the notes: custom fields, alerts of ours, progress, and two programs at one outbox."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.transitions import State
from bot.ledger import Database
from tests.alerts.page_notes import Log, surface
from tests.alerts.pagerduty import account
from tests.alerts.pages import not_fixed, of_page
from tests.record.ledgers import ledger_in
from tests.slack.workspace import SteppedClock


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with ledger_in(tmp_path) as opened:
        yield opened


async def test_custom_fields_are_set_where_the_account_has_them(database: Database) -> None:
    log, fields = Log(), {"verdict": "zombie_verdict", "cause": "no_such_field"}
    async with account() as pagerduty, surface(pagerduty, database, SteppedClock(), log, fields=fields) as shown:
        page = pagerduty.account.trigger("node is slow")
        page.fields["zombie_verdict"] = None
        await shown.show([of_page(page.id)])
        await shown.send_due()
        assert page.fields == {"zombie_verdict": "node-gpu-01: CRITICAL, leaked-memory-cgroups (confirmed)"}
        assert pagerduty.note_on(page)
        assert log == [("pagerduty_field_missing", {"page": page.id, "fields": ["no_such_field"]})]


async def test_acted_on_and_not_fixed_is_raised_once_in_its_life(database: Database) -> None:
    clock = SteppedClock()
    async with account() as pagerduty:
        page = pagerduty.account.trigger("node is slow")
        for _ in range(2):
            async with surface(pagerduty, database, clock, raises=True) as shown:
                pagerduty.faults.status("enqueue", 500, times=1)
                await shown.show([not_fixed(page.id)])
                await shown.show([not_fixed(page.id)])
                await shown.send_due()
            for raised in pagerduty.account.incidents.values():
                if raised.key == "zombie-7k3m9x2qpv":
                    pagerduty.account.resolve(raised)  # somebody has seen it: that is no reason to raise it again
        assert [one.key for one in pagerduty.account.incidents.values()].count("zombie-7k3m9x2qpv") == 1
        assert pagerduty.note_on(page).startswith("Escalated")


async def test_nothing_is_raised_without_a_routing_key(database: Database) -> None:
    async with account() as pagerduty, surface(pagerduty, database, SteppedClock()) as shown:
        page = pagerduty.account.trigger("node is slow")
        await shown.show([not_fixed(page.id)])
        await shown.send_due()
        assert not pagerduty.asked("enqueue")


async def test_progress_of_many_nodes_is_told_now_and_then_and_its_end_at_once(database: Database) -> None:
    clock = SteppedClock()
    async with account() as pagerduty, surface(pagerduty, database, clock) as shown:
        page = pagerduty.account.trigger("a rack is slow")
        for read in range(51):
            states = [State.PROPOSED if number < read else State.OPENED for number in range(50)]
            group = [
                replace(of_page(page.id, state, incident=f"i{number}", after=number), node=f"node-{number}")
                for number, state in enumerate(states)
            ]
            await shown.show(group)
            await shown.send_due()
            clock.move(timedelta(milliseconds=500))
        assert pagerduty.note_on(page).startswith("50 nodes: 50 critical")
        assert len(pagerduty.asked("edit_note")) <= 2


async def test_what_is_shown_while_it_runs_arrives_by_itself(database: Database) -> None:
    async with account() as pagerduty, surface(pagerduty, database, SteppedClock()) as shown:
        page = pagerduty.account.trigger("node is slow")
        running = asyncio.create_task(shown.run())
        try:
            await shown.show([of_page(page.id)])
            await pagerduty.until(lambda: pagerduty.note_on(page), what="the note")
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def test_two_programs_on_one_outbox_write_one_note(database: Database) -> None:
    clock = SteppedClock()
    async with (
        account() as pagerduty,
        surface(pagerduty, database, clock) as one,
        surface(pagerduty, database, clock) as other,
    ):
        pages = [pagerduty.account.trigger(f"node-{number} is slow") for number in range(10)]
        for number, page in enumerate(pages):
            for shown in (one, other):
                await shown.show([of_page(page.id, incident=f"i{number}")])
        await asyncio.gather(one.send_due(), other.send_due())
        clock.move(timedelta(seconds=60))
        await asyncio.gather(one.send_due(), other.send_due())
        assert all(pagerduty.note_on(page) for page in pages)
