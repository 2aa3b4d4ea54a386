"""Waves in a scheduled world: programs that die, people who stop, leave and resume, nodes that become others."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from bot.domain.alert import BOT, Alert
from bot.domain.entry import WAVES, Entry
from bot.domain.errors import Conflict, LedgerUnavailable, NotAnApprover, Refused, StaleRequest
from bot.domain.events import AlertReceived, Approved, SampleTaken, StepFailed, StepStarted
from bot.domain.house_events import HOUSE, BrakePulled, BrakeReleased
from bot.domain.incident import Incident
from bot.domain.policy import Approval, Limits
from bot.domain.transitions import State
from bot.extras.waves import store
from bot.extras.waves.events import TurnOutcome, WaveApproved, WaveMember, WaveProposed
from bot.extras.waves.store import WaveStore
from bot.extras.waves.wave import Wave, WaveState, stages_of
from bot.extras.waves.wave_run import WaveRun
from bot.extras.waves.wave_service import WaveService
from bot.ledger import Database, Ledger
from tests.schedules.recorder import Recorder
from tests.schedules.stage import POLICY, SETTLED, Stage
from tests.schedules.world import APART, World

ALARMED, CLOCKED, QUIET, PRUNED = 0.6, 0.25, 0.2, 0.2  # of the schedules in which things happen
BLIND = "blind"  # the reason of a yes that names no plans, or others
EXPIRES = timedelta(minutes=20)
FORGIVEN = timedelta(minutes=5)  # a yes that was looked at may be told so much later: its program may stand still
MEDDLED = ("cured", "cured", "cured", "cured", "swallowed", "enabled-again", "gone", "other-key", "other-machine")


def alarm_of(seed: int) -> str:
    return f"alarm{seed}"


class TimedLedger(Ledger):
    """A ledger that also knows when each entry of an incident was written, whatever the database's clock said."""

    def __init__(self, world: World, database: Database) -> None:
        super().__init__(database, world.record, holders={WAVES: store.check_may_begin})
        self.world, self.told_at = world, dict[tuple[str, int], datetime]()

    def _append_to_incident(self, *what: Any) -> tuple[Entry, ...]:
        entries = super()._append_to_incident(*what)
        self.told_at |= {(entry.stream, entry.seq): self.world.now for entry in entries}
        return entries


@dataclass
class Rights:
    """Who may approve, as a chat says it: some may no more from a time on."""

    world: World
    gone: dict[str, datetime] = field(default_factory=dict)

    async def again(self, by: str) -> Approval:
        await self.world.boundary()
        if self.world.now >= self.gone.get(by, self.world.now + timedelta(days=1)):
            raise NotAnApprover(f"{by} has left.")
        return Approval(by, "")


