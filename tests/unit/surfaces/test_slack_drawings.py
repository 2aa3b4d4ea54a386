"""What a card draws comes back from the outbox as it was stored, and has a name of its own."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from PIL import Image

from bot.chat.pictures import png_of
from bot.domain.core_heat import CoreHeat
from bot.domain.json_form import NotOfForm, plain, read
from bot.surfaces.slack.drawing import shown_by
from tests.slack.drawn import heat_block, name_of
from tests.unit.surfaces.heats import heat_of


def test_drawing_is_read_as_it_was_stored_and_is_a_picture() -> None:
    heat = heat_of()
    content = json.loads(json.dumps({"heat": plain(heat), "node": "node-1"}))
    assert read(CoreHeat, content.get("heat")) == heat
    with Image.open(io.BytesIO(png_of(heat, "node-1\x1b[2J"))) as image:
        image.load()
        assert image.format == "PNG"
    assert heat.alt_text


@pytest.mark.parametrize("content", [{}, {"heat": 7}, {"growth": {"cause": "leak"}}])  # the last is of an earlier bot
def test_what_was_stored_by_nobody_is_no_drawing(content: dict[str, object]) -> None:
    with pytest.raises(NotOfForm):
        read(CoreHeat, content.get("heat"))


def test_strip_is_text_whose_name_goes_with_its_picture_and_changes_with_each_reading() -> None:
    heat = heat_of()
    block = heat_block(heat, "abc123")
    assert shown_by(block) == name_of(heat, "abc123")
    assert name_of(replace(heat, hot=heat.hot + 1), "abc123") != name_of(heat, "abc123")
    assert "mrkdwn" not in json.dumps(block)
