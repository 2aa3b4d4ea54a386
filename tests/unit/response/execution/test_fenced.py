"""What a fence lets through, seen from the incident: nothing elsewhere, in another boot or late; and how it goes on."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.actions import ACTIONS
from bot.domain.action import Step
from bot.domain.batch import Batch
from bot.domain.command import Completed
from bot.domain.errors import ConnectionLost
from bot.domain.events import Escalated, QuestionAsked, Resolved, StepFailed, StepStarted
from bot.domain.fence import JOURNAL_WITHIN, SENT_WITHIN, Fence, parse_fenced
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.response.execution.node_access import NodeAccess, RefusedByFence
from bot.surfaces.incidents import entry_line
from bot.view.plan_words import PlanWords
from tests.known import known, known_as
from tests.nodes.at_rest import nothing_at_work
from tests.schedules.parts import KEY, CountingNode, Wire
from tests.schedules.stage import Stage
from tests.unit.response.requesting import ANN, BOB, approve, carried_on, do, incident

OTHERS = {"another key": ("SHA256:other", "s" * 32), "same key": (KEY, "s" * 32), "a copy": (KEY, "")}


class Lines(Wire):
    """A wire that notes the commands it carries, and whose acting connections do as the test says."""

    def __init__(self, wire: Wire) -> None:
        super().__init__(wire.world, wire.nodes, 0.0)
        self.lines: list[str] = []
        self.told: list[str] = []  # on the inputs of commands
        self.stranger: tuple[str, str] | None = None
        self.booted_first = False
        self.boots_before = ""  # somebody else reboots just before such a command
        self.late = 0  # so many commands take half a minute to arrive
        self.late_words = "none is"  # and each with these words two and a half
        self.mute = False  # the node does not say how long it is up

    def lands(self, node: Node, acts: bool) -> tuple[CountingNode, str]:
        there = self.nodes[node.name]
        if not acts or self.stranger is None:
            return there, KEY
        key, machine_id = self.stranger
        self.strangers.append(CountingNode(self.world, "n1x", "cured", copied_id=machine_id or there.machine_id))
        return self.strangers[-1], key

    async def read(
        self, node: Node, batch: Batch, deadline: timedelta, host_key: str | None = None
    ) -> AsyncGenerator[Completed, None]:
        sent = [
            argv[2]
            for argv in (asked.command.argv for asked in batch.questions)
            if argv[0] == "sh" and len(argv) == 3 and nothing_at_work(argv) is None
        ]
        self.lines += sent
        self.told += [asked.command.stdin for asked in batch.questions if asked.command.stdin]
        there = self.nodes[node.name]
        if any(self.boots_before and self.boots_before in line for line in sent):
            there.reboot(by_us=False)
            there.down_until = self.world.now
        if sent and self.booted_first:
            there.reboot(by_us=False)
            there.down_until = self.world.now
        if sent and (self.late or self.late_words in sent[0]):
            self.late = max(0, self.late - 1)
            self.world.now += timedelta(seconds=150 if self.late_words in sent[0] else 30)
        async for run in super().read(node, batch, deadline, host_key):
            yield replace(run, started_at_uptime=None) if self.mute else run


def lines(stage: Stage) -> Lines:
    stage.wire = Lines(stage.wire)
    return stage.wire


def advanced(stage: Stage, name: str = "one") -> Incident:
    """Carry it on to its end, or until it asks."""
    next((True for _ in carried_on(stage, name) if incident(stage, name).state == "unknown"), None)
    return incident(stage, name)


def test_reboot_of_somebody_else_just_before_ours_is_not_told_as_ours(stage: Stage) -> None:
    wire, node = lines(stage), stage.nodes["n1"]
    wire.boots_before = "systemctl reboot"
    approve(stage)
    done = advanced(stage)
    assert (node.asked, node.boot) == (0, 1), "its fence let nothing run"
    assert isinstance(done.ending, Resolved)
    said = "the node was booted otherwise, and the bot's own command was not run"
    assert done.ending.summary.endswith(f"({said}).")
    view = known(PlanWords(ACTIONS).of_incident(done))
    assert view.steps[1].sentence == f"Step 2, reboot: not needed: {said}."
    assert view.steps[1].done == "node rebooted (it was so already)"
    assert f"step 2: {said}" in "\n".join(map(entry_line, stage.ledger.read.now("one")))
    assert PlanWords(ACTIONS).ran(done) == "disable ecs.service"


def test_every_command_carries_machine_boot_and_a_deadline(stage: Stage) -> None:
    wire, node = lines(stage), stage.nodes["n1"]
    approve(stage)
    boot, up = node.boot_id, int(node.uptime)
    assert advanced(stage).state == "resolved"
    found = [parse_fenced(line) for line in wire.lines]
    assert len(found) == 2
    for told in found:
        assert told is not None
        fence, _ = told
        assert (fence.boot_id, fence.machine_id) == (boot, stage.nodes["n1"].machine_id)
        assert 0 < fence.until - up <= SENT_WITHIN.total_seconds() + 60
    starts = [entry.event for entry in stage.ledger.read.now("one") if isinstance(entry.event, StepStarted)]
    until = [told[0].until + JOURNAL_WITHIN.total_seconds() for told in found if told is not None]
    assert [started.until_uptime for started in starts] == until, "its line in the journal may hold it up so long"


def test_journal_of_the_node_is_told_who_approved_each_command_and_why(stage: Stage) -> None:
    wire = lines(stage)
    approve(stage, by="slack:T1/U1", reason="$(reboot)\nagreed")
    assert advanced(stage).state == "resolved"
    ends = "approved by slack:T1/U1; why: $(reboot) agreed\n"
    assert wire.told == [f"incident one, step 1, disable ecs.service: {ends}", f"incident one, step 2, reboot: {ends}"]
    assert not any("agreed" in line or "U1" in line for line in wire.lines), "neither stands in a command line"
    assert all("zombie[one]" in line for line in wire.lines)
    assert stage.nodes["n1"].journal == ["one", "one"]


def test_machine_whose_id_is_written_in_upper_case_is_acted_on_as_any_other(stage: Stage) -> None:
    stage.nodes["n1"].copied_id = "0123456789ABCDEF" * 2
    stage.propose("upper", "n1")
    approve(stage, "upper")
    assert advanced(stage, "upper").state == "resolved"


ON_THE_NODE = sorted(action.name for action in ACTIONS.values() if action.by_calls is None)


def test_what_changes_a_node_is_what_is_held_to_its_fence_below() -> None:
    assert {"disable_unit", "drop_caches", "mask_unit", "reboot", "restore_unit", "start_unit"} <= set(ON_THE_NODE)


@pytest.mark.parametrize("name", ON_THE_NODE)
def test_no_action_reaches_its_node_without_a_fence(stage: Stage, name: str) -> None:
    """Whatever the author of an action wrote: the fence is put there where it is sent."""
    wire = lines(stage)
    step, reach = Step(name, {"unit": "ecs.service"}, ("sudo -n first", "sudo -n second")), NodeAccess(wire, ACTIONS)
    fence = Fence(
        stage.nodes["n1"].boot_id, stage.nodes["n1"].machine_id, KEY, 1 + reach.seconds_after_fence(step)
    )  # over, so that nothing is run

    async def sent() -> None:
        with pytest.raises(RefusedByFence):
            await reach.run(stage.find("n1"), step, fence)

    do(stage, sent())
    assert [parse_fenced(line) is not None for line in wire.lines] == [True]
    assert wire.lines[0].endswith("; sudo -n first")


def test_later_command_of_a_step_has_as_much_longer_as_the_one_before_may_take(stage: Stage) -> None:
    wire, node = lines(stage), stage.nodes["n1"]
    step = Step("restore_unit", {"unit": "ecs.service", "verbs": "enable start"}, (
        "sudo -n systemctl enable -- ecs.service", "sudo -n systemctl start -- ecs.service",
    ))  # fmt: skip
    reach = NodeAccess(wire, ACTIONS)
    until = int(node.uptime) + 15 + reach.seconds_after_fence(step)

    async def sent() -> None:
        await reach.run(stage.find("n1"), step, Fence(node.boot_id, node.machine_id, KEY, until))

    do(stage, sent())
    first, second = (told[0].until for told in map(parse_fenced, wire.lines) if told is not None)
    assert (until - second, second - first) == (3, int(ACTIONS["restore_unit"].limit.total_seconds()))


@pytest.mark.parametrize("other", OTHERS)
def test_second_connection_that_lands_on_another_machine_runs_nothing(stage: Stage, other: str) -> None:
    wire = lines(stage)
    wire.stranger = OTHERS[other]
    approve(stage)
    done = advanced(stage)
    (stranger,) = wire.strangers
    assert (stranger.enabled, stranger.active, stranger.asked) == (True, True, 0)
    assert stage.nodes["n1"].enabled, "nor anywhere else"
    if other == "a copy":  # only its boot tells
        assert "booted since" in known_as(done.ending, Escalated).because
    else:
        assert done.state == "unknown"
        assert isinstance(stage.ledger.read.now("one")[-1].event, QuestionAsked)


def test_node_that_was_booted_between_look_and_command_is_not_touched(stage: Stage) -> None:
    wire = lines(stage)
    wire.booted_first = True
    approve(stage)
    done = advanced(stage)
    assert stage.nodes["n1"].enabled
    assert "was booted since" in known_as(done.steps[0].outcome, StepFailed).because


def test_command_that_came_too_late_is_sent_anew_after_another_look(stage: Stage) -> None:
    lines(stage).late = 1
    approve(stage)
    done = advanced(stage)
    assert done.state == "resolved"
    assert [step.attempt for step in done.steps] == [2, 1]
    assert (stage.nodes["n1"].stopped, stage.nodes["n1"].asked) == (1, 1)


def test_node_that_does_not_say_how_long_it_is_up_is_sent_nothing(stage: Stage) -> None:
    wire = lines(stage)
    wire.mute = True
    approve(stage)
    assert advanced(stage).state == "expired"
    assert wire.lines == []


@pytest.mark.parametrize("after", [20.0, 140.0, 600.0])
def test_command_that_waited_in_a_dead_connection_does_nothing(stage: Stage, after: float) -> None:
    """It arrives when everything is over, and somebody has switched the unit on again."""
    wire, node = lines(stage), stage.nodes["n1"]
    approve(stage)
    sent_at, argv = stage.world.now, ("sh", "-c", "")

    class Dead(Lines):
        async def read(
            self, node: Node, batch: Batch, deadline: timedelta, host_key: str | None = None
        ) -> AsyncGenerator[Completed, None]:
            nonlocal argv
            if batch.questions[0].command.argv[0] == "sh" and not argv[2]:
                argv = batch.questions[0].command.argv  # type: ignore[assignment]
                raise ConnectionLost("n1 is not heard any more.")
            async for run in super().read(node, batch, deadline, host_key):
                yield run

    stage.wire = Dead(wire)
    assert advanced(stage).state == "resolved"
    node.enabled = node.active = True
    boot, node.boot = node.boot, 0  # as if it had not been rebooted: then only the deadline stands against it
    node.up_since = sent_at - timedelta(days=11)
    stage.world.now = max(stage.world.now, sent_at + timedelta(seconds=after))
    node.late(argv, 0, sent_at)
    assert node.enabled
    node.boot = boot
    node.late(argv, 0, sent_at)
    assert node.enabled


def test_plan_of_which_nothing_ran_was_not_carried_out_and_neither_was_its_undo(stage: Stage) -> None:
    wire, node = lines(stage), stage.nodes["n1"]
    wire.late = 99
    approve(stage)
    assert isinstance((done := advanced(stage)).ending, Escalated)
    assert len(wire.lines) == 3, "nor did it come in time in another attempt"
    assert isinstance(failed := done.steps[0].outcome, StepFailed)
    assert (failed.never_ran, node.stopped, done.is_unfixed) == (True, 0, False)
    assert failed.because == "none of its commands ran by its deadline; its command came too late, and was not run"
    assert (PlanWords(ACTIONS).ran(done), PlanWords(ACTIONS).undo(done).steps) == ("", ())
    wire.late = 0
    stage.propose("two", "n1")
    do(stage, stage.responder().decide("two", ANN))
    assert advanced(stage, "two").state == "resolved"
    wire.late = 99
    for _ in range(2):
        undo = do(stage, stage.responder().undo("two", ANN))
        do(stage, stage.responder().decide(undo.id, BOB))
        assert (advanced(stage, undo.id).state, node.enabled) == ("escalated", False)


def test_step_whose_first_command_ran_may_have_run(stage: Stage) -> None:
    wire = lines(stage)
    approve(stage)
    assert advanced(stage).state == "resolved"
    undo = do(stage, stage.responder().undo("one", ANN))
    do(stage, stage.responder().decide(undo.id, BOB))
    wire.late_words = "systemctl start"
    done = advanced(stage, undo.id)
    assert isinstance(failed := done.steps[0].outcome, StepFailed)
    assert (failed.never_ran, stage.nodes["n1"].enabled, stage.nodes["n1"].active) == (False, True, False)
