"""Proving: what counts as proven and what does not, told by a lab and a program that only say what they were given."""

from __future__ import annotations

import gzip
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bot.app.prove import _prove_each
from bot.causes import CAUSES
from bot.domain.errors import UsageError
from bot.lab import prove
from bot.lab.fault import FAULTS, Fault, Outcome
from bot.lab.lab import Lab
from bot.lab.node import Answer
from bot.lab.process import Process
from bot.lab.prove import NotProven, Prover, Proving, to_prove
from bot.lab.recipe import Recipe
from bot.lab.trial import BY_FAULT, MACHINES, TRIALS
from bot.response.proven_cures import ProvenRow, read_table

STAND_INS = {"held-core", "compaction", "busy", "leaked-memory-cgroups-in-one-unit"}  # no cause of their own
LEAK, FULL = BY_FAULT["leaked-memory-cgroups"], BY_FAULT["disk-full"]
BOOKWORM = next(machine for machine in MACHINES if machine.suite == "bookworm")


def verdict(status: str, cause: str = "", plan: Sequence[str] = (), confidence: str = "confirmed") -> dict[str, Any]:
    return {
        "status": status,
        "cause": cause or None,
        "confidence": confidence if cause else None,
        "plan": {"steps": [{"action": action} for action in plan]} if plan else None,
        "unread": [],
        "took_seconds": 5.0,
        "summary": f"it is {status}",
        "incident": "i1",
    }


WELL = verdict("healthy")
LEAKS = verdict("critical", LEAK.cause, LEAK.plan)
IS_FULL = verdict("critical", "disk-full")


class Node:
    """Answers every script; the unit is enabled again unless `is_back` is false."""

    name, console, process = "lab-1", Path("console.log"), Process.of(os.getpid())
    is_back, forgot = True, 0

    def run(self, script: str, within_seconds: float = 0) -> Answer:
        self.forgot += script.startswith("dmesg -C")
        if script.startswith("uname"):
            return Answer(0, "6.1.0-50-cloud-amd64\nsystemd 252 (252.38)\n", "")
        return Answer(0 if self.is_back or script != LEAK.undone else 1, "", "")


class OneNode(Lab):
    """A lab that boots nothing and counts."""

    def __init__(self) -> None:
        self.booted, self.running, self.node_ = 0, False, Node()

    @property
    def nodes(self) -> Any:
        return (self.node_,) if self.running else ()

    def up(self, recipe: Recipe, request: object) -> Any:
        assert not self.running
        self.booted, self.running = self.booted + 1, True
        return self.nodes

    def down(self) -> int:
        self.running = False
        return 1


class Says:
    """The program, with these verdicts in turn; `ends` are the states of the incidents that it acts on, in turn."""

    settings = Path("zombie.toml")

    def __init__(self, verdicts: Sequence[dict[str, Any]], ends: Sequence[str] = ("resolved", "resolved")) -> None:
        self.verdicts: Iterator[dict[str, Any]] = iter(verdicts)
        self.ends, self.state = iter(ends), "proposed"
        self.ran: list[str] = []

    def check(self, node: str, *more: str) -> dict[str, Any]:
        if "--record" in more:
            (Path(more[1]) / f"{node}.jsonl").write_text("what it said")
        if "--open" in more:
            self.state = "proposed"
        return next(self.verdicts)

    def incident(self, incident: str) -> dict[str, Any]:
        triaged = {"kind": "Triaged", "body": {"verdict": {"harm": "memory is gone"}}}
        return {"state": self.state, "entries": [triaged]}

    def approving(self, incident: str) -> tuple[str, ...]:
        return "remediate", incident

    def run(self, *words: str, within_seconds: float = 0) -> subprocess.CompletedProcess[str]:
        self.ran.append(words[0])
        if words[0] == "remediate":
            self.state = next(self.ends)
        return subprocess.CompletedProcess(words, 0, "Incident i2: another person has to approve it with\n", "")


