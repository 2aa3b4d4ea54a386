"""What a mute is for, and which ones hold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.domain.entry import Entry, body_of, kind_of
from bot.domain.errors import UsageError
from bot.domain.house_events import HOUSE, CauseMuted, CauseUnmuted
from bot.domain.mute import Mute, valid_selector
from bot.domain.mute_record import mutes_in_force
from bot.domain.node import Node

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
WEEK = NOW + timedelta(days=7)
NODE = Node("ray-gpu-7", "10.0.0.7", labels={"role": "gpu", "az": "us-east-1a"})


def entries(*events: Any) -> list[Entry]:
    return [
        Entry(HOUSE, seq, NOW, "terminal:ann", kind_of(event), body_of(event), "")
        for seq, event in enumerate(events, 1)
    ]


@pytest.mark.parametrize(
    ("selector", "covers"),
    [
        ("ray-gpu-7", True),
        ("ray-gpu-70", False),
        ("ray-gpu", False),
        ("ray-gpu-*", True),
        ("ray-gpu-[0-6]", False),
        ("*", True),
        ("role=gpu", True),
        ("role=gpu,az=us-east-1a", True),
        ("role=gpu,az=us-east-1b", False),
        ("role=", False),
        ("rack=", False),  # a label that the node lacks is not an empty one
    ],
)
def test_selector_means_a_name_a_glob_or_all_labels_that_it_names(selector: str, covers: bool) -> None:
    assert Mute("io-stall", valid_selector(selector), WEEK, "").covers(NODE) is covers


@pytest.mark.parametrize(
    "selector", ["", "-x", "a b", "a;reboot", "role=gpu,", ",", "=gpu", "role=gpu,az", "pod/web", "x" * 300, "\x1b[31m"]
)
def test_what_says_no_nodes_is_refused_in_a_sentence(selector: str) -> None:
    with pytest.raises(UsageError, match="does not say which nodes") as refused:
        valid_selector(selector)
    assert "\x1b" not in str(refused.value)


def test_mute_holds_until_its_time_and_no_longer() -> None:
    muted = entries(CauseMuted("io-stall", "n-*", WEEK, "known"))
    assert mutes_in_force(muted, WEEK - timedelta(seconds=1)) == (
        Mute("io-stall", "n-*", WEEK, "known", "terminal:ann"),
    )
    assert mutes_in_force(muted, WEEK) == ()


def test_later_mute_of_the_same_takes_the_place_of_the_first_also_where_it_is_shorter() -> None:
    sooner = NOW + timedelta(hours=1)
    told = entries(CauseMuted("io-stall", "n-*", WEEK, "known"), CauseMuted("io-stall", "n-*", sooner, "still"))
    assert [(mute.until, mute.reason) for mute in mutes_in_force(told, NOW)] == [(sooner, "still")]


def test_unmuted_is_only_what_was_named_in_the_same_words() -> None:
    told = entries(
        CauseMuted("io-stall", "n-*", WEEK, ""),
        CauseMuted("io-stall", "n-1", WEEK, ""),
        CauseMuted("disk-full", "n-*", WEEK, ""),
        CauseUnmuted("io-stall", "n-*"),
    )
    assert [(mute.cause, mute.selector) for mute in mutes_in_force(told, NOW)] == [
        ("io-stall", "n-1"),
        ("disk-full", "n-*"),
    ]


def test_what_a_newer_program_wrote_mutes_nothing() -> None:
    newer = Entry(HOUSE, 1, NOW, "bot", "CauseMuted", {"form": 99}, "")
    assert mutes_in_force([newer], NOW) == ()
