"""What is kept from replay to replay is what would come out again, and nothing that a change may touch."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from bot.app.cases import replay
from bot.app.factories import library
from bot.domain.cause import CauseResult, Tuning
from bot.domain.change import Change
from bot.domain.playbook import ConfiguredCause
from bot.domain.probe import Snapshot
from bot.domain.verdict import outcome_parts
from bot.extras.cases.playbook_once import judging_once
from bot.transport.case_file import load
from tests.contract.test_why import FOUNDING

PLAYBOOK = library().get("node-health")
CHANGES = ("cgroups.dying=900", "cpu=unread", "cgroups.dying=901", "kernel_log=unread", "host.clocksource=hpet")


def test_what_is_kept_from_another_replay_gives_the_same_verdict() -> None:
    case = load(FOUNDING)
    alone = replace(case, runs=tuple(run for run in case.runs if run.probe not in ("units", "nic")))
    for said in (case, alone):
        once = judging_once(PLAYBOOK)
        for changes in ((), *((Change.parse(text),) for text in (*CHANGES, *CHANGES)), ()):
            kept, fresh = replay(said, once, changes).verdict, replay(said, PLAYBOOK, changes).verdict
            assert outcome_parts(kept) == outcome_parts(fresh)
            assert replace(kept, snapshot=None) == replace(fresh, snapshot=None)


def test_change_has_all_evaluated_again_that_name_its_probe_and_nothing_else() -> None:
    evaluated = Counter[str]()

    def counted(used: ConfiguredCause) -> ConfiguredCause:
        def evaluate(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
            evaluated[used.cause.name] += 1
            return used.cause.evaluate(snapshot, tuning)

        return replace(used, cause=replace(used.cause, evaluate=evaluate))

    once = judging_once(replace(PLAYBOOK, causes=tuple(map(counted, PLAYBOOK.causes))))
    case = load(FOUNDING)
    replay(case, once)
    assert set(evaluated.values()) == {1}
    replay(case, once, [Change.parse("cpu.seconds[39]=none")])
    again = {used.cause.name for used in PLAYBOOK.causes if "cpu" in (*used.cause.probes, *used.cause.beside)}
    assert {name for name, times in evaluated.items() if times == 2} == again
    assert 0 < len(again) < len(PLAYBOOK.causes)
