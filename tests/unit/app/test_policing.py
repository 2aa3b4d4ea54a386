"""What the policy in force means is said at the start, and is on record where it is another than before."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bot.app.policing import note_policy
from bot.domain.contracts import ActingLedger
from bot.domain.errors import LedgerUnavailable
from bot.domain.house_events import HOUSE, BrakePulled, PolicyChanged
from bot.ledger import Database, Ledger, on_threads
from bot.response.policy import Policy

UNITS = frozenset({"ecs.service"})


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[ActingLedger]:
    with Database.open(f"sqlite:///{tmp_path / 'zombie.db'}") as database, ThreadPoolExecutor(1) as threads:
        yield on_threads(Ledger(database), threads)


@pytest.mark.parametrize(
    ("policy", "event", "says"),
    [
        (Policy(), "acting_off", "nobody may approve"),
        (Policy(acting=True, units=UNITS), "acting_off", "nobody may approve"),
        (Policy(acting=False, approvers=frozenset({"U1"}), units=UNITS), "acting_off", "acting is off"),
        (Policy(acting=True, approvers=frozenset({"U1"})), "acting_off", "names no unit"),
        (Policy(acting=True, approvers=frozenset({"U1"}), units=UNITS), "acting_on", "ecs.service"),
    ],
)
async def test_start_says_whether_anybody_may_approve(
    ledger: ActingLedger, policy: Policy, event: str, says: str
) -> None:
    lines: list[tuple[str, dict[str, Any]]] = []
    await note_policy(policy, ledger, lambda event, **fields: lines.append((event, fields)))
    assert lines[0][0] == event
    assert says in str(lines[0][1])


async def test_another_policy_than_before_is_put_on_record_once(ledger: ActingLedger) -> None:
    first, second = Policy(), Policy(acting=True, approvers=frozenset({"U1"}), units=UNITS)
    for policy in (first, first, second, second, first):
        await note_policy(policy, ledger, lambda *_, **__: None)
        await ledger.append(HOUSE, None, BrakePulled("in between"), "terminal:ann")
    told = [entry.event for entry in await ledger.read(HOUSE) if entry.kind == "PolicyChanged"]
    assert told == [PolicyChanged(one.digest, one.text) for one in (first, second, first)]


async def test_ledger_that_is_gone_keeps_nobody_from_starting() -> None:
    class Gone:
        async def read(self, _: str) -> None:
            raise LedgerUnavailable("The database is locked.")

    lines: list[str] = []
    await note_policy(Policy(), Gone(), lambda event, **_: lines.append(event))  # type: ignore[arg-type]
    assert lines == ["acting_off", "ledger_unavailable"]
