"""What a sweep says in a terminal."""

from bot.domain.node import Node
from bot.extras.fleet.report import answer_line, fleet_body, fleet_text, report, rest_text
from bot.extras.fleet.sweep import Found, JudgedBy, NodeAnswer, NodeOutcome

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


SAYS = "57,382 dying memory cgroups beside 240 alive: present, not proven; no harm seen on this kernel"
HAS = NodeAnswer("n1", NodeOutcome.ANSWERED, "degraded", LEAK, found=(Found(LEAK, "degraded", "possible", SAYS),))
WELL = NodeAnswer("n2", NodeOutcome.ANSWERED, "healthy")
GONE = NodeAnswer(
    "n2", NodeOutcome.UNREACHABLE, "unreachable", because="n2 is silent", unreachable_class="banner-stall"
)


def test_single_look_says_what_was_seen_and_no_status() -> None:
    assert answer_line(HAS, verdicts=False) == f"n1  {LEAK}: 57,382 dying memory cgroups beside 240 alive"
    assert answer_line(WELL, verdicts=False) == "n2  none of it was seen"
    assert answer_line(GONE, verdicts=False) == "n2  UNREACHABLE  n2 is silent"
    assert answer_line(HAS) == f"n1  DEGRADED  {LEAK} (possible)", "a whole check has a verdict"
    told = text(HAS, WELL)
    assert "    n1  57,382 dying memory cgroups beside 240 alive\n" in told
    for judged in ("degraded", "healthy", "no harm", "present, not proven"):
        assert judged not in told.lower()


def test_what_a_node_says_is_shown_as_it_is_and_cut_at_the_width() -> None:
    hostile = Found(LEAK, "degraded", "possible", "\x1b[31mred \u202e" + "x" * 200)
    told = text(NodeAnswer("n1", NodeOutcome.ANSWERED, "degraded", LEAK, found=(hostile,)), WELL)
    assert "\x1b" not in told
    assert "\u202e" not in told
    assert max(map(len, told.splitlines())) <= 100


def test_what_answered_is_shown_with_who_follows_and_repeated_only_where_the_counts_change() -> None:
    nodes = [Node("n1", "10.0.0.1"), Node("n2", "10.0.0.2")]
    judged = {LEAK: JudgedBy.SIGNATURE}
    early = report(nodes, [HAS], judged, selected=2, seconds=1.2)
    assert fleet_text(early, goes_on=True).startswith("1 of 2 nodes answered so far, in 1.2 s. These follow: n2\n")
    assert fleet_text(early).startswith("1 of 2 nodes answered; stopped after 1 of them, in 1.2 s\n")
    for late in (GONE, WELL):
        whole = report(nodes, [HAS, late], judged, selected=2, seconds=9.5)
        assert rest_text(whole, {"n1"}) == f"\n{whole.answered} of 2 nodes answered, in 9.5 s\n"
    also = NodeAnswer("n2", NodeOutcome.ANSWERED, "degraded", LEAK, found=HAS.found)
    whole = report(nodes, [HAS, also], judged, selected=2, seconds=4.0)
    assert rest_text(whole, {"n1"}) == "\n" + fleet_text(whole)
