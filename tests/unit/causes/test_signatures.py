"""A cause's signature tells it in a single look: sick nodes are found by it, and healthy ones are not left open."""

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any

import pytest

from bot.causes import CAUSES
from bot.domain.cause import CauseResult
from bot.domain.command import SampleTimes
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Finding, RuledOut
from bot.probes import PROBES
from bot.probes.conntrack import ConntrackReading
from tests.unit.causes import builders as b
from tests.unit.causes.test_examples import examples_of, readings_of

SIGNED = [name for name, cause in CAUSES.items() if cause.signature]
QUIET = ConntrackReading(True, 100, 262_144)


def in_a_single_look(name: str, whole: Snapshot, probes: Iterable[str]) -> CauseResult:
    """Evaluate what a single look at these probes tells."""
    seen = {probe: once(whole.readings[probe]) for probe in probes if probe in whole.readings}
    return CAUSES[name].evaluate(replace(whole, readings=seen), b.tuning(CAUSES[name]))


def once(reading: Any) -> Any:
    """The reading without its second look, as far as its fields say that there was none."""
    if isinstance(reading, Unread):
        return reading
    later = {field.name: field.default for field in fields(reading) if field.name.endswith("_later")}
    return replace(reading, **{name: value for name, value in later.items() if value is None or value == ()})


@pytest.mark.parametrize("name", SIGNED)
def test_what_a_single_look_at_everything_finds_the_signature_alone_finds(name: str) -> None:
    sick = [example for example in examples_of(name) if example["then"] in ("degraded", "critical")]
    nodes = [b.node(*readings_of(example)) for example in sick if "thresholds" not in example]
    found = [node for node in nodes if isinstance(in_a_single_look(name, node, node.readings), Finding)]
    assert found
    assert [
        node for node in found if not isinstance(in_a_single_look(name, node, CAUSES[name].signature), Finding)
    ] == []


@pytest.mark.parametrize("name", SIGNED)
def test_healthy_node_is_ruled_out_by_the_signature_alone(name: str) -> None:
    assert isinstance(in_a_single_look(name, b.node(QUIET), CAUSES[name].signature), RuledOut)


@pytest.mark.parametrize("name", SIGNED)
def test_signature_is_part_of_what_the_cause_looks_at_and_needs_no_window(name: str) -> None:
    cause = CAUSES[name]
    assert set(cause.signature) <= set(cause.probes)
    looks = {command.looks for probe in cause.signature for command in PROBES[probe].commands}
    assert SampleTimes.THROUGHOUT not in looks
