"""A Kubernetes node drained before its reboot and uncordoned after it, over a real socket to a simulated cluster."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.actions import ACTIONS
from bot.chat.thread import replies
from bot.demo.cluster.pod import Budget, DemoPod
from bot.domain.action import Step
from bot.domain.alert import BOT
from bot.domain.cluster_call import is_as_approved
from bot.domain.entry import Entry
from bot.domain.errors import CannotDrain, MissingRight, StateChanged, UnknownCluster
from bot.domain.events import Escalated, PlanProposed, PlanWithheld, Resolved, StepFailed, StepSkipped, StepVerified
from bot.domain.house_events import HOUSE, BrakePulled, BrakeReleased
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.response.diagnosis.planning import DrainSettings
from bot.response.execution.step_executor import SILENT
from bot.response.incident_record import as_evidence
from bot.surfaces.pagerduty_note import unfixed_alert
from bot.view.context import ViewContext
from bot.view.view import incident_view
from tests.known import known, known_as
from tests.nodes.cluster_server import ClusterServer
from tests.nodes.draining import LABELS, NAME, STEPS, DrainStage, daemon, mirror, worker

JOB = DemoPod("batch", "featurize-0", NAME, ("Job", "featurize"), {"batch.kubernetes.io/job-name": "featurize"},
              empty_dirs=("scratch",))  # fmt: skip
ENDED = DemoPod("batch", "old-0", NAME, ("Job", "old"), phase="Succeeded")
CORDON = f'PATCH /api/v1/nodes/{NAME} {{"spec":{{"unschedulable":true}}}}'
UNCORDON = f'PATCH /api/v1/nodes/{NAME} {{"spec":{{"unschedulable":null}}}}'


async def test_node_is_drained_rebooted_and_uncordoned_with_nothing_but_what_was_approved(here: DrainStage) -> None:
    proposal = await here.proposed(worker(grace=30.0), replace(JOB), daemon(), mirror(), replace(ENDED))
    assert isinstance(proposal, PlanProposed)
    assert [step.action for step in proposal.plan.steps] == STEPS
    assert proposal.affects == (
        "batch/featurize-0: Job featurize; loses emptyDir scratch",
        "ray/worker-0: Ray cluster train-7 (worker)",
    )
    await here.approve()
    done = await here.run()
    assert isinstance(done.ending, Resolved), done.ending
    assert [type(step.outcome) for step in done.steps] == [StepVerified] * 3
    assert sorted(here.cluster.evicted) == ["batch/featurize-0", "ray/worker-0"]
    assert here.cluster.patched == [f"{NAME} unschedulable=True", f"{NAME} unschedulable=None"]
    assert here.machine.boot == 1
    commands = [command for step in proposal.plan.steps for command in step.commands]
    changes = here.calls("PATCH") + here.calls("POST")
    assert (changes[0], changes[1]) == (CORDON, UNCORDON)
    assert all(any(is_as_approved(call, command) for command in commands) for call in changes)
    assert done.validation_ends_at is not None
    assert (done.validation_ends_at - done.steps[1].started_at).total_seconds() >= 45 + 120, "Ready, then watched"
    assert done.steps[2].started_at >= done.validation_ends_at, "nobody works there before the cure has held"


@pytest.mark.parametrize("is_late", [False, True], ids=["before the yes", "after it"])
@pytest.mark.parametrize(
    ("since", "ends"),
    [
        (worker("worker-1"), "Resolved"),
        (DemoPod("research", "notebook", NAME), "not shown"),
        (replace(JOB, name="featurize-1"), "not shown"),
    ],
    ids=["whole", "bare", "with data"],
)
async def test_pod_that_came_since_the_offer_is_not_lost_unseen(
    here: DrainStage, since: DemoPod, ends: str, is_late: bool
) -> None:
    here.draining = replace(here.draining, bare_pods=True)
    await here.proposed(worker(), replace(JOB))
    here.world.now += timedelta(minutes=9)
    with pytest.raises(StateChanged) if ends != "Resolved" and not is_late else contextlib.nullcontext():
        if is_late:
            await here.approve()
        here.cluster.pods.append(replace(since))
        if not is_late:
            await here.approve()
    done = await here.told() if (await here.told()).ended else await here.run()
    assert ends in repr(done.ending)
    assert (f"{since.namespace}/{since.name}" in here.cluster.evicted) is (ends == "Resolved")


async def test_budget_that_says_not_now_is_asked_again_until_it_lets_go(here: DrainStage) -> None:
    await here.approved(worker(budgets=(Budget("ray", refuses=3),)))
    waits: list[str] = []
    while not here.machine.boot:
        again = known(await here.program.advance("one"))
        assert again.after <= SILENT, "or another runner takes it for dead"
        waits.append(again.because)
        here.world.now += again.after
    assert len(here.calls("POST")) == 4
    assert any("429 Cannot evict pod as it would violate" in one for one in waits)
    assert (await here.kinds()).count("StepStarted") == 2
    assert isinstance((await here.run()).ending, Resolved)


@pytest.mark.parametrize("budgets", [(Budget("never", None),), (Budget("a"), Budget("b"))], ids=["429", "500"])
async def test_pod_that_does_not_go_by_the_deadline_is_handed_to_a_person(
    here: DrainStage, budgets: tuple[Budget, ...]
) -> None:
    await here.approved(worker(budgets=budgets), worker("worker-1"))
    done = await here.run()
    assert isinstance(done.ending, Escalated)
    failed = known_as(done.steps[0].outcome, StepFailed)
    assert "ray/worker-0: " in failed.because
    assert failed.because.endswith(f"{NAME} stays cordoned: kubectl uncordon {NAME}")
    assert "Not done: reboot, uncordon." in done.ending.try_next
    assert timedelta(minutes=4) <= here.now - done.steps[0].started_at < timedelta(minutes=5)
    assert here.machine.boot == 0
    assert here.cluster.evicted == ["ray/worker-1"], "nothing is ever deleted"


async def test_pod_that_came_in_the_drain_and_is_not_lost_unseen_is_named(here: DrainStage) -> None:
    await here.approved(worker(grace=60.0))
    await here.run(until=lambda one: bool(here.calls("POST /api/v1/namespaces")))
    here.cluster.pods.append(replace(JOB))
    done = await here.run()
    assert "batch/featurize-0" not in here.cluster.evicted
    assert "batch/featurize-0: Job featurize; loses emptyDir scratch: it came since" in done.ending.because  # type: ignore[union-attr]


async def test_pod_that_comes_back_keeps_the_node_from_its_reboot(here: DrainStage) -> None:
    await here.approved(worker(comes_back=True))
    assert isinstance((await here.run()).ending, Escalated)
    assert here.machine.boot == 0


async def test_node_that_was_cordoned_before_is_left_cordoned(here: DrainStage) -> None:
    proposal = known_as(await here.proposed(worker(), cordoned=True), PlanProposed)
    assert proposal.affects[0] == f"{NAME} is cordoned already: it is left so afterwards"
    await here.approve()
    done = await here.run()
    assert isinstance(done.ending, Resolved), done.ending
    assert (here.cluster.patched, here.cluster.nodes[NAME].unschedulable) == ([], True)
    assert here.cluster.evicted == ["ray/worker-0"]


async def test_empty_node_that_was_cordoned_before_needs_no_drain_and_stays_so(here: DrainStage) -> None:
    await here.approved(daemon(), cordoned=True)
    done = await here.run()
    assert isinstance(done.steps[0].outcome, StepSkipped)
    assert isinstance(done.ending, Resolved), done.ending
    assert here.cluster.patched == []


async def test_runner_that_dies_in_the_drain_is_followed_by_another_that_knows_who_cordoned(here: DrainStage) -> None:
    await here.approved(worker(budgets=(Budget("ray", refuses=5),)))
    await here.run(here.runner(), until=lambda _: len(here.calls("POST")) >= 2)
    second = here.runner()  # the first is never heard of again
    again = known(await second.advance("one"))
    assert "is working on it" in again.because
    done = await here.run(second)
    assert isinstance(done.ending, Resolved), done.ending
    assert done.steps[0].attempt == 2
    assert here.cluster.patched == [f"{NAME} unschedulable=True", f"{NAME} unschedulable=None"]
    assert here.cluster.evicted == ["ray/worker-0"]
    assert here.machine.boot == 1


@pytest.mark.parametrize("after", [1, 2, 3, 4, 5, 6, 9, 13, 18, 24])
async def test_program_that_dies_in_any_call_leaves_nothing_undone_and_nothing_done_twice(
    here: DrainStage, after: int
) -> None:
    pods = [worker(grace=6.0, budgets=(Budget("ray", refuses=2),)), worker("worker-1")]
    await here.approved(*pods)
    running = asyncio.ensure_future(here.run(here.runner()))
    so_far = len(here.server.calls)

    def dies(line: str) -> None:  # what was asked for is done, and nobody ever hears of it
        if len(here.server.calls) - so_far == after:
            running.cancel()

    here.server.on_call = dies
    with contextlib.suppress(asyncio.CancelledError):
        await running
    done = await here.run(here.runner())
    assert isinstance(done.ending, Resolved), done.ending
    assert sorted(here.cluster.evicted) == ["ray/worker-0", "ray/worker-1"]
    assert here.cluster.patched == [f"{NAME} unschedulable=True", f"{NAME} unschedulable=None"]
    assert here.machine.boot == 1


@pytest.mark.parametrize("how", ["gone", "down", "broken"])
async def test_api_that_goes_away_in_the_middle_is_waited_for(here: DrainStage, how: str) -> None:
    await here.approved(worker(budgets=(Budget("ray", refuses=1),)))
    await here.run(until=lambda _: len(here.calls("POST")) == 1)
    await away(here.server, how, True)
    for _ in range(4):
        again = known(await here.program.advance("one"))
        assert "The API of cluster prod" in again.because
        here.world.now += again.after
    await away(here.server, how, False)
    done = await here.run()
    assert isinstance(done.ending, Resolved), done.ending
    assert here.cluster.evicted == ["ray/worker-0"]


async def test_api_that_stays_away_becomes_a_question(here: DrainStage) -> None:
    await here.approved(worker(budgets=(Budget("ray", refuses=None),)))
    await here.run(until=lambda _: len(here.calls("POST")) == 1)
    await here.server.stop()
    parked = await here.run(until=lambda one: one.question is not None)
    assert f"It is not known whether “Drain {NAME}” took effect" in known(parked.question).question
    assert here.machine.boot == 0
    given_up = await here.run()  # nobody answers
    assert f"“Drain {NAME}” took effect, and nothing has taken it back" in known_as(given_up.ending, Escalated).try_next


async def away(server: ClusterServer, how: str, is_away: bool) -> None:
    if how == "gone":
        await (server.stop() if is_away else server.start())
    elif how == "down":
        server.down = is_away
    else:
        server.broken = is_away


async def test_node_that_somebody_else_rebooted_is_neither_drained_nor_uncordoned(here: DrainStage) -> None:
    await here.approved(worker())
    here.machine.boots()
    with_calls = len(here.calls("P"))
    done = await here.run()
    assert done.state == "cancelled"
    assert len(here.calls("P")) == with_calls


@pytest.mark.parametrize("seen_by", ["SSH", "its cluster"])
async def test_no_pod_of_another_boot_is_moved_in_the_middle_of_a_drain(here: DrainStage, seen_by: str) -> None:
    """The name in the cluster may be another machine's by now, which SSH does not see."""
    await here.approved(worker(budgets=(Budget("ray", refuses=3),)))
    await here.run(until=lambda _: bool(here.calls("POST")))
    if seen_by == "SSH":
        here.machine.boots()
    else:
        here.cluster.nodes[NAME].boot_id = lambda: "00000063-0000-4000-8000-000000000007"
    changes = here.calls("P")
    done = await here.run()
    assert (here.calls("P"), here.cluster.evicted) == (changes, [])
    assert isinstance(done.ending, Escalated), done.ending
    if seen_by == "SSH":
        assert "rebooted meanwhile" in done.ending.because
        assert f"{NAME} stays cordoned: kubectl uncordon {NAME}" in done.ending.because


