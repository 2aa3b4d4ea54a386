"""Carrying a plan out, without faults by chance: what is done in which order, and what stops it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain.action import Plan
from bot.domain.batch import Batch
from bot.domain.command import Completed
from bot.domain.entry import WAVES
from bot.domain.errors import MissingFile, UnknownPlaybook, ZombieError
from bot.domain.events import Cancelled, Escalated, Resolved, StepFailed, StepSkipped
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, RuledOut, Status, Undecided, Verdict
from bot.ledger import Ledger, audit
from bot.probes.cgroups import CgroupsReading
from bot.probes.host import HostReading
from bot.response.incident_record import facts_before
from bot.view.context import NOTHING
from bot.view.view import incident_view
from bot.view.words import plain
from tests.known import known, known_as
from tests.schedules.parts import CountingNode, Wire
from tests.schedules.stage import HEALTHY, POLICY, Stage
from tests.unit.response.requesting import approve, do, incident, kinds, pull, run


@pytest.fixture
def stage(stage: Stage) -> Iterator[Stage]:
    """Its incident is approved; what the record says in the end is whole."""
    approve(stage)
    yield stage
    assert audit(stage.ledger.database).broken == ()


def anew(stage: Stage, wave: str = "") -> Incident:
    """Propose and approve it as the stage is by now, and carry it out."""
    stage.propose("two", "n1", wave)
    approve(stage, "two")
    return run(stage, "two")


def test_each_step_is_proved_before_the_next_begins(stage: Stage) -> None:
    done = run(stage)
    assert kinds(stage)[4:9] == ["StepStarted", "StepVerified", "StepStarted", "StepVerified", "ValidationStarted"]
    assert isinstance(done.ending, Resolved)
    assert done.steps[0].ended_at is not None
    assert done.steps[0].ended_at - done.steps[0].started_at >= timedelta(seconds=15), "two looks, 1.5 × RestartSec"
    assert list(stage.nodes["n1"].reboots.values()) == [1]


class SlowStop(Wire):
    """A wire behind which the unit stops a minute after its command came through its fence."""

    sent = 0

    async def read(
        self, node: Node, batch: Batch, deadline: timedelta, host_key: str | None = None
    ) -> AsyncGenerator[Completed, None]:
        (asked, *_) = batch.questions
        if "disable --now" not in asked.command.argv[-1]:
            async for ran in super().read(node, batch, deadline, host_key):
                yield ran
            return
        self.sent += 1
        line, says, status = self.nodes[node.name].through(asked.command.argv[-1])
        await self.world.sleep(60)
        status = status or self.nodes[node.name].change(line)
        yield Completed(asked.probe, asked.command.name, asked.look, "", says, status)


def test_command_that_is_at_work_in_one_program_is_not_sent_by_another(stage: Stage) -> None:
    stage.wire = wire = SlowStop(stage.world, stage.nodes, 0.0)
    assert run(stage, runners=3).state == "resolved"
    assert wire.sent == 1
    assert kinds(stage).count("StepStarted") == 2
    assert stage.nodes["n1"].asked == 1


@pytest.mark.parametrize("ending", ["swallowed", "gone"])
def test_reboot_that_does_not_show_is_handed_over_and_sent_once(stage: Stage, ending: str) -> None:
    stage.nodes["n1"].ending = ending
    done = run(stage)
    assert isinstance(done.steps[-1].outcome, StepFailed)
    assert known_as(done.ending, Escalated).try_next
    assert stage.nodes["n1"].asked == 1


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
    stage: Stage, monkeypatch: pytest.MonkeyPatch, verdict: Verdict, says: str
) -> None:
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
    stage: Stage, monkeypatch: pytest.MonkeyPatch, beside: Verdict
) -> None:
    ruled_out = (RuledOut("leaked-memory-cgroups", "12 dying cgroups"),)
    monkeypatch.setattr(stage, "verdict", lambda name: replace(beside, ruled_out=ruled_out))
    done = run(stage)
    assert (done.state, done.beside, done.is_unfixed) == ("resolved", "", False)


@pytest.mark.parametrize("lost", [UnknownPlaybook("There is no playbook 'gpu'."), MissingFile("There is no key.")])
def test_node_that_can_no_longer_be_judged_is_not_held_for_ever(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, lost: ZombieError
) -> None:
    def verdict(name: str) -> Verdict:
        raise lost

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
        async for ran in super().read(node, batch, deadline, host_key):
            yield ran


def test_step_whose_proof_cannot_be_read_without_a_key_is_a_question(stage: Stage) -> None:
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
    stage: Stage, monkeypatch: pytest.MonkeyPatch, cause: str, confidence: Confidence, counted: bool, says: str
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
    done = anew(stage)
    assert done.state == ("escalated" if says else "resolved")
    assert says in getattr(done.ending, "because", "")


@pytest.mark.parametrize("reboots", [True, False])
@pytest.mark.parametrize(("each", "goes_on"), [(25.0, True), (60.0, False)])
def test_leak_that_goes_on_about_as_before_is_not_cured_however_few_there_are_yet(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, reboots: bool, each: float, goes_on: bool
) -> None:
    """One came each 14.2 s before. A few come without a leak, also while a look is made."""
    done = watched(stage, monkeypatch, reboots, lambda uptime: uptime // each)
    assert done.state == ("escalated" if goes_on else "resolved")
    because = getattr(done.ending, "because", "")
    assert not goes_on or "more dying memory cgroups in " in because
    assert not goes_on or ("It is not known" if reboots else "is still there") in because, "it may be the start"


@pytest.mark.parametrize(("begins_within", "cured"), [(240.0, True), (7200.0, False)])
def test_cgroups_that_a_node_leaves_as_it_starts_are_no_leak(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, begins_within: float, cured: bool
) -> None:
    """Each unit and container that begins leaves some, as many in four minutes as a leak in an hour."""
    done = watched(stage, monkeypatch, True, lambda uptime: min(uptime, begins_within) // 3)
    assert done.state == ("resolved" if cured else "escalated")
    assert cured or "the node started" in getattr(done.ending, "because", "")


def watched(stage: Stage, monkeypatch: pytest.MonkeyPatch, reboots: bool, dying: Callable[[float], float]) -> Incident:
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
    stage.policy = replace(POLICY, validation=timedelta(minutes=10))
    stage.figures = {"dying memory cgroups": "68,440", "uptime": "972000 s"}
    return anew(stage)


def only_first(plan: Callable[..., Plan]) -> Callable[..., Plan]:
    return lambda *args: replace(whole := plan(*args), steps=whole.steps[:1])


def leaked(stage: Stage, first: int | None, later: int | None = None) -> Snapshot:
    """What was read of a node that no longer leaks, or goes on; None: not counted."""
    node = stage.nodes["n1"]
    host = HostReading("5.4.0", node.boot_id, timedelta(seconds=node.uptime))
    counted = Unread("cgroups", "refused") if first is None else CgroupsReading("v2", first, 19, "nr_dying", later)
    return Snapshot("n1", stage.world.now, timedelta(seconds=5), {"cgroups": counted, "host": host})


def test_somebody_elses_reboot_before_anything_is_done_calls_it_off(stage: Stage) -> None:
    stage.nodes["n1"].boot = 1
    done = run(stage)
    assert known_as(done.ending, Cancelled).differences[0].startswith("boot_id: ")


def test_somebody_elses_reboot_between_the_steps_takes_the_place_of_ours(stage: Stage) -> None:
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


def test_unit_that_is_off_already_is_skipped(stage: Stage) -> None:
    stage.nodes["n1"].enabled = stage.nodes["n1"].active = False
    done = run(stage)
    assert isinstance(done.steps[0].outcome, StepSkipped)
    assert done.state == "resolved"


def test_braked_it_waits_and_expires_where_nobody_releases_it(stage: Stage) -> None:
    pull(stage)
    assert run(stage).state == "expired"
    assert kinds(stage)[4:] == ["Expired"]


def test_plan_that_nobody_decided_on_gives_no_reason_that_would_outlive_the_decision(stage: Stage) -> None:
    stage.propose("two", "n1")
    again = known(do(stage, stage.remediation().advance("two")))
    assert (again.after > timedelta(0), again.because) == (True, "")


def test_what_was_before_stands_on_record_for_undoing_it(stage: Stage) -> None:
    done = run(stage)
    step = known(done.proposal).plan.steps[0]
    action = stage.remediation().stepping.reach.actions[step.action]
    (back,) = action.inverse(step.args, facts_before(done.steps[0], {}))
    assert back.commands == ("sudo -n systemctl enable -- ecs.service", "sudo -n systemctl start -- ecs.service")


def test_cure_ends_what_was_proposed_for_the_node_before_and_leaves_what_came_later(stage: Stage) -> None:
    """As a wave, or another card, cures the node: no card may go on asking for what is done."""
    stage.propose("card", "n1")
    stage.nodes["n2"] = CountingNode(stage.world, "n2", "cured")
    stage.propose("elsewhere", "n2")
    assert run(stage).state == "resolved"
    beside = incident(stage, "card")
    assert "Incident one has cured n1 since this was read" in known_as(beside.ending, Cancelled).because
    assert incident(stage, "elsewhere").state == "proposed"


def test_what_did_not_cure_the_node_ends_nothing_beside_it(stage: Stage) -> None:
    stage.nodes["n1"].ending = "swallowed"
    stage.propose("card", "n1")
    assert run(stage).state == "escalated"
    assert incident(stage, "card").state == "proposed"


@pytest.mark.parametrize(("wave", "watched"), [("", 1.0), ("wave-7k3m", 2.0)], ids=["alone", "in a wave"])
def test_watch_that_a_terminal_shortens_is_that_of_its_own_incident_and_never_of_a_wave(
    stage: Stage, wave: str, watched: float
) -> None:
    """The next nodes of a wave have their turn once this one held for as long as its yes says."""
    ledger = Ledger(stage.ledger.database, stage.world.clock, holders={WAVES: lambda *_: None})
    stage.recorder.store = stage.ledger = ledger
    made = stage.remediation
    stage.remediation = lambda: replace(made(), validation=timedelta(seconds=1))  # type: ignore[method-assign]
    watch = known(anew(stage, wave).validation)
    assert watch.window == timedelta(seconds=watched)