@pytest.fixture(autouse=True)
def faults_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fault, "make", lambda *_: Outcome(True, "it is there"))
    monkeypatch.setattr(Fault, "undo", lambda *_: Outcome(True, "it is gone"))
    monkeypatch.setattr(prove, "LOOKS", 2)
    monkeypatch.setattr(Process, "starved_seconds", 0.0)  # this machine may be busy


def prover(lab: OneNode, says: Says, folder: Path) -> Prover:
    return Prover(lab, lambda suite: Recipe("", suite), lambda _: says, folder, "0.2.0", "2026-11-28", lambda _: None)  # type: ignore[arg-type,return-value]


def proven(says: Says, folder: Path, what: Proving, lab: OneNode | None = None) -> ProvenRow:
    return prover(lab or OneNode(), says, folder).prove(what, None)


OF_LEAK, OF_DISK = Proving(LEAK, BOOKWORM, "v2"), Proving(FULL, BOOKWORM, "v2")


def test_cure_is_proven_by_a_yes_a_node_that_is_well_and_an_undo(tmp_path: Path) -> None:
    says = Says([WELL, LEAKS, LEAKS, WELL])
    row = proven(says, tmp_path, OF_LEAK)
    assert (row.cure, row.status, row.harm) == (("disable_unit", "reboot"), "critical", "memory is gone")
    assert (row.kernel, row.systemd, row.cgroups, row.suite) == ("6.1.0-50-cloud-amd64", 252, "v2", "bookworm")
    assert (row.runs, row.healed, row.undone) == (1, 1, True)
    assert says.ran == ["remediate", "undo", "remediate"]


def test_cause_without_a_cure_is_proven_by_the_faults_undo(tmp_path: Path) -> None:
    says = Says([WELL, IS_FULL, WELL])
    row = proven(says, tmp_path, OF_DISK)
    assert (row.cure, row.healed, row.undone, says.ran) == ((), 1, False, [])


@pytest.mark.parametrize(
    "verdicts",
    [
        [verdict("degraded", "failed-units")],  # sick before the fault
        [WELL, verdict("critical", "oom-kills", LEAK.plan)],  # another cause
        [WELL, *[verdict("degraded", LEAK.cause, LEAK.plan)] * 2],  # another status
        [WELL, *[verdict("critical", LEAK.cause, ["disable_unit"])] * 2],  # another plan
        [WELL, *[verdict("critical", LEAK.cause, LEAK.plan, "likely")] * 2],  # less sure
        [WELL, LEAKS, *[verdict("critical", LEAK.cause)] * 2],  # not once more, with an incident
    ],
)
def test_wrong_verdict_is_no_row(tmp_path: Path, verdicts: list[dict[str, Any]]) -> None:
    says = Says(verdicts)
    with pytest.raises(NotProven) as no:
        proven(says, tmp_path, OF_LEAK)
    assert no.value.row is None
    assert says.ran == []


@pytest.mark.parametrize(
    ("verdicts", "ends", "is_back"),
    [
        ([WELL, LEAKS, LEAKS], ["escalated"], True),
        ([WELL, *[LEAKS] * 4], ["resolved"], True),
        ([WELL, LEAKS, LEAKS, WELL], ["resolved", "escalated"], True),
        ([WELL, LEAKS, LEAKS, WELL], ["resolved", "resolved"], False),
    ],
)
def test_cure_that_does_not_heal_is_a_run_and_no_healing(
    tmp_path: Path, verdicts: list[dict[str, Any]], ends: list[str], is_back: bool
) -> None:
    lab = OneNode()
    lab.node_.is_back = is_back
    row = proven(Says(verdicts, ends), tmp_path, OF_LEAK, lab)
    assert (row.runs, row.healed) == (1, 0)


