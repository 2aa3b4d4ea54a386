"""Why there is no wave."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from bot.domain.alert import Alert
from bot.domain.entry import WAVES
from bot.domain.errors import (
    CannotTell,
    CauseInDoubt,
    HostKeyRejected,
    LedgerUnavailable,
    StaleRequest,
    UnreadableEntry,
)
from bot.domain.events import GO_ON, AlertReceived
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.policy import Approval
from bot.domain.transitions import State
from bot.extras.waves.events import TurnEnded, TurnGiven, TurnOutcome
from bot.extras.waves.serving import WaveKeeper, go_on_here
from bot.extras.waves.store import WaveStore, check_may_begin
from bot.extras.waves.wave import Wave, WaveState
from bot.extras.waves.wave_run import WaveRun
from bot.extras.waves.wave_service import NEVER_PROPOSED, PUT_TOGETHER, WaveService, why_no_member
from bot.extras.waves.wiring import _advanced, run_here
from bot.ledger import Database, Ledger
from bot.response.incident_record import null_log
from bot.seats import CureRequest
from tests.alerts.pages import judged, of_page
from tests.known import known
from tests.schedules.parts import CountingNode
from tests.schedules.recorder import Recorder
from tests.schedules.stage import PLAYBOOK, POLICY, Stage
from tests.schedules.world import BEGAN_AT, World
from tests.unit.surfaces.verdicts import MUTED


def test_nodes_whose_cause_is_muted_are_said_to_be_muted() -> None:
    assert MUTED.is_muted
    mute = MUTED.muted[0]
    expected = f"Of 1 node none has an offered plan: {mute.cause} is muted on {mute.selector}"
    assert why_no_member([judged("page-1", MUTED)]).startswith(expected)
    other = replace(mute, cause="io-stall", selector="db-*")
    assert why_no_member([judged("page-1", replace(MUTED, muted=(other, mute)))]).startswith(expected)


def test_without_a_reason_on_record_the_state_is_told() -> None:
    assert why_no_member([of_page("page-1", State.ACTING), of_page("page-2", State.ACTING)]).endswith(": acting")
    assert why_no_member([]) == "None of them has that cause with a plan."


def desk_of(database: Any, names: tuple[str, ...]) -> tuple[World, Stage, WaveService]:
    world = World(1, deadly=0)
    ledger = Ledger(database, lambda: world.now, holders={WAVES: check_may_begin})
    stage = Stage.set(world, ledger, dict.fromkeys(names, "cured"), POLICY, 0.0, 0.0)
    waves: Any = Recorder(world, WaveStore(database, lambda: world.now), 0.0)
    return world, stage, WaveService(POLICY, stage.record, stage.recorder, waves, world.clock, world.random)


def drive(world: World, work: Any) -> Any:
    found: list[Any] = []

    async def kept() -> None:
        found.append(await work)

    world.start("work", kept)
    try:
        world.run()
    finally:
        world.tasks.clear()  # also one that was refused
    return found[0]


def proposed(stage: Stage, name: str, wave: str) -> Incident:
    stage.propose(f"i{name}", name, wave)
    return known(stage.ledger.incident.now(f"i{name}"))


REQUEST = CureRequest(("*",), ("leaked-memory-cgroups",), key="", channel="", by="terminal:asker")


def test_one_machine_with_two_names_is_one_member_and_a_copied_image_is_another(sqlite: Database) -> None:
    world, stage, desk = desk_of(sqlite, ("a", "b", "c"))
    one, other, copied = (stage.nodes[name] for name in ("a", "b", "c"))
    other.copied_id = copied.copied_id = one.machine_id
    other.copied_boot = one.boot_id
    found = [proposed(stage, name, "wave-abcd") for name in ("a", "b", "c")]
    wave = drive(world, desk.propose("wave-abcd", REQUEST, found, PLAYBOOK.name))
    assert {member.node for member in wave.proposal.members} == {"a", "c"}
    left = known(stage.ledger.incident.now("ib"))
    assert (left.state, getattr(left.ending, "because", "")) == (
        State.CANCELLED,
        "It is the same machine as a, which is in the wave.",
    )


def test_program_that_dies_before_its_wave_is_proposed_leaves_nothing_waiting(sqlite: Database) -> None:
    world, stage, desk = desk_of(sqlite, ("a", "b"))
    drive(world, desk.close_plans_left_out("wave-abcd", [proposed(stage, "a", "wave-abcd")]))  # it failed
    opened = AlertReceived(Alert("terminal", "wave-dead", "terminal:asker"), "b", "g", PLAYBOOK.name, wave="wave-dead")
    stage.ledger.append.now("ib", 0, opened, "terminal:asker")  # it was killed
    drive(world, desk.end_orphans())
    waits = known(stage.ledger.incident.now("ib"))
    assert not waits.ended, "its program may still be at it"
    world.now += PUT_TOGETHER + timedelta(seconds=1)
    drive(world, desk.end_orphans())
    for name in ("ia", "ib"):
        ended = known(stage.ledger.incident.now(name))
        assert getattr(ended.ending, "because", "") == NEVER_PROPOSED


def test_incident_whose_source_only_has_such_a_name_is_nobodys_orphan(sqlite: Database) -> None:
    world, stage, desk = desk_of(sqlite, ("a",))
    opened = AlertReceived(Alert("alertmanager", "wave-height-17", "", "The harbour is high"), "a", "g", PLAYBOOK.name)
    stage.ledger.append.now("ia", 0, opened, "bot")
    world.now += PUT_TOGETHER + timedelta(seconds=1)
    drive(world, desk.end_orphans())
    waits = known(stage.ledger.incident.now("ia"))
    assert not waits.ended


def alarmed(stage: Stage, node: str, name: str) -> None:
    """Let a source's alert about a node come, of which nobody had heard."""
    alert = Alert("alertmanager", name, "", "It is sick again")
    stage.ledger.append.now(f"i{name}", 0, AlertReceived(alert, node, f"g{name}", PLAYBOOK.name), "bot")