@pytest.mark.parametrize("at", [1, 2], ids=["before the drain", "after the drain"])
async def test_node_whose_reboot_somebody_else_did_is_open_again_once_its_cure_has_held(
    here: DrainStage, at: int
) -> None:
    here.remedy = (Step("disable_unit", {"unit": "ecs.service"}), Step("reboot"))
    await here.approved(worker())
    await here.run(until=lambda one: len(one.steps) == at and one.steps[-1].outcome is not None)
    here.machine.boots()
    done = await here.run()
    assert isinstance(done.ending, Resolved), done.ending
    assert here.machine.boot == 1
    assert not here.cluster.nodes[NAME].unschedulable


@pytest.mark.parametrize("then", ["boots again", "falls sick"])
async def test_node_is_opened_only_on_a_look_of_just_now_in_the_boot_that_was_watched(
    here: DrainStage, then: str
) -> None:
    """The program may be away between the last look and the step that waited for it."""
    await here.approved(worker())
    await here.run(here.runner(), until=lambda one: one.cure_has_held)
    changes = here.calls("P")
    if then == "boots again":
        here.machine.boots()
    else:
        here.world.now += timedelta(minutes=10)
        here.cured = False
    done = await here.run(here.runner())
    assert here.calls("P") == changes
    assert isinstance(done.ending, Escalated), done.ending
    says = "The node was booted again" if then == "boots again" else "The cure does not hold"
    assert done.ending.because.startswith(says)
    assert f"{NAME} stays cordoned" in done.ending.try_next