@dataclass
class PlayedWave:
    """A wave that is over, and everything that must hold of it."""

    seed: int
    stage: Stage
    wave: Wave
    incidents: dict[str, Incident]
    house: tuple[tuple[str, dict[str, Any]], ...]  # kind and body, in the order in which everything happened
    approved_at: dict[str, datetime]
    rights: Rights
    told_at: dict[tuple[str, int], datetime]  # when each entry of an incident was written
    failed_at: dict[str, datetime]  # when the record first shows of one that it is not fixed, ended or not
    unseen: list[str]  # nodes that failed, forgiven by people who had not been shown that

    @property
    def acted(self) -> int:
        return sum(any(step.started is not None for step in each.steps) for each in self.incidents.values())

    def faults(self) -> Iterator[str]:
        for fault in (*self._on_nodes(), *self._in_incidents(), *self._in_order()):
            yield f"seed {self.seed}: {fault} ({self.wave.state}: {self.wave.stop})"

    def _on_nodes(self) -> Iterator[str]:
        for stranger in self.stage.wire.strangers:
            if stranger.asked + stranger.stopped:
                yield "another machine was acted on"
        for name, node in self.stage.nodes.items():
            if sum(node.reboots.values()) > 1 or node.stopped > 1 or node.overtaken:
                yield f"{name} was acted on twice"
            if node.done_as_stranger or node.done_late:
                yield f"{name} was acted on as another machine, or late"

        if any(approval.event.reason == BLIND for approval in self.wave.approvals):
            yield "a yes counted of somebody who had not seen these plans"
        if self.unseen:
            yield f"{', '.join(self.unseen)} was forgiven by somebody who had not been shown that it failed"

    def _in_incidents(self) -> Iterator[str]:
        if not self.wave.ended:
            yield "the wave has no end"
        turns = {turn.member.incident: turn for turn in self.wave.turns}
        for name, incident in self.incidents.items():
            began = any(step.started is not None for step in incident.steps)
            if incident.state not in SETTLED:
                yield f"{name} has no end, and is {incident.state}"
            if began and name not in turns:
                yield f"{name} was acted on without a turn"
            if name in turns and turns[name].outcome is TurnOutcome.CURED and incident.state != "resolved":
                yield f"{name} is called cured and is {incident.state}"
            said = {decision.by for decision in (*incident.endorsements, incident.approval) if decision is not None}
            if name in self.approved_at and said != {approval.by for approval in self.wave.approvals}:
                yield f"{name} was approved by others than the wave"
            for approval in self.wave.approvals:
                if name in self.approved_at and approval.by in self.rights.gone:
                    late = self.approved_at[name] - self.rights.gone[approval.by]
                    if late > FORGIVEN:
                        yield f"{name} was approved {late} after {approval.by} had lost the right"

    def _in_order(self) -> Iterator[str]:
        """Play the record of the house once more, by rules written down apart from the program's."""
        runs, braked, turns, cured = False, False, set[str](), 0
        begun, failed, alarmed = set[str](), set[str](), 0
        ended = {turn.member.incident: turn.outcome for turn in self.wave.turns}
        stages, order = stages_of(len(self.wave.proposal.members)), list[str]()
        for kind, body in self.house:
            if kind in ("BrakePulled", "BrakeReleased"):
                braked = kind == "BrakePulled"
            if kind == "IncidentEnded" and body["incident"] in begun & turns and body["state"] != "resolved":
                failed.add(body["incident"])
            if kind != "EntryAnchored":
                continue
            what, stream = body["kind"], body["incident"]
            if stream == alarm_of(self.seed):
                alarmed = 1
            if what in ("WaveApproved", "WaveResumed"):
                runs, alarmed = True, 0
                failed.clear()  # whoever resumes it knows of them
            elif what in ("WaveStopped", "WaveEnded", "WaveDeclined"):
                runs = False
            elif what in ("TurnGiven", "TurnEnded"):
                order.append(what)
                turn = self.wave_turn(body["seq"])
                if what == "TurnGiven":
                    turns.add(turn)
                    alarmed += bool(alarmed)
                    if alarmed > 2:  # the first may have been decided on before the alert came
                        yield "a turn was given after an alert on a cured node"
                    if len(turns) + cured > next((size for size in stages if cured < size), stages[-1]):
                        yield f"{len(turns)} had their turn at once where {cured} were cured"
                else:
                    turns.discard(turn)
                    cured += ended[turn] is TurnOutcome.CURED
            elif what == StepStarted.__name__ and stream in self.incidents:
                if braked:
                    yield f"a step of {stream} began while the brake was on"
                if not runs:
                    yield f"a step of {stream} began while the wave did not run"
                if stream not in turns:
                    yield f"a step of {stream} began without its turn"
                at = self.told_at[stream, body["seq"]]  # the house's time stands still where it was ahead
                minute = at.hour * 60 + at.minute
                if self.stage.world.jumps is None and any(
                    first <= minute < end for first, end in self.stage.policy.quiet
                ):
                    yield f"a step of {stream} began at {at:%H:%M:%S}, in quiet hours"
                shown = {name for name in begun & turns if name in self.failed_at and self.failed_at[name] < at}
                if failed | shown:
                    yield f"a step of {stream} began after {', '.join(failed | shown)} was acted on and not fixed"
                begun.add(stream)

    def wave_turn(self, seq: int) -> str:
        return self.turn_of[seq]

    turn_of: dict[int, str] = field(default_factory=dict)


