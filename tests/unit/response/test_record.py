"""Incidents on record: opened once, found again, judged, and carried on one entry at a time."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.domain.alert import BOT, SourceKind
from bot.domain.contracts import ActingLedger
from bot.domain.errors import Conflict, ImpossibleEvent, LedgerUnavailable, UnknownIncident
from bot.domain.events import AlertJoined, Cancelled, PlanProposed
from bot.domain.playbook import Playbook
from bot.domain.probe import Snapshot
from bot.domain.transitions import State
from bot.domain.verdict import Verdict
from bot.ledger import Database, Leases, Ledger, on_threads
from bot.response.record import Opening, Record
from tests.incidents import ALERT, ASKER, BEGAN_AT, HEALTHY, NODE, OPENING, PROPOSED, TRIAGED, VERDICT

PLAYBOOK = Playbook("node-health", "Health", 3, (), (), ())
WISH = Opening(SourceKind.TERMINAL, "7k3m9x2qpv", ASKER, f"check {NODE}", "node-health")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[ActingLedger]:
    with Database.open(f"sqlite:///{tmp_path / 'zombie.db'}") as database, ThreadPoolExecutor(1) as threads:
        yield on_threads(Ledger(database), threads)


async def test_incident_is_opened_once_and_found_again(ledger: ActingLedger) -> None:
    record = Record(ledger)
    assert await record.opened(WISH, NODE)
    assert not await record.opened(WISH, NODE), "the same wish, told twice"
    found = await record.find(WISH.incident(NODE))
    assert (found.node, found.group, found.state, found.seq) == (NODE, WISH.group, State.OPENED, 1)
    assert await record.owing(WISH.group) == (found,)


async def test_who_tells_late_hears_of_it(ledger: ActingLedger) -> None:
    record = Record(ledger)
    await record.opened(WISH, NODE)
    opened = await record.find(WISH.incident(NODE))
    triaged = await record.tell(opened, TRIAGED, BOT)
    assert (triaged.state, triaged.verdict) == (State.TRIAGED, VERDICT)
    with pytest.raises(Conflict):
        await record.tell(opened, Cancelled("asked twice"), ASKER)
    with pytest.raises(ImpossibleEvent):
        await record.tell(triaged, OPENING, ASKER)
    assert (await record.tell(triaged, PROPOSED, BOT)).state is State.PROPOSED


@pytest.mark.parametrize("wrong", ["nosuchone0", "house", "../x", ""])
async def test_incident_that_is_not_there_is_said_to_be_unknown(ledger: ActingLedger, wrong: str) -> None:
    with pytest.raises(UnknownIncident):
        await Record(ledger).find(wrong)


async def test_check_that_is_through_becomes_an_incident_with_its_verdict(ledger: ActingLedger) -> None:
    read = replace(HEALTHY, snapshot=Snapshot(NODE, BEGAN_AT, timedelta(seconds=5)))
    incident = await Record(ledger).judged(WISH, read, PLAYBOOK)
    assert (incident.verdict, incident.ended, incident.group) == (HEALTHY, True, WISH.group)
    assert (incident.alert.kind, incident.alert.asked_by) == (SourceKind.TERMINAL, ASKER)
    assert incident.triage is not None
    triage = (incident.triage.playbook, incident.triage.playbook_version, incident.triage.taken_at)
    assert triage == ("node-health", 3, BEGAN_AT)
    assert await Record(ledger).owing(WISH.group) == ()


async def test_plan_is_put_on_record_also_where_another_alert_joins_meanwhile(ledger: ActingLedger) -> None:
    async def slowly(verdict: Verdict, _: Playbook, incident: str) -> PlanProposed:
        entry = await ledger.append(incident, 2, AlertJoined(ALERT), BOT)
        assert entry.seq == 3
        return PROPOSED

    await Record(ledger, offer=slowly).triaged(WISH, VERDICT, PLAYBOOK)
    found = await Record(ledger).find(WISH.incident(NODE))
    assert (found.state, len(found.joined)) == (State.PROPOSED, 1)


async def test_plan_is_withheld_where_nobody_offers_it(ledger: ActingLedger) -> None:
    await Record(ledger).triaged(WISH, VERDICT, PLAYBOOK)
    assert (await Record(ledger).find(WISH.incident(NODE))).withheld is not None


async def test_who_opens_an_incident_sees_to_it_and_whoever_comes_second_does_not(tmp_path: Path) -> None:
    with Database.open(f"sqlite:///{tmp_path / 'other.db'}") as database, ThreadPoolExecutor(1) as threads:
        kept = on_threads(Ledger(database), threads)
        a, b = (on_threads(Leases(database, name), threads) for name in "ab")
        assert await Record(kept, leases=a).opened(WISH, NODE)
        assert not await Record(kept, leases=b).opened(WISH, "node-2"), "it is another's wish"
        assert (sorted(await a.mine()), await b.claim()) == ([WISH.group], ())


@pytest.mark.parametrize("heard", [False, True])
@pytest.mark.parametrize("gone_at", [1, 2, 3])
async def test_verdict_that_was_half_written_down_is_told_again_and_stands_once(
    ledger: ActingLedger, gone_at: int, heard: bool
) -> None:
    class Breaks:
        appended = 0

        def __getattr__(self, name: str) -> Any:
            return getattr(ledger, name)

        async def append(self, *args: Any) -> Any:
            self.appended += 1
            if self.appended == gone_at:
                if heard:
                    await ledger.append(*args)
                raise LedgerUnavailable("The connection to the database broke.")
            return await ledger.append(*args)

    async def offer(verdict: Verdict, _: Playbook, incident: str) -> PlanProposed:
        return PROPOSED

    record = Record(Breaks(), offer=offer)
    assert not await record.triaged(WISH, VERDICT, PLAYBOOK)
    assert await record.triaged(WISH, VERDICT, PLAYBOOK)
    kinds = [entry.kind for entry in await record.story(WISH.incident(NODE))]
    assert kinds == ["AlertReceived", "Triaged", "PlanProposed"]


async def test_ledger_that_is_gone_keeps_nobody_from_the_node() -> None:
    class Gone:
        async def head(self, _: str) -> None:
            raise LedgerUnavailable("The database is locked.")

    lines: list[str] = []
    record = Record(Gone(), lambda event, **_: lines.append(event))  # type: ignore[arg-type]
    assert await record.opened(WISH, NODE)
    assert not await record.triaged(WISH, VERDICT, PLAYBOOK), "it has to be told again"
    assert lines == ["record_failed", "record_failed"]
