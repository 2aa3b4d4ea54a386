"""Only what a replay shows is said of a verdict, and what differs between two playbooks is told apart."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar

import pytest

from bot.actions import ACTIONS
from bot.app.cases import replayed
from bot.app.factories import library
from bot.domain.cause import Cause, CauseResult, Threshold, Tuning
from bot.domain.node import Node
from bot.domain.playbook import ConfiguredCause, Playbook
from bot.domain.probe import Probe, Snapshot, Unread
from bot.domain.verdict import Confidence, Finding, RuledOut, Status, Verdict, outcome_parts
from bot.extras.cases.backtest_table import BacktestTable
from bot.extras.cases.explaining import SubprocessExplainer, confirm_by_replay, find_changes, why_sentences
from bot.extras.cases.verdict_comparison import Cell, Comparison, Pair, comparison_of
from bot.extras.cases.what_if import Judge
from bot.response.diagnosis.planning import DrainSettings
from bot.transport.case_file import load
from bot.view.plan_words import PlanWords
from tests.contract.test_why import CAPTURES
from tests.known import known, known_as

LIBRARY = library()
PLAYBOOK = LIBRARY.get("node-health")
CASE = CAPTURES / "nodes" / "debian-12-v1--conntrack-full.jsonl.gz"  # its changes are found soon


def test_change_that_a_replay_does_not_bear_out_is_never_told() -> None:
    told = find_changes(load(CASE), PLAYBOOK)
    first, second, *_ = told.changes
    lies = replace(first, verdict=replace(first.verdict, status=Status.HEALTHY, cause="dns-failing"))
    assert outcome_parts(lies.verdict) != outcome_parts(first.verdict)
    assert confirm_by_replay(replace(told, changes=(lies, second)), PLAYBOOK, 5) == (second,)
    assert len(confirm_by_replay(told, PLAYBOOK, 2)) == 2


async def shown() -> Verdict:
    """The verdict on a case as people see it, with what the node said."""
    case = load(CASE)
    case = replace(case, head=replace(case.head, playbook="node-health", playbook_digest=PLAYBOOK.digest))
    verdict = await replayed(case, PLAYBOOK)
    return replace(verdict, snapshot=replace(known_as(verdict.snapshot, Snapshot), case=case))


def test_sentences_come_for_what_people_see_and_for_nothing_else() -> None:
    verdict = asyncio.run(shown())
    assert verdict.snapshot is not None
    assert len(why_sentences(verdict, LIBRARY)) > 2
    assert why_sentences(replace(verdict, cause="crash-looping-unit"), LIBRARY) == [], "muted: people see another"
    assert why_sentences(replace(verdict, snapshot=None), LIBRARY) == []
    case = known(verdict.snapshot.case)
    for head in (
        replace(case.head, playbook_digest="0" * 64),
        replace(case.head, playbook="nothing-such"),
    ):
        other = replace(verdict, snapshot=replace(verdict.snapshot, case=replace(case, head=head)))
        assert why_sentences(other, LIBRARY) == []


def names_in_environment(pid: int) -> set[str]:
    return {pair.partition("=")[0] for pair in Path(f"/proc/{pid}/environ").read_text().split("\0")}


async def test_process_beside_says_the_same_and_another_follows_one_that_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-1")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/agent")
    beside, verdict = SubprocessExplainer(()), await shown()
    try:
        said = await beside.sentences(verdict)
        assert said == await asyncio.to_thread(why_sentences, verdict, LIBRARY)
        assert len(said) > 2
        first = known(beside._process)
        assert not {"SLACK_BOT_TOKEN", "SSH_AUTH_SOCK"} & names_in_environment(first.pid), "it needs no secret of ours"
        first.kill()
        await first.wait()
        assert await beside.sentences(verdict) == ()
        assert await beside.sentences(verdict) == said
        cancelled = asyncio.create_task(beside.sentences(verdict))
        await asyncio.sleep(0.01)  # it was asked
        cancelled.cancel()
        other = replace(verdict, cause="crash-looping-unit")
        assert await beside.sentences(other) == [], "not the answer to the question before"
    finally:
        last = beside._process
        await beside.stop()
    assert last is not None
    assert last.returncode is not None


@dataclass(frozen=True, slots=True)
class Units:
    probe: ClassVar[str] = "boot"

    names: tuple[str, ...]


def evaluate(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
    reading = snapshot.get(Units)
    left = () if isinstance(reading, Unread) else tuple(name for name in reading.names if name not in tuning.allow)
    if len(left) < tuning["many"]:
        return RuledOut("unlisted", "all are listed")
    return Finding("unlisted", Status.DEGRADED, Confidence.CONFIRMED, f"{', '.join(left)} is not listed", ())


CAUSE = Cause("unlisted", "a unit", ("boot",), {"many": Threshold(1000, "")}, evaluate, takes_allow=True)
PROBES = (Probe("boot", "", (), lambda outputs: outputs),)


def playbook(many: float, allow: tuple[str, ...]) -> Playbook:
    return Playbook("p", "", 1, PROBES, (), (ConfiguredCause(CAUSE, {"many": Threshold(many, "")}, allow=allow),))


def compared(before: Playbook, after: Playbook, snapshot: Snapshot) -> Comparison:
    verdicts = (Judge(each, ACTIONS, Node("n", "n"), DrainSettings()).verdict(snapshot) for each in (before, after))
    return comparison_of(Pair(before, after), *verdicts)


def test_threshold_and_list_of_what_may_pass_are_evaluated_apart() -> None:
    snapshot = Snapshot("n", datetime(2026, 1, 1, tzinfo=UTC), timedelta(seconds=5), {"boot": Units(("a", "b"))})
    before, after = playbook(1, ("a", "b")), playbook(1, ("a",))
    told = compared(before, after, snapshot)
    assert (told.before.status, told.after.status) == (Status.HEALTHY, Status.DEGRADED)
    assert told.turned[0].changed == {"allow": ("a, b", "a")}
    fewer = replace(after, causes=playbook(2, ("a",)).causes)
    assert not compared(before, fewer, snapshot).flips
    assert compared(after, fewer, snapshot).turned[0].changed == {"many": ("1", "2")}


def test_words_of_an_outcome_are_searched_for_secrets_before_they_are_cut() -> None:
    token = "glpat-" + "abcdefghij0123456789"
    for filled in range(140, 200):
        name = "u" * filled + " " + token
        snapshot = Snapshot("n", datetime(2026, 1, 1, tzinfo=UTC), timedelta(seconds=5), {"boot": Units((name,))})
        told = compared(playbook(1, (name,)), playbook(1, ()), snapshot)
        table = BacktestTable((Cell("c", "n", "p", "p", told),), PlanWords(ACTIONS))
        assert "glpat-a" not in str(table.body())