def stopped_wave(world: World, stage: Stage, desk: WaveService) -> Wave:
    """A wave whose first node is cured, and which a person has stopped."""
    found = [proposed(stage, name, "wave-abcd") for name in ("a", "b", "c")]
    wave = drive(world, desk.propose("wave-abcd", REQUEST, found, PLAYBOOK.name))
    first = wave.proposal.members[0]
    drive(world, desk.decide(wave.id, Approval("terminal:bob", "go", wave.proposal.digest)))
    drive(world, desk.append(wave.id, 2, TurnGiven(first.incident, first.node), "bot"))
    drive(world, desk.append(wave.id, 3, TurnEnded(first.incident, first.node, TurnOutcome.CURED), "bot"))
    world.now += timedelta(minutes=1)
    return drive(world, desk.stop(wave.id, Approval("terminal:ann", "an odd graph")))  # type: ignore[no-any-return]


def test_who_resumes_a_wave_forgives_no_alert_that_they_have_not_been_shown(sqlite: Database) -> None:
    world, stage, desk = desk_of(sqlite, ("a", "b", "c"))
    wave = stopped_wave(world, stage, desk)
    shown = drive(world, desk.look(wave))
    world.now += timedelta(minutes=1)
    alarmed(stage, "x", "1")  # one alert elsewhere is none that stops a wave
    assert drive(world, desk.look(wave)) == shown
    cured = wave.turns[0].member.node
    alarmed(stage, cured, "2")
    yes = Approval("terminal:bob", "the graph was wrong")
    with pytest.raises(StaleRequest, match=f"It would stop now: {cured} has a new alert since it was cured"):
        drive(world, desk.resume(wave.id, yes, shown[0]))
    later, against = drive(world, desk.look(wave))
    assert (later > shown[0], against) == (True, [f"{cured} has a new alert since it was cured"])
    with pytest.raises(StaleRequest, match="yet to come"):
        drive(world, desk.resume(wave.id, yes, later + timedelta(hours=1)))
    world.now += timedelta(minutes=1)
    alarmed(stage, "y", "3")
    alarmed(stage, "z", "4")
    resumed = drive(world, desk.resume(wave.id, yes, later))
    assert (resumed.state, drive(world, desk.why_stop(resumed))) == (WaveState.RUNNING, ()), "two are no rise"
    alarmed(stage, "x", "5")
    (reason,) = drive(world, desk.why_stop(resumed))
    assert reason.words.startswith("3 new alerts came"), "those that came before the yes and after the look count"


