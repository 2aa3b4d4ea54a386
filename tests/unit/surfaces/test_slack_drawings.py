"""What a card draws comes back from the outbox as it was stored, and has a name of its own."""

from __future__ import annotations

import asyncio
import io
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from PIL import Image

from bot.chat.background import Background
from bot.chat.pictures import Pictures, png_of
from bot.chat.post_state import CARD
from bot.chat.poster import Poster
from bot.chat.service import Delivered, Message
from bot.domain.core_heat import CoreHeat
from bot.domain.errors import LedgerUnavailable
from bot.domain.json_form import NotOfForm, read, to_json_types
from bot.domain.post import MessageRef
from bot.surfaces.slack.drawing import illustrated, shown_by, strips
from tests.slack.drawn import heat_block, name_of
from tests.slack.service import QUICK
from tests.unit.surfaces.heats import heat_of
from tests.unit.surfaces.test_slack_poster import AT, Channel


def test_drawing_is_read_as_it_was_stored_and_is_a_picture() -> None:
    heat = heat_of()
    content = json.loads(json.dumps({"heat": to_json_types(heat), "node": "node-1"}))
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


class Canvas(Channel):
    """Slack, as far as it takes pictures: a test waits for the card that has one."""

    strips, illustrated = staticmethod(strips), staticmethod(illustrated)

    def __init__(self) -> None:
        super().__init__()
        self.edited: asyncio.Future[Message] = asyncio.get_running_loop().create_future()

    async def edit(self, place: MessageRef, message: Message) -> Delivered:
        self.edited.set_result(message)
        return await super().edit(place, message)


async def test_picture_comes_although_it_could_not_be_stored() -> None:
    """Only a restart would lose it: a record that is away for a moment leaves no card without its picture."""

    class NoOutbox:
        def __getattr__(self, verb: str) -> Any:
            async def fails(*given: object) -> None:
                assert verb in ("card", "keep"), f"{verb}{given}: nothing is stored, so nothing is ended"
                raise LedgerUnavailable("The ledger is gone.")

            return fails

    heat, chat, outbox, log = heat_of(), cast(Any, Canvas()), cast(Any, NoOutbox()), lambda *_, **__: None
    pictures = Pictures(chat, outbox, QUICK, Background(log))
    poster = Poster(chat, outbox, QUICK, lambda: datetime.now(UTC), log, pictures)
    await poster.enqueue("g1", CARD, AT, Message("", (heat_block(heat, "abc123"),)))
    await poster.illustrate("g1", AT, "abc123", "node-1", heat)
    async with asyncio.timeout(20):  # the first picture loads Pillow
        shown = await chat.edited
    assert shown.blocks[0]["slack_file"] == {"id": "F1"}
    await poster.drain(10.0)
