"""`zombie release` as it is typed: who may, what it says, and its exit status."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.__main__ import main
from bot.domain.claim import Claim
from bot.domain.events import QuestionAsked, StepStarted
from bot.domain.fold import fold
from bot.domain.house_events import HOUSE
from bot.domain.transitions import State
from bot.ledger import Database, Ledger
from tests.record.incidents import APPROVED, APPROVER, ASKER, NODE, OPENING, PROPOSED, TRIAGED
from tests.record.ledgers import ledger_url

ID = "7k3m9x2qpv"


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A ledger whose incident has begun its first step."""
    url = ledger_url(tmp_path / "zombie.db")
    monkeypatch.setenv("ZOMBIE_DATABASE_URL", url)
    monkeypatch.delenv("ZOMBIE_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "zombie.toml").write_text('[policy]\nterminal_approvers = ["ann"]\n')
    with Database.open(url) as database:
        ledger = Ledger(database)
        ledger.append.now(ID, 0, OPENING, ASKER)
        ledger.append_all.now(ID, 1, (TRIAGED, PROPOSED), "bot")
        ledger.append.now(ID, 3, APPROVED, APPROVER)
        ledger.begin.now(ID, 4, StepStarted(1, runner="host-1"), "bot", Claim(NODE, PROPOSED.plan.remedy, "host-1"))
    return url


def release(*more: str, node: str = NODE, by: str = "ann") -> int:
    return main(["release", node, "--approve-as", by, "--reason", "it was looked at by hand", *more])


def test_node_of_a_parked_incident_is_free_and_who_did_it_is_on_record(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with Database.open(url) as database:
        Ledger(database).append.now(ID, 5, QuestionAsked("Is it back?"), "bot")
    assert release() == 0
    assert capsys.readouterr().out == (
        f"{NODE} is free. Incident {ID} held it, and cannot go on: it waits for an answer.\n"
    )
    with Database.open(url) as database:
        assert Ledger(database).current_hold.now(NODE) is None
        assert fold(Ledger(database).read.now(ID)).state is State.ESCALATED
        last = Ledger(database).read.now(HOUSE)[-1]
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
def test_what_is_refused_goes_by_its_name(
    url: str, capsys: pytest.CaptureFixture[str], node: str, by: str, says: str
) -> None:
    assert release(node=node, by=by) == 1
    assert capsys.readouterr().err.startswith(f"zombie: {says}")
    with Database.open(url) as database:
        assert Ledger(database).current_hold.now(NODE) is not None
        assert Ledger(database).read.now(HOUSE)[-1].body["wish"] == "release"


def test_without_approver_or_reason_nothing_is_asked(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["release", NODE, "--approve-as", "ann"]) == 2
    assert "A release needs --reason." in capsys.readouterr().err
