"""The pictures of README and docs show what they show as the bot draws it today."""

import json
from pathlib import Path

import pytest

from tests.pictures import DOCS, PICTURES, Picture

LARGEST = 400_000  # bytes: a page of the docs has to open on a phone


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_picture_is_no_older_than_what_it_shows(picture: Picture) -> None:
    assert picture.path.read_bytes().startswith(b"\x89PNG")
    assert picture.path.stat().st_size <= LARGEST
    assert json.loads(picture.kept.read_text())["drawn_from"] == picture.drawn(), (
        "what it shows changed: make the picture anew with "
        f"`.venv/bin/python -m tests.pictures {picture.name}`, and look at it"
    )


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_digest_hangs_on_nothing_but_what_is_drawn(picture: Picture) -> None:
    assert picture.drawn() == picture.drawn()


def test_every_picture_is_made_by_the_command_and_shown_somewhere() -> None:
    assert {path.stem for path in DOCS.glob("*.png")} == {picture.name for picture in PICTURES}
    pages = [Path(DOCS.parent / "README.md"), *DOCS.glob("*.md")]
    text = "\n".join(page.read_text() for page in pages)
    assert [picture.name for picture in PICTURES if f"{picture.name}.png)" not in text] == []