def test_all_that_would_stop_a_wave_is_shown_to_who_resumes_it_and_nothing_else_is_forgiven(sqlite: Database) -> None:
    world, stage, desk = desk_of(sqlite, ("a", "b", "c"))
    wave = running_wave(world, stage, desk)
    cured, failed = wave.turns[0].member.node, wave.waiting[0]
    drive(world, desk.append(wave.id, wave.seq, TurnGiven(failed.incident, failed.node), "bot"))
    ended = TurnEnded(failed.incident, failed.node, TurnOutcome.FAILED, "it did not come back")
    drive(world, desk.append(wave.id, wave.seq + 1, ended, "bot"))
    drive(world, WaveRun(desk, stage.responder(), stage, "p").advance(wave.id))
    stopped = drive(world, desk.find(wave.id))
    before, _ = drive(world, desk.look(stopped))
    world.now += timedelta(minutes=1)
    for node in (cured, "x", "y"):
        alarmed(stage, node, f"-{node}")
    shown, (of_cured, rise) = drive(world, desk.look(stopped))
    assert of_cured == f"{cured} has a new alert since it was cured"
    assert rise.startswith("3 new alerts came")
    yes = Approval("terminal:bob", "a broken disk")
    with pytest.raises(StaleRequest, match=f"It would stop now: {of_cured}; 3 new alerts"):
        drive(world, desk.resume(wave.id, yes, before))
    world.now += timedelta(minutes=1)
    alarmed(stage, "z", "-z")
    resumed = drive(world, desk.resume(wave.id, yes, shown))
    assert (resumed.unfixed, drive(world, desk.why_stop(resumed))) == ((), ())


def test_alert_that_comes_while_a_program_stands_still_in_a_resumption_stops_the_wave(sqlite: Database) -> None:
    world, stage, desk = desk_of(sqlite, ("a", "b", "c"))
    wave = stopped_wave(world, stage, desk)
    shown, append = drive(world, desk.look(wave))[0], desk.append

    async def late(*what: Any) -> Any:
        world.now += timedelta(minutes=1)
        alarmed(stage, wave.turns[0].member.node, "1")
        world.now += timedelta(minutes=1)
        return await append(*what)

    frozen = Frozen(**{each.name: getattr(desk, each.name) for each in fields(desk)})
    frozen.late.append(late)
    resumed = drive(world, frozen.resume(wave.id, Approval("terminal:bob", "the graph was wrong"), shown))
    assert "has a new alert since it was cured" in drive(world, desk.why_stop(resumed))[0].words


def running_wave(world: World, stage: Stage, desk: WaveService) -> Wave:
    """A wave that runs, whose first node is cured."""
    wave = stopped_wave(world, stage, desk)
    shown = drive(world, desk.look(wave))[0]
    return drive(world, desk.resume(wave.id, Approval("terminal:bob", "it was nothing"), shown))  # type: ignore[no-any-return]


def test_wave_stops_while_the_ledgers_clock_is_set_back_for_alerts_of_then_are_taken_for_older_ones(
    sqlite: Database,
) -> None:
    world, stage, desk = desk_of(sqlite, ("a", "b", "c"))
    wave = running_wave(world, stage, desk)
    program = WaveRun(desk, stage.responder(), stage, "p")
    world.now -= timedelta(hours=2)
    alarmed(stage, wave.turns[0].member.node, "1")
    drive(world, program.advance(wave.id))
    world.now += timedelta(hours=2, minutes=5)
    drive(world, program.advance(wave.id))
    stopped = drive(world, desk.find(wave.id))
    assert stopped.stop is not None, stopped.state
    assert stopped.stop.because.startswith("The ledger's clock was set back")
    assert [turn.member for turn in stopped.turns] == [wave.turns[0].member], "nobody else has a turn"


