"""The strip of cores fits its width, shows what stands out, and never shows the unread as idle."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.surfaces.document import document
from bot.surfaces.slack.drawing import COLUMNS
from bot.surfaces.verdict_text import verdict_text
from bot.view.heat_strip import MARKS, MOST_ROWS, NOT_READ, heat_strip
from tests.slack.drawn import heat_block, name_of
from tests.unit.surfaces.heats import heat_of
from tests.unit.surfaces.verdicts import FOUNDING

HOT = replace(FOUNDING, heat=heat_of())
PAINT = re.compile(r"\x1b\[[0-9;]*m")


@settings(deadline=None)  # a loaded machine
@given(st.integers(1, 400), st.integers(1, 60), st.integers(20, 120))
def test_every_line_fits_and_there_are_few(cores: int, samples: int, width: int) -> None:
    lines = heat_strip(heat_of(cores, hot=cores - 1, samples=samples), width)
    assert len(lines) <= MOST_ROWS + 1
    assert max(map(len, lines)) <= width


def test_every_core_has_its_mark_and_the_hot_one_the_highest() -> None:
    *rows, hot = heat_strip(heat_of(), 76)
    marks = re.sub(r"core|[ 0-9]", "", "".join(rows))
    assert len(marks) == 96
    assert [at for at, mark in enumerate(marks) if mark == MARKS[-1]] == [39]
    assert hot.strip() == "core 39 ████▅ second by second"


def test_unread_has_a_mark_that_no_share_has() -> None:
    heat = heat_of(8, hot=3, unread=frozenset({*((5, sample) for sample in range(5)), (3, 0)}))
    row, hot = heat_strip(heat, 76)
    assert row.split()[2][5] == NOT_READ
    assert hot.split()[2][0] == NOT_READ
    assert NOT_READ not in MARKS


def test_terminal_shows_the_strip_and_says_it_in_words() -> None:
    text = verdict_text(HOT)
    assert "Cores, by kernel time" in text
    assert "core 39: 100 % kernel time in 4 of 5 s; the other 95 below 20 %" in text
    assert "Cores, by" not in verdict_text(FOUNDING)


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_terminal_of_any_width_has_it_whole(width: int) -> None:
    text = verdict_text(replace(HOT, plan=None), width=width)
    assert all(len(line) <= width for line in text.split("\n")[1:])


def test_document_is_as_it_was_without_it() -> None:
    assert json.loads(document([HOT])) == json.loads(document([FOUNDING]))


def test_block_is_named_after_its_incident_and_its_samples() -> None:
    block = heat_block(heat_of(), "7k3m9x2qpv")
    assert block["block_id"] == f"heat-{name_of(heat_of(), '7k3m9x2qpv')}"
    assert name_of(heat_of(), "7k3m9x2qpv") != name_of(heat_of(hot=40), "7k3m9x2qpv"), "read once more"
    text = block["elements"][0]["elements"][0]["text"]
    assert max(len(line) for line in text.split("\n")[:-1]) <= COLUMNS
