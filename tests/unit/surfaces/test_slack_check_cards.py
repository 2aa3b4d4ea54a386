"""What stands in Slack of the checks that are followed, and of groups as the record has them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bot.chat.background import Background
from bot.chat.cards import ChatCards
from bot.chat.document import Document
from bot.chat.post_state import MessageTarget
from bot.chat.poster import Poster
from bot.chat.service import Message
from bot.chat.storm_board import StormBoard
from bot.chat.why_replies import WhyReplies
from bot.domain.alert import Alert
from bot.domain.case import Case, CaseHeader
from bot.domain.entry import Head
from bot.domain.events import AlertCleared, AlertReceived, Cancelled, Triaged
from bot.domain.fold import fold
from bot.domain.growth import CountSample, Growth
from bot.domain.incident import Incident
from bot.domain.policy import Policy
from bot.domain.post import CardPosts, CardRecord
from bot.domain.probe import Snapshot
from bot.domain.transitions import State
from bot.domain.verdict import Verdict
from bot.response.diagnosis.progress import ReadingProgress
from bot.surfaces.slack.drawing import draw, fits
from bot.view.context import ViewContext
from bot.view.view import group_view
from tests.record.incidents import HEALTHY, NODE, PROPOSED, TRIAGED, VERDICT, WAYS, entries

RECEIVED = AlertReceived(Alert("alertmanager", "g", text="pinned"), NODE, "g1", "node-health", channel="C1")
BEGAN = datetime(2026, 11, 22, 3, tzinfo=UTC)
LOOKS = tuple(CountSample(BEGAN + timedelta(hours=at), 1_000.0 + 50 * at) for at in range(6))
GROWTH = Growth("leaked-memory-cgroups", "dying memory cgroups", LOOKS, 6, 50.0, 49.0, 51.0)
ASKED = Alert("slack", "C1/-/x", "slack:T1/U1")


def incident(name: str, *events: Any, after: int = 0, **more: Any) -> Incident:
    found = fold(entries([replace(RECEIVED, **more), *events], name))
    return replace(found, opened_at=found.opened_at + timedelta(minutes=after))


@dataclass
class Wall:
    """A poster and a board of storms that keep what they are told."""

    stands: bool = False
    owed: dict[str, Message] = field(default_factory=dict)
    spots: dict[str, MessageTarget] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    storms: list[str] = field(default_factory=list)
    waits: str = ""
    drawn: list[str] = field(default_factory=list)

    pictures: Any = None

    def cards(self, why: WhyReplies | None = None, pictures: Any = None) -> ChatCards:
        self.pictures = pictures
        record, storms = cast("Any", self), cast("StormBoard", self)
        poster = cast("Poster", self)
        return ChatCards(poster, record, record, Policy(), lambda *_, **__: None, record, {}, why=why, storms=storms)

    async def attach(self, *_: object) -> None:
        """No files are sent."""

    def prepare(self) -> None:
        if self.pictures is not None:
            self.pictures.prepare()

    async def wait_for_pictures(self, card: str) -> None:
        if self.pictures is not None:
            await self.pictures.wait_for_uploads()

    async def place(self, card: str, posts: object = None) -> None:
        """No earlier run has posted a card."""

    async def adopt(self, card: str, spot: MessageTarget, posts: object = None) -> bool:
        return self.stands

    chat = SimpleNamespace(draw=draw, fits=fits)

    async def enqueue(
        self, card: str, name: str, spot: MessageTarget, said: Document | Message, *, under: str = "", rank: int = 0
    ) -> None:
        self.owed[name] = said if isinstance(said, Message) else draw(said)
        self.spots[name] = spot

    def show(self, card: str, spot: MessageTarget, say: Callable[[], Document]) -> None:
        self.said.append(draw(say()).text)

    async def illustrate(self, card: str, spot: MessageTarget, incident: str, node: str, drawn: object) -> None:
        self.drawn = [*self.drawn, incident] if incident not in self.drawn else self.drawn

    def hold(self, card: str) -> None:
        self.held.append(card)

    def let_go(self, card: str) -> None:
        self.held.remove(card)

    def mark_finished(self, card: str) -> None:
        assert card not in self.held
        self.done.append(card)

    def keep_storm_shown(self, storm: str) -> None:
        self.storms.append(storm)

    def waits_for(self, incident: str) -> str:
        return self.waits


async def checked(*group: Incident, wall: Wall | None = None) -> Wall:
    """Have every node of a group that has no verdict read."""
    wall = wall or Wall()
    cards, reading = wall.cards(), [one for one in group if one.triage is None]
    await cards.begun(group, reading)
    for one in reading:
        cards.moved(ReadingProgress(one, 1, 3))
        await cards.concluded(one, replace(HEALTHY, node=one.node))
    for one in reading:
        cards.ended(one)
    return wall


async def test_card_goes_from_reading_to_its_verdicts() -> None:
    judged = incident("i3", Triaged(replace(HEALTHY, node="node-3")), node="node-3")
    wall = await checked(incident("i1"), incident("i2", node="node-2"), judged)
    assert wall.owed["card"].text.startswith("3 nodes: 3 healthy")
    assert wall.said[0].startswith("3 nodes: 1 healthy, 2 still reading")
    assert not any(message.broadcast for message in wall.owed.values())
    assert wall.done == ["g1"]
    assert {"details-i1-1", "details-i2-1"} < wall.owed.keys()


async def test_card_that_stands_from_an_earlier_run_is_gone_on_with() -> None:
    wall = Wall(stands=True)
    await wall.cards().begun([incident("i1")], [incident("i1")])
    assert (wall.owed, len(wall.said)) == ({}, 1)


async def test_card_of_a_request_is_where_it_was_asked_for_and_all_its_nodes_have_details() -> None:
    group = [incident(f"i{n}", node=f"node-{n}", alert=ASKED, channel="") for n in range(9)]
    wall = Wall()
    cards = wall.cards()
    cards.expect("g1", MessageTarget("C1", "", "https://answer.example"))
    await cards.begun(group, group)
    for one in group:
        await cards.concluded(one, replace(HEALTHY, node=one.node))
    assert wall.spots["card"].answer_at == "https://answer.example"
    assert len([name for name in wall.owed if name.startswith("details")]) == 9
    again = await checked(*group)
    assert again.spots["card"] == MessageTarget("C1"), "after a restart it is where the record says"


async def test_of_an_alerts_many_nodes_only_those_have_details_that_are_not_well() -> None:
    wall = await checked(*(incident(f"i{n}", node=f"node-{n}") for n in range(6)))
    assert [name for name in wall.owed if name.startswith("details")] == []


async def test_storm_has_no_card_of_its_own() -> None:
    why_nothing_in_storm = incident("i1", storm="storm-1", withheld="A storm.")
    wall = await checked(why_nothing_in_storm)
    await wall.cards().show([why_nothing_in_storm])
    assert (wall.owed, wall.said, wall.storms) == ({}, [], ["storm-1"])


async def test_node_has_a_card_where_another_of_its_group_came_in_a_storm_before() -> None:
    stormy = incident("i1", Triaged(HEALTHY), storm="storm-1", withheld="A storm.")
    wall = await checked(stormy, incident("i2", node="node-2"))
    assert wall.owed["card"].text.startswith("2 nodes: 2 healthy")
    wall = Wall()
    await wall.cards().show([stormy, incident("i2", Triaged(replace(HEALTHY, node="node-2")), node="node-2")])
    assert wall.owed["card"].text.startswith("2 nodes: 2 healthy")


async def test_what_is_read_in_a_storm_is_not_told_on_a_card_of_before() -> None:
    wall = await checked(incident("i1", Triaged(HEALTHY)), incident("i2", node="node-2", storm="storm-1", after=11))
    assert (wall.owed, wall.said) == ({}, [])


async def test_node_that_comes_late_is_told_to_the_channel_and_one_that_comes_soon_is_not() -> None:
    first = incident("i1", Triaged(HEALTHY))
    soon = await checked(first, incident("i2", node="node-2", after=9))
    late = await checked(first, incident("i2", node="node-2", after=11))
    assert [name for name in soon.owed if name.startswith("again")] == []
    told = late.owed["again-i2"]
    assert (told.broadcast, told.text.startswith("Also on this card: node-2. 2 nodes")) == (True, True)


async def test_group_is_shown_as_the_record_has_it_once_for_each_wording() -> None:
    wall = Wall()
    cards = wall.cards()
    await cards.show([incident("i1", Triaged(HEALTHY))])
    first = wall.owed.pop("card")
    await cards.show([incident("i1", Triaged(HEALTHY))])
    assert wall.owed == {}
    await cards.show([incident("i1", Triaged(HEALTHY), AlertCleared("alertmanager", "g"))])
    assert wall.owed["card"].text == f"Resolved: {first.text}"


async def test_closing_card_has_the_head_behind_all_that_it_says_also_once_it_was_reopened() -> None:
    wall = Wall()
    ended = (TRIAGED, PROPOSED, Cancelled("It ended."))
    cards, first = wall.cards(), incident("i1", *ended)
    again = replace(incident("i2", *ended, after=9), reopens="i1")
    over = replace(incident("i2", *ended, AlertCleared("alertmanager", "g"), after=9), reopens="i1")
    for seq, group, shown in ((1, (first,), 1), (2, (first,), 1), (3, (first, again), 3), (4, (first, over), 4)):
        await cards.show(group, CardRecord("g1", group, {}, CardPosts(), Head(seq, "ab" * 32), None, lambda *_: ""))
        assert f"{shown}:{'ab' * 16}" in str(wall.owed["card"].blocks)


async def test_what_is_read_elsewhere_and_a_persons_check_are_left_alone() -> None:
    wall = Wall()
    cards = wall.cards()
    await cards.show([incident("i1")])
    await cards.show([incident("i1", Triaged(HEALTHY), alert=ASKED)])
    await cards.show([])
    assert (wall.owed, wall.said) == ({}, [])


@pytest.mark.parametrize("state", [State.APPROVED, State.ACTING, State.VERIFYING])
async def test_card_says_what_holds_up_its_plan_in_whatever_state(state: State) -> None:
    one = incident("i1", *WAYS[state][1:])
    wall = Wall(waits="Braked: bob pulled the brake.")
    record = CardRecord("g1", (one,), {}, CardPosts(), Head(0, ""), None, lambda *_: "")
    await wall.cards().show([one], record)
    assert "Braked: bob pulled the brake." in wall.owed["card"].text
    row = group_view([one], ViewContext(waits_for={one.id: wall.waits})).incidents[0].short
    assert row.endswith("; waits: Braked: bob pulled the brake.")


@pytest.mark.parametrize("is_begun", [False, True])
async def test_what_became_of_a_node_is_told_while_another_of_its_alert_is_read(is_begun: bool) -> None:
    failed, other = incident("i1", *WAYS[State.ESCALATED][1:]), incident("i2", node="node-2")
    wall = Wall()
    cards = wall.cards()
    if is_begun:
        await cards.begun([failed, other], [other])
    record = CardRecord("g1", (failed, other), {}, CardPosts(), Head(0, ""), None, lambda *_: "")
    await cards.show([failed, other], record)
    assert wall.owed["card"].text.startswith("2 nodes: 1 critical; 1 escalated, 1 still reading")
    assert {"yes-1-i1", "escalated-i1"} < wall.owed.keys()
    if is_begun:
        cards.moved(ReadingProgress(other, 1, 3))
        assert "1 escalated" in wall.said[-1], "progress of one says nothing else of the other"


async def test_persons_card_tells_how_fast_it_grows_once_that_is_known_and_once_only() -> None:
    grown = Triaged(HEALTHY, growth=GROWTH)
    asked = incident("i1", alert=ASKED, channel="")
    judged = incident("i1", grown, alert=ASKED, channel="")
    for still_read in (False, True):
        wall = Wall(stands=True)
        cards = wall.cards()
        await cards.begun([asked], [asked])
        await cards.concluded(asked, HEALTHY)
        before = wall.owed.pop("card")
        assert "dying memory cgroups" not in before.text
        if not still_read:
            cards.ended(asked)
        await cards.show([judged])
        assert "more dying memory cgroups" in wall.owed.pop("card").text
        await cards.show([judged])
        assert "card" not in wall.owed
        if still_read:
            cards.ended(asked)
        assert wall.held == []


async def test_node_that_is_read_stays_on_the_card_also_where_the_record_is_behind() -> None:
    wall = Wall()
    cards = wall.cards()
    both = [incident("i1"), incident("i2", node="node-2")]
    await cards.begun(both, both)
    await cards.show(both[:1])
    assert wall.said[-1].startswith("2 nodes: 2 still reading")


class Later:
    """Work that nobody waits for, kept until it is asked for."""

    def __init__(self) -> None:
        self.works: list[Coroutine[Any, Any, None]] = []

    def begin(self, work: Coroutine[Any, Any, None], name: str, /) -> None:
        self.works.append(work)


async def test_why_is_added_to_the_details_once_it_is_known() -> None:
    async def explain(verdict: Verdict) -> list[str]:
        return ["If cgroups.dying were 900, nothing would be offered.", *("More." for _ in range(4))]

    wall, later = Wall(), Later()
    cards = wall.cards(WhyReplies(explain, cast("Poster", wall), cast("Background", later)))
    group = [incident("i1")]
    await cards.begun(group, group)
    snapshot = Snapshot(NODE, group[0].opened_at, timedelta(), case=Case(CaseHeader(NODE)))
    verdict = replace(VERDICT, node=NODE, snapshot=snapshot)
    await cards.concluded(group[0], verdict)
    before = wall.owed["details-i1-1"]
    assert "would have changed" not in str(before.blocks)
    cards.ended(group[0])
    (work,) = later.works
    await work
    after = wall.owed["details-i1-1"]
    (fold,) = [block for block in after.blocks if block not in before.blocks]
    assert fold["title"]["text"] == "What would have changed this verdict"
    said = str(fold["child_blocks"])
    assert "If cgroups.dying were 900, nothing would be offered." in said
    assert "2 more: zombie why i1" in said
    assert sum(name.startswith("details") for name in wall.owed) == 1


class Brushes:
    """Pictures whose upload a test ends."""

    def __init__(self) -> None:
        self.prepared = 0
        self.uploaded = asyncio.Event()

    def prepare(self) -> None:
        self.prepared += 1

    async def wait_for_uploads(self) -> None:
        await self.uploaded.wait()


async def test_picture_goes_before_the_reasons_and_is_prepared_while_the_node_is_read() -> None:
    explained: list[str] = []

    async def explain(verdict: Verdict) -> list[str]:
        explained.append(verdict.node)
        return []

    wall, later, brushes = Wall(), Later(), Brushes()
    cards = wall.cards(WhyReplies(explain, cast("Poster", wall), cast("Background", later)), brushes)
    group = [incident("i1")]
    await cards.begun(group, group)
    assert brushes.prepared == 1
    snapshot = Snapshot(NODE, group[0].opened_at, timedelta(), case=Case(CaseHeader(NODE)))
    await cards.concluded(group[0], replace(VERDICT, node=NODE, snapshot=snapshot))
    (work,) = later.works
    telling = asyncio.create_task(work)
    await asyncio.sleep(0)
    assert explained == []
    brushes.uploaded.set()
    await telling
    assert explained == [NODE]
