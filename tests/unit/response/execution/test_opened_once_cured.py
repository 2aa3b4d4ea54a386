"""A drained node is opened once its cure has held; until then it stays cordoned, and who takes over is told so."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.actions import ACTIONS
from bot.app.factories import library
from bot.causes import CAUSES
from bot.domain.alert import Alert
from bot.domain.evaluation import evaluate_playbook
from bot.domain.events import GIVE_UP, AlertJoined, Escalated, IncidentEvent, Resolved, StepSkipped
from bot.domain.node import Node
from bot.domain.playbook import ConfiguredCause, Playbook
from bot.domain.policy import Approval
from bot.domain.verdict import Confidence, RuledOut, Status, Verdict
from bot.probes.gpu import Gpu, GpuReading
from bot.probes.host import HostReading
from bot.probes.kernel_log import KernelLogReading
from bot.response.diagnosis.planning import with_plan
from tests.known import known_as
from tests.nodes import draining
from tests.nodes.draining import NAME, DrainStage, daemon, worker
from tests.unit.causes import builders as b

BUSES = [f"0000:{number:x}:00.0" for number in range(16, 24)]
STAYS = f"{NAME} stays cordoned: kubectl uncordon {NAME}"


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("sick again", "lockup is still there"),
        ("not Ready", "is not Ready in its cluster"),
        ("not read", "It is not known whether the cure holds"),
    ],
)
async def test_node_whose_cure_does_not_hold_stays_cordoned_and_a_person_is_told(
    here: DrainStage, how: str, says: str
) -> None:
    await here.approved(daemon())
    watched = await here.run(until=lambda incident: bool(incident.samples))
    assert watched.samples[-1].holds
    here.cured = how != "sick again"
    here.cluster.nodes[NAME].ready = lambda: how != "not Ready"
    if how == "not read":
        here.machine.down_until += timedelta(days=9)
    done = await here.run()
    assert isinstance(done.ending, Escalated)
    assert says in done.ending.because
    assert done.ending.try_next.endswith(STAYS)
    assert here.cluster.nodes[NAME].unschedulable
    assert here.cluster.patched == [f"{NAME} unschedulable=True"]


@pytest.mark.parametrize(("status", "ends"), [(Status.DEGRADED, Resolved), (Status.CRITICAL, Escalated)])
async def test_node_that_is_cured_and_has_another_grave_fault_is_not_given_back(
    here: DrainStage, status: Status, ends: type[IncidentEvent]
) -> None:
    await here.approved(daemon())
    stalls = Verdict("n1", status, "io-stall", Confidence.CONFIRMED, "nvme1n1 stalls.")

    async def diagnose(node: Node, playbook: str) -> Verdict:
        return replace(stalls, ruled_out=(RuledOut("lockup", "no core is stuck"),))

    here.program.diagnose = diagnose
    done = await here.run()
    assert isinstance(done.ending, ends)
    assert here.cluster.nodes[NAME].unschedulable == (ends is Escalated)
    if isinstance(done.ending, Escalated):
        assert done.ending.because == "The cure holds, but n1 is critical io-stall now: nvme1n1 stalls."
        assert done.ending.try_next == f"Not done: uncordon. {STAYS}"


@pytest.mark.parametrize(("back", "ends"), [(BUSES, Resolved), (BUSES[1:], Escalated)], ids=["all 8", "7 of 8"])
async def test_gpu_that_was_blamed_and_does_not_come_back_is_not_cured(
    here: DrainStage, monkeypatch: pytest.MonkeyPatch, back: list[str], ends: type[IncidentEvent]
) -> None:
    playbook = library(()).get("node-health")

    def verdict(stage: DrainStage) -> Verdict:
        asks = "" if stage.machine.boot else "Reboot"
        gpus = (Gpu(bus, "nvidia", True, recovery=asks * (bus == BUSES[0])) for bus in (back if not asks else BUSES))
        host = replace(b.host(days=0.01 if stage.machine.boot else 11), boot_id=stage.machine.boot_id)
        read = replace(b.node(host, GpuReading(tuple(gpus), "answered", ())), node="n1", taken_at=stage.now)
        return with_plan(evaluate_playbook(read, playbook), playbook, ACTIONS, stage.node, stage.draining)

    monkeypatch.setattr(DrainStage, "verdict", verdict)
    monkeypatch.setattr(draining, "PLAYBOOK", playbook)
    await here.approved(daemon())
    done = await here.run()
    assert isinstance(done.ending, ends)
    assert here.cluster.nodes[NAME].unschedulable == (ends is Escalated)
    assert ends is Resolved or f"gpu-fault cannot be judged any more: no answer of {BUSES[0]}" in str(done.ending)


@pytest.mark.parametrize(
    ("minutes", "until_ready", "ends"),
    [(12, 45, Resolved), (1, 45, Escalated), (12, 280, Resolved), (2, 280, Escalated)],
)
async def test_short_log_confirms_the_cure_where_it_reaches_back_to_the_last_step_and_then_to_the_look_before(
    here: DrainStage, minutes: int, until_ready: float, ends: type[IncidentEvent]
) -> None:
    here.machine.until_ready = until_ready
    await here.approved(daemon())
    lockup = Playbook("p", "", 1, (), (), (ConfiguredCause(CAUSES["lockup"], CAUSES["lockup"].thresholds),))

    async def diagnose(node: Node, playbook: str) -> Verdict:
        up = timedelta(seconds=here.machine.uptime)
        began = up - timedelta(minutes=minutes)
        log = KernelLogReading("dmesg", 3000, begins=began, errors_begin=began)
        host = HostReading("5.4.0", here.machine.boot_id, up)
        return evaluate_playbook(replace(b.node(host, log), node="n1"), lockup)

    here.program.diagnose = diagnose
    done = await here.run()
    assert isinstance(done.ending, ends)
    assert ends is Resolved or "lockup cannot be judged: the kernel log reaches back only" in str(done.ending)


async def test_node_that_was_cordoned_before_is_nobodys_to_open_where_the_cure_fails_either(here: DrainStage) -> None:
    await here.approved(worker(), cordoned=True)
    here.cured = False
    done = await here.run()
    assert "kubectl uncordon" not in known_as(done.ending, Escalated).try_next, "whoever cordoned it knows why"
    assert here.cluster.patched == []


async def test_node_that_never_gets_ready_is_not_cured_and_not_uncordoned(here: DrainStage) -> None:
    await here.approved(daemon())
    await here.run(until=lambda _: here.machine.boot > 0)
    here.machine.ready_at += timedelta(days=9)
    done = await here.run()
    assert isinstance(done.ending, Escalated)
    assert "is not Ready in its cluster" in done.ending.because
    assert done.ending.try_next.endswith(STAYS)
    assert (len(done.steps), done.was_carried_out) == (2, True)
    assert here.cluster.nodes[NAME].unschedulable


async def test_node_that_a_person_opens_while_it_is_watched_is_left_open(here: DrainStage) -> None:
    await here.approved(daemon())
    await here.run(until=lambda incident: bool(incident.samples))
    here.cluster.nodes[NAME].unschedulable = False
    done = await here.run()
    assert isinstance(done.ending, Resolved), done.ending
    assert isinstance(done.steps[2].outcome, StepSkipped)
    assert here.cluster.patched == [f"{NAME} unschedulable=True"]


async def test_incident_that_is_given_up_says_that_the_node_stays_cordoned(here: DrainStage) -> None:
    await here.approved(daemon())
    await here.run(until=lambda incident: bool(incident.samples))
    here.machine.copied_id = "f" * 32
    await here.run(until=lambda incident: incident.question is not None)
    ended = await here.responder().answer("one", GIVE_UP, Approval("terminal:ann", "replaced"))
    assert known_as(ended.ending, Escalated).try_next.endswith(STAYS)


async def test_alerts_that_join_while_the_node_is_watched_delay_no_look(here: DrainStage) -> None:
    await here.approved(daemon())
    await here.run(until=lambda incident: incident.validation is not None)
    for number in range(30):
        watched = await here.told()
        if watched.ended:
            break
        joined = AlertJoined(Alert("pagerduty", f"Q{number}"))
        await here.ledger.append("one", watched.seq, joined, "pagerduty:P1")
        again = await here.program.advance("one")
        here.world.now += again.after if again is not None else timedelta(0)
    assert isinstance((await here.told()).ending, Resolved)