@dataclass
class Play:
    """What a wave's schedule is made of; `played_wave` puts it on the stage."""

    database: Database
    seed: int
    world: World
    stage: Stage
    waves: WaveStore
    rights: Rights
    wave: str
    incidents: list[str]
    unseen: list[str] = field(default_factory=list)

    @property
    def desk(self) -> WaveService:
        recorder: Any = Recorder(self.world, self.waves, 0.01)
        chance = self.world.random
        policy = self.stage.policy
        return WaveService(
            policy, self.stage.record, self.stage.recorder, recorder, self.world.clock, chance, self.rights
        )

    def run_by(self, name: str) -> None:
        """Let a program carry the wave and its incidents to their end, through every death."""

        async def run() -> None:
            remediation, ledger = self.stage.remediation(), self.stage.ledger
            runs = WaveRun(self.desk, self.stage.responder(), self.stage, name)
            while True:
                try:
                    again = await runs.advance(self.wave)
                    found = [ledger.incident.now(incident) for incident in self.incidents]
                    left = [incident for incident in found if incident is not None and not incident.ended]
                    for incident in left:
                        if incident.state is not State.PROPOSED:
                            await remediation.advance(incident.id)
                    if again is None and not left:
                        return
                except LedgerUnavailable:
                    await self.world.sleep(1)
                    continue
                pause = again.after.total_seconds() if again is not None else 5
                stands = self.waves.find.now(self.wave)
                idle = stands is not None and stands.state is WaveState.STOPPED and not stands.under_way
                await self.world.sleep(20.0 if idle else min(10.0, max(0.05, pause)))

        self.world.start(name, run)

    def says(self, name: str, verb: str, after: float, times: int = 1, *, saw: str | None = None) -> None:
        """Have a person say something of the wave after a while; what is refused is refused.

        Shape: `saw` is the digest of the plans that they saw; None: of this wave's plans.
        """

        async def say() -> None:
            for _ in range(times):
                await self.world.sleep(after)
                for _ in range(4):
                    try:
                        wave = self.waves.find.now(self.wave)
                        assert wave is not None
                        seen, reason = (wave.proposal.digest, f"{verb} it") if saw is None else (saw, BLIND)
                        approval = Approval(f"terminal:{name}", reason, digest=seen)
                        if verb == "resume":
                            await self._resumes(wave, approval)
                        else:
                            await getattr(self.desk, verb)(self.wave, approval)
                    except Refused as no:
                        self.stage.refusals[no.name] += 1
                    except LedgerUnavailable:
                        await self.world.sleep(1)
                        continue
                    break

        self.world.start(f"{name} says {verb}", say)

    async def _resumes(self, seen: Wave, approval: Approval) -> None:
        """Let a person who was shown the wave so resume it a while later."""
        known_until, _ = await self.desk.look(seen)
        if known_until is None:
            raise StaleRequest("There is no dialog for that.")
        await self.world.sleep(self.world.random.choice((1, 20, 60)))
        resumed = await self.desk.resume(self.wave, approval, known_until)
        shown = {turn.member.incident for turn in seen.having(TurnOutcome.FAILED)}
        self.unseen += sorted(resumed.excused - shown)

    def meddle(self) -> None:
        """Have things happen that a wave must survive."""
        world, nodes = self.world, list(self.stage.nodes.values())
        chance, soon = world.chance, partial(world.random.uniform, 5, 240)
        if chance(0.3):  # the brake, and its release
            at = soon()
            self.at(at, lambda: self.stage.ledger.append.now(HOUSE, None, BrakePulled("odd"), "terminal:ann"))
            self.at(at + 40, lambda: self.stage.ledger.append.now(HOUSE, None, BrakeReleased("over"), "terminal:ann"))
        if chance(0.3):
            self.says("ann", "stop", soon())
        if chance(0.2):
            self.rights.gone["terminal:bob"] = world.now + timedelta(seconds=soon())
        if chance(0.3):  # another machine under the name
            self.at(soon(), partial(setattr, world.random.choice(nodes), "copied_id", "f" * 32))
        if chance(0.3):
            self.at(soon(), partial(world.random.choice(nodes).reboot, by_us=False))
        if chance(0.7):
            self.says("bob", "resume", world.random.uniform(60, 120), times=4)

    def alarms(self) -> None:
        """Have a source tell of a node that is cured, some time after that."""
        chance = random.Random(f"{self.seed} alarm")
        if chance.random() > ALARMED:
            return

        async def comes() -> None:
            while not (wave := self.waves.find.now(self.wave)) or not (cured := wave.having(TurnOutcome.CURED)):
                await self.world.sleep(5)
                if wave is not None and wave.ended:
                    return
            await self.world.sleep(chance.choice((0, 1, 4, 30)))
            alert = Alert("alertmanager", alarm_of(self.seed), "", "It is sick again")
            received = AlertReceived(alert, chance.choice(cured).member.node, alarm_of(self.seed))
            with contextlib.suppress(Conflict):
                self.stage.ledger.append.now(alarm_of(self.seed), 0, received, BOT)

        self.world.start("an alert", comes)

    def at(self, seconds: float, happen: Any) -> None:
        self.world.due.append((self.world.now + timedelta(seconds=seconds), happen))


