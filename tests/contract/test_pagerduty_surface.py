"""The notes' promises: one a page, whatever goes wrong on the way; by the simulated PagerDuty and a real outbox."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.demo.pagerduty.account import Incident as Page
from bot.domain.alert import Alert
from bot.domain.incident import Incident
from bot.domain.transitions import State
from bot.ledger import Database
from bot.surfaces.pagerduty import PARTS, PagerDutySurface
from tests.alerts.page_notes import Log, surface
from tests.alerts.pagerduty import PagerDuty, account
from tests.alerts.pages import not_fixed, of_page
from tests.record.ledgers import ledger_in
from tests.slack.workspace import SteppedClock


@dataclass
class Notes:
    """A PagerDuty with a page, and what programs that write its notes have in common."""

    pagerduty: PagerDuty
    database: Database
    page: Page
    clock: SteppedClock = field(default_factory=SteppedClock)
    log: Log = field(default_factory=Log)

    def program(self, **settings: Any) -> AbstractAsyncContextManager[PagerDutySurface]:
        """A program that has just started."""
        return surface(self.pagerduty, self.database, self.clock, self.log, **settings)

    def pages(self, count: int) -> list[Page]:
        return [self.pagerduty.account.trigger(f"node-{number} is slow") for number in range(count)]

    def on(self, page: Page | None = None) -> str:
        return self.pagerduty.note_on(page or self.page)


async def tell(shown: PagerDutySurface, *group: Incident) -> int:
    await shown.show(list(group))
    return await shown.send_due()


@pytest.fixture
async def notes(tmp_path: Path) -> AsyncIterator[Notes]:
    with ledger_in(tmp_path) as database:
        async with account() as pagerduty:
            yield Notes(pagerduty, database, pagerduty.account.trigger("node is slow"))


@pytest.fixture
async def shown(notes: Notes) -> AsyncIterator[PagerDutySurface]:
    async with notes.program() as program:
        yield program


def test_parts_are_called_as_they_ever_were() -> None:
    assert PARTS == "pagerduty-", "posts of an older program wait under that name"


async def test_incident_is_one_note_that_is_edited_as_it_goes_on(notes: Notes, shown: PagerDutySurface) -> None:
    for state in (State.OPENED, State.PROPOSED, State.ACTING, State.RESOLVED):
        await tell(shown, of_page(notes.page.id, state))
    assert notes.on().startswith("Resolved: node-gpu-01: leaked-memory-cgroups")
    assert (len(notes.pagerduty.asked("add_note")), len(notes.pagerduty.asked("edit_note"))) == (1, 2)
    assert (notes.page.status, notes.pagerduty.asked("update_incident")) == ("triggered", [])


async def test_resolved_page_gets_its_note_and_stays_resolved(notes: Notes, shown: PagerDutySurface) -> None:
    notes.pagerduty.account.resolve(notes.page)
    await tell(shown, of_page(notes.page.id))
    assert notes.on()
    assert notes.page.status == "resolved"


async def test_shown_twice_is_once_and_status_is_read_before_anything_is_written(
    notes: Notes, shown: PagerDutySurface
) -> None:
    for _ in range(2):
        await tell(shown, of_page(notes.page.id))
    assert [one.call for one in notes.pagerduty.asked()] == ["incident", "notes", "add_note"]


async def test_restart_finds_its_note_and_leaves_it(notes: Notes) -> None:
    for _ in range(2):
        async with notes.program() as shown:
            await tell(shown, of_page(notes.page.id, State.RESOLVED))
    assert notes.on()
    assert not notes.pagerduty.asked("edit_note")


@pytest.mark.parametrize("trouble", ["lose_answer", "status", "rate_limit", "lose_request"])
async def test_trouble_at_the_first_write_makes_no_second_note(
    notes: Notes, shown: PagerDutySurface, trouble: str
) -> None:
    getattr(notes.pagerduty.faults, trouble)("add_note", **({"retry_after_seconds": 60} if "rate" in trouble else {}))
    assert await tell(shown, of_page(notes.page.id)) == 0
    notes.clock.move(timedelta(seconds=60))
    assert await shown.send_due() == 1
    assert notes.on().endswith("[zombie 7k3m9x2qpv]")


async def test_note_that_was_written_before_a_crash_is_taken_up_again(notes: Notes) -> None:
    async with notes.program() as shown:
        notes.pagerduty.faults.lose_answer("add_note")
        await tell(shown, of_page(notes.page.id))
    notes.clock.move(timedelta(seconds=60))  # the program is gone, and another one has its outbox
    async with notes.program() as shown:
        await tell(shown, of_page(notes.page.id, State.DECLINED))
    assert notes.on().startswith("Declined: ")


async def test_what_was_kept_is_sent_by_the_next_program_without_being_shown_again(notes: Notes) -> None:
    async with notes.program() as shown:
        await shown.show([of_page(notes.page.id)])
    async with notes.program() as shown:
        await shown.send_due()
    assert notes.on()


async def test_five_minutes_without_pagerduty_and_everything_arrives_in_order(
    notes: Notes, shown: PagerDutySurface
) -> None:
    pages = notes.pages(12)
    notes.pagerduty.faults.is_down = True
    for number, page in enumerate(pages):
        await tell(shown, of_page(page.id, incident=f"i{number}", after=number))
        notes.clock.move(timedelta(seconds=25))
    await tell(shown, of_page(pages[3].id, State.DECLINED, incident="i3", after=3))
    assert not any(notes.on(page) for page in pages)
    assert shown.trouble
    notes.pagerduty.faults.clear()
    notes.clock.move(timedelta(seconds=30))
    assert await shown.send_due() == len(pages)
    assert [notes.on(page).splitlines()[-1] for page in pages] == [f"[zombie i{n}]" for n in range(12)]
    written = [one.path.split("/")[2] for one in notes.pagerduty.asked("add_note") if one.status == 200]
    assert written == [page.id for page in pages]
    assert notes.on(pages[3]).startswith("Declined: "), "what was overtaken is never sent"
    assert not shown.trouble
    assert [event for event, _ in notes.log].count("pagerduty_unavailable") == 1


async def test_page_that_is_gone_does_not_stop_the_others(notes: Notes, shown: PagerDutySurface) -> None:
    await shown.show([of_page("QGONE", incident="i1")])
    await tell(shown, of_page(notes.page.id, incident="i2"))
    assert notes.on()
    assert [event for event, _ in notes.log] == ["pagerduty_refused"]


async def test_wrong_token_keeps_everything_until_it_is_right(notes: Notes, shown: PagerDutySurface) -> None:
    right, notes.pagerduty._rest.token = notes.pagerduty._rest.token, "another"
    await tell(shown, of_page(notes.page.id))
    assert "PAGERDUTY_API_TOKEN" in shown.trouble
    notes.pagerduty._rest.token = right
    notes.clock.move(timedelta(seconds=61))
    await shown.send_due()
    assert notes.on()


async def test_page_that_joined_gets_a_note_of_its_own(notes: Notes, shown: PagerDutySurface) -> None:
    (second,) = notes.pages(1)
    await tell(shown, replace(of_page(notes.page.id), joined=(Alert("pagerduty", second.id),)))
    assert notes.on() == notes.on(second) != ""


async def test_note_that_somebody_removed_is_written_again(notes: Notes, shown: PagerDutySurface) -> None:
    await tell(shown, of_page(notes.page.id))
    notes.page.notes.clear()
    await tell(shown, of_page(notes.page.id, State.DECLINED))
    assert notes.on().startswith("Declined")


async def test_copy_of_the_note_by_a_person_is_left_alone(notes: Notes, shown: PagerDutySurface) -> None:
    await tell(shown, of_page(notes.page.id))
    copy = notes.pagerduty.account.annotate(notes.page, f"see: {notes.on()}", notes.pagerduty.account.person)
    notes.page.notes.reverse()
    await tell(shown, of_page(notes.page.id, State.DECLINED))
    assert copy.content.startswith("see: node-gpu-01")
    assert notes.on().startswith("Declined")


# --- beside the notes: custom fields, alerts of ours, progress, and two programs at one outbox


async def test_custom_fields_are_set_where_the_account_has_them(notes: Notes) -> None:
    notes.page.fields["zombie_verdict"] = None
    async with notes.program(fields={"verdict": "zombie_verdict", "cause": "no_such_field"}) as shown:
        await tell(shown, of_page(notes.page.id))
    assert notes.page.fields == {"zombie_verdict": "node-gpu-01: CRITICAL, leaked-memory-cgroups (confirmed)"}
    assert notes.on()
    assert notes.log == [("pagerduty_field_missing", {"page": notes.page.id, "fields": ["no_such_field"]})]


async def test_acted_on_and_not_fixed_is_raised_once_in_its_life(notes: Notes) -> None:
    for _ in range(2):
        async with notes.program(raises=True) as shown:
            notes.pagerduty.faults.status("enqueue", 500, times=1)
            await shown.show([not_fixed(notes.page.id)])
            await tell(shown, not_fixed(notes.page.id))
        for raised in notes.pagerduty.account.incidents.values():
            if raised.key == "zombie-7k3m9x2qpv":
                notes.pagerduty.account.resolve(raised)  # somebody has seen it: that is no reason to raise it again
    assert [one.key for one in notes.pagerduty.account.incidents.values()].count("zombie-7k3m9x2qpv") == 1
    assert notes.on().startswith("Escalated")


async def test_nothing_is_raised_without_a_routing_key(notes: Notes, shown: PagerDutySurface) -> None:
    await tell(shown, not_fixed(notes.page.id))
    assert not notes.pagerduty.asked("enqueue")


async def test_progress_of_many_nodes_is_told_now_and_then_and_its_end_at_once(
    notes: Notes, shown: PagerDutySurface
) -> None:
    for read in range(21):
        states = [State.PROPOSED if number < read else State.OPENED for number in range(20)]
        group = [
            replace(of_page(notes.page.id, state, incident=f"i{number}", after=number), node=f"node-{number}")
            for number, state in enumerate(states)
        ]
        await tell(shown, *group)
        notes.clock.move(timedelta(milliseconds=500))
    assert notes.on().startswith("20 nodes: 20 critical")
    assert len(notes.pagerduty.asked("edit_note")) <= 2


async def test_what_is_shown_while_it_runs_arrives_by_itself(notes: Notes, shown: PagerDutySurface) -> None:
    running = asyncio.create_task(shown.run())
    try:
        await shown.show([of_page(notes.page.id)])
        await notes.pagerduty.until(lambda: notes.on(), what="the note")
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_two_programs_on_one_outbox_write_one_note(notes: Notes) -> None:
    pages = notes.pages(10)
    async with notes.program() as one, notes.program() as other:
        for number, page in enumerate(pages):
            for shown in (one, other):
                await shown.show([of_page(page.id, incident=f"i{number}")])
        await asyncio.gather(one.send_due(), other.send_due())
        notes.clock.move(timedelta(seconds=60))
        await asyncio.gather(one.send_due(), other.send_due())
    assert all(notes.on(page) for page in pages)
