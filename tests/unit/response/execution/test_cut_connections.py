"""The connection cut at each point of each step: what is done once, what is asked, and how the incident ends."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import islice
from typing import Any

import pytest

from bot.domain.action import Step
from bot.domain.alert import Alert
from bot.domain.batch import Batch
from bot.domain.command import Completed
from bot.domain.contracts import AdvanceLater
from bot.domain.errors import ConnectionLost, ConnectionRefused
from bot.domain.events import AlertCleared, Escalated, StepStarted
from bot.domain.house_events import HOUSE, CauseMuted
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.response.execution.node_access import NodeAccess, NodeStatus
from tests.known import known_as
from tests.schedules.parts import Wire
from tests.schedules.stage import Stage
from tests.schedules.world import BEGAN_AT
from tests.unit.response.requesting import approve, carried_on, doubted, happens, incident, kinds, pull, release

DISABLE, REBOOT, LOOK = "disable --now", "systemctl reboot", "boot_id"


@dataclass
class Cut:
    """One cut: at the nth command with those words, before it arrives or after it was done; then for how long."""

    words: str
    after: bool
    nth: int = 1
    for_seconds: float = 0.0
    refused: bool = False  # the connection was never made
    always: bool = False  # from the nth on
    once: Callable[[], bool] = lambda: True  # commands are counted from when this is so
    seen: int = field(default=0, init=False)


class CutWire(Wire):
    """A wire that is cut where the test says, and whole otherwise."""

    def __init__(self, wire: Wire, cut: Cut) -> None:
        super().__init__(wire.world, wire.nodes, 0.0)
        self.cut = cut
        self.sent: list[str] = []
        self.whole_at = wire.world.now

    async def read(
        self, node: Node, batch: Batch, deadline: timedelta, host_key: str | None = None
    ) -> AsyncGenerator[Completed, None]:
        if self.world.now < self.whole_at:
            raise ConnectionRefused(f"{node.name} refused the connection.")
        line = " ".join(word for question in batch.questions for word in question.command.argv)
        acts = "sudo -n systemctl" in line
        hit = self.cut.words in line and acts != (self.cut.words == LOOK)
        hit = hit and self.cut.once()
        self.cut.seen += hit
        here = hit and (self.cut.seen == self.cut.nth or (self.cut.always and self.cut.seen > self.cut.nth))
        if acts:
            self.sent.append(DISABLE if DISABLE in line else REBOOT)
        if here:
            self.whole_at = self.world.now + timedelta(seconds=self.cut.for_seconds)
            if self.cut.refused:
                self.sent = self.sent[:-1]
                raise ConnectionRefused(f"{node.name} refused the connection.")
            if self.cut.after:
                async for _ in super().read(node, batch, deadline, host_key):
                    pass
            raise ConnectionLost(f"The connection to {node.name} broke.")
        async for run in super().read(node, batch, deadline, host_key):
            yield run


def approved(
    stage: Stage, cut: Cut, name: str = "one", alert: Alert | None = None
) -> tuple[Iterator[AdvanceLater], CutWire]:
    """Approve it, and carry it on over such a wire; by a policy of its own it is proposed anew."""
    if name != "one":
        stage.propose(name, "n1", alert=alert)
    approve(stage, name)
    stage.wire = wire = CutWire(stage.wire, cut)
    return carried_on(stage, name), wire


def ended(stage: Stage, cut: Cut, name: str = "one") -> tuple[Incident, CutWire]:
    """Approve it, and carry it out over such a wire to its end."""
    advances, wire = approved(stage, cut, name)
    assert list(advances)
    return incident(stage, name), wire


@pytest.mark.parametrize("refused", [False, True], ids=["cut after the command ran", "never connected"])
@pytest.mark.parametrize("words", [DISABLE, REBOOT])
def test_what_ran_is_seen_by_its_proof_and_what_was_never_sent_is_sent_once(
    stage: Stage, words: str, refused: bool
) -> None:
    done, wire = ended(stage, Cut(words, after=not refused, refused=refused))
    assert done.state == "resolved"
    assert wire.sent == [DISABLE, REBOOT]
    assert stage.nodes["n1"].asked == 1


@pytest.mark.parametrize("away", [0.0, 40.0], ids=["back at once", "back after a while"])
@pytest.mark.parametrize(
    ("words", "sent"), [(DISABLE, [DISABLE, DISABLE, REBOOT]), (REBOOT, [DISABLE, REBOOT, REBOOT])]
)
def test_cut_before_the_command_ran_is_sent_again_and_the_node_is_cured_in_fifty_seconds_beside_its_boot(
    stage: Stage, words: str, sent: list[str], away: float
) -> None:
    stage.policy = replace(stage.policy, reboot_deadline=timedelta(minutes=2))
    done, wire = ended(stage, Cut(words, after=False, for_seconds=away), "again")
    assert done.state == "resolved"
    assert wire.sent == sent
    boot = timedelta(seconds=25)  # the longest that one takes here; how long is drawn
    assert stage.world.now - wire.whole_at <= timedelta(seconds=50) + boot
    assert (stage.nodes["n1"].stopped, stage.nodes["n1"].asked) == (1, 1)
    assert [step.attempt for step in done.steps] == [1 + sent.count(DISABLE) - 1, sent.count(REBOOT)]


@pytest.mark.parametrize(("words", "number"), [(DISABLE, 1), (REBOOT, 2)])
def test_what_was_cut_is_not_sent_again_before_the_first_command_is_past_its_time(
    stage: Stage, words: str, number: int
) -> None:
    ended(stage, Cut(words, after=False))
    started = [
        (entry.at, entry.event) for entry in stage.ledger.read.now("one") if isinstance(entry.event, StepStarted)
    ]
    (_, first), (at, second) = ((at, event) for at, event in started if event.number == number)
    assert (at - BEGAN_AT + timedelta(days=11)).total_seconds() >= first.until_uptime
    assert second.until_uptime > first.until_uptime


def test_what_is_cut_each_time_is_sent_three_times_and_handed_over(stage: Stage) -> None:
    done, wire = ended(stage, Cut(DISABLE, after=False, always=True))
    assert "no sign of its effect by its deadline" in known_as(done.ending, Escalated).because
    assert wire.sent == [DISABLE] * 3
    assert stage.nodes["n1"].enabled


def test_command_that_ended_and_shows_no_effect_is_not_sent_again(stage: Stage) -> None:
    stage.nodes["n1"].ending = "swallowed"
    done, wire = ended(stage, Cut("nothing", after=False))
    assert isinstance(done.ending, Escalated)
    assert wire.sent == [DISABLE, REBOOT]


@pytest.mark.parametrize("nth", range(1, 8))
def test_cut_in_any_look_is_looked_at_again(stage: Stage, nth: int) -> None:
    done, wire = ended(stage, Cut(LOOK, after=False, nth=nth))
    assert done.state == "resolved", f"look {nth}"
    assert wire.sent == [DISABLE, REBOOT]
    assert stage.nodes["n1"].asked == 1


def test_node_that_cannot_be_read_after_its_first_step_is_a_question_and_then_a_persons(stage: Stage) -> None:
    done, wire = ended(stage, Cut(LOOK, after=False, nth=2, for_seconds=3600))
    assert kinds(stage)[-2:] == ["QuestionAsked", "Escalated"]
    assert "It is not known whether “Disable ecs.service” took effect" in known_as(done.ending, Escalated).because
    assert wire.sent == [DISABLE]


def test_node_that_cannot_be_read_before_anything_is_done_expires(stage: Stage) -> None:
    done, wire = ended(stage, Cut(LOOK, after=False, nth=1, for_seconds=3600))
    assert done.state == "expired"
    assert wire.sent == []


@pytest.mark.parametrize("away", [3600.0, 0.0])
def test_node_that_cannot_be_read_while_it_is_watched_is_not_called_cured_before_it_was(
    stage: Stage, away: float
) -> None:
    done, _ = ended(stage, Cut(LOOK, after=False, for_seconds=away, once=lambda: "ValidationStarted" in kinds(stage)))
    if away:
        assert "It is not known whether the cure holds" in known_as(done.ending, Escalated).because
    else:
        assert done.state == "resolved"
        assert next(one.holds for one in done.samples) is False


# --- what was cut off, and may not be sent again now


def pulled_when_it_is_cut(stage: Stage, words: str) -> tuple[Iterator[AdvanceLater], CutWire]:
    stage.policy = replace(stage.policy, approval_expires=timedelta(minutes=15))
    advances, wire = approved(stage, Cut(words, after=False), "again")
    for _ in advances:
        if wire.sent and wire.sent[-1] == words:
            pull(stage)
            break
    return advances, wire


@pytest.mark.parametrize("words", [DISABLE, REBOOT])
def test_what_was_cut_waits_while_the_brake_is_on_and_goes_on_after_it(stage: Stage, words: str) -> None:
    advances, wire = pulled_when_it_is_cut(stage, words)
    sent, until = len(wire.sent), stage.world.now + timedelta(minutes=5)  # long past the step's own deadline
    says = ""
    while stage.world.now < until:
        says = next(advances).because
    assert "Braked: terminal:bob pulled the brake" in says
    assert (len(wire.sent), incident(stage, "again").state) == (sent, "acting")
    release(stage)
    assert list(advances)
    assert incident(stage, "again").state == "resolved"
    assert wire.sent.count(words) == 2
    assert (stage.nodes["n1"].stopped, stage.nodes["n1"].asked) == (1, 1)


@pytest.mark.parametrize("words", [DISABLE, REBOOT])
def test_what_was_cut_is_handed_over_where_the_brake_stays_on(stage: Stage, words: str) -> None:
    advances, wire = pulled_when_it_is_cut(stage, words)
    assert list(advances)
    assert isinstance(incident(stage, "again").ending, Escalated)
    assert wire.sent.count(words) == 1
    assert stage.nodes["n1"].asked == 0


def test_other_program_does_not_send_again_what_was_cut_either(stage: Stage) -> None:
    pulled_when_it_is_cut(stage, REBOOT)
    stage.world.now += timedelta(minutes=5)
    other = carried_on(stage, "again")
    assert [next(other).because.partition(":")[0] for _ in range(3)][-1] == "Braked"
    release(stage)
    assert list(other)
    assert incident(stage, "again").state == "resolved"


def test_what_was_cut_waits_for_the_end_of_quiet_hours(stage: Stage) -> None:
    stage.policy = replace(stage.policy, approval_expires=timedelta(minutes=15), quiet=((9 * 60 + 1, 9 * 60 + 4),))
    began_at = stage.world.now
    advances, wire = approved(stage, Cut(DISABLE, after=False, for_seconds=90), "again")
    said = [again.because.partition(":")[0] for again in advances]
    assert "QuietHours" in said
    assert incident(stage, "again").state == "resolved"
    starts = [entry.at for entry in stage.ledger.read.now("again") if isinstance(entry.event, StepStarted)]
    assert starts[1] >= began_at + timedelta(minutes=4)
    assert wire.sent == [DISABLE, DISABLE, REBOOT]


# --- what was cut off, and came to be accepted, doubted or over


def comes(stage: Stage, what: str) -> None:
    if what == "mute":
        until = stage.world.now + timedelta(days=1)
        stage.ledger.append.now(HOUSE, None, CauseMuted("leaked-memory-cgroups", "n*", until, "known"), "terminal:eve")
    else:
        happens(stage, AlertCleared("pagerduty", "Q1"), "again")


def cut_when_it_comes(stage: Stage, what: str, cut: Cut) -> tuple[Incident, CutWire]:
    advances, wire = approved(stage, cut, "again", Alert("pagerduty", "Q1"))
    told = False
    for _ in advances:
        if cut.seen and not told:
            comes(stage, what)
            told = True
    return incident(stage, "again"), wire


@pytest.mark.parametrize("refused", [True, False], ids=["never sent", "cut off"])
@pytest.mark.parametrize(("what", "says"), [("mute", "muted on n*"), ("over", "the alert is over")])
def test_what_never_ran_is_not_sent_again_once_nobody_would_be_asked_for_it(
    stage: Stage, what: str, says: str, refused: bool
) -> None:
    """Nothing of the plan was done: it has begun on record alone."""
    done, wire = cut_when_it_comes(stage, what, Cut(DISABLE, after=False, refused=refused, for_seconds=30))
    assert stage.nodes["n1"].enabled
    assert wire.sent == [DISABLE] * (not refused)
    assert says in known_as(done.ending, Escalated).because


@pytest.mark.parametrize("what", ["mute", "over"])
def test_later_step_that_was_cut_is_sent_again_whatever_comes(stage: Stage, what: str) -> None:
    """The node is half cured, and what was begun is finished."""
    done, wire = cut_when_it_comes(stage, what, Cut(REBOOT, after=False, for_seconds=20))
    assert wire.sent == [DISABLE, REBOOT, REBOOT]
    assert done.state == "resolved"


def test_what_never_ran_waits_while_its_cause_is_in_doubt_and_is_sent_once_it_is_not(stage: Stage) -> None:
    reasons = doubted(stage)
    advances, wire = approved(stage, Cut(DISABLE, after=False, refused=True, for_seconds=20))
    for _ in advances:
        if wire.cut.seen:
            reasons.append("was wrong.")
            break
    until = stage.world.now + timedelta(minutes=1)
    says = ""
    while stage.world.now < until:
        says = next(advances).because
    assert (says, wire.sent) == ("CauseInDoubt: leaked-memory-cgroups was wrong.", [])
    reasons.clear()
    assert list(advances)
    assert wire.sent == [DISABLE, REBOOT]
    assert incident(stage).state == "resolved"


def test_first_command_whose_cause_comes_into_doubt_while_the_node_is_read_again_is_not_sent_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    reasons = doubted(stage)
    look = NodeAccess.look

    async def looks(self: NodeAccess, node: Node, steps: Sequence[Step], *more: Any) -> NodeStatus:
        if not steps:  # what else the step would stop by now
            reasons.append("was wrong.")
        return await look(self, node, steps, *more)

    monkeypatch.setattr(NodeAccess, "look", looks)
    advances, wire = approved(stage, Cut(DISABLE, after=False, refused=True, for_seconds=20))
    assert list(islice(advances, 60))
    assert reasons
    assert wire.sent == []