async def test_node_whose_program_was_away_is_opened_once_it_was_seen_well_again(here: DrainStage) -> None:
    await here.approved(worker())
    watched = await here.run(here.runner(), until=lambda one: one.cure_has_held)
    here.world.now += timedelta(minutes=10)
    done = await here.run(here.runner())
    assert isinstance(done.ending, Resolved), done.ending
    assert len(done.samples) == len(watched.samples) + 1
    assert not here.cluster.nodes[NAME].unschedulable


@pytest.mark.parametrize("ready", [True, False])
async def test_plan_without_a_reboot_is_cured_only_where_its_cluster_finds_the_node_ready(
    here: DrainStage, ready: bool
) -> None:
    here.cluster.nodes[NAME].ready = lambda: ready
    here.remedy = (Step("disable_unit", {"unit": "ecs.service"}),)
    proposal = known_as(await here.proposed(worker(), cordoned=True), PlanProposed)
    assert [step.action for step in proposal.plan.steps] == ["disable_unit"]
    await here.approve()
    done = await here.run()
    assert isinstance(done.ending, Resolved if ready else Escalated), done.ending
    assert ready or "is not Ready in its cluster: NodeStatusUnknown" in done.ending.because  # type: ignore[union-attr]
    assert here.cluster.evicted == here.cluster.patched == []


