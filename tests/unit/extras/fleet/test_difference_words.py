"""What is said of nodes and their peers: nobody is called sick, healthy or the same without a reason."""

from __future__ import annotations

from bot.extras.fleet.chat_card import comparison_message
from bot.extras.fleet.difference import compare, difference_text, peers, without_cause
from bot.extras.fleet.sweep import Found, NodeAnswer, NodeOutcome
from bot.surfaces.slack.drawing import draw

LEAK = "leaked-memory-cgroups"
CURED = NodeAnswer("cured", NodeOutcome.ANSWERED, "healthy", facts={"host": "read"})
WELL = NodeAnswer("well", NodeOutcome.ANSWERED, "healthy", facts={"host": "read"})


def sick(name: str) -> NodeAnswer:
    found = (Found(LEAK, "degraded", "possible", ""),)
    return NodeAnswer(name, NodeOutcome.ANSWERED, "degraded", found=found, facts={"host": "read"})


def test_named_node_without_the_cause_is_told() -> None:
    told = compare([sick("s"), CURED], [WELL])
    assert (told.without, peers(told)) == (("cured",), "1 healthy peer")
    assert (
        without_cause(told) == "cured has none of these causes itself, and blurs the comparison: name the sick alone."
    )
    assert "cured has none" in difference_text(told, 200)


def test_no_peer_is_called_healthy_where_no_cause_could_leave_one_out() -> None:
    told = compare([CURED], [sick("s"), WELL])
    assert told.there == ("s", "well")
    for said in (difference_text(told, 200), draw(comparison_message(told)).text):
        assert "2 peers" in said
        assert "healthy peers" not in said
    assert "none need be healthy" in difference_text(told, 200)


def test_node_of_which_the_cause_is_not_known_is_not_told_as_without() -> None:
    in_doubt = NodeAnswer("d", NodeOutcome.UNKNOWN, facts={"host": "read"}, undecided={LEAK: "permission denied"})
    assert compare([in_doubt], [WELL]).without == ()


def test_nobody_to_compare_with_is_not_called_no_difference() -> None:
    told = compare([sick("s")], [sick("sick-too")])
    for said in (difference_text(told, 200), draw(comparison_message(told)).text):
        assert "nothing to compare with" in said
        assert f"sick-too (has {LEAK} too)" in said
        assert "differs" not in said