def test_node_that_fails_in_the_very_moment_of_a_stop_is_not_forgiven_by_who_saw_only_the_stop(
    sqlite: Database,
) -> None:
    """The clock stands still, as it does for a stream whose last entry is of a time that comes yet."""
    world, stage, desk = desk_of(sqlite, ("a", "b", "c"))
    wave = running_wave(world, stage, desk)
    second = wave.waiting[0]
    drive(world, desk.append(wave.id, wave.seq, TurnGiven(second.incident, second.node), "bot"))
    world.now -= timedelta(seconds=30)
    stopped = drive(world, desk.stop(wave.id, Approval("terminal:bob", "wait")))
    shown = drive(world, desk.look(stopped))[0]
    failed = TurnEnded(second.incident, second.node, TurnOutcome.FAILED, "it did not come back")
    drive(world, desk.append(wave.id, stopped.seq, failed, "bot"))
    with pytest.raises(StaleRequest, match=f"It would stop now: {second.node}: it did not come back"):
        drive(world, desk.resume(wave.id, Approval("terminal:bob", "go on"), shown))


def run_until(world: World, stage: Stage, desk: WaveService, end: datetime) -> Wave:
    """Let a program carry the wave and its incidents until then, or until it stops; return its state."""
    program, remediation = WaveRun(desk, stage.responder(), stage, "p"), stage.remediation()
    while True:
        again = drive(world, program.advance("wave-abcd"))
        wave: Wave = drive(world, desk.find("wave-abcd"))
        for turn in wave.under_way:
            incident = stage.ledger.incident.now(turn.member.incident)
            if incident is not None and incident.state is not State.PROPOSED:
                drive(world, remediation.advance(incident.id))
        if wave.state is not WaveState.RUNNING or world.now >= end or again is None:
            return wave
        world.now += max(timedelta(seconds=1), again.after)


@dataclass
class Away:
    """A chat that says of nobody whether they may approve, until then."""

    world: World
    until: datetime

    async def again(self, by: str, /) -> Approval:
        if self.world.now < self.until:
            raise CannotTell(f"{by} has said yes, and Slack does not say whether they still may.")
        return Approval(by, "")


def approved_wave(world: World, stage: Stage, desk: WaveService) -> None:
    found = [proposed(stage, name, "wave-abcd") for name in stage.nodes]
    wave = drive(world, desk.propose("wave-abcd", REQUEST, found, PLAYBOOK.name))
    drive(world, desk.decide(wave.id, Approval("terminal:bob", "go", wave.proposal.digest)))


@pytest.mark.parametrize("it_is", ["quiet", "not known who may approve"])
def test_wave_that_is_held_up_as_a_whole_waits_and_loses_no_node(sqlite: Database, it_is: str) -> None:
    policy = replace(POLICY, quiet=((9 * 60 + 10, 9 * 60 + 20),)) if it_is == "quiet" else POLICY
    world, stage, desk = desk_of(sqlite, ("a", "b"))
    away = Away(world, BEGAN_AT + timedelta(minutes=20)) if it_is != "quiet" else None
    stage.policy, desk = policy, replace(desk, policy=policy, lookup=away)
    approved_wave(world, stage, desk)
    first = drive(world, desk.find("wave-abcd")).waiting[0]
    drive(world, desk.append("wave-abcd", 2, TurnGiven(first.incident, first.node), "bot"))
    world.now += timedelta(minutes=10)  # before its node could be read again
    waits = run_until(world, stage, desk, BEGAN_AT + timedelta(minutes=19))
    assert (waits.state, [turn.outcome for turn in waits.turns]) == (WaveState.RUNNING, [None])
    over = run_until(world, stage, desk, BEGAN_AT + timedelta(hours=1))
    assert over.state is WaveState.COMPLETED, (over.stop, over.turns)
    assert len(over.having(TurnOutcome.CURED)) == 2


