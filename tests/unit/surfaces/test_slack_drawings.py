"""What a card draws comes back from the outbox as it was stored, and has a name of its own."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from PIL import Image

from bot.domain.json_form import NotOfForm
from bot.surfaces.slack import drawings
from bot.surfaces.slack.pictures import shown_by
from tests.unit.surfaces.heats import heat_of


def test_drawing_is_read_as_it_was_stored_and_is_a_picture() -> None:
    heat = heat_of()
    content = json.loads(json.dumps({**drawings.kept(heat), "node": "node-1"}))
    assert drawings.of_kept(content) == heat
    with Image.open(io.BytesIO(drawings.png_of(heat, "node-1\x1b[2J"))) as image:
        image.load()
        assert image.format == "PNG"
    assert heat.alt_text


@pytest.mark.parametrize("content", [{}, {"heat": 7}, {"growth": {"cause": "leak"}}])  # the last is of an earlier bot
def test_what_was_stored_by_nobody_is_no_drawing(content: dict[str, object]) -> None:
    with pytest.raises(NotOfForm):
        drawings.of_kept(content)


def test_strip_is_text_whose_name_goes_with_its_picture_and_changes_with_each_reading() -> None:
    heat = heat_of()
    block = drawings.heat_block(heat, "abc123")
    assert shown_by(block) == drawings.name_of(heat, "abc123")
    assert drawings.name_of(replace(heat, hot=heat.hot + 1), "abc123") != drawings.name_of(heat, "abc123")
    assert "mrkdwn" not in json.dumps(block)