@pytest.mark.parametrize(
    ("verdicts", "ends"),
    [
        (
            [WELL, LEAKS, LEAKS, verdict("unreachable"), verdict("unknown")],
            ["resolved"],
        ),  # nobody knows whether it healed
        ([WELL, LEAKS, LEAKS], ["proposed"]),  # refused: nothing was begun
        ([WELL, LEAKS, LEAKS], ["triaged"]),
    ],
)
def test_run_that_says_nothing_of_the_cure_is_no_row(
    tmp_path: Path, verdicts: list[dict[str, Any]], ends: list[str]
) -> None:
    with pytest.raises(NotProven) as no:
        proven(Says(verdicts, ends), tmp_path, OF_LEAK)
    assert no.value.row is None


def test_cure_that_came_too_late_on_a_machine_without_a_cpu_did_not_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert proven(Says([WELL, LEAKS, LEAKS], ["escalated"]), tmp_path, OF_LEAK).healed == 0
    waited = iter(range(10, 100, 10))  # seconds, of a run that takes none
    monkeypatch.setattr(Process, "starved_seconds", property(lambda _: next(waited)))
    with pytest.raises(NotProven) as no:
        proven(Says([WELL, LEAKS, LEAKS], ["escalated"]), tmp_path, OF_LEAK)
    assert no.value.row is None


@pytest.mark.parametrize(
    "breaks", [UsageError("lab-1 did not come up within 300 s."), subprocess.TimeoutExpired("check", 240)]
)
def test_machine_or_program_that_does_not_answer_ends_that_trial_alone(tmp_path: Path, breaks: Exception) -> None:
    table, lab = tmp_path / "proven.toml", OneNode()
    says = Says([WELL, IS_FULL, WELL])
    it, checks, answers = prover(lab, says, tmp_path), iter([breaks]), says.check

    def check(node: str, *more: str) -> dict[str, Any]:
        for each in checks:
            raise each
        return answers(node, *more)

    says.check = check  # type: ignore[method-assign]
    assert _prove_each(it, [OF_LEAK, OF_DISK], table, tmp_path / "said", again=False) == 1
    assert [row.fault for row in read_table(table).rows] == ["disk-full"]
    assert lab.booted == 2


def test_what_the_log_still_reports_is_over_while_it_is_mild_and_offers_nothing(tmp_path: Path) -> None:
    io = BY_FAULT["io-stall"]
    stalls, mild = verdict("critical", "io-stall"), verdict("degraded", "io-stall")
    assert proven(Says([WELL, stalls, mild]), tmp_path, Proving(io, BOOKWORM, "v2")).healed == 1
    assert proven(Says([WELL, stalls, stalls, stalls]), tmp_path, Proving(io, BOOKWORM, "v2")).healed == 0
    assert proven(Says([WELL, IS_FULL, *[verdict("degraded", "disk-full")] * 2]), tmp_path, OF_DISK).healed == 0


FORKY = next(machine for machine in MACHINES if machine.suite == "forky")


def test_fault_that_does_not_arise_is_a_row_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = Proving(LEAK, FORKY, "v2")
    assert [what.trial.fault for what in to_prove(["7.2"], [LEAK.cause])] == [LEAK.fault]
    monkeypatch.setattr(Fault, "begin", lambda *_: Outcome(True, "begun"))
    monkeypatch.setattr(Fault, "look", lambda *_: Outcome(False, "0 memory cgroups are removed and not freed"))
    row = proven(Says([WELL, verdict("unknown"), verdict("degraded", "crash-looping-unit")]), tmp_path, gone)
    assert (row.status, row.cure, row.harm) == ("gone", (), "0 memory cgroups are removed and not freed")
    for seen in (LEAKS, verdict("unknown")):
        with pytest.raises(NotProven):
            proven(Says([WELL, seen, seen]), tmp_path, gone)
    monkeypatch.setattr(Fault, "look", lambda *_: Outcome(True, "8,000 memory cgroups are removed and not freed"))
    with pytest.raises(NotProven):
        proven(Says([WELL, WELL]), tmp_path, gone)


