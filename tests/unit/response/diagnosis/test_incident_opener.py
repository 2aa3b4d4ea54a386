"""A person's request is opened once, by one program, and read also while there is no ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from bot.domain.errors import LedgerUnavailable
from bot.domain.incident import Incident
from bot.domain.transitions import State
from bot.ledger import Database, Leases, Ledger
from bot.response.diagnosis.diagnosis import Diagnosis
from bot.response.diagnosis.incident_opener import IncidentOpener
from bot.response.incident_record import IncidentRecord, IncidentRequest
from tests.record.incidents import ASKER, BEGAN_AT, NODE

WISH = IncidentRequest("slack", "C1/-/7k3m9x2qpv", ASKER, f"check {NODE}", "node-health")


@dataclass
class Begun:
    """Stands in for the diagnosis, and keeps what it was to read."""

    groups: list[list[Incident]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    async def begin(self, group: Sequence[Incident]) -> None:
        self.groups.append(list(group))

    def requests(self, ledger: Any, leases: Any) -> IncidentOpener:
        def log(event: str, **_: Any) -> None:
            self.lines.append(event)

        return IncidentOpener(ledger, leases, cast("Diagnosis", self), lambda: BEGAN_AT, log)


@pytest.fixture
def kept(sqlite: Database) -> tuple[Any, Any, Any]:
    return Ledger(sqlite), Leases(sqlite, "a"), Leases(sqlite, "b")


async def test_request_is_opened_once_and_found_again(kept: tuple[Any, Any, Any]) -> None:
    ledger, leases, _ = kept
    begun = Begun()
    for _ in range(2):
        await begun.requests(ledger, leases).open_and_read(WISH, [NODE, "node-2"])
    ((first, second),) = begun.groups
    found = await IncidentRecord(ledger).find(WISH.incident(NODE))
    assert (found.node, found.group, found.state, found.seq) == (NODE, WISH.group, State.OPENED, 1)
    assert (first.id, first.seq, second.id, second.seq) == (found.id, 1, WISH.incident("node-2"), 1)


async def test_whoever_reads_them_finds_every_node_on_record(kept: tuple[Any, Any, Any]) -> None:
    ledger, leases, theirs = kept
    nodes = [f"node-{number}" for number in range(1, 6)]

    class Dies(Begun):
        async def begin(self, group: Sequence[Incident]) -> None:
            raise SystemExit("killed before anything is read")

    with pytest.raises(SystemExit):
        await Dies().requests(ledger, leases).open_and_read(WISH, [*nodes, nodes[0]])
    await leases.leave()
    assert await theirs.claim() == (WISH.group,)
    assert sorted(one.node for one in await ledger.incidents(only_open=True)) == nodes


async def test_who_opens_an_incident_sees_to_it_and_whoever_comes_second_does_not(kept: tuple[Any, Any, Any]) -> None:
    ledger, ours, theirs = kept
    assert await ours.take(WISH.group)
    begun = Begun()
    await begun.requests(ledger, theirs).open_and_read(WISH, [NODE])
    assert (begun.groups, await ledger.incidents()) == ([], ()), "it is another's wish"
    await begun.requests(ledger, ours).open_and_read(WISH, [NODE])
    assert len(begun.groups) == 1
    assert (sorted(await ours.mine()), await theirs.claim()) == ([WISH.group], ())


async def test_ledger_that_is_gone_keeps_nobody_from_the_node() -> None:
    class Gone:
        async def head(self, _: str) -> None:
            raise LedgerUnavailable("The database is locked.")

    begun = Begun()
    await begun.requests(Gone(), Gone()).open_and_read(WISH, [NODE])
    assert [[(one.node, one.seq) for one in group] for group in begun.groups] == [[(NODE, 0)]]
    assert begun.lines == ["record_failed"]
