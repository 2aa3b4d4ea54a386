"""The README's picture shows the card as the bot draws it today."""

import json

from tests.pictures import DRAWN_FROM, PICTURE, drawn_from


def test_picture_is_no_older_than_what_it_shows() -> None:
    assert PICTURE.read_bytes().startswith(b"\x89PNG")
    assert json.loads(DRAWN_FROM.read_text())["drawn_from"] == drawn_from(), (
        "the card or the page that shows it changed: make the picture anew with `.venv/bin/python -m tests.pictures`, "
        "and look at it"
    )


def test_digest_hangs_on_nothing_but_what_is_drawn() -> None:
    assert drawn_from() == drawn_from()