def test_machine_that_is_well_again_is_used_once_more_and_any_other_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab, undone = OneNode(), list[str]()

    def undo(fault: Fault, _: object) -> Outcome:
        undone.append(fault.name)
        return Outcome(True, "it is gone")

    monkeypatch.setattr(Fault, "undo", undo)
    says = Says([WELL, IS_FULL, WELL, IS_FULL, WELL, *[WELL, LEAKS, LEAKS, WELL] * 3])
    says.ends = iter(["resolved"] * 6)
    it = prover(lab, says, tmp_path)
    it.prove(OF_DISK, None)
    it.prove(OF_DISK, None)
    assert lab.booted == 1
    it.prove(OF_LEAK, None)
    assert (lab.booted, lab.node_.forgot, undone) == (2, 0, ["disk-full"] * 2)
    it.prove(OF_LEAK, None)
    assert (lab.booted, lab.node_.forgot, undone[2:]) == (2, 1, [LEAK.fault]), "what is left of a plan is taken away"
    says.verdicts = iter([IS_FULL, WELL, LEAKS, LEAKS, WELL])
    it.prove(OF_LEAK, None)
    assert (lab.booted, lab.node_.forgot) == (3, 2), "not found well with its log cleared, it is not used again"
    it.stop()
    assert not lab.running


def test_run_goes_on_where_it_was_interrupted_and_again_counts_up(tmp_path: Path) -> None:
    table, lab = tmp_path / "proven.toml", OneNode()
    said = [WELL, IS_FULL, WELL]
    assert _prove_each(prover(lab, Says(said), tmp_path), [OF_DISK], table, tmp_path / "said", again=False) == 0
    whole = [OF_DISK, OF_LEAK]
    lab = OneNode()
    assert (
        _prove_each(
            prover(lab, Says([WELL, LEAKS, LEAKS, WELL]), tmp_path), whole, table, tmp_path / "said", again=False
        )
        == 0
    )
    assert lab.booted == 1, "the first stands"
    kept = {path.name: gzip.decompress(path.read_bytes()) for path in (tmp_path / "said").iterdir()}
    assert kept == {row.recording: b"what it said" for row in read_table(table).rows}
    assert [row.fault for row in read_table(table).rows] == ["disk-full", "leaked-memory-cgroups"]
    wrong = Says([WELL, verdict("critical", "oom-kills")])
    before = table.read_text()
    assert _prove_each(prover(OneNode(), wrong, tmp_path), [OF_DISK], table, tmp_path / "said", again=True) == 1
    assert table.read_text() == before, "a wrong verdict is mended, not written down"
    assert _prove_each(prover(OneNode(), Says(said), tmp_path), [OF_DISK], table, tmp_path / "said", again=True) == 0
    assert [(row.runs, row.healed) for row in read_table(table).rows] == [(2, 2), (1, 1)]


def test_every_fault_is_tried_for_a_cause_that_may_have_its_cure() -> None:
    assert {trial.fault for trial in TRIALS} == set(FAULTS) - STAND_INS
    for trial in TRIALS:
        assert set(trial.plan) <= set(CAUSES[trial.cause].remedy)
        assert trial.plan or not trial.undone
        assert set(trial.status) <= {"degraded", "critical"}


def test_kernels_causes_and_faults_are_chosen_and_unknown_ones_refused() -> None:
    chosen = list(to_prove(["6.1"], ["disk-full"]))
    assert [what.trial.fault for what in chosen] == ["disk-full", "disk-full-of-inodes"]
    assert [what.cgroups for what in to_prove(["6.1"], ["leak-without-harm"])] == ["v1", "v2"]
    assert [what.cgroups for what in to_prove(["6.1"], ["leak-without-harm"], "v2")] == ["v2"]
    assert len(list(to_prove())) > len(TRIALS) * len(MACHINES)
    for kernels, causes in ((["4.19"], []), ([], ["disk-fool"])):
        with pytest.raises(UsageError, match="There is no"):
            list(to_prove(kernels, causes))
