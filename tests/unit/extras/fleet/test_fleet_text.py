"""What a sweep says in a terminal."""

from bot.domain.node import Node
from bot.extras.fleet.report import fleet_body, fleet_text, report
from bot.extras.fleet.sweep import JudgedBy, NodeAnswer, NodeOutcome

LEAK = "leaked-memory-cgroups"


def text(*answers: NodeAnswer) -> str:
    nodes = [Node("n1", "10.0.0.1"), Node("n2", "10.0.0.2")]
    return fleet_text(report(nodes, answers, {LEAK: JudgedBy.SIGNATURE}, selected=2, seconds=1.0), 100)


def test_nothing_counts_as_not_found_where_nobody_answered() -> None:
    gone = NodeAnswer("n2", NodeOutcome.UNREACHABLE, "unreachable", unreachable_class="refused")
    assert f"Not found: {LEAK}" in text(NodeAnswer("n1", NodeOutcome.ANSWERED, "healthy"), gone)
    assert "Not found" not in text(gone)
    assert "Not found" not in text()


def test_share_of_nobody_is_not_zero() -> None:
    gone = NodeAnswer("n1", NodeOutcome.UNREACHABLE, "unreachable", unreachable_class="refused")
    found = report([Node("n1", "10.0.0.1")], [gone], {LEAK: JudgedBy.SIGNATURE}, selected=1, seconds=1.0)
    assert [cause["share"] for cause in fleet_body(found)["causes"]] == [None]
