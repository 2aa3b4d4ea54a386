"""`zombie release` as it is typed: who may, what it says, and its exit status."""

from __future__ import annotations

import pytest

from bot.domain.claim import Claim
from bot.domain.events import QuestionAsked, StepStarted
from bot.domain.fold import fold
from bot.domain.house_events import HOUSE
from bot.domain.transitions import State
from bot.ledger import Database, Ledger
from tests.commandline import CommandLine, Ran
from tests.record.incidents import APPROVED, APPROVER, ASKER, NODE, OPENING, PROPOSED, TRIAGED

ID = "7k3m9x2qpv"


@pytest.fixture
def ledger(run: CommandLine, record: Database) -> Ledger:
    """A ledger whose incident has begun its first step."""
    (run.folder / "zombie.toml").write_text('[policy]\nterminal_approvers = ["ann"]\n')
    ledger = Ledger(record)
    ledger.append.now(ID, 0, OPENING, ASKER)
    ledger.append_all.now(ID, 1, (TRIAGED, PROPOSED), "bot")
    ledger.append.now(ID, 3, APPROVED, APPROVER)
    ledger.begin.now(ID, 4, StepStarted(1, runner="host-1"), "bot", Claim(NODE, PROPOSED.plan.remedy, "host-1"))
    return ledger


def release(run: CommandLine, node: str = NODE, by: str = "ann") -> Ran:
    return run("release", node, "--approve-as", by, "--reason", "it was looked at by hand")


def test_node_of_a_parked_incident_is_free_and_who_did_it_is_on_record(run: CommandLine, ledger: Ledger) -> None:
    ledger.append.now(ID, 5, QuestionAsked("Is it back?"), "bot")
    says = f"{NODE} is free. Incident {ID} held it, and cannot go on: it waits for an answer.\n"
    assert release(run) == (0, says, "")
    assert ledger.current_hold.now(NODE) is None
    assert fold(ledger.read.now(ID)).state is State.ESCALATED
    last = ledger.read.now(HOUSE)[-1]
    assert (last.kind, last.by, last.body["reason"]) == ("NodeReleased", "terminal:ann", "it was looked at by hand")
    assert last.body["os_user"]


@pytest.mark.parametrize(
    ("node", "by", "says"),
    [
        (NODE, "ann", f"NodeBusy: host-1 works on incident {ID}: last sign of life "),
        (NODE, "eve", "NotAnApprover: eve is not an approver."),
        ("node-99", "ann", "NothingToRelease: No incident holds node-99."),
    ],
)
def test_what_is_refused_goes_by_its_name(run: CommandLine, ledger: Ledger, node: str, by: str, says: str) -> None:
    status, _, err = release(run, node, by)
    assert (status, err.startswith(f"zombie: {says}")) == (1, True)
    assert ledger.current_hold.now(NODE) is not None
    assert ledger.read.now(HOUSE)[-1].body["wish"] == "release"


def test_without_approver_or_reason_nothing_is_asked(run: CommandLine, ledger: Ledger) -> None:
    status, _, err = run("release", NODE, "--approve-as", "ann")
    assert (status, "A release needs --reason." in err) == (2, True)
