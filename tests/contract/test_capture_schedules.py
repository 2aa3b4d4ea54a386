"""Whatever dies, comes late, reboots or goes away: no capture runs unseen, none takes its place for ever.

Set ZOMBIE_CAPTURES to draw more than the usual number.
"""

import os
from collections import Counter
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from bot.domain.command import Outputs
from bot.domain.errors import CannotTell
from bot.domain.node import Node
from bot.extras.captures.capture_fold import CaptureDecision, RollingCapture, captures_of
from bot.extras.captures.ring_access import MachineIdentity
from bot.extras.captures.ring_status import RollingStatus, parse_status
from bot.extras.captures.store import CaptureStore
from bot.ledger import audit
from bot.ledger.database import on_thread
from tests.record.ledgers import database_in_memory
from tests.schedules.captures import played_captures, printed

CAPTURES = int(os.environ.get("ZOMBIE_CAPTURES", "40"))
LONG = 400  # the schedules among which each hole is found
pytestmark = pytest.mark.slow


def test_whatever_happens_no_recorder_runs_unseen_and_no_capture_stays() -> None:
    drawn(CAPTURES)


@pytest.mark.long
def test_so_it_is_in_more() -> None:
    drawn(LONG)


def drawn(number: int) -> None:
    ends: Counter[str] = Counter()
    for first in range(0, number, 20):
        with database_in_memory() as database:
            for seed in range(first, first + 20):
                over = played_captures(database, seed)
                assert not (faults := list(over.faults())), faults
                ends.update(each.ended.because.partition(" (")[0] for each in over.captures.values() if each.ended)
            assert audit(database).broken == ()
    assert len(ends) > 5, ends


def on_an_older_look(self: CaptureStore, decide: CaptureDecision, by: str, _seen: list[Any] = []) -> Any:  # noqa: B006
    """What `append` was: the limits asked of one look at the record, the entry appended after it."""
    entries = self.entries.now()
    _seen.append(entries)
    return WHOLE(self, lambda record: decide(replace(record, captures=captures_of(_seen[-2:][0]))), by)


WHOLE: Any = vars(CaptureStore)["append"].method


def without_the_brake(self: CaptureStore, decide: CaptureDecision, by: str) -> Any:
    return WHOLE(self, lambda record: decide(replace(record, pulled=None)), by)


def same_but_for_the_key(node: Node, rolling: RollingCapture, whom: MachineIdentity) -> None:
    """What `check_same_machine` was."""
    if rolling.started is not None and rolling.started.machine_id != whom.machine_id:
        raise CannotTell("Another machine answers.")


def never_over(self: RollingCapture, now: datetime) -> bool:
    return False


def unread_is_none(outputs: Outputs) -> RollingStatus:
    unit = outputs.text("unit")
    said = unit if "ActiveState" in unit else f"{unit}ActiveState=inactive\n"
    return parse_status(Outputs(printed("unit", said.splitlines()), printed("node", outputs.text("node").splitlines())))


@pytest.mark.long
@pytest.mark.parametrize(
    ("where", "hole", "found"),
    [
        ("tests.schedules.captures.parse_status", unread_is_none, "ran on after"),
        ("bot.extras.captures.store.CaptureStore.append", on_thread(on_an_older_look), ""),
        ("bot.extras.captures.store.CaptureStore.append", on_thread(without_the_brake), "while the brake was on"),
        ("bot.extras.captures.capture_control.is_start_settled", lambda *_: True, "ran on after"),
        ("bot.extras.captures.capture_control.check_same_machine", lambda *_: None, "run on another machine"),
        ("bot.extras.captures.capture_control.check_same_machine", same_but_for_the_key, "run on another machine"),
        ("bot.extras.captures.capture_fold.RollingCapture.is_lost", never_over, "has no end"),
        ("bot.extras.captures.capture_fold.RollingCapture.is_overdue", lambda *_: True, "recorders ran at once"),
    ],
    ids=[
        "systemd that says nothing runs nothing",
        "not compared",
        "brake not read with it",
        "command on its way forgotten",
        "another machine's answer",
        "a copied image's answer",
        "lost node waited for",
        "place given away before its time",
    ],
)
def test_hole_that_is_put_back_is_found(monkeypatch: pytest.MonkeyPatch, where: str, hole: Any, found: str) -> None:
    monkeypatch.setattr(where, hole)
    monkeypatch.setattr(where.replace(".control.", ".watch."), hole, raising=False)  # imported there, too
    for first in range(0, LONG, 20):
        with database_in_memory() as database:
            faults = [fault for seed in range(first, first + 20) for fault in played_captures(database, seed).faults()]
        if any(found in fault for fault in faults):
            return
    raise AssertionError("no schedule sees it")
