"""What the desk of alarms begins when it is shown a group, and what it has posted of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from bot.domain.alert import Alert
from bot.domain.errors import PlaybookError, UnknownNode
from bot.domain.events import AlertReceived, Triaged
from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.verdict import Verdict
from bot.surfaces.slack.alarms import AlarmDesk
from bot.surfaces.slack.message import Message
from tests.incidents import HEALTHY, NODE, TRIAGED, entries

PLAYBOOK = Playbook("node-health", "", 3, (), (), ())
RECEIVED = AlertReceived(Alert("alertmanager", "g", text="pinned"), NODE, "g1", "node-health", channel="C1")


def incident(name: str, *events: Any, after: int = 0, **more: Any) -> Incident:
    found = fold(entries([replace(RECEIVED, **more), *events], name))
    return replace(found, opened_at=found.opened_at + timedelta(minutes=after))


@dataclass
class Rooms:
    """Everything around the desk, in memory."""

    asked: list[tuple[str, str, str]] = field(default_factory=list)
    owed: dict[str, Message] = field(default_factory=dict)
    judged: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    storms: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def desk(self) -> AlarmDesk:
        return AlarmDesk(
            self, self, self, self.find, self.playbook, self.begin, lambda event, **fields: self.lines.append(event),  # type: ignore[arg-type]
            self.storms.append,
        )  # fmt: skip

    def begin(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self.tasks.append(asyncio.create_task(work, name=name))

    def find(self, name: str) -> Node:
        if name == "gone":
            raise UnknownNode("gone is not in the inventory.")
        return Node(name, "10.0.0.1")

    def playbook(self, name: str) -> Playbook:
        if name == "gone":
            raise PlaybookError("There is no playbook gone.")
        return PLAYBOOK

    async def ask(
        self, person: str, node: Node, playbook: Playbook, heard: Any, waiting: Callable[[str], None]
    ) -> Verdict:
        self.asked.append((person, node.name, playbook.name))
        return replace(HEALTHY, node=node.name)

    async def triaged(self, incident_id: str, verdict: Verdict, playbook: Playbook) -> None:
        self.judged.append(incident_id)

    async def finished_judging(self, incident: Incident) -> None:
        self.ended.append(incident.id)

    async def adopt(self, card: str, spot: Any) -> bool:
        return False

    async def owe(self, card: str, name: str, spot: Any, message: Message, *, under: str = "") -> None:
        self.owed[name] = message

    def show(self, card: str, spot: Any, say: Callable[[], Message]) -> None:
        say()

    def finished(self, name: Any) -> Any:
        """The poster's word for a card that is done, and the judge's for an incident that was left half told."""
        return self.finished_judging(name) if isinstance(name, Incident) else None

    def shown(self, *group: Incident, times: int = 1) -> Rooms:
        async def story() -> None:
            desk = self.desk()
            for _ in range(times):
                await desk.show(group)
            await asyncio.gather(*self.tasks)

        asyncio.run(story())
        return self


def test_every_node_that_is_owed_is_read_once_and_its_card_has_the_verdicts() -> None:
    judged = incident("i3", Triaged(replace(HEALTHY, node="node-3")), node="node-3")
    rooms = Rooms().shown(incident("i1"), incident("i2", node="node-2"), judged, times=3)
    assert rooms.asked == [("alarm g1", NODE, "node-health"), ("alarm g1", "node-2", "node-health")]
    assert sorted(rooms.judged) == ["i1", "i2"]
    assert rooms.owed["card"].text.startswith("3 nodes: 3 healthy")
    assert not any(message.broadcast for message in rooms.owed.values())


def test_checks_of_people_and_undos_are_none_of_its_business() -> None:
    alert = Alert("slack", "C1/-/x", "slack:T1/U1")
    rooms = Rooms().shown(incident("i1", alert=alert)).shown(incident("i2", undoes="i0")).shown()
    assert (rooms.asked, rooms.judged, rooms.owed) == ([], [], {})


def test_storm_is_read_without_a_card() -> None:
    rooms = Rooms().shown(incident("i1", storm="storm-1", withheld="A storm."))
    assert (rooms.asked, rooms.owed) == ([("storms", NODE, "node-health")], {})
    assert (rooms.storms, rooms.judged) == (["storm-1"], ["i1"])


def test_node_that_comes_late_is_told_to_the_channel_and_one_that_comes_soon_is_not() -> None:
    first = incident("i1", Triaged(HEALTHY))
    soon = Rooms().shown(first, incident("i2", node="node-2", after=9))
    late = Rooms().shown(first, incident("i2", node="node-2", after=11))
    assert [name for name in soon.owed if name.startswith("again")] == []
    told = late.owed["again-i2"]
    assert (told.broadcast, told.text.startswith("Also on this card: node-2. 2 nodes")) == (True, True)


def test_what_left_the_inventory_or_the_playbooks_is_judged_all_the_same() -> None:
    rooms = Rooms().shown(incident("i1", node="gone"), incident("i2", node="node-2", playbook="gone"))
    assert sorted(rooms.judged) == ["i1", "i2"]
    assert rooms.asked == [("alarm g1", "node-2", "node-health")]
    assert rooms.lines == ["playbook_gone"]
    assert "1 unknown" in rooms.owed["card"].text


def test_plan_that_was_left_half_told_is_brought_to_its_end() -> None:
    rooms = Rooms().shown(incident("i1", TRIAGED))
    assert (rooms.ended, rooms.asked) == (["i1"], [])
