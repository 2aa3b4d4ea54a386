"""What a card draws comes back from the outbox as it was kept, has a name of its own, and words beside it."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from PIL import Image

from bot.domain.growth import CountSample, Growth, HarmAt
from bot.domain.json_form import NotOfForm
from bot.surfaces.slack import drawings
from bot.surfaces.slack.pictures import shown_by
from tests.unit.surfaces.heats import heat_of

AT = datetime(2026, 11, 22, 9, tzinfo=UTC)
LOOKS = tuple(CountSample(AT + timedelta(hours=at), 20_000.0 + 600 * at, "boot") for at in range(12))
GROWS = Growth("leak", "dying <!channel> cgroups", LOOKS, 12, 600.0, 550.0, 650.0, HarmAt(30_000.0, "a core is held"))


@pytest.mark.parametrize("drawn", [heat_of(), GROWS, replace(GROWS, low=None, high=None, harm=None)])
def test_drawing_is_read_as_it_was_kept_and_is_a_picture(drawn: drawings.Drawn) -> None:
    content = json.loads(json.dumps({**drawings.kept(drawn), "node": "node-1"}))
    assert drawings.of_kept(content) == drawn
    name, png = drawings.png_of(drawn, "node-1\x1b[2J")
    with Image.open(io.BytesIO(png)) as image:
        image.load()
        assert (image.format, name.endswith(".png")) == ("PNG", True)
    assert drawings.alt_text(drawn)


@pytest.mark.parametrize("content", [{}, {"heat": 7}, {"growth": None}, {"growth": {"cause": "leak"}}])
def test_what_was_kept_by_nobody_is_no_drawing(content: dict[str, object]) -> None:
    with pytest.raises(NotOfForm):
        drawings.of_kept(content)


def test_strip_is_text_whose_name_goes_with_its_picture_and_changes_with_each_look() -> None:
    block = drawings.growth_block(GROWS, "abc123")
    assert shown_by(block) == drawings.name_of(GROWS, "abc123")
    later = replace(GROWS, looks=(*LOOKS, CountSample(AT + timedelta(hours=12), 27_200.0, "boot")), counted=13)
    assert drawings.name_of(later, "abc123") != drawings.name_of(GROWS, "abc123")
    assert "█" in json.dumps(block, ensure_ascii=False)
    assert "mrkdwn" not in json.dumps(block)