# --- while the brake is on: what was evicted stays so, and nothing further is moved before it is released

PULL = BrakePulled("stop everything")
SAID = "Braked: terminal:bob pulled the brake at 09:0"


async def pull(here: DrainStage) -> None:
    await here.ledger.append(HOUSE, None, PULL, "terminal:bob")


async def release(here: DrainStage) -> None:
    await here.ledger.append(HOUSE, None, BrakeReleased("over"), "terminal:ann")


def pulled_at(here: DrainStage, verb: str) -> Callable[[str], None]:
    """What pulls the brake as the first such call arrives."""
    pulled: list[Entry] = []

    def pulls(line: str) -> None:
        if line.startswith(verb) and not pulled:
            pulled.append(here.ledger.append.now(HOUSE, None, PULL, "terminal:bob"))

    return pulls


async def began(here: DrainStage, posts: int, *pods: DemoPod) -> None:
    """Let a drain go on, with so many evictions sent."""
    await here.approved(*pods)
    await here.run(until=lambda _: len(here.calls("POST")) >= posts)


async def waits(here: DrainStage, rounds: int) -> list[str]:
    """What so many further rounds say that they wait for."""
    told = []
    for _ in range(rounds):
        again = known(await here.program.advance("one"))
        assert again.after <= SILENT, "or another runner takes it for dead"
        told.append(again.because)
        here.world.now += again.after
    return told


