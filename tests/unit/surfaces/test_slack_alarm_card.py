"""What a card says of the alerts that it comes of, and the one message of a storm."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.chat.document import TEXT
from bot.chat.drawing import length
from bot.chat.post_state import card_target
from bot.chat.service import Message
from bot.domain.alert import Alert
from bot.domain.events import AlertCleared, AlertReceived, IncidentEvent, Triaged
from bot.domain.fold import fold, fold_entry
from bot.domain.incident import Incident, IncidentSummary
from bot.domain.intake_contracts import Storm
from bot.domain.policy import Policy
from bot.domain.transitions import State
from bot.domain.verdict import Verdict
from bot.response.diagnosis.progress import ReadingProgress
from bot.surfaces.slack.drawing import ALL_BLOCKS, BLOCKS
from bot.view.context import ViewContext
from bot.view.view import group_view
from tests.alerts.pages import of_page
from tests.record.incidents import BEGAN_AT, HEALTHY, NODE, entries, entry
from tests.slack.drawn import acting_card, incident_card, storm_card

ALERT = Alert("pagerduty", "Q1", text="core <!channel> pinned")
RECEIVED = AlertReceived(ALERT, NODE, "g1", "node-health", channel="C1")


def incident(*events: IncidentEvent, received: AlertReceived = RECEIVED, name: str = "7k3m9x2qpv") -> Incident:
    return fold(entries([received, *events], name))


def alarm_card(
    group: list[Incident], progress: dict[str, ReadingProgress] | None = None, fresh: dict[str, Verdict] | None = None
) -> Message:
    return incident_card(group_view(group, ViewContext(progress=progress or {}, fresh=fresh or {})))


def test_card_tells_progress_and_then_the_verdict() -> None:
    card = alarm_card([incident()], {NODE: ReadingProgress(incident(), 3, 14)})
    assert card.text.startswith(f"{NODE}: reading… 3 of 14 probes")
    assert "pagerduty Q1: core &lt;!channel&gt; pinned" in card.text
    card = alarm_card([incident()], fresh={NODE: HEALTHY})
    assert card.text.startswith(f"{NODE}: HEALTHY")
    assert alarm_card([incident(Triaged(HEALTHY))]).text.startswith(f"{NODE}: HEALTHY")


def test_card_begins_resolved_once_every_alert_is_over_and_reopened_once_one_is_back() -> None:
    triaged = incident(Triaged(HEALTHY))
    over = fold_entry(triaged, entry(AlertCleared("pagerduty", "Q1"), triaged.seq + 1))
    assert alarm_card([over]).text.startswith(f"Resolved: {NODE}: HEALTHY")
    assert not alarm_card([over, incident(received=replace(RECEIVED, node="node-2"))]).text.startswith("Resolved")
    again = incident(Triaged(HEALTHY), received=replace(RECEIVED, reopens="old0000000"))
    assert alarm_card([again]).text.startswith(f"Reopened: {NODE}")
    assert alarm_card([again]).blocks[0]["text"]["text"].startswith("Reopened: ")


@pytest.mark.parametrize("state", [State.CANCELLED, State.EXPIRED, State.DECLINED])
def test_card_of_a_decided_plan_begins_resolved_too_once_its_alert_is_over(state: State) -> None:
    ended = of_page("Q1", state)
    over = fold_entry(ended, entry(AlertCleared("pagerduty", "Q1"), ended.seq + 1))
    card = acting_card([over], ViewContext(Policy()))
    assert card is None or card.text.startswith("Resolved: ")
    assert state is State.CANCELLED or card is not None


def test_card_keeps_slacks_limits_whatever_its_alerts_say() -> None:
    long = replace(ALERT, text="x" * 1000)
    wordy = [
        incident(received=replace(RECEIVED, node=f"node-{n}", withheld="w" * 900, alert=replace(long, id=f"Q{n}")))
        for n in range(120)
    ]
    card = alarm_card(wordy)
    assert len(card.text) <= TEXT
    assert len(card.blocks) <= BLOCKS
    assert sum(length(block) for block in card.blocks) <= ALL_BLOCKS + 1200
    small = [one for block in card.blocks if block["type"] == "context" for one in block["elements"]]
    assert all(len(one["text"]) <= 2000 for one in small)


def test_reason_why_nothing_is_offered_names_its_nodes_where_it_is_not_all_of_them() -> None:
    quiet, other = (incident(received=replace(RECEIVED, node="node-1", withheld=why)) for why in ("Read-only.", ""))
    assert " · Read-only." in alarm_card([quiet]).text
    assert " · node-1: Read-only." in alarm_card([quiet, replace(other, id="i2", node="node-2")]).text


def test_time_in_the_small_print_of_an_alert_is_the_readers_own() -> None:
    late = "The alert is from 2026-11-20 09:30 UTC, more than 1 h before it was handled"
    for group in (
        [incident(received=replace(RECEIVED, withheld=late))],
        [incident(received=replace(RECEIVED, withheld=late, node=node)) for node in ("node-1", "node-2")],
    ):
        card = alarm_card(group)
        (date,) = [piece for piece in pieces(card) if piece["type"] == "date"]
        assert date["fallback"] == "2026-11-20 09:30 UTC"
        assert "UTC" not in str(card.blocks).replace(date["fallback"], "")
        assert late in card.text, "a text has no reader's clock"
    (said,) = [block for block in alarm_card([incident()]).blocks if "pagerduty Q1" in str(block)]
    assert said["type"] == "context", "without a time it is small print"


def pieces(card: Message) -> list[Any]:
    """Every piece of rich text on a card."""
    parts = [part for block in card.blocks if block["type"] == "rich_text" for part in block["elements"]]
    return [piece for part in parts for piece in part["elements"]]


def test_incident_of_a_storm_or_without_a_channel_has_no_card() -> None:
    assert card_target(incident()) is not None
    assert card_target(incident(received=replace(RECEIVED, storm="storm-1"))) is None
    assert card_target(incident(received=replace(RECEIVED, channel=""))) is None
    assert card_target(incident(received=replace(RECEIVED, alert=replace(ALERT, kind="slack")))) is None


def test_storm_is_grouped_by_cause_and_label() -> None:
    def line(number: int, cause: str | None, state: State = State.TRIAGED) -> IncidentSummary:
        opened_at = BEGAN_AT + timedelta(seconds=number)
        told = replace(of_page("Q1").summary, id=f"i{number}", node=f"node-{number}", cause=cause)
        return replace(told, state=state, opened_at=opened_at)

    lines = [line(number, "leaked-memory-cgroups") for number in range(9)]
    lines += [line(20, None), line(21, None, State.OPENED), line(22, "io-stall")]
    storm = Storm("storm-1", True, 14, tuple(lines))
    labels = {f"node-{number}": {"rack": f"r{number % 2}", "hostname": f"h{number}"} for number in range(30)}
    card = storm_card(storm, "Nothing is offered.", labels.__getitem__)
    assert card.text.startswith(
        "Alert storm: 14 alerts on 12 nodes. leaked-memory-cgroups (9): rack=r0 5, rack=r1 4 — "
    )
    assert "and 3 more; io-stall (1): rack=r0 1 — node-22; no cause found (1)" in card.text
    assert card.text.endswith("still being read (1): rack=r1 1 — node-21. Nothing is offered.")
    assert "hostname" not in card.text
    past = storm_card(replace(storm, is_on=False), "", lambda node: {})
    assert past.text.startswith("Alert storm: 14 alerts on 12 nodes, over")
