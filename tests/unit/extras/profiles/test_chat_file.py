"""Pictures of a profile in a thread: two files, one sentence in their place, and none of what is no sketch."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from bot.domain.errors import ProfileError
from bot.extras.profiles.chat_file import SketchFile, pictures_of
from bot.extras.profiles.sketch import Bar, Sketch

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
