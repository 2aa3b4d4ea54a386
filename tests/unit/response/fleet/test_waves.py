"""Why there is no wave."""

from __future__ import annotations

from dataclasses import replace

from bot.domain.transitions import State
from bot.response.fleet.waves import why_none
from tests.alerts.pages import judged, of_page
from tests.unit.surfaces.verdicts import MUTED


def test_nodes_whose_cause_is_muted_are_said_to_be_muted() -> None:
    assert MUTED.is_muted
    mute = MUTED.muted[0]
    expected = f"Of 1 node none has an offered plan: {mute.cause} is muted on {mute.selector}"
    assert why_none([judged("page-1", MUTED)]).startswith(expected)
    other = replace(mute, cause="io-stall", selector="db-*")
    assert why_none([judged("page-1", replace(MUTED, muted=(other, mute)))]).startswith(expected)


def test_without_a_reason_on_record_the_state_is_told() -> None:
    assert why_none([of_page("page-1", State.ACTING), of_page("page-2", State.ACTING)]).endswith(": acting")
    assert why_none([]) == "None of them has that cause with a plan."
