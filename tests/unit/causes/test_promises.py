"""What holds for every cause on every node, however its readings came out."""

import re
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.actions import ACTIONS
from bot.causes import CAUSES
from bot.domain.cause import CauseResult
from bot.domain.probe import Snapshot
from bot.domain.protected import is_protected
from bot.domain.verdict import Confidence, Finding, RuledOut, Status
from tests.examples import up_to
from tests.known import known_as
from tests.unit.causes import builders as b
from tests.unit.causes.made_nodes import LEAKING, PROBES, REPLIES, made

# Where a figure is from: ours, our own recording, a commit, a file of a program's source, or who says it.
SOURCE = re.compile(
    r"\b[Oo]urs\b|own recording|\b[0-9a-f]{12}\b|[a-z_0-9-]+\.(?:c|go|rst)\b|pkg/|[Tt]he founding|our recording|"
    r"[Tt]he kubelet's|Its MaxContainerBackOff|kubelet that restarts|client-go|AWS counts|NVIDIA asks|EKS node|"
    r"node-problem-detector|baud"
)

# What a cause looks at, as it may be.
OF = {name: made(probe for probe in cause.probes if probe in REPLIES) for name, cause in CAUSES.items()}


def evaluate(name: str, readings: dict[str, Any]) -> CauseResult:
    return CAUSES[name].evaluate(b.node(*readings.values()), b.tuning(CAUSES[name]))


@pytest.mark.parametrize("name", CAUSES)
@settings(max_examples=up_to(80), deadline=None)
@given(data=st.data())
def test_evaluating_never_raises_and_plans_no_more_than_the_readings_justify(name: str, data: st.DataObject) -> None:
    result = evaluate(name, data.draw(OF[name]))
    assert result.cause == name
    if isinstance(result, Finding):
        assert result.status in (Status.DEGRADED, Status.CRITICAL)
        assert result.confidence is not None
        assert result.evidence
        assert result.summary
        assert all(one.says and one.probe in PROBES for one in result.evidence)
        assert not (result.remedy and result.confidence is Confidence.POSSIBLE)
        hold_the_remedy(result)
    else:
        assert result.because


def hold_the_remedy(finding: Finding) -> None:
    actions = [step.action for step in finding.remedy]
    stops = [step for step in finding.remedy if not ACTIONS[step.action].starts_a_unit]
    assert not any(is_protected(step.args.values()) for step in stops)
    on_units = [step for step in finding.remedy if "unit" in ACTIONS[step.action].targets]
    assert all(step.args["unit"] in finding.suspects for step in on_units)
    assert {step.action for step in finding.remedy if step not in on_units} <= {"reboot", "cordon"}
    if "mask_unit" in actions:
        assert "Disable " not in finding.summary
        assert "is disabled, " not in finding.summary
    if "reboot" not in actions:
        return
    assert finding.status is Status.CRITICAL
    assert actions[-1] == "reboot"
    if finding.cause == "leaked-memory-cgroups":
        assert actions[0] in ("disable_unit", "mask_unit")
        assert len(actions) == 2
        assert "leaker" in {one.finding for one in finding.evidence}
    else:
        assert finding.cause in ("lockup", "too-many-live-cgroups", "gpu-fault")
        assert finding.confidence is Confidence.CONFIRMED


@settings(max_examples=up_to(400), deadline=None)
@given(readings=LEAKING)
def test_leaks_remedy_needs_a_leaker_and_its_reboot_a_harm(readings: dict[str, Any]) -> None:
    result = known_as(evaluate("leaked-memory-cgroups", readings), Finding)
    hold_the_remedy(result)
    seen = {one.finding for one in result.evidence}
    harms = {"core-held-by-walker", "memcg-walk-stack", "memory-gone", "cgroup-ids-spent", "nic-starved"}
    assert (result.status is Status.CRITICAL) == bool(seen & harms)
    if "leaker" not in seen:
        assert result.remedy == ()


@pytest.mark.parametrize("name", CAUSES)
def test_nothing_is_ruled_out_where_all_of_its_probes_are_unread(name: str) -> None:
    unread = {one: b.unread(one) for one in CAUSES[name].probes}
    assert not isinstance(evaluate(name, unread), RuledOut)
    for probe in unread:  # and each alone never raises
        evaluate(name, {probe: b.unread(probe)})


@pytest.mark.parametrize("name", CAUSES)
def test_cause_has_its_row_of_the_table_and_its_figures_a_reason(name: str) -> None:
    module = __import__(CAUSES[name].evaluate.__module__, fromlist=["__doc__"])
    if not CAUSES[name].about:  # a file says by its keys what confirms, what refutes, and that nothing is planned
        assert all(word in (module.__doc__ or "") for word in ("Confirms:", "Refutes:", "Remedy:"))
    for threshold, used in CAUSES[name].thresholds.items():
        if as_in := re.match(r"As in ([a-z-]+)\.", used.reason):
            assert used.value == CAUSES[as_in[1]].thresholds[threshold].value, threshold
        else:
            assert len(used.reason) > 20
            assert SOURCE.search(used.reason), f"{threshold}: neither a source, nor said to be ours"


@dataclass(frozen=True, slots=True)
class Noting(Snapshot):
    """A snapshot that notes whose readings are asked for."""

    asked: set[str] = field(default_factory=set)

    def get(self, kind: type[Any]) -> Any:
        self.asked.add(kind.probe)
        return super(Noting, self).get(kind)


@pytest.mark.parametrize("name", CAUSES)
def test_readings_that_a_cause_asks_for_are_those_it_says_so_that_a_yes_reads_them_again(name: str) -> None:
    cause = CAUSES[name]
    sick = b.node(
        *(b.cgroups(68_440), b.units(b.between_tries()), b.churning(), b.agents(b.agent()), b.held()),
        *(b.processes(b.process(), waiting=("tar",)), b.log(*b.starved(), b.event("hung-task"))),
    )
    noting = Noting(sick.node, sick.taken_at, sick.window, sick.readings)
    cause.evaluate(noting, b.tuning(cause))
    assert noting.asked <= {*cause.probes, *cause.beside}