def test_bot_that_does_not_act_leaves_a_wave_and_its_lease_to_one_that_does(sqlite: Database) -> None:
    world, stage, desk = desk_of(sqlite, ("a", "b"))
    approved_wave(world, stage, desk)
    stage.policy = replace(POLICY, acting=False)
    reads = WaveRun(replace(desk, policy=stage.policy), stage.responder(), stage, "reads")
    leases: Any = None
    drive(world, WaveKeeper(reads, desk.waves, leases, null_log, lambda: 0.0)._carry_on("wave-abcd"))
    assert drive(world, reads.advance("wave-abcd")).because == "this bot does not act"
    assert drive(world, desk.find("wave-abcd")).state is WaveState.RUNNING


def test_program_that_runs_a_wave_goes_on_with_its_nodes_though_another_has_them(sqlite: Database) -> None:
    """The other may be one that does not act, and would let each turn run out."""
    world, stage, desk = desk_of(sqlite, ("a", "b"))
    approved_wave(world, stage, desk)
    mine, told = set[str](), list[str]()

    async def owned() -> set[str]:
        return mine

    leases: Any = SimpleNamespace(mine=owned)
    notices: Any = SimpleNamespace(decided=told.append)
    program = WaveRun(desk, stage.responder(), stage, "p", partial(go_on_here, leases, notices))
    world.now += timedelta(minutes=2)  # the node may be read again
    drive(world, program.advance("wave-abcd"))
    (turn,) = drive(world, desk.find("wave-abcd")).under_way
    drive(world, program.advance("wave-abcd"))
    decided = known(stage.ledger.incident.now(turn.member.incident))
    assert decided.state is State.APPROVED
    reads = replace(program, service=replace(desk, policy=replace(POLICY, acting=False)))
    for carries, hears in ((reads, []), (program, [decided.id]), (program, [decided.id])):
        told.clear()
        drive(world, carries.advance("wave-abcd"))
        assert told == hears
    mine.add(decided.card)
    told.clear()
    drive(world, program.advance("wave-abcd"))
    assert told == []


def test_wave_whose_cause_comes_into_doubt_stops_for_that_and_loses_no_node(sqlite: Database) -> None:
    doubted = "leaked-memory-cgroups was wrong by the latest word of three."
    world, stage, desk = desk_of(sqlite, ("a", "b", "c", "d"))
    approved_wave(world, stage, desk)
    stage.ledger._doubters = (lambda _: lambda policy, cause: doubted,)
    stopped = run_until(world, stage, desk, BEGAN_AT + timedelta(minutes=20))
    assert stopped.stop is not None, stopped.state
    assert stopped.stop.because == f"CauseInDoubt: {doubted}"
    assert [turn.outcome for turn in stopped.turns] == [None]
    with pytest.raises(CauseInDoubt):
        drive(
            world,
            desk.resume("wave-abcd", Approval("terminal:bob", "go on"), drive(world, desk.look(stopped))[0]),
        )


def test_wave_that_is_run_in_a_terminal_outlives_a_ledger_that_is_away_for_a_moment(sqlite: Database) -> None:
    world, stage, desk = desk_of(sqlite, ("a", "b"))
    approved_wave(world, stage, desk)
    first = drive(world, desk.stop("wave-abcd", Approval("terminal:ann", "wait")))
    finds, said = (
        iter([first, LedgerUnavailable("It is away."), LedgerUnavailable("It is away."), first]),
        list[str](),
    )

    class Away(WaveService):
        async def find(self, wave_id: str) -> Wave:
            found = next(finds)
            if isinstance(found, Wave):
                return found
            raise found

    class Runs:
        async def advance(self, wave_id: str) -> None:
            return None

    service = Away(**{each.name: getattr(desk, each.name) for each in fields(desk)})
    parts: Any = SimpleNamespace(service=service, run=Runs())
    over = asyncio.run(run_here(parts, "wave-abcd", lambda _, waits: said.append(waits)))
    assert (over, said) == (first, ["It is away.", "It is away.", ""])


