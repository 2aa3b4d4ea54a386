"""What a dialog carries comes back unchanged or not at all; what is typed and clicked is not trusted."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.chat.dialog import LONGEST, Intent, MetadataSigner
from bot.chat.requests import Subcommand, parse_subcommand
from bot.surfaces.slack.listeners import click_of, mention_of, submission_of
from bot.surfaces.slack.people import Workspace
from tests.known import known_as

KEYS = (
    *("actions", "container", "channel", "message", "user", "team", "enterprise", "view", "state", "values", "reason"),
    *("id", "value", "selected_option", "action_id"),
)
INTENT = Intent("approve", "U0BOB00001", {"0d1496b0ca39": "ab" * 16}, "C0ONCALL01", "", "")


def test_signed_by_one_program_is_taken_by_another_of_the_same_app_only() -> None:
    signed = MetadataSigner("xoxb-one").sign(INTENT)
    assert MetadataSigner("xoxb-one").verify(signed) == INTENT
    assert MetadataSigner("xoxb-two").verify(signed) is None
    assert "xoxb" not in signed


@given(st.integers(0, 400), st.characters())
@example(0, "\ud800")
@example(100, "\ud800")
def test_any_character_that_is_changed_breaks_the_signature(at: int, to: str) -> None:
    signed = MetadataSigner("secret").sign(INTENT)
    at %= len(signed)
    changed = signed[:at] + to + signed[at + 1 :]
    assert MetadataSigner("secret").verify(changed) == (INTENT if changed == signed else None)


def test_intent_of_another_version_is_refused_and_not_an_error() -> None:
    class Older(MetadataSigner):
        def sign_fields(self, fields: dict[str, str]) -> str:
            body = json.dumps(fields)
            return f"{self._mac(body)}{body}"

    assert MetadataSigner("secret").verify(Older("secret").sign_fields({"wish": "approve", "user": "U1"})) is None


def test_as_many_plans_as_a_dialog_decides_fit_into_it() -> None:
    plans = {f"{number:012}": "f" * 32 for number in range(25)}
    assert (
        len(MetadataSigner("secret").sign(Intent("approve", "U" * 20, plans, "C" * 20, "1" * 20, "x" * 20))) <= LONGEST
    )


_leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
_json = st.recursive(
    _leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=30,
)


@given(st.dictionaries(st.sampled_from(KEYS), _json, max_size=8))
def test_payload_of_any_form_is_read_without_harm(body: dict[str, Any]) -> None:
    assert click_of(body).person == submission_of(body).person


def test_mention_is_of_the_time_at_which_it_was_said_and_the_same_in_every_delivery() -> None:
    """Slack delivers a mention again for hours; what was asked before the brake was pulled releases nothing."""
    event = {"user": "U0BOB00001", "text": "<@U0ZOMBIE01> brake off", "ts": "1700000000.5", "channel": "C0ONCALL01"}
    first, again = (mention_of({"team_id": "T1", "event_id": name}, event) for name in ("Ev1", "Ev2"))
    assert first == again
    assert (first.text, first.asked_at) == ("brake off", datetime.fromtimestamp(1700000000.5, UTC))


@pytest.mark.parametrize(
    ("team", "enterprise", "ours"),
    [("T1", "", True), ("T2", "", False), ("T2", "E1", True), ("", "", False), ("", "E2", False)],
)
def test_workspace_is_ours_by_its_id_or_its_enterprise(team: str, enterprise: str, ours: bool) -> None:
    assert Workspace("T1", "E1").is_ours(team, enterprise) is ours
    assert Workspace().is_ours(team, enterprise) is False, "before Slack has said whose, nobody is"


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("cancel 0d1496b0ca39 wrong node", Subcommand("cancel", "0d1496b0ca39", "wrong node")),
        ("undo 0d1496b0ca39", Subcommand("undo", "0d1496b0ca39")),
        ("brake OFF it is over", Subcommand("brake", reason="it is over")),
        ("status whatever", Subcommand("status")),
    ],
)
def test_subcommands_are_understood(said: str, meant: Subcommand) -> None:
    verb, *words = said.split()
    assert parse_subcommand(verb, words) == meant


@pytest.mark.parametrize("said", ["cancel", "undo", "brake", "brake maybe"])
def test_subcommands_that_lack_something_are_answered_with_how_to_say_it(said: str) -> None:
    verb, *words = said.split()
    told = known_as(parse_subcommand(verb, words), str)
    assert f"/zombie {verb}" in told
