"""The heat of cores, as a picture, as a strip of text and stored: what is hot stands out, the unread is never idle."""

from __future__ import annotations

import asyncio
import io
import itertools
import json
import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
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
from bot.surfaces.document import document
from bot.surfaces.slack.drawing import COLUMNS, illustrated, shown_by, strips
from bot.surfaces.verdict_text import verdict_text
from bot.view.core_picture import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, core_picture
from bot.view.heat_strip import MARKS, MOST_ROWS, NOT_READ, heat_strip
from tests.slack.drawn import heat_block, name_of
from tests.slack.service import QUICK
from tests.unit.surfaces.heats import heat_of
from tests.unit.surfaces.test_slack_poster import AT, Channel
from tests.unit.surfaces.verdicts import FOUNDING

HOTTEST = (253, 231, 37)  # viridis at 100 %
MAP = (LEFT, TOP + 2, RIGHT, BOTTOM - 2)


def drawn(heat: CoreHeat, node: str = "node-1") -> Image.Image:
    image = Image.open(io.BytesIO(core_picture(heat, node)))
    image.load()
    assert (image.format, image.size) == ("PNG", (WIDTH, HEIGHT))
    return image


def share_of(image: Image.Image, colour: tuple[int, int, int]) -> float:
    pixels = list(image.crop(MAP).get_flattened_data())
    return pixels.count(colour) / len(pixels)


def column(image: Image.Image, x: int) -> set[tuple[int, ...]]:
    return {pixel for y in range(MAP[1], MAP[3]) if isinstance(pixel := image.getpixel((x, y)), tuple)}


def luminance(colour: Iterable[int]) -> float:
    def linear(part: float) -> float:
        return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4

    return sum(weight * linear(part / 255) for weight, part in zip((0.2126, 0.7152, 0.0722), colour, strict=True))


@pytest.mark.parametrize("cores", [2, 8, 96, 192, 1000])
def test_hot_core_alone_has_the_hottest_colour(cores: int) -> None:
    image = drawn(heat_of(cores, hot=cores // 2))
    # Four of five samples of its column, of which neighbours share one where there are too many cores.
    assert 0.3 / cores < share_of(image, HOTTEST) < 1.6 / min(cores, 500)
    assert share_of(drawn(heat_of(cores, hot=0)), HOTTEST) > 0


def test_pictures_of_other_hot_cores_differ_where_the_cores_stand() -> None:
    def hot_columns(core: int) -> list[int]:
        image = drawn(heat_of(96, hot=core))
        return [x for x in range(MAP[0], MAP[2]) if HOTTEST in column(image, x)]

    assert max(hot_columns(3)) < min(hot_columns(39)) < max(hot_columns(39)) < min(hot_columns(90))


def test_samples_that_were_not_read_are_hatched_and_not_drawn_as_idle() -> None:
    heat = heat_of(96)
    unread = replace(heat, percents=tuple((*row[:2], None, None, None) for row in heat.percents))
    idle = replace(heat, percents=tuple((*row[:2], 0, 0, 0) for row in heat.percents))
    hatched, quiet = drawn(unread), drawn(idle)
    below = {hatched.getpixel((x, BOTTOM - 16)) for x in range(120, 160)}
    assert len(below) == 2, "a pattern of two colours"
    assert below.isdisjoint({quiet.getpixel((x, BOTTOM - 16)) for x in range(120, 160)})
    assert hatched.getpixel((120, TOP + 14)) == quiet.getpixel((120, TOP + 14)), "what was read is drawn alike"


def test_colours_fall_in_order_for_those_who_see_no_colours() -> None:
    shares = [0, 25, 50, 75, 100]
    # one sample a core, the hot one last
    heat = CoreHeat("kernel time", 4, tuple(range(5)), (1.0,), tuple((share,) for share in shares))
    image = drawn(heat)
    seen = [image.getpixel((LEFT + 117 * at + 58, (TOP + BOTTOM) // 2)) for at in range(5)]
    light = [luminance(pixel) for pixel in seen if isinstance(pixel, tuple)]
    assert light == sorted(light)
    assert min(after - before for before, after in itertools.pairwise(light)) > 0.02


def test_a_sample_that_took_longer_is_drawn_longer() -> None:
    heat = replace(heat_of(8, hot=1, samples=2), spans=(1.0, 3.0), percents=((0, 100), *[(100, 0)] * 7))
    image = drawn(heat)
    first = [image.getpixel((100, y)) for y in range(MAP[1], MAP[3])]
    assert 0.6 < first.count(HOTTEST) / len(first) < 0.85


def test_names_of_any_kind_and_length_draw_a_picture() -> None:
    drawn(heat_of(), "n" * 300)
    drawn(heat_of(), "\u202enode <script>\x1b[31m 節点")
    drawn(replace(heat_of(), what="w" * 300))


# --- as a strip


HOT = replace(FOUNDING, heat=heat_of())


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


# --- stored, and on a card


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
