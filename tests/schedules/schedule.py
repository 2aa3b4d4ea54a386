"""One schedule: what is put on the stage by a seed, and what must hold when everything is over."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from bot.domain.alert import BOT, Alert
from bot.domain.entry import Entry, instant_text
from bot.domain.events import AlertCleared, Escalated, QuestionAnswered, QuestionAsked
from bot.domain.fold import fold
from bot.domain.house_events import HOUSE
from bot.domain.incident import Incident
from bot.domain.policy import Limits, Policy
from bot.ledger import Database, Leases, Ledger
from tests.schedules.parts import CountingNode
from tests.schedules.people import ABOUT, ASKED, OLD_CARD, People
from tests.schedules.stage import ENDINGS, POLICY, SETTLED, Stage
from tests.schedules.world import APART, World

STRAYED, STRAYS = 0.3, 0.04  # schedules in which connections land on another machine, and how many of those do
LEASED = 0.08  # of the schedules; the leases only spare work, and what they promise holds without them
CUT, CUTS = 0.25, 0.5  # schedules in which connections that act are cut often, and how many of those are
CLOCKED, CLEARED = 0.1, 0.2  # in which the clock of the record jumps, and in which a source says that it is over
QUIET, PRUNED = 0.3, 0.15  # in which quiet hours come, and in which earlier incidents are pruned meanwhile
BRAKED, ALIASED, LEFT, STALE, CHATTED, ANSWERED = 0.25, 0.15, 0.1, 0.15, 0.2, 0.5
TWO_VOICES = replace(POLICY, approvals=2, approvers=POLICY.approvers | {"terminal:cleo"})
TWO_AT_ONCE = replace(POLICY, limits=Limits(at_once=2))  # so that only the machine's hold is in the way


@dataclass(frozen=True)
class Played:
    """A schedule that is over."""

    seed: int
    stage: Stage
    people: People
    incidents: dict[str, Incident]
    answers: tuple[tuple[str, str], ...]  # when the question was asked that was open, and the reason of its answer
    house: tuple[tuple[int, str, dict[str, Any]], ...]  # number, kind and body of what it left in `house`
    begun_over: frozenset[str]  # incidents of which something began after their source had said that they are over
    begun_quietly: dict[str, datetime]  # incidents of which something began in quiet hours, and when

    def faults(self) -> Iterator[str]:
        """Yield what must not have happened."""
        told = ", ".join(f"{name} on {each.node} is {each.state}" for name, each in self.incidents.items())
        for fault in (*self._on_nodes(), *self._in_incidents(), *self._to_questions(), *self._with_the_brake()):
            yield f"seed {self.seed}: {fault} ({told})"

    def _on_nodes(self) -> Iterator[str]:
        for stranger in self.stage.wire.strangers:
            if stranger.asked + stranger.stopped:
                yield "another machine was acted on"
            if stranger.journal:
                yield "another machine's journal tells of a change"
        for node in self._machines():
            if any(times > 1 for times in node.reboots.values()) or sum(node.reboots.values()) > 1:
                yield f"{node.name} was rebooted: {dict(node.reboots)}"
            if node.stopped > 1:
                yield f"its unit was stopped {node.stopped} times"
            if node.done_as_stranger:
                yield "it was acted on after it became another machine"
            if node.done_late:
                yield f"{node.done_late} changes by commands from long ago"
            if node.overtaken:
                yield f"{node.overtaken} commands were sent while an earlier one could still begin"
            if node.untold or node.in_vain:
                yield f"its journal lacks {node.untold} changes and tells of {node.in_vain} that never were"

    def _in_incidents(self) -> Iterator[str]:
        begun: dict[int, set[str]] = defaultdict(set)
        for incident in self.incidents.values():
            node = self.stage.nodes[incident.node]
            alone = sum(other is node for other in self.stage.nodes.values()) == 1
            ran = any(step.may_have_run for step in incident.steps)
            if ran and incident.steps[0].started is not None:
                begun[id(node)].add(incident.id)
            if incident.state not in SETTLED:
                yield f"{incident.id} has no end"
            if incident.id in self.begun_over:
                yield f"{incident.id} began though its source had said that it is over"
            if incident.state in ("cancelled", "declined") and incident.has_begun:
                yield f"{incident.id} has begun"
            if incident.state in ("cancelled", "declined") and alone and (node.asked or not node.enabled):
                yield f"{node.name} was acted on"
            if incident.state == "resolved" and (node.boot == 0 or node.enabled or node.active):
                yield f"{incident.id} is not cured"
            said = [word for word in (*incident.endorsements, incident.approval) if word is not None]
            if any(word.event.reason == OLD_CARD for word in said):
                yield f"{incident.id}: a yes to another plan counted"
            approvals = {word.by for word in said} - self.people.left
            if incident.approval is not None and len(approvals) < self.stage.policy.approvals:
                yield f"{incident.id}: only {len(approvals)} voices counted"
            if (at := self.begun_quietly.get(incident.id)) is not None:
                yield f"a step of {incident.id} began at {at:%H:%M:%S}, in quiet hours"
        if any(len(names) > 1 for names in begun.values()):
            yield "one machine was acted on by two incidents"
        if unsaid := [node.name for node in self.stage.nodes.values() if node.stopped and not begun[id(node)]]:
            yield f"{unsaid[0]} was acted on, and its incidents say that nothing ran"

    def _to_questions(self) -> Iterator[str]:
        for asked_at, said in self.answers:
            if ASKED in said and not said.endswith(f"{ASKED}{asked_at}"):
                yield f"the question that was asked at {asked_at} was answered by what was {said}"

    def _with_the_brake(self) -> Iterator[str]:
        pull, requests = 0, Counter[str]()
        for number, kind, body in self.house:
            if kind == "BrakePulled":
                pull = number
                requests[body["request"]] += 1
            elif kind == "BrakeReleased":
                if body["reason"] != f"{ABOUT}{pull}":
                    yield f"pull #{pull} was released by what was {body['reason']}"
                pull = 0
            elif kind == "EntryAnchored" and body["kind"] == "StepStarted" and pull:
                yield f"a step of {body['incident']} began while the brake was on"
        yield from (f"{name} pulled the brake {times} times" for name, times in requests.items() if times > 1)

    def _machines(self) -> list[CountingNode]:
        return list({id(node): node for node in self.stage.nodes.values()}.values())


def played(database: Database, seed: int) -> Played:
    """One schedule: one or two incidents, one slot, two approvers, one to three runners each, leased or not.

    Shape: in some the brake is moved, one machine has two names, somebody leaves, or what is said comes twice or late.
    """
    world = World(seed)
    world.follow(seed % APART)
    clocks = random.Random(f"{seed} clocks")  # drawn apart, so that the other schedules stay as they were
    world.jumps = clocks if clocks.random() < CLOCKED else None
    times = random.Random(f"{seed} times")
    ledger = Ledger(database, world.record)
    before = ledger.head.now(HOUSE).seq
    aliased, leaves = world.chance(ALIASED), world.chance(LEFT)
    names = [f"n{seed}a", f"n{seed}b"][: 2 if aliased else world.random.choice((1, 1, 1, 2))]
    endings = {name: world.random.choice(ENDINGS) for name in names}
    policy = TWO_VOICES if leaves else TWO_AT_ONCE if aliased else POLICY
    if times.random() < QUIET:
        world.now = world.began_at = world.now + timedelta(seconds=times.choice((0, 30, 45, 50, 55, 58)))
        policy = replace(policy, quiet=((9 * 60 + 1, 9 * 60 + times.choice((2, 3))),))
    if times.random() < PRUNED:
        world.prune_at_times(database, times)
    stage = Stage.set(world, ledger, endings, policy, strays=STRAYS if world.chance(STRAYED) else 0)
    braked = world.chance(BRAKED)
    stage.wire.cuts = CUTS if braked or world.chance(CUT) else stage.wire.breaks
    if aliased:
        stage.nodes[names[1]] = stage.nodes[names[0]]
    stage.lookup = people = People(stage, database)
    incidents = {f"i{name}": name for name in names}
    is_cleared = clocks.random() < CLEARED
    for incident, name in incidents.items():
        stage.propose(incident, name, alert=Alert("pagerduty", incident, "terminal:asker") if is_cleared else None)
        if is_cleared:
            at = world.now + timedelta(seconds=clocks.choice((0.2, 1, 2, 4, 20)))
            world.due.append((at, partial(_is_over, ledger, incident)))
    for incident, name in incidents.items():
        _approved(stage, people, incident, name, leaves)
        leased = len(names) == 1 and world.chance(LEASED)
        for number in range(world.random.choice((1, 1, 2, 3))):
            if leased:
                stage.seen_to_by(incident, f"r{number}", lambda who: Leases(database, who, time=world.record))
            else:
                stage.run_by(incident, f"r{number}")
        if world.chance(0.3):
            people.meddles(incident)
        if endings[name] in ("other-key", "other-machine") and random.Random(f"{seed} {name}").random() < ANSWERED:
            people.answer_by_dialogs(incident)  # drawn apart, so that the other schedules stay as they were
        node = stage.nodes[name]
        if node.ending == "rebooted-by-others":
            at = world.now + timedelta(seconds=world.random.uniform(0, 40))
            world.due.append((at, partial(node.reboot, by_us=False)))
    if braked:
        people.move_the_brake(f"{seed}")
    world.run()
    told = {incident: ledger.read.now(incident) for incident in incidents}
    found = {incident: fold(entries) for incident, entries in told.items()}
    answers = tuple(answer for entries in told.values() for answer in _answers(entries))
    begun_over = frozenset(incident for incident, entries in told.items() if _began_over(entries))
    begun_quietly = {
        incident: began
        for incident, entries in told.items()
        if world.jumps is None and (began := _began_quietly(entries, policy)) is not None
    }
    return Played(seed, stage, people, found, answers, _left_in_house(database, before), begun_over, begun_quietly)


def _is_over(ledger: Ledger, incident: str) -> None:
    """Let its source say that it is over."""
    ledger.append.now(incident, ledger.head.now(incident).seq, AlertCleared("pagerduty", incident), BOT)


def _began_over(entries: Sequence[Entry]) -> bool:
    kinds = [entry.kind for entry in entries]
    over, began = (kinds.index(kind) if kind in kinds else len(kinds) for kind in ("AlertCleared", "StepStarted"))
    return over < began < len(kinds)


def _began_quietly(entries: Sequence[Entry], policy: Policy) -> datetime | None:
    began = [entry.at for entry in entries if entry.kind == "StepStarted"]
    spans = policy.quiet
    return next((at for at in began for first, end in spans if first <= at.hour * 60 + at.minute < end), None)


def _approved(stage: Stage, people: People, incident: str, name: str, leaves: bool) -> None:
    world = stage.world
    if world.chance(STALE):
        people.approves_an_older_plan(incident, name)
        if world.chance(0.5):
            return  # and nobody else does
    if leaves:
        people.say_yes_and_leave(incident)
        return
    for person in ("ann", "bob")[: world.random.choice((1, 2))]:
        if world.chance(CHATTED):
            people.approves_by_chat(incident, f"terminal:{person}")
        else:
            stage.decided_by(incident, person)


def _answers(entries: Sequence[Entry]) -> Iterator[tuple[str, str]]:
    """Yield when each question was asked that was answered, and what was said to it."""
    asked_at = ""
    for entry in entries:
        match entry.event:
            case QuestionAsked():
                asked_at = instant_text(entry.at)
            case QuestionAnswered(reason=said) | Escalated(because=said):
                yield asked_at, said


def _left_in_house(database: Database, before: int) -> tuple[tuple[int, str, dict[str, Any]], ...]:
    asked = f"SELECT seq, kind, body FROM entries WHERE stream = 'house' AND seq > {before} ORDER BY seq"
    with database.reading() as connection:
        return tuple((row.seq, row.kind, json.loads(row.body)) for row in connection.exec_driver_sql(asked))
