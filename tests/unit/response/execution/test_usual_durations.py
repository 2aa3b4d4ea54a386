"""How long a reboot usually takes: from proved reboots on record, of the same kind of node where there are enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.domain.errors import UnknownNode, UnreadableEntry
from bot.domain.events import StepVerified
from bot.domain.incident import Incident, IncidentSummary
from bot.domain.node import Node
from bot.domain.transitions import State
from bot.response.execution.usual_durations import UsualTime, UsualTimes
from bot.view.plan_words import usual_words
from tests.record.incidents import WAYS
from tests.unit.surfaces.cards import CONTEXT, shown, told, words

BIG = "p4d.24xlarge"


def rebooted(number: int, seconds: float, node: str = "") -> Incident:
    """An incident whose reboot was proved after so long."""
    incident = told(*WAYS[State.RESOLVED], stream=f"incident{number:02}")
    assert incident.proposal is not None
    first, second = incident.steps
    assert [step.action for step in incident.proposal.plan.steps] == ["disable_unit", "reboot"]
    assert isinstance(first.outcome, StepVerified)
    proved = replace(first.outcome, number=2, took=timedelta(seconds=seconds))
    return replace(incident, node=node or f"node-{number}", steps=(first, replace(second, outcome=proved)))


class Past:
    """A record of ended incidents; `asked` counts how often its list was asked for."""

    def __init__(self, ended: Sequence[Incident]) -> None:
        self.kept = {incident.id: incident for incident in ended}
        self.asked = 0
        self.damaged = ""

    async def incidents(self) -> tuple[IncidentSummary, ...]:
        self.asked += 1
        return tuple(incident.summary for incident in self.kept.values())

    async def incident(self, name: str) -> Incident | None:
        if name == self.damaged:
            raise UnreadableEntry("It is damaged.")
        return self.kept[name]


class Nodes:
    """The even ones are big."""

    def find(self, name: str, /) -> Node:
        if name == "gone":
            raise UnknownNode("It is gone.")
        number = int(name.rpartition("-")[2])
        return Node(name, "127.0.0.1", labels={"instance_type": "t3.micro" if number % 2 else BIG})


def under_way() -> Incident:
    """An incident whose first step is proved, and whose reboot has no end yet."""
    incident = told(*WAYS[State.ACTING], stream="underway01")
    (begun,) = incident.steps
    steps = (rebooted(1, 60).steps[0], replace(begun, number=2, outcome=None, ended_at=None))
    return replace(incident, node="node-2", steps=steps)


def times(ended: Sequence[Incident]) -> tuple[UsualTimes, Past]:
    past: Any = Past(ended)
    return UsualTimes(past, Nodes(), lambda event, **fields: None), past


async def usual(ended: Sequence[Incident]) -> UsualTime | None:
    known, _ = times(ended)
    return (await known.under_way([under_way()])).get("underway01")


async def test_nodes_of_the_same_kind_say_it_where_there_are_three() -> None:
    ended = [rebooted(number, 60 + number * 10) for number in range(2, 9)]
    assert await usual(ended) == UsualTime(timedelta(seconds=80), timedelta(seconds=140), 4, BIG)


async def test_other_nodes_say_it_where_there_are_fewer_and_nobody_where_there_are_two() -> None:
    ended = [rebooted(2, 60), rebooted(3, 90), rebooted(5, 180)]
    assert await usual(ended) == UsualTime(timedelta(seconds=60), timedelta(seconds=180), 3)
    assert await usual(ended[:2]) is None


@pytest.mark.parametrize("state", [State.ESCALATED, State.DECLINED, State.EXPIRED])
async def test_reboots_without_a_cure_do_not_count(state: State) -> None:
    others = [replace(told(*WAYS[state], stream=f"other{number}"), node="node-2") for number in range(4)]
    assert await usual([*others, rebooted(2, 60), rebooted(4, 60)]) is None


async def test_one_strange_reboot_among_many_does_not_stretch_it() -> None:
    ended = [rebooted(number, 100 + number, "node-2") for number in range(10, 29)]
    ended.append(rebooted(30, 4000, "node-2"))
    found = await usual(ended)
    assert found is not None
    assert found.longest < timedelta(seconds=200)


async def test_what_cannot_be_read_or_found_is_left_out_and_the_record_is_asked_once() -> None:
    ended = [rebooted(2, 60), rebooted(4, 70), rebooted(6, 80), rebooted(8, 4000), rebooted(10, 90, "gone")]
    known, past = times(ended)
    past.damaged = ended[3].id
    for _ in range(3):
        found = await known.under_way([under_way()])
        assert found["underway01"] == UsualTime(timedelta(seconds=60), timedelta(seconds=80), 3, BIG)
    assert past.asked == 1


async def test_card_says_it_beside_the_step_that_is_under_way() -> None:
    found = UsualTime(timedelta(seconds=60), timedelta(seconds=180), 5, BIG)
    incident = under_way()
    card = shown(incident, replace(CONTEXT, usual={incident.id: found}))
    said = f"usually 60–180 s on {BIG} nodes (5 times before)"
    assert words(card).count(said) == 1
    assert said in card.text
    assert "usually" not in words(shown(incident))
    assert usual_words(replace(found, longest=found.shortest, kind="")) == "usually 60 s on nodes here (5 times before)"
