"""The notes' promises: one a page, whatever goes wrong on the way; by the simulated PagerDuty and a real outbox."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.alert import Alert
from bot.domain.transitions import State
from bot.ledger import Database
from bot.surfaces.pagerduty import PARTS
from tests.alerts.page_notes import Log, surface
from tests.alerts.pagerduty import account
from tests.alerts.pages import of_page
from tests.record.ledgers import ledger_in
from tests.slack.workspace import SteppedClock


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with ledger_in(tmp_path) as opened:
        yield opened


def test_parts_are_called_as_they_ever_were() -> None:
    assert PARTS == "pagerduty-", "posts of an older program wait under that name"


async def test_incident_is_one_note_that_is_edited_as_it_goes_on(database: Database) -> None:
    async with account() as pagerduty, surface(pagerduty, database, SteppedClock()) as shown:
        page = pagerduty.account.trigger("node is slow")
        for state in (State.OPENED, State.PROPOSED, State.ACTING, State.RESOLVED):
            await shown.show([of_page(page.id, state)])
            await shown.send_due()
        assert pagerduty.note_on(page).startswith("Resolved: node-gpu-01: leaked-memory-cgroups")
        assert (len(pagerduty.asked("add_note")), len(pagerduty.asked("edit_note"))) == (1, 2)
        assert (page.status, pagerduty.asked("update_incident")) == ("triggered", [])


async def test_resolved_page_gets_its_note_and_stays_resolved(database: Database) -> None:
    async with account() as pagerduty, surface(pagerduty, database, SteppedClock()) as shown:
        page = pagerduty.account.trigger("node is slow")
        pagerduty.account.resolve(page)
        await shown.show([of_page(page.id)])
        await shown.send_due()
        assert pagerduty.note_on(page)
        assert page.status == "resolved"


async def test_shown_twice_is_once_and_status_is_read_before_anything_is_written(database: Database) -> None:
    async with account() as pagerduty, surface(pagerduty, database, SteppedClock()) as shown:
        page = pagerduty.account.trigger("node is slow")
        for _ in range(2):
            await shown.show([of_page(page.id)])
            await shown.send_due()
        assert [one.call for one in pagerduty.asked()] == ["incident", "notes", "add_note"]


async def test_restart_finds_its_note_and_leaves_it(database: Database) -> None:
    clock = SteppedClock()
    async with account() as pagerduty:
        page = pagerduty.account.trigger("node is slow")
        for _ in range(2):
            async with surface(pagerduty, database, clock) as shown:
                await shown.show([of_page(page.id, State.RESOLVED)])
                await shown.send_due()
        assert pagerduty.note_on(page)
        assert not pagerduty.asked("edit_note")


@pytest.mark.parametrize("trouble", ["lose_answer", "status", "rate_limit", "lose_request"])
async def test_trouble_at_the_first_write_makes_no_second_note(database: Database, trouble: str) -> None:
    clock = SteppedClock()
    async with account() as pagerduty, surface(pagerduty, database, clock) as shown:
        page = pagerduty.account.trigger("node is slow")
        getattr(pagerduty.faults, trouble)("add_note", **({"retry_after_seconds": 60} if "rate" in trouble else {}))
        await shown.show([of_page(page.id)])
        assert await shown.send_due() == 0
        clock.move(timedelta(seconds=60))
        assert await shown.send_due() == 1
        assert pagerduty.note_on(page).endswith("[zombie 7k3m9x2qpv]")


async def test_note_that_was_written_before_a_crash_is_taken_up_again(database: Database) -> None:
    clock = SteppedClock()
    async with account() as pagerduty:
        page = pagerduty.account.trigger("node is slow")
        async with surface(pagerduty, database, clock) as shown:
            await shown.show([of_page(page.id)])
            pagerduty.faults.lose_answer("add_note")
            await shown.send_due()
        clock.move(timedelta(seconds=60))  # the program is gone, and another one has its outbox
        async with surface(pagerduty, database, clock) as shown:
            await shown.show([of_page(page.id, State.DECLINED)])
            await shown.send_due()
        assert pagerduty.note_on(page).startswith("Declined: ")


async def test_what_was_kept_is_sent_by_the_next_program_without_being_shown_again(database: Database) -> None:
    clock = SteppedClock()
    async with account() as pagerduty:
        page = pagerduty.account.trigger("node is slow")
        async with surface(pagerduty, database, clock) as shown:
            await shown.show([of_page(page.id)])
        async with surface(pagerduty, database, clock) as shown:
            await shown.send_due()
        assert pagerduty.note_on(page)


async def test_five_minutes_without_pagerduty_and_everything_arrives_in_order(database: Database) -> None:
    clock, log = SteppedClock(), Log()
    async with account() as pagerduty, surface(pagerduty, database, clock, log) as shown:
        pages = [pagerduty.account.trigger(f"node-{number} is slow") for number in range(12)]
        pagerduty.faults.is_down = True
        for number, page in enumerate(pages):
            await shown.show([of_page(page.id, incident=f"i{number}", after=number)])
            await shown.send_due()
            clock.move(timedelta(seconds=25))
        await shown.show([of_page(pages[3].id, State.DECLINED, incident="i3", after=3)])
        await shown.send_due()
        assert not any(pagerduty.note_on(page) for page in pages)
        assert shown.trouble
        pagerduty.faults.clear()
        clock.move(timedelta(seconds=30))
        assert await shown.send_due() == len(pages)
        assert [pagerduty.note_on(page).splitlines()[-1] for page in pages] == [f"[zombie i{n}]" for n in range(12)]
        written = [one.path.split("/")[2] for one in pagerduty.asked("add_note") if one.status == 200]
        assert written == [page.id for page in pages]
        assert pagerduty.note_on(pages[3]).startswith("Declined: "), "what was overtaken is never sent"
        assert not shown.trouble
        assert [event for event, _ in log].count("pagerduty_unavailable") == 1


async def test_page_that_is_gone_does_not_stop_the_others(database: Database) -> None:
    clock, log = SteppedClock(), Log()
    async with account() as pagerduty, surface(pagerduty, database, clock, log) as shown:
        page = pagerduty.account.trigger("node is slow")
        await shown.show([of_page("QGONE", incident="i1")])
        await shown.show([of_page(page.id, incident="i2")])
        await shown.send_due()
        assert pagerduty.note_on(page)
        assert [event for event, _ in log] == ["pagerduty_refused"]


async def test_wrong_token_keeps_everything_until_it_is_right(database: Database) -> None:
    clock = SteppedClock()
    async with account() as pagerduty:
        page = pagerduty.account.trigger("node is slow")
        right = pagerduty._rest.token
        async with surface(pagerduty, database, clock) as shown:
            pagerduty._rest.token = "another"
            await shown.show([of_page(page.id)])
            await shown.send_due()
            assert "PAGERDUTY_API_TOKEN" in shown.trouble
            pagerduty._rest.token = right
            clock.move(timedelta(seconds=61))
            await shown.send_due()
        assert pagerduty.note_on(page)


async def test_page_that_joined_gets_a_note_of_its_own(database: Database) -> None:
    async with account() as pagerduty, surface(pagerduty, database, SteppedClock()) as shown:
        first, second = pagerduty.account.trigger("one"), pagerduty.account.trigger("two")
        incident = replace(of_page(first.id), joined=(Alert("pagerduty", second.id),))
        await shown.show([incident])
        await shown.send_due()
        assert pagerduty.note_on(first) == pagerduty.note_on(second) != ""


async def test_note_that_somebody_removed_is_written_again(database: Database) -> None:
    clock = SteppedClock()
    async with account() as pagerduty, surface(pagerduty, database, clock) as shown:
        page = pagerduty.account.trigger("node is slow")
        await shown.show([of_page(page.id)])
        await shown.send_due()
        page.notes.clear()
        await shown.show([of_page(page.id, State.DECLINED)])
        await shown.send_due()
        assert pagerduty.note_on(page).startswith("Declined")


async def test_copy_of_the_note_by_a_person_is_left_alone(database: Database) -> None:
    async with account() as pagerduty, surface(pagerduty, database, SteppedClock()) as shown:
        page = pagerduty.account.trigger("node is slow")
        await shown.show([of_page(page.id)])
        await shown.send_due()
        copy = pagerduty.account.annotate(page, f"see: {pagerduty.note_on(page)}", pagerduty.account.person)
        page.notes.reverse()
        await shown.show([of_page(page.id, State.DECLINED)])
        await shown.send_due()
        assert copy.content.startswith("see: node-gpu-01")
        assert pagerduty.note_on(page).startswith("Declined")
