"""Which nodes are read, for whom, and once; what followers hear; and that every verdict comes to the record."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from bot.domain.alert import Alert
from bot.domain.contracts import Listener, ProbeAnswered, ReadingStarted, ReadingWaits
from bot.domain.errors import LedgerUnavailable, PlaybookError, UnknownNode
from bot.domain.events import AlertReceived, Triaged
from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.probe import Snapshot, Unread
from bot.domain.transitions import State
from bot.domain.verdict import Status, Verdict
from bot.response.diagnosis.diagnosis import LONGEST_PAUSE, LOOK_AGAIN, Diagnosis
from bot.response.diagnosis.progress import ReadingProgress
from bot.response.diagnosis.recorder import VerdictRecorder
from bot.response.diagnosis.scheduler import CheckScheduler
from bot.response.incident_record import IncidentRecord, IncidentRequest
from tests.record.incidents import BEGAN_AT, HEALTHY, NODE, entries

PLAYBOOK = Playbook("node-health", "", 3, (), (), ())
RECEIVED = AlertReceived(Alert("alertmanager", "g", text="pinned"), NODE, "g1", "node-health", channel="C1")
REQUEST = IncidentRequest("slack", "C1/-/k", "slack:T1/U1", f"check {NODE}", "node-health")


def incident(name: str, *events: Any, **more: Any) -> Incident:
    return fold(entries([replace(RECEIVED, **more), *events], name))


@dataclass
class House:
    """Everything around a diagnosis, in memory: it is scheduler, record, recorder, directory and follower."""

    group: tuple[Incident, ...] = ()
    fails: int = 0  # tries to record that fail
    held: asyncio.Event | None = None
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    recorded: list[tuple[str, Status]] = field(default_factory=list)
    alerted: list[str] = field(default_factory=list)
    cause: str | None = None
    opened_ids: list[str] = field(default_factory=list)
    heard: list[tuple[str, Any]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    reads: int = 0
    closed: bool = False

    def diagnosis(self) -> Diagnosis:
        def log(event: str, **_: Any) -> None:
            self.lines.append(event)

        scheduler, record, recorder = (
            cast("CheckScheduler", self),
            cast("IncidentRecord", self),
            cast("VerdictRecorder", self),
        )
        return Diagnosis(
            scheduler, record, recorder, self, self, log, (self,), self.sleep, people=frozenset(("slack", "terminal"))
        )

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)

    def find(self, name: str, /) -> Node:
        if name == "gone":
            raise UnknownNode("gone is not in the inventory.")
        return Node(name, "10.0.0.1")

    def get(self, name: str, /) -> Playbook:
        if name == "gone":
            raise PlaybookError("There is no playbook gone.")
        return PLAYBOOK

    # --- the scheduler

    async def ask(self, person: str, node: Node, playbook: Playbook, heard: Listener) -> Verdict | None:
        self.asked.append((person, node.name, playbook.name))
        heard(ReadingWaits(node.name, "others are first"))
        if self.held is not None:
            await self.held.wait()
        if self.closed:
            return None
        heard(ReadingStarted(node.name, ("cpu", "units"), HEALTHY.took))
        heard(ProbeAnswered(node.name, "cpu"))
        snapshot = Snapshot(node.name, BEGAN_AT, HEALTHY.took, {"cpu": Unread("cpu", "no answer")})
        return replace(HEALTHY, node=node.name, cause=self.cause, snapshot=snapshot)

    def close(self) -> None:
        self.closed = True
        if self.held is not None:
            self.held.set()

    async def cancel_running_reads(self) -> None: ...

    # --- the record

    async def incidents_of_card(self, card: str) -> tuple[Incident, ...]:
        self.reads += 1
        told = {name for name, _ in self.recorded}
        found = tuple(replace(one, state=State.TRIAGED) if one.id in told else one for one in self.group)
        await asyncio.sleep(0)  # and goes on meanwhile
        return found

    async def append(self, incident: Incident, event: Any, by: str) -> Incident:
        self.heard.append(("cancelled", (incident.id, event.because)))
        return incident

    async def record_opening(self, incident: Incident) -> None:
        self.opened_ids.append(incident.id)

    async def record(self, incident: Incident, verdict: Verdict, playbook: Playbook) -> None:
        if len(self.pauses) < self.fails:
            raise LedgerUnavailable("The ledger is gone.")
        self.recorded.append((incident.id, verdict.status))
        self.alerted.append(verdict.alerted)

    # --- the follower

    async def begun(self, group: Sequence[Incident], reading: Sequence[Incident]) -> None:
        self.heard.append(("begun", [one.id for one in reading]))

    def moved(self, underway: ReadingProgress) -> None:
        self.heard.append(("moved", (underway.waiting, underway.answered, underway.asked)))

    async def concluded(self, incident: Incident, verdict: Verdict) -> None:
        assert (incident.id, verdict.status) not in self.recorded, "it is shown before it is on record"
        self.heard.append(("concluded", verdict.node))

    def ended(self, incident: Incident) -> None:
        self.heard.append(("ended", incident.id))


async def settled() -> None:
    for _ in range(30):
        await asyncio.sleep(0)


async def advanced(house: House, *group: Incident, times: int = 1) -> House:
    """Have each incident of a group advanced, all at once, so many times."""
    house.group = group
    diagnosis = house.diagnosis()
    for _ in range(times):
        told = {name for name, _ in house.recorded}
        again = await asyncio.gather(*(diagnosis.advance(one) for one in group if one.id not in told))
        assert set(again) <= {LOOK_AGAIN}
    await settled()
    return house


async def test_every_node_that_is_owed_is_read_once_and_its_followers_hear_of_it() -> None:
    judged = incident("i3", Triaged(replace(HEALTHY, node="node-3")), node="node-3")
    house = await advanced(House(), incident("i1"), incident("i2", node="node-2"), judged, times=3)
    assert house.asked == [("alarm g1", NODE, "node-health"), ("alarm g1", "node-2", "node-health")]
    assert sorted(house.recorded) == [("i1", Status.HEALTHY), ("i2", Status.HEALTHY)]
    assert house.heard[0] == ("begun", ["i1", "i2"])
    for what in (("concluded", NODE), ("concluded", "node-2"), ("ended", "i1"), ("ended", "i2")):
        assert house.heard.count(what) == 1


async def test_followers_hear_how_far_a_reading_has_come() -> None:
    house = await advanced(House(), incident("i1"))
    moved = [what for kind, what in house.heard if kind == "moved"]
    assert moved == [("others are first", 0, 0), ("", 0, 2), ("", 1, 2)]


async def test_group_is_read_once_for_all_that_are_advanced_at_once_and_not_for_one_that_is_read() -> None:
    house = House(held=asyncio.Event())
    await advanced(house, *(incident(f"i{n}", node=f"node-{n}") for n in range(20)), times=3)
    assert (house.reads, len(house.asked)) == (1, 20)


async def test_incident_that_a_newer_one_replaced_before_its_node_was_read_ends() -> None:
    house = await advanced(House(), incident("i1"), incident("i2", reopens="i1"))
    assert [what for kind, what in house.heard if kind in ("begun", "cancelled")] == [
        ["i2"],
        ("i1", "Its alert was over and fired again before the node was read: see incident i2."),
    ]


async def test_what_a_terminal_reads_and_undos_are_none_of_its_business() -> None:
    alert = Alert("terminal", "x", "terminal:ann")
    house = await advanced(House(), incident("i1", alert=alert), incident("i2", undoes="i0", node="node-2"))
    assert (house.asked, house.heard) == ([], [])


async def test_storms_share_one_allowance_and_people_have_their_own() -> None:
    house = await advanced(House(), incident("i1", storm="storm-1", withheld="A storm."))
    assert house.asked == [("storms", NODE, "node-health")]
    alert = Alert("slack", "C1/-/x", "slack:T1/U1")
    house = await advanced(House(), incident("i1", alert=alert))
    assert house.asked == [("slack:T1/U1", NODE, "node-health")]


async def test_verdict_without_a_cause_says_what_of_the_alert_was_read() -> None:
    alert = Alert("alertmanager", "g", text="load is high")
    house = await advanced(House(), incident("i1", alert=alert))
    assert house.alerted == ["Of what the alert points at, cpu was not read."]
    house = await advanced(House(cause="disk-full"), incident("i1", alert=alert))
    assert house.alerted == [""], "a cause is an answer"


async def test_what_left_the_inventory_or_the_playbooks_is_judged_all_the_same() -> None:
    house = await advanced(House(), incident("i1", node="gone"), incident("i2", node="node-2", playbook="gone"))
    assert sorted(house.recorded) == [("i1", Status.UNKNOWN), ("i2", Status.HEALTHY)]
    assert house.asked == [("alarm g1", "node-2", "node-health")]
    assert house.lines == ["playbook_gone"]


async def test_verdict_is_told_again_until_it_is_on_record() -> None:
    house = await advanced(House(fails=8), incident("i1"))
    assert house.recorded == [("i1", Status.HEALTHY)]
    assert (len(house.pauses), house.pauses[0], house.pauses[-1]) == (8, 1.0, LONGEST_PAUSE)
    assert house.pauses == sorted(house.pauses)
    assert house.lines == ["record_failed"] * 8


async def test_request_that_is_not_on_record_is_read_and_opened() -> None:
    house = House()
    await house.diagnosis().begin([REQUEST.unrecorded(NODE, BEGAN_AT)])
    await settled()
    assert house.opened_ids == [REQUEST.incident(NODE)] == [name for name, _ in house.recorded]


async def test_bot_that_stops_leaves_what_it_did_not_read() -> None:
    house = House(held=asyncio.Event())
    diagnosis = house.diagnosis()
    house.group = (incident("i1"),)
    await diagnosis.advance(house.group[0])
    assert diagnosis.is_reading("i1")
    await diagnosis.drain(1)
    await settled()
    assert (house.recorded, diagnosis.is_reading("i1"), house.heard[-1]) == ([], False, ("ended", "i1"))
    await diagnosis.advance(house.group[0])
    assert len(house.asked) == 1, "nothing begins any more"