async def test_no_further_pod_is_evicted_before_the_brake_is_released(here: DrainStage) -> None:
    await began(here, 2, worker(budgets=(Budget("ray", refuses=2),)), worker("worker-1", grace=5.0))
    await pull(here)
    changes = here.calls("P")
    told = await waits(here, 6)
    assert here.calls("P") == changes
    assert all(words.startswith(SAID) for words in told), told
    await release(here)
    done = await here.run()
    assert isinstance(done.ending, Resolved), done.ending
    assert sorted(here.cluster.evicted) == ["ray/worker-0", "ray/worker-1"]
    assert done.steps[0].attempt == 1, "the same step went on"


async def test_drain_that_is_held_past_its_deadline_leaves_the_node_cordoned_and_says_why(here: DrainStage) -> None:
    await began(here, 1, worker(budgets=(Budget("ray", refuses=2),)))
    await pull(here)
    changes = here.calls("P")
    done = await here.run()
    assert isinstance(done.ending, Escalated)
    failed = known_as(done.steps[0].outcome, StepFailed)
    assert SAID in failed.because
    assert failed.because.endswith(f"{NAME} stays cordoned: kubectl uncordon {NAME}")
    assert "Not done: reboot, uncordon." in done.ending.try_next
    assert here.calls("P") == changes, "to let pods come again would be an effect, too"
    assert (here.machine.boot, here.cluster.evicted) == (0, [])


async def test_drain_lasts_no_longer_where_other_programs_go_on_with_it(here: DrainStage) -> None:
    await began(here, 1, worker(budgets=(Budget("never", None),)))
    started = (await here.told()).steps[0].started_at

    def since(minutes: int) -> Callable[[Incident], bool]:
        return lambda _: here.now >= started + timedelta(minutes=minutes)

    await here.run(until=since(2))
    await here.run(here.runner(), until=since(3))
    done = await here.run(here.runner())
    step = done.steps[0]
    assert isinstance(step.outcome, StepFailed)
    assert step.attempt > 1
    assert known(step.ended_at) - started < timedelta(minutes=5), "it was approved for four"


async def test_what_holds_up_a_plan_is_said_in_every_state_and_what_takes_its_time_holds_nothing_up(
    here: DrainStage,
) -> None:
    await here.approved()
    told = set[str]()
    while not (incident := await here.told()).cure_has_held:
        again = known(await here.program.advance("one"))
        told |= {again.because} if incident.step_under_way or incident.validation else set()
        here.world.now += again.after
    assert told == {""}, "it reboots, and is watched"
    await pull(here)
    assert SAID in (await waits(here, 1))[0]


async def test_brake_pulled_within_a_round_holds_back_the_rest_of_it(here: DrainStage) -> None:
    await here.approved(*(worker(f"worker-{number}") for number in range(60)))
    here.server.on_call = pulled_at(here, "POST")
    told = [words for words in await waits(here, 4) if SAID in words]
    assert told
    assert 0 < len(here.calls("POST")) <= 8, "those under way arrive, and no others"


async def test_brake_pulled_while_the_node_is_cordoned_evicts_nobody(here: DrainStage) -> None:
    await here.approved(worker())
    here.server.on_call = pulled_at(here, "PATCH")
    assert SAID in (await waits(here, 1))[0]
    assert (here.cluster.evicted, here.calls("POST")) == ([], [])


async def test_uncordon_whose_answer_was_lost_waits_for_the_brake_too(here: DrainStage) -> None:
    await here.approved(worker())

    def breaks(line: str) -> None:
        here.server.broken = line.startswith("PATCH") and "null" in line

    here.server.on_call = breaks
    await here.run(until=lambda one: len(one.steps) == 3)
    await pull(here)
    here.server.on_call, here.server.broken = lambda line: None, False
    here.cluster.nodes[NAME].unschedulable = True  # the call had no effect
    before = here.calls("P")
    told = await waits(here, 3)
    assert here.calls("P") == before
    assert any(SAID in words for words in told)
    await release(here)
    assert isinstance((await here.run()).ending, Resolved)
    assert here.now - (await here.told()).opened_at < timedelta(minutes=15)


