"""Only what a replay shows is said of a verdict."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from bot.app.cases import replayed
from bot.app.factories import library
from bot.domain.probe import Snapshot
from bot.domain.verdict import Status, Verdict, outcome_parts
from bot.extras.cases.explaining import SubprocessExplainer, confirm_by_replay, find_changes, why_sentences
from bot.transport.case_file import load
from tests.contract.test_why import CAPTURES

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
    assert isinstance(verdict.snapshot, Snapshot)
    return replace(verdict, snapshot=replace(verdict.snapshot, case=case))


def test_sentences_come_for_what_people_see_and_for_nothing_else() -> None:
    verdict = asyncio.run(shown())
    assert verdict.snapshot is not None
    assert len(why_sentences(verdict, LIBRARY)) > 2
    assert why_sentences(replace(verdict, cause="crash-looping-unit"), LIBRARY) == [], "muted: people see another"
    assert why_sentences(replace(verdict, snapshot=None), LIBRARY) == []
    case = verdict.snapshot.case
    assert case is not None
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
        first = beside._process
        assert first is not None
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