@pytest.mark.parametrize("is_answered", [True, False])
def test_node_that_asks_a_person_stops_its_wave_until_that_is_answered_or_nobody_did_in_time(
    sqlite: Database, is_answered: bool
) -> None:
    world, stage, desk = desk_of(sqlite, ("a", "b", "c"))
    approved_wave(world, stage, desk)
    (first, *_), end = drive(world, desk.find("wave-abcd")).proposal.members, BEGAN_AT + timedelta(hours=1)
    lands, strange = stage.wire.lands, [HostKeyRejected(f"The host key of {first.node} is another.")]

    def lands_elsewhere(node: Node, acts: bool) -> tuple[CountingNode, str]:
        if strange and stage.nodes[first.node].stopped:
            raise strange[0]
        return lands(node, acts)

    stage.wire.lands = lands_elsewhere  # type: ignore[method-assign]
    stopped = run_until(world, stage, desk, end)
    assert known(stopped.stop).because.startswith(f"{first.node} asks a person: The host key")
    parts: Any = SimpleNamespace(service=desk, acting=SimpleNamespace(remediation=stage.remediation()))
    asks = drive(world, _advanced(parts, first)).because  # as `zombie wave run` says it
    assert asks.startswith(f"{first.node} asks: The host key")
    assert asks.endswith(f'zombie remediate {first.incident} --answer "go on" or "give up"')
    if not is_answered:
        world.now += POLICY.approval_expires
        assert drive(world, _advanced(parts, first)) is None
        assert [turn.member for turn in run_until(world, stage, desk, end).having(TurnOutcome.FAILED)] == [first]
        return
    strange.clear()
    drive(world, stage.responder().answer(first.incident, GO_ON, Approval("terminal:ann", "the old key is back")))
    shown, against = drive(world, desk.look(stopped))
    assert against == []
    drive(world, desk.resume(stopped.id, Approval("terminal:bob", "it is known"), shown))
    over = run_until(world, stage, desk, end)
    assert (over.state, len(over.having(TurnOutcome.CURED))) == (WaveState.COMPLETED, 3)


@pytest.mark.parametrize("has_turn", [True, False])
def test_wave_ends_though_a_member_was_written_by_a_newer_program(sqlite: Database, has_turn: bool) -> None:
    world, stage, desk = desk_of(sqlite, ("a", "b", "c"))
    approved_wave(world, stage, desk)
    wave = drive(world, desk.find("wave-abcd"))
    newer = wave.proposal.members[0 if has_turn else 1]
    if has_turn:
        drive(world, desk.append(wave.id, 2, TurnGiven(newer.incident, newer.node), "bot"))
    record: Any = NotAllRead(desk.record, newer.incident)
    desk = replace(desk, record=record)
    assert newer.incident not in drive(world, desk.incidents(wave)), "its plan is told as not shown"
    others = run_until(world, stage, desk, world.now + timedelta(minutes=1 if has_turn else 15))
    assert others.state is WaveState.RUNNING
    assert len(others.having(TurnOutcome.CURED)) == (0 if has_turn else 2)
    world.now = known(others.until) + others.proposal.expires + timedelta(minutes=1)
    program = WaveRun(desk, stage.responder(), stage, "p")
    assert None in [drive(world, program.advance(wave.id)) for _ in range(5)]
    over = drive(world, desk.find(wave.id))
    assert over.state is WaveState.EXPIRED
    assert [turn.member for turn in over.having(TurnOutcome.FAILED)] == ([newer] if has_turn else [])


class NotAllRead:
    """A record of which a newer program wrote one incident."""

    def __init__(self, record: Any, newer: str) -> None:
        self.record, self.newer = record, newer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.record, name)

    async def find(self, incident: str) -> Incident:
        if incident == self.newer:
            raise UnreadableEntry("An entry of kind 'Later', form 1, is not known to this program.")
        found: Incident = await self.record.find(incident)
        return found


class Frozen(WaveService):
    """A program that stands still between its look at the record and its entry."""

    late: ClassVar[list[Any]] = []

    async def append(self, *what: Any) -> Any:
        return await self.late.pop()(*what)