async def test_brake_at_the_end_of_the_watch_keeps_the_node_cordoned_and_looked_at(here: DrainStage) -> None:
    await here.approved(worker())
    await here.run(until=lambda incident: incident.cure_has_held)
    await pull(here)
    before, looks = here.calls("P"), len((await here.told()).samples)
    told = await waits(here, 60)
    assert any(words.startswith(SAID) for words in told), told
    assert here.calls("P") == before
    assert len((await here.told()).samples) >= looks + 2, "what is opened later was looked at lately"
    await release(here)
    done = await here.run()
    assert isinstance(done.ending, Resolved), done.ending
    assert here.cluster.patched == [f"{NAME} unschedulable=True", f"{NAME} unschedulable=None"]


async def test_brake_that_is_never_released_leaves_the_node_cordoned_and_says_so(here: DrainStage) -> None:
    await here.approved(worker())
    await here.run(until=lambda incident: incident.cure_has_held)
    await pull(here)
    await waits(here, 3)
    here.world.now += timedelta(minutes=14)  # the bot stands still, and none of its looks goes on
    done = await here.run()
    assert isinstance(done.ending, Escalated)
    assert f"could begin is over. {SAID}" in done.ending.because
    assert done.ending.try_next == f"Not done: uncordon. {NAME} stays cordoned: kubectl uncordon {NAME}"
    assert here.now - (await here.told()).opened_at < timedelta(minutes=30)
    raised, (reply,) = unfixed_alert(done), replies(done)
    told = known(raised).summary, str(reply.message.text), incident_view(done, ViewContext()).short
    assert all("cured, but not given back" in words for words in told), told


# --- what keeps a node from being drained: pods, labels, rights and clusters, each refused by its name

BARE = DemoPod("default", "debug", NAME)


async def test_pod_that_nothing_would_start_again_refuses_the_drain(here: DrainStage) -> None:
    withheld = known_as(await here.proposed(worker(), replace(BARE)), PlanWithheld)
    assert withheld.because.startswith("CannotDrain: No controller would start these pods")
    assert "default/debug" in withheld.because


async def test_pod_that_nothing_would_start_again_refuses_the_drain_after_the_proposal(here: DrainStage) -> None:
    await here.proposed(worker())
    here.cluster.pods.append(replace(BARE))
    with pytest.raises(CannotDrain):
        await here.approve()
    here.cluster.pods.pop()
    await here.approve()
    here.cluster.pods.append(replace(BARE))
    again = known(await here.runner().advance("one"))
    assert again.because.startswith("CannotDrain: ")
    assert here.cluster.patched == []


async def test_bare_pods_go_too_where_that_is_configured_and_stands_in_the_plan(here: DrainStage) -> None:
    here.draining = replace(here.draining, bare_pods=True)
    proposal = known_as(await here.proposed(replace(BARE)), PlanProposed)
    assert "also what no controller starts again" in proposal.plan.steps[0].commands[1]
    assert proposal.affects == ("default/debug: no controller would start it again",)
    await here.approve()
    assert isinstance((await here.run()).ending, Resolved)
    assert here.cluster.evicted == ["default/debug"]


async def test_label_that_names_another_machine_drains_nobody(here: DrainStage) -> None:
    here.cluster.nodes[NAME].boot_id = lambda: "99999999-0000-4000-8000-000000000007"
    withheld = known_as(await here.proposed(worker()), PlanWithheld)
    assert "kubernetes_node names another machine" in withheld.because


async def test_missing_right_is_found_at_the_click(here: DrainStage) -> None:
    await here.proposed(worker())
    here.cluster.rights -= {("create", "pods/eviction")}
    with pytest.raises(MissingRight, match="pods/eviction"):
        await here.approve()


