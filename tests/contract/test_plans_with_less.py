"""Half of an answer adds no plan, hides no fault and raises no alarm: every command of a few nodes, cut or refused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from bot.domain.command import Completed
from bot.domain.verdict import Status, Verdict
from tests.contract.asked import evaluated, evaluated_again
from tests.contract.made_nodes import CORE, gone_gpu, harmed
from tests.independent.cgroups import ecs_loops, starves
from tests.independent.facts import HOUR
from tests.independent.kinds import founding, gpu_node, metal
from tests.independent.machine import KUBELET, Machine


def held_by_tar() -> Machine:
    machine = ecs_loops(starves(founding().cgroups(240, 68_440), CORE, 900, 5400, 12), 68_300, 11.2)
    machine.facts.processes.clear()
    return machine.core(CORE, sys=99).process("tar", sys=445, core=CORE, pid=812, state="R")


STILL: dict[str, Any] = {"ActiveState": "inactive", "SubState": "dead"}
OFF = Machine().essential(KUBELET, changed_ago=2 * HOUR, **STILL).health("000 7", "000 7")
NODES = {
    "a leak with its harm": ecs_loops(harmed(founding()), 68_300, 11.2),
    "a leak whose harm has another reason": held_by_tar(),
    "a kubelet that was stopped": OFF,
    "a node at rest": Machine(),
    "a disk whose requests time out": metal().log_every(20, 30, 9, "nvme nvme1: I/O {n} QID 4 timeout, aborting"),
    "a GPU that fell off": gone_gpu(gpu_node()),
}


def steps(verdict: Verdict) -> set[str]:
    return {" ".join([step.action, *step.args.values()]) for step in (verdict.plan.steps if verdict.plan else ())}


def less(at: int, run: Completed) -> Iterable[Completed]:
    """Return what is left of an answer: cut where the connection ended, or none at all, late or refused in turn."""
    for share in (0.4, 0.97):
        yield replace(run, stdout=run.stdout[: int(len(run.stdout) * share)])
    none = replace(run, stdout="")
    yield replace(none, stderr="Permission denied", exit_status=1) if at % 2 else replace(none, exit_status=124)


@pytest.mark.parametrize("title", NODES)
def test_half_an_answer_adds_no_plan_hides_no_fault_and_raises_no_alarm(title: str) -> None:
    case = NODES[title].case()
    whole = evaluated(case)
    for at, run in enumerate(case.runs):
        for number, left in enumerate(less(at, run)):
            changed = replace(case, runs=(*case.runs[:at], left, *case.runs[at + 1 :]))
            found = evaluated_again(changed, whole, run.probe)
            if at == number:
                anew = evaluated(changed)
                assert (anew.status, anew.summary, steps(anew)) == (found.status, found.summary, steps(found))
            about = (run.probe, run.name, run.look, len(left.stdout), found.status, found.summary)
            assert steps(found) <= steps(whole), about
            if whole.status is Status.HEALTHY:
                assert found.status in (Status.HEALTHY, Status.UNKNOWN), about
            else:
                assert found.status is not Status.HEALTHY, about