def played_wave(
    database: Database,
    seed: int,
    members: int = 0,
    endings: Sequence[str] = MEDDLED,
    *,
    meddled: bool = True,
    programs: int = 0,
    deadly: float = 0.02,
    limits: Limits | None = None,
    zones: Sequence[str] = (),
    controls: int = 0,
    is_approved: bool = False,
) -> PlayedWave:
    """Play one wave: its members, one to three programs, and whatever happens meanwhile.

    Shape: nodes are in one of the `zones` after another, as their label az says; they have none for an
    empty zone. An older program's wave has `controls`, members that it would have left alone, and may have been
    approved by that program.
    """
    world = World(seed, deadly)
    clocks = random.Random(f"{seed} clocks")  # drawn apart, so that the other schedules stay as they were
    world.jumps = clocks if meddled and clocks.random() < CLOCKED else None
    world.follow(seed % APART)
    ledger = TimedLedger(world, database)
    waves = WaveStore(database, world.record)
    before = ledger.head.now(HOUSE).seq
    number = members or world.random.choice((2, 3, 4, 6))
    names = [f"w{seed}n{at}" for at in range(number)]
    approvals = 1 if is_approved else world.random.choice((1, 1, 2))
    limits = limits or Limits(at_once=world.random.choice((1, 1, 2)))
    policy = replace(POLICY, wave_expires=EXPIRES, limits=limits)
    policy = replace(policy, approvals=approvals, approvers=policy.approvers | {"terminal:cleo"})
    times = random.Random(f"{seed} times")
    if meddled and times.random() < QUIET:
        policy = replace(
            policy, quiet=((minute := 9 * 60 + times.choice((1, 1, 2, 3, 5)), minute + times.choice((1, 3))),)
        )
    if meddled and times.random() < PRUNED:
        world.prune_at_times(database, times)
    stage = Stage.set(
        world,
        ledger,
        {name: world.random.choice(list(endings)) for name in names},
        policy,
        0.01,
        0.02 if meddled and world.chance(0.3) else 0.0,
    )
    zone_of = {name: zones[at % len(zones)] for at, name in enumerate(names)} if zones else {}
    stage.labels = {name: {"az": zone} for name, zone in zone_of.items() if zone}
    wave, incidents = f"wave-s{seed:06}", [f"i{name}" for name in names]
    drawn = list[WaveMember]()
    for incident, name in zip(incidents, names, strict=True):
        stage.propose(incident, name, wave)
        found = ledger.incident.now(incident)
        assert found is not None
        assert found.proposal is not None
        drawn.append(WaveMember(name, incident, found.proposal.digest))
    world.random.shuffle(drawn)
    proposed = WaveProposed(
        ("*",),
        ("leaked-memory-cgroups",),
        tuple(drawn[controls:]),
        tuple(drawn[:controls]),
        stages_of(number - controls),
        EXPIRES,
        policy.digest,
        "",
        "",
        approvals,
    )
    waves.append.now(wave, 0, (sealed := proposed.sealed()), "terminal:asker")
    if is_approved:
        waves.append.now(wave, 1, WaveApproved(sealed.digest, "go", needed=approvals), "terminal:bob")
    rights = Rights(world)
    play = Play(database, seed, world, stage, waves, rights, wave, incidents)
    play.says("asker", "decide", 1)  # who asked may not
    play.says("bob", "decide", 1.5, saw=world.random.choice(("", "0" * 64)))  # of no wave, or of another
    play.says("bob", "decide", 2)
    if approvals == 2:
        play.says("cleo", "decide", 3)
    for each in range(programs or world.random.choice((1, 2, 3))):
        play.run_by(f"p{each}")
    if meddled:
        play.meddle()
        play.alarms()
    world.run(400_000)
    return _over(play, before)


def _over(play: Play, before: int) -> PlayedWave:
    ledger = play.stage.ledger
    assert isinstance(ledger, TimedLedger)
    found = {name: incident for name in play.incidents if (incident := ledger.incident.now(name)) is not None}
    entries = [entry for name in found for entry in ledger.read.now(name)]
    told = ledger.told_at
    at = {entry.hash: told[entry.stream, entry.seq] for entry in entries}
    approved = {entry.stream: at[entry.hash] for entry in entries if entry.kind == Approved.__name__}
    failed = {entry.stream: at[entry.hash] for entry in reversed(entries) if _shows_failure(entry)}  # the first of each
    asked = f"SELECT kind, body FROM entries WHERE stream = 'house' AND seq > {before} ORDER BY seq"
    with play.database.reading() as connection:
        house = tuple((row.kind, json.loads(row.body)) for row in connection.exec_driver_sql(asked))
    wave = play.waves.find.now(play.wave)
    assert wave is not None
    turns = {entry.seq: str(entry.body.get("incident", "")) for entry in play.waves.read.now(play.wave)}
    return PlayedWave(
        play.seed, play.stage, wave, found, house, approved, play.rights, told, failed, play.unseen, turns
    )


def _shows_failure(entry: Entry) -> bool:
    """Whether a step failed, or a look refuted the cure."""
    seen = entry.body.get("seen", ()) if entry.kind == SampleTaken.__name__ else ()
    return entry.kind == StepFailed.__name__ or any(each["finding"] == "refuted" for each in seen)


def is_stopped(played: PlayedWave) -> bool:
    """True where the wave stopped by itself and nobody resumed it: it expired with members to come, or a failure."""
    return played.wave.state is WaveState.EXPIRED and played.wave.stop is not None