async def test_missing_right_is_found_before_anybody_is_asked(here: DrainStage) -> None:
    here.cluster.rights -= {("create", "pods/eviction"), ("patch", "nodes")}
    withheld = known_as(await here.proposed(worker()), PlanWithheld)
    assert withheld.lacking == (
        'ClusterRole: - {apiGroups: [""], resources: ["nodes"], verbs: ["patch"]}',
        'ClusterRole: - {apiGroups: [""], resources: ["pods/eviction"], verbs: ["create"]}',
    )


async def test_right_that_is_taken_away_in_the_middle_fails_the_step_at_once(here: DrainStage) -> None:
    await here.approved(worker())
    here.cluster.rights -= {("patch", "nodes")}
    done = await here.run()
    failed = known_as(done.steps[0].outcome, StepFailed)
    assert 'cannot patch resource "nodes"' in failed.because
    assert here.cluster.evicted == [], "nothing is moved while new pods may come"


async def test_node_whose_drain_failed_at_a_call_is_told_to_stay_cordoned(here: DrainStage) -> None:
    await here.approved(worker(budgets=(Budget("ray", refuses=None),)))
    begun = await here.run(until=lambda _: bool(here.calls("POST")))
    drain = known(begun.proposal).plan.steps[0]
    facts = (await here.reach().look(here.node, (drain,))).facts[0]
    seen = (as_evidence(ACTIONS["drain"], drain, facts),)
    failed = StepFailed(1, "its command failed: POST …: 401 Unauthorized", seen)
    await here.ledger.append("one", begun.seq, failed, BOT)
    done = await here.run()
    assert f"{NAME} stays cordoned: kubectl uncordon {NAME}" in known_as(done.ending, Escalated).try_next


async def test_cluster_that_is_not_known_any_more_is_refused_by_name_and_never_guessed(here: DrainStage) -> None:
    assert isinstance(await here.proposed(worker()), PlanProposed)
    here.kubeconfig.write_text(here.server.kubeconfig("another"))
    with pytest.raises(UnknownCluster, match="it has another"):
        await here.approve()


async def test_cluster_that_is_not_known_is_asked_for_nothing(here: DrainStage) -> None:
    here.node = Node("n1", "10.0.0.7", 22, labels={**LABELS, "kubernetes_context": "staging"})
    withheld = known_as(await here.proposed(worker()), PlanWithheld)
    assert withheld.because.startswith("UnknownCluster: ")
    assert "no context 'staging'; it has prod" in withheld.because
    assert here.server.calls == []


@pytest.mark.parametrize("name", ["n1/../../namespaces/x", "N1", "n1?dryRun=All"])
async def test_label_that_can_be_no_nodes_name_is_no_part_of_a_plan(here: DrainStage, name: str) -> None:
    """Labels of an inventory may come from tags, which many may write."""
    here.node = replace(here.node, labels={"kubernetes_node": name})
    plan = known(here.verdict().plan)
    assert [step.action for step in plan.steps] == ["reboot"]
    assert plan.notes[0].startswith(f"{name} is not drained: that cannot be a node's name in Kubernetes.")


@pytest.mark.parametrize(
    ("draining", "says"),
    [
        (DrainSettings(), "no Kubernetes cluster is configured"),
        (DrainSettings("the extra k8s is not installed", "prod"), "the extra k8s is not installed"),
        (DrainSettings(""), "no label kubernetes_context names its cluster"),
    ],
)
async def test_without_a_cluster_the_plan_has_no_drain_and_says_so(
    here: DrainStage, draining: DrainSettings, says: str
) -> None:
    here.draining = draining
    plan = known(here.verdict().plan)
    assert [step.action for step in plan.steps] == ["reboot"]
    assert plan.notes[:-2] == (f"{NAME} is not drained: {says}. Its pods are cut off by the reboot.",)
    assert plan.notes[-2].startswith("Not read before the reboot: ")
    here.node = replace(here.node, labels={})
    bare = known(here.verdict().plan)
    assert (bare.notes, bare.digest) == (plan.notes[-2:], plan.digest)
