"""A node that nothing was done to is healthy: what a test changes is what it sees."""

import pytest

from bot.causes import CAUSES
from bot.domain.verdict import RuledOut
from bot.probes.conntrack import ConntrackReading
from tests.unit.causes.builders import evaluate


@pytest.mark.parametrize("name", CAUSES)
def test_healthy_node_rules_every_cause_out(name: str) -> None:
    result = evaluate(name, ConntrackReading(True, 900, 262_144))
    hint = f"{name} does not rule itself out: has tests/unit/causes/builders.py what its probes read on a healthy node?"
    assert isinstance(result, RuledOut), f"{hint} {result}"
