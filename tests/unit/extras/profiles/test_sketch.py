"""Sketches of one core and their files: what is kept and drawn of it, and that hostile names stay names."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from bot.domain.errors import ProfileError
from bot.domain.json_form import NotOfForm, to_json_types
from bot.extras.profiles.by_core import MOST_SECONDS as KEPT_SECONDS
from bot.extras.profiles.by_core import CoreRun, CoreRuns
from bot.extras.profiles.chat_file import SketchFile, pictures_of
from bot.extras.profiles.flame_picture import WIDTH, flame_picture, heat_map_picture
from bot.extras.profiles.reader import Reader
from bot.extras.profiles.sketch import MOST_BARS, MOST_SECONDS, Bar, Sketch, read_sketch, sketch, sketch_of
from tests.known import known

HOSTILE = (
    "<script>alert(1)</script>",
    "\x1b[2J\x1b]0;x\x07\x01\x7f\x85",
    "\u202eevil\u2066",
    "a" * 5000,
    "‮ÿ中文🙂",
)
SECRET = "AKIA" + "Z7Q3" * 4


def event(core: int, comm: str, at: float, *frames: str) -> str:
    lines = "".join(f"\tffffffff81000010 {name}+0x10 ([kernel.kallsyms])\n" for name in frames)
    return f"{comm} 77/77 [{core:03}] {at:.9f}: cpu-clock/freq=49/: \n{lines}\n"


def runs(parts: Iterable[str]) -> CoreRuns:
    found = CoreRuns()
    reader = Reader(each=found)
    reader.feed("".join(parts).encode(errors="surrogateescape"))
    reader.finish()
    return found


def drawn(core: int, parts: Iterable[str], says: str = "says") -> Sketch:
    return known(sketch("node-1", core, runs(parts).cores[core], says))


def test_only_the_core_itself_is_in_it_with_its_frames_in_their_order() -> None:
    parts = [event(39, "kubelet", 10 + at / 49, "walk", "read", "entry") for at in range(49)]
    parts += [event(4, "python", 10 + at / 49, "train") for at in range(49)]
    parts += [event(39, "swapper", 11, "native_safe_halt", "cpu_idle")]
    found = drawn(39, parts)
    assert [(bar.depth, bar.name, bar.wide) for bar in found.bars] == [
        (0, "kubelet", 49),
        (1, "entry", 49),
        (2, "read", 49),
        (3, "walk", 49),
    ]
    assert (found.hot, found.samples, found.title) == ("walk", 49, "Core 39 of node-1")
    assert len(found.seconds) == 1
    assert sum(found.seconds[0]) == 49
    assert read_sketch(found.text()) == found
    assert found.alt_texts[0].startswith("Flame graph of core 39 of node-1: 100 % of 49 samples in walk.")


def test_a_core_that_ran_nothing_has_none() -> None:
    assert sketch("node-1", 1, CoreRun(), "says") is None


def test_it_is_bounded_whatever_the_node_says() -> None:
    parts = [event(1, f"p{at}", 15 * at, *(f"f{at}_{deep}" for deep in range(120))) for at in range(300)]
    found = drawn(1, parts)
    assert len(found.bars) <= MOST_BARS
    assert len(found.seconds) <= MOST_SECONDS < KEPT_SECONDS
    assert len(found.text()) < 250_000
    assert Image.open(io.BytesIO(flame_picture(found))).size[0] == WIDTH
    assert Image.open(io.BytesIO(heat_map_picture(found))).size[1] < 2000


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_are_drawn_and_told_as_they_are_and_nothing_is_left_of_their_power(name: str) -> None:
    safe_comm = name.replace("\n", " ")
    found = drawn(2, [event(2, safe_comm, 1 + at / 49, name, "entry") for at in range(20)], says=name)
    told = found.text() + "".join(found.alt_texts) + found.title + found.hot
    for sign in ("\x1b", "\x07", "\x01", "\x7f", "\u202e", "\u2066"):
        assert sign not in told
    assert all(len(bar.name) <= 101 for bar in found.bars)
    for picture in (flame_picture(found), heat_map_picture(found)):
        assert Image.open(io.BytesIO(picture)).format == "PNG"


def test_secrets_in_names_are_taken_out() -> None:
    found = drawn(2, [event(2, "job", 1 + at / 49, f"token={SECRET}", "entry") for at in range(20)], says=SECRET)
    assert SECRET not in found.text()


@pytest.mark.parametrize(
    "change",
    [
        {"bars": [{"depth": 99, "at": 0, "wide": 1, "name": "x"}]},
        {"bars": [{"depth": 0, "at": 0, "wide": 0, "name": "x"}]},
        {"bars": [{"depth": 0, "at": 0, "wide": 1, "name": "x"}] * (MOST_BARS + 1)},
        {"seconds": [[1, 2]]},
        {"seconds": [[-1] * 50]},
        {"node": 5},
    ],
)
def test_what_is_no_sketch_is_refused(change: dict[str, object]) -> None:
    good = to_json_types(drawn(1, [event(1, "a", 1 + at / 49, "f") for at in range(9)]))
    assert sketch_of(good).node == "node-1"
    with pytest.raises(NotOfForm):
        sketch_of(good | change)


@given(st.text(max_size=40))
def test_any_other_text_is_refused_too(text: str) -> None:
    with pytest.raises(NotOfForm):
        read_sketch(text)


def test_one_with_nothing_to_draw_is_drawn() -> None:
    empty = replace(drawn(1, [event(1, "a", 1, "f")]), bars=(), seconds=())
    assert json.loads(empty.text())["bars"] == []
    assert flame_picture(empty)[:4] == heat_map_picture(empty)[:4] == b"\x89PNG"


DRAWN = Sketch(
    "node-1",
    39,
    "core 39 ran <!channel> in walk",
    49,
    "walk",
    (Bar(0, 0, 49, "<!channel>"), Bar(1, 0, 49, "walk")),
    ((1,) * 50,),
)


async def test_sketch_is_two_files_in_whose_place_one_sentence_stands() -> None:
    kind, asked = SketchFile(), tuple(pictures_of(DRAWN))
    assert all(each.part.startswith("sketch-") for each in asked), "which earlier programs stored"
    made = [await kind.make(each.name, each.content) for each in asked]
    assert [file.name for file in made] == ["flame-core-39.png", "seconds-core-39.png"]
    assert all("<!channel>" in file.alt_text for file in made), "alt text is words, and mentions nobody"
    for file in made:
        with Image.open(io.BytesIO(file.content)) as image:
            assert image.format == "PNG"
    assert [kind.instead(each.name, "no") for each in asked] == ["There is no picture: no", ""]
    assert tuple(pictures_of(DRAWN)) == asked, "so each stands once"


async def test_what_is_no_sketch_is_not_drawn() -> None:
    with pytest.raises(ProfileError, match="cannot be read"):
        await SketchFile().make("flame-x", {"sketch": {"node": "<b>"}})
