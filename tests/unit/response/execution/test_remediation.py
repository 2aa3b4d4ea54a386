"""Carrying a plan out, without faults by chance: what is done in which order, and what stops it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType

import pytest

from bot.domain.action import Plan
from bot.domain.batch import Batch
from bot.domain.command import Completed
from bot.domain.contracts import AdvanceLater
from bot.domain.entry import WAVES
from bot.domain.errors import MissingFile, UnknownPlaybook, ZombieError
from bot.domain.events import Approved, Cancelled, Escalated, QuestionAsked, Resolved, StepFailed, StepSkipped
from bot.domain.fold import fold
from bot.domain.house_events import HOUSE, BrakePulled
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.policy import Policy
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, RuledOut, Status, Undecided, Verdict
from bot.ledger import Ledger, audit
from bot.probes.cgroups import CgroupsReading
from bot.probes.host import HostReading
from bot.response.incident_record import facts_before
from bot.view.context import NOTHING
from bot.view.view import incident_view
from bot.view.words import plain
from tests.record.ledgers import ledger_in
from tests.schedules.parts import CountingNode, Wire
from tests.schedules.stage import HEALTHY, POLICY, Stage
from tests.schedules.world import World


@pytest.fixture
def ledger_and_world(tmp_path: Path) -> Iterator[tuple[Ledger, World]]:
    with ledger_in(tmp_path) as database:
        world = World(7, deadly=0)
        yield Ledger(database, lambda: world.now), world
        assert audit(database).broken == ()


def staged(
    parts: tuple[Ledger, World],
    ending: str = "cured",
    policy: Policy = POLICY,
    figures: Mapping[str, str] = MappingProxyType({}),
) -> Stage:
    ledger, world = parts
    stage = Stage.set(world, ledger, {"n1": ending}, policy, breaks=0)
    stage.figures = dict(figures)
    stage.propose("one", "n1")
    proposal = state(stage).proposal
    assert proposal is not None
    ledger.append.now("one", 3, Approved(proposal.digest, "it leaks"), "terminal:ann")
    return stage


def state(stage: Stage) -> Incident:
    return fold(stage.ledger.read.now("one"))


def run(stage: Stage, runners: int = 1) -> Incident:
    for number in range(runners):
        stage.run_by("one", f"r{number}")
    stage.world.run()
    return state(stage)


def kinds(stage: Stage) -> list[str]:
    return [entry.kind for entry in stage.ledger.read.now("one")][4:]


def test_each_step_is_proved_before_the_next_begins(ledger_and_world: tuple[Ledger, World]) -> None:
    stage = staged(ledger_and_world)
    done = run(stage)
    assert kinds(stage)[:5] == ["StepStarted", "StepVerified", "StepStarted", "StepVerified", "ValidationStarted"]
    assert isinstance(done.ending, Resolved)
    assert done.steps[0].ended_at is not None
    assert done.steps[0].ended_at - done.steps[0].started_at >= timedelta(seconds=15), "two looks, 1.5 × RestartSec"
    assert list(stage.nodes["n1"].reboots.values()) == [1]


def test_two_runners_do_no_more_than_one(ledger_and_world: tuple[Ledger, World]) -> None:
    stage = staged(ledger_and_world)
    assert run(stage, runners=3).state == "resolved"
    assert kinds(stage).count("StepStarted") == 2
    assert stage.nodes["n1"].asked == 1


class SlowStop(Wire):
    """A wire behind which the unit stops a minute after its command came through its fence."""

    sent = 0

    async def read(
        self, node: Node, batch: Batch, deadline: timedelta, host_key: str | None = None
    ) -> AsyncGenerator[Completed, None]:
        (asked, *_) = batch.questions
        if "disable --now" not in asked.command.argv[-1]:
            async for run in super().read(node, batch, deadline, host_key):
                yield run
            return
        self.sent += 1
        line, says, status = self.nodes[node.name].through(asked.command.argv[-1])
        await self.world.sleep(60)
        status = status or self.nodes[node.name].change(line)
        yield Completed(asked.probe, asked.command.name, asked.look, "", says, status)


def test_command_that_is_at_work_in_one_program_is_not_sent_by_another(
    ledger_and_world: tuple[Ledger, World],
) -> None:
    stage = staged(ledger_and_world)
    stage.wire = wire = SlowStop(stage.world, stage.nodes, 0.0)
    assert run(stage, runners=2).state == "resolved"
    assert wire.sent == 1


@pytest.mark.parametrize("ending", ["swallowed", "gone"])
def test_reboot_that_does_not_show_is_handed_over_and_sent_once(
    ledger_and_world: tuple[Ledger, World], ending: str
) -> None:
    stage = staged(ledger_and_world, ending)
    done = run(stage)
    assert isinstance(done.steps[-1].outcome, StepFailed)
    assert isinstance(done.ending, Escalated)
    assert done.ending.try_next
    assert stage.nodes["n1"].asked == 1


@pytest.mark.parametrize("ending", ["other-key", "other-machine"])
def test_another_machine_is_a_question_and_hears_nothing_more(
    ledger_and_world: tuple[Ledger, World], ending: str
) -> None:
    stage = staged(ledger_and_world, ending)
    done = run(stage)
    assert "QuestionAsked" in kinds(stage)
    assert isinstance(stage.ledger.read.now("one")[-2].event, QuestionAsked)
    assert done.state == "escalated", "nobody answered"
    assert stage.nodes["n1"].done_as_stranger == 0


ELSE = Verdict("n1", Status.CRITICAL, "io-stall", Confidence.CONFIRMED, "nvme1n1 stalls")
LEAKS = replace(ELSE, cause="leaked-memory-cgroups", summary="900 dying")
OPEN = Undecided("leaked-memory-cgroups", "cgroups was not read (sudo refused)")


@pytest.mark.parametrize(
    ("verdict", "says"),
    [
        (
            ELSE,
            "leaked-memory-cgroups is not ruled out: nvme1n1 stalls",
        ),  # it is there behind it, or was muted meanwhile
        (replace(ELSE, undecided=(OPEN,)), "leaked-memory-cgroups cannot be judged"),
        (Verdict("n1", Status.HEALTHY, None, None, "Healthy", undecided=(OPEN,)), "leaked-memory-cgroups cannot be"),
        (
            Verdict("n1", Status.HEALTHY, None, None, "Healthy"),
            "leaked-memory-cgroups is not ruled out: nothing judges",
        ),
        (replace(ELSE, ruled_out=(RuledOut("leaked-memory-cgroups", "12 dying cgroups"),)), ""),
        (LEAKS, "leaked-memory-cgroups is still there: 900 dying"),
        (replace(LEAKS, confidence=Confidence.POSSIBLE), "leaked-memory-cgroups is not ruled out: 900 dying"),
        # a symptom without a cause names the verdict, with the muted cause behind it
        (Verdict("n1", Status.DEGRADED, None, None, "it swaps"), "leaked-memory-cgroups is not ruled out: it swaps"),
        # a GPU that is gone from the bus after the reboot is not mended
        (
            Verdict("n1", Status.HEALTHY, None, None, "Healthy", ruled_out=(RuledOut(OPEN.cause, "none here", False),)),
            "leaked-memory-cgroups cannot be judged any more: none here",
        ),
    ],
    ids=[
        "another",
        "open behind another",
        "open",
        "left out of the playbook",
        "ruled out",
        "there",
        "possible",
        "behind a symptom",
        "gone",
    ],
)
def test_cause_that_is_not_ruled_out_is_not_cured(
    ledger_and_world: tuple[Ledger, World], monkeypatch: pytest.MonkeyPatch, verdict: Verdict, says: str
) -> None:
    stage = staged(ledger_and_world)
    monkeypatch.setattr(stage, "verdict", lambda name: verdict)
    done = run(stage)
    assert done.state == ("escalated" if says else "resolved")
    assert says in getattr(done.ending, "because", "")
    if not says:  # it has another fault, and nobody takes it for well
        view = incident_view(done, NOTHING)
        assert done.is_unfixed
        assert all("at the end critical io-stall" in words for words in (view.headline, view.short))
        assert "nvme1n1 stalls. Nothing was done for that" in plain(view.story)


@pytest.mark.parametrize(
    "beside",
    [
        replace(ELSE, status=Status.DEGRADED, confidence=Confidence.POSSIBLE),
        replace(ELSE, cause=None),
        replace(ELSE, cause="disk-full"),
    ],
    ids=["only possible", "a symptom", "approved with the plan"],
)
def test_what_is_unsure_unnamed_or_was_approved_with_the_plan_is_no_news(
    ledger_and_world: tuple[Ledger, World], monkeypatch: pytest.MonkeyPatch, beside: Verdict
) -> None:
    stage = staged(ledger_and_world)
    ruled_out = (RuledOut("leaked-memory-cgroups", "12 dying cgroups"),)
    monkeypatch.setattr(stage, "verdict", lambda name: replace(beside, ruled_out=ruled_out))
    done = run(stage)
    assert (done.state, done.beside, done.is_unfixed) == ("resolved", "", False)


@pytest.mark.parametrize("lost", [UnknownPlaybook("There is no playbook 'gpu'."), MissingFile("There is no key.")])
def test_node_that_can_no_longer_be_judged_is_not_held_for_ever(
    ledger_and_world: tuple[Ledger, World], monkeypatch: pytest.MonkeyPatch, lost: ZombieError
) -> None:
    def verdict(name: str) -> Verdict:
        raise lost

    stage = staged(ledger_and_world)
    monkeypatch.setattr(stage, "verdict", verdict)
    done = run(stage)
    assert f"It is not known whether the cure holds: {lost.sentence}" in getattr(done.ending, "because", "")
    assert "check the node again" in getattr(done.ending, "try_next", "")
    assert stage.ledger.current_hold.now("n1") is None


class LosesKey(Wire):
    """A wire that has no key any more once the first command was sent."""

    async def read(
        self, node: Node, batch: Batch, deadline: timedelta, host_key: str | None = None
    ) -> AsyncGenerator[Completed, None]:
        if self.nodes[node.name].stopped:
            raise MissingFile("There is no key.")
        async for run in super().read(node, batch, deadline, host_key):
            yield run


def test_step_whose_proof_cannot_be_read_without_a_key_is_a_question(
    ledger_and_world: tuple[Ledger, World],
) -> None:
    stage = staged(ledger_and_world)
    stage.wire = LosesKey(stage.world, stage.nodes, 0.0)
    assert "took effect: There is no key." in getattr(run(stage).ending, "because", "")
    assert stage.ledger.current_hold.now("n1") is None


@pytest.mark.parametrize(
    ("cause", "confidence", "counted", "says"),
    [
        (OPEN.cause, Confidence.CONFIRMED, True, ""),
        (OPEN.cause, Confidence.POSSIBLE, True, ""),
        (OPEN.cause, Confidence.CONFIRMED, False, f"It is not known whether the cure holds: {OPEN.cause}"),
        ("crash-looping-unit", Confidence.CONFIRMED, True, "does not hold: crash-looping-unit is still there"),
        ("crash-looping-unit", Confidence.POSSIBLE, True, "It is not known whether the cure holds: crash-looping-unit"),
    ],
    ids=["what it left", "possibly what it left", "not counted again", "another unit loops", "perhaps"],
)
def test_without_a_reboot_only_what_a_leak_has_left_may_still_be_there(
    ledger_and_world: tuple[Ledger, World],
    monkeypatch: pytest.MonkeyPatch,
    cause: str,
    confidence: Confidence,
    counted: bool,
    says: str,
) -> None:
    """No plan is offered for it any more: the unit is off, or it was muted meanwhile."""
    real = Stage.verdict

    def verdict(stage: Stage, name: str) -> Verdict:
        if stage.nodes[name].active:
            return replace(real(stage, name), cause=cause)
        return Verdict(
            name, Status.DEGRADED, cause, confidence, "900 dying", snapshot=leaked(stage, 900 if counted else None)
        )

    monkeypatch.setattr(Stage, "verdict", verdict)
    monkeypatch.setattr(Stage, "plan", only_first(Stage.plan))
    done = run(staged(ledger_and_world))
    assert done.state == ("escalated" if says else "resolved")
    assert says in getattr(done.ending, "because", "")


@pytest.mark.parametrize("reboots", [True, False])
@pytest.mark.parametrize(("each", "goes_on"), [(14.2, True), (25.0, True), (60.0, False)])
def test_leak_that_goes_on_about_as_before_is_not_cured_however_few_there_are_yet(
    ledger_and_world: tuple[Ledger, World],
    monkeypatch: pytest.MonkeyPatch,
    reboots: bool,
    each: float,
    goes_on: bool,
) -> None:
    """One came each 14.2 s before. A few come without a leak, also while a look is made."""
    done = watched(ledger_and_world, monkeypatch, reboots, lambda uptime: uptime // each)
    assert done.state == ("escalated" if goes_on else "resolved")
    because = getattr(done.ending, "because", "")
    assert not goes_on or "more dying memory cgroups in " in because
    assert not goes_on or ("It is not known" if reboots else "is still there") in because, "it may be the start"


@pytest.mark.parametrize(("begins_within", "cured"), [(240.0, True), (7200.0, False)])
def test_cgroups_that_a_node_leaves_as_it_starts_are_no_leak(
    ledger_and_world: tuple[Ledger, World], monkeypatch: pytest.MonkeyPatch, begins_within: float, cured: bool
) -> None:
    """Each unit and container that begins leaves some, as many in four minutes as a leak in an hour."""
    done = watched(ledger_and_world, monkeypatch, True, lambda uptime: min(uptime, begins_within) // 3)
    assert done.state == ("resolved" if cured else "escalated")
    assert cured or "the node started" in getattr(done.ending, "because", "")


def watched(
    parts: tuple[Ledger, World], monkeypatch: pytest.MonkeyPatch, reboots: bool, dying: Callable[[float], float]
) -> Incident:
    """Carry out a plan on a node that leaked each 14.2 s, and watch it for ten minutes; `dying` counts by uptime."""
    real = Stage.verdict

    def verdict(stage: Stage, name: str) -> Verdict:
        if stage.nodes[name].active:
            return real(stage, name)
        uptime = stage.nodes[name].uptime
        read = leaked(stage, int(dying(uptime)), int(dying(uptime + 5)))
        ruled_out = replace(HEALTHY, snapshot=read)
        return ruled_out if reboots else replace(LEAKS, node=name, snapshot=read)

    monkeypatch.setattr(Stage, "verdict", verdict)
    monkeypatch.setattr(Stage, "plan", Stage.plan if reboots else only_first(Stage.plan))
    before = {"dying memory cgroups": "68,440", "uptime": "972000 s"}
    return run(staged(parts, policy=replace(POLICY, validation=timedelta(minutes=10)), figures=before))


def only_first(plan: Callable[..., Plan]) -> Callable[..., Plan]:
    return lambda *args: replace(whole := plan(*args), steps=whole.steps[:1])


def leaked(stage: Stage, first: int | None, later: int | None = None) -> Snapshot:
    """What was read of a node that no longer leaks, or goes on; None: not counted."""
    node = stage.nodes["n1"]
    host = HostReading("5.4.0", node.boot_id, timedelta(seconds=node.uptime))
    counted = Unread("cgroups", "refused") if first is None else CgroupsReading("v2", first, 19, "nr_dying", later)
    return Snapshot("n1", stage.world.now, timedelta(seconds=5), {"cgroups": counted, "host": host})


def test_somebody_elses_reboot_before_anything_is_done_calls_it_off(ledger_and_world: tuple[Ledger, World]) -> None:
    stage = staged(ledger_and_world)
    stage.nodes["n1"].boot = 1
    done = run(stage)
    assert isinstance(done.ending, Cancelled)
    assert done.ending.differences[0].startswith("boot_id: ")


def test_somebody_elses_reboot_between_the_steps_takes_the_place_of_ours(
    ledger_and_world: tuple[Ledger, World],
) -> None:
    stage = staged(ledger_and_world)
    node = stage.nodes["n1"]

    def once_disabled() -> None:
        assert not node.enabled
        node.reboot(by_us=False)

    stage.world.due.append((stage.world.now + timedelta(seconds=5), once_disabled))
    done = run(stage)
    assert isinstance(done.steps[1].outcome, StepSkipped)
    assert done.state == "resolved"
    assert "was rebooted" in done.ending.summary if isinstance(done.ending, Resolved) else False
    assert not node.reboots


def test_unit_that_is_off_already_is_skipped(ledger_and_world: tuple[Ledger, World]) -> None:
    stage = staged(ledger_and_world)
    stage.nodes["n1"].enabled = stage.nodes["n1"].active = False
    done = run(stage)
    assert isinstance(done.steps[0].outcome, StepSkipped)
    assert done.state == "resolved"


def test_braked_it_waits_and_expires_where_nobody_releases_it(ledger_and_world: tuple[Ledger, World]) -> None:
    stage = staged(ledger_and_world)
    stage.ledger.append.now(HOUSE, None, BrakePulled("a rollout"), "terminal:ann")
    assert run(stage).state == "expired"
    assert kinds(stage) == ["Expired"]


def test_plan_that_nobody_decided_on_gives_no_reason_that_would_outlive_the_decision(
    ledger_and_world: tuple[Ledger, World],
) -> None:
    ledger, world = ledger_and_world
    stage = Stage.set(world, ledger, {"n1": "cured"}, POLICY, breaks=0)
    stage.propose("one", "n1")
    seen: list[AdvanceLater | None] = []

    async def look() -> None:
        seen.append(await stage.remediation().advance("one"))

    world.start("look", look)
    world.run()
    (again,) = seen
    assert again is not None
    assert (again.after > timedelta(0), again.because) == (True, "")


def test_other_rules_than_were_approved_call_it_off(ledger_and_world: tuple[Ledger, World]) -> None:
    stage = staged(ledger_and_world)
    stage.policy = replace(POLICY, reboot_deadline=timedelta(hours=1))
    assert run(stage).state == "cancelled"


def test_what_was_before_stands_on_record_for_undoing_it(ledger_and_world: tuple[Ledger, World]) -> None:
    stage = staged(ledger_and_world)
    done = run(stage)
    assert done.proposal is not None
    step = done.proposal.plan.steps[0]
    action = stage.remediation().stepping.reach.actions[step.action]
    (back,) = action.inverse(step.args, facts_before(done.steps[0], {}))
    assert back.commands == (
        "sudo -n systemctl enable -- ecs.service",
        "sudo -n systemctl start -- ecs.service",
    )


def test_cure_ends_what_was_proposed_for_the_node_before_and_leaves_what_came_later(
    ledger_and_world: tuple[Ledger, World],
) -> None:
    """As a wave, or another card, cures the node: no card may go on asking for what is done."""
    stage = staged(ledger_and_world)
    stage.propose("card", "n1")
    stage.nodes["n2"] = CountingNode(stage.world, "n2", "cured")
    stage.propose("elsewhere", "n2")
    assert run(stage).state == "resolved"
    beside = fold(stage.ledger.read.now("card"))
    assert isinstance(beside.ending, Cancelled)
    assert "Incident one has cured n1 since this was read" in beside.ending.because
    assert fold(stage.ledger.read.now("elsewhere")).state == "proposed"


def test_what_did_not_cure_the_node_ends_nothing_beside_it(ledger_and_world: tuple[Ledger, World]) -> None:
    stage = staged(ledger_and_world, "swallowed")
    stage.propose("card", "n1")
    assert run(stage).state == "escalated"
    assert fold(stage.ledger.read.now("card")).state == "proposed"


@pytest.mark.parametrize(("wave", "watched"), [("", 1.0), ("wave-7k3m", 2.0)], ids=["alone", "in a wave"])
def test_watch_that_a_terminal_shortens_is_that_of_its_own_incident_and_never_of_a_wave(
    ledger_and_world: tuple[Ledger, World], wave: str, watched: float
) -> None:
    """The next nodes of a wave have their turn once this one held for as long as its yes says."""
    ledger, world = ledger_and_world
    ledger = Ledger(ledger.database, lambda: world.now, holders={WAVES: lambda *_: None})
    stage = Stage.set(world, ledger, {"n1": "cured"}, POLICY, breaks=0)
    stage.propose("one", "n1", wave)
    proposal = state(stage).proposal
    assert proposal is not None
    ledger.append.now("one", 3, Approved(proposal.digest, "it leaks"), "terminal:ann")
    made = stage.remediation
    stage.remediation = lambda: replace(made(), validation=timedelta(seconds=1))  # type: ignore[method-assign]
    watch = run(stage).validation
    assert watch is not None
    assert watch.window == timedelta(seconds=watched)
