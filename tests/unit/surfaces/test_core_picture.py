"""The heat of cores as a picture: what is hot stands out, and what was not read is never taken for idle."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable
from dataclasses import replace

import pytest
from PIL import Image

from bot.domain.core_heat import CoreHeat
from bot.view.core_picture import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, core_picture
from tests.unit.surfaces.heats import heat_of

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
