"""A line of the log is one JSON object without a secret, and whoever listens hears it as it was meant."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import pytest

from bot.app.json_log import LONGEST, JsonLog
from tests.readings.secrets import Seeded, seeded


def line(stream: io.StringIO) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(stream.getvalue().splitlines()[-1])
    return told


@pytest.mark.parametrize("one", seeded(1)[::6], ids=lambda one: one.kind)
def test_no_secret_is_logged_however_long_the_text_before_it(one: Seeded) -> None:
    for before in ("", "x " * (LONGEST // 2 - 10)):  # the second is cut in the middle of the secret
        stream = io.StringIO()
        JsonLog(stream).log("library", says=f"{before}{one.text}")
        assert [word for word in one.hidden if word[: len(word) // 2 + 3] in stream.getvalue()] == []


def test_our_own_secrets_are_taken_out_whatever_their_form() -> None:
    stream = io.StringIO()
    journal = JsonLog(stream, ["correct horse battery", "short"])
    journal.log("library", says="it said correct horse battery, in short", token="abc")
    assert line(stream)["says"] == "it said [redacted], in short"
    assert line(stream)["token"] == "[redacted]"


@pytest.mark.parametrize("secret", ["correct horse battery", "Kx9vQ2mZ7pLw4tRb" + "8nYc3fHd6sJg1aUe"])
def test_secret_is_not_shown_by_half_where_what_was_before_it_shrank(secret: str) -> None:
    stream = io.StringIO()
    key = f"-----BEGIN PRIVATE KEY-----{'A' * (4 * LONGEST - 66)}-----END PRIVATE KEY-----"
    JsonLog(stream, ["correct horse battery"]).log("library", says=f"{key} {secret}")
    assert secret[:4] not in line(stream)["says"]


def test_whoever_listens_hears_events_with_their_figures() -> None:
    heard: list[tuple[str, Mapping[str, Any]]] = []
    journal = JsonLog(io.StringIO())
    journal.listen(lambda event, fields: heard.append((event, fields)))
    journal.log("checked", status="healthy", took_seconds=5.0)
    assert heard == [("checked", {"status": "healthy", "took_seconds": 5.0})]
