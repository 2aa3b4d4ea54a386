"""A card's heat map: uploaded once, put in by an edit, and never waited for."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from bot.demo.slack.access import DEFAULT_SCOPES
from bot.demo.slack.message import Message
from bot.domain.verdict import Verdict
from bot.ledger import Database, Outbox
from tests.e2e.conftest import SlackHere
from tests.faults import UPLOAD
from tests.slack.service import CHANNEL, Readings, card_saying, cards, serving
from tests.slack.workspace import SlackWorkspace, workspace
from tests.unit.surfaces.heats import heat_of
from tests.unit.surfaces.verdicts import FOUNDING

BEGIN, COMPLETE = "files.getUploadURLExternal", "files.completeUploadExternal"
HEAT = heat_of()


def hot(name: str) -> Verdict:
    return replace(FOUNDING, node=name, heat=HEAT)


def picture(message: Message) -> dict[str, Any] | None:
    return next((block for block in message.blocks if block["type"] == "image"), None)


def has_strip(message: Message) -> bool:
    return any(str(block.get("block_id", "")).startswith("heat-") for block in message.blocks)


async def illustrated(slack: SlackWorkspace) -> Message:
    return await slack.until(
        lambda: next((card for card in cards(slack) if picture(card) is not None), None), what="a card with a picture"
    )


async def test_card_has_its_strip_at_once_and_its_picture_by_an_edit(here: SlackHere) -> None:
    here.slack.faults.slow(UPLOAD, timedelta(seconds=0.5))
    async with here.serving(Readings(hot)):
        await here.slack.say("alice", CHANNEL, "/zombie check node-1")
        first = await card_saying(here.slack, "CRITICAL")
        assert has_strip(first)
        assert picture(first) is None, "the card does not wait for its picture"
        card = await illustrated(here.slack)
    block = picture(card)
    assert block is not None
    assert not has_strip(card), "the picture takes the strip's place"
    assert card.ts == first.ts
    for words in ("core 39: 100 % kernel time in 4 of 5 s", "the other 95 below 20 %"):
        assert words in block["alt_text"]
    file = here.slack.state.files[block["slack_file"]["id"]]
    assert file.alt_text == block["alt_text"]
    with Image.open(io.BytesIO(file.content)) as image:
        image.load()
        assert image.format == "PNG"
    assert [len(here.slack.asked(method)) for method in (BEGIN, COMPLETE)] == [1, 1]
    assert not here.slack.asked(COMPLETE)[0].arguments.get("channel_id"), "it is shared nowhere but on the card"


async def test_every_card_has_a_picture_of_its_own_in_its_own_channel(here: SlackHere) -> None:
    async with here.serving(Readings(hot)):
        for node in ("node-1", "node-2"):
            await here.slack.say("alice", CHANNEL, f"/zombie check {node}")
            await here.slack.until(lambda: [c for c in cards(here.slack) if node in c.text and picture(c)], what=node)  # noqa: B023
    shown = [block["slack_file"]["id"] for card in cards(here.slack) if (block := picture(card))]
    assert len(set(shown)) == 2
    assert len(here.slack.asked(BEGIN)) == 2, "one upload a card"
    with Database.open(f"sqlite:///{here.folder / 'zombie.db'}") as database:
        # `zombie audit verify --from-slack` reads what stands there.
        assert Outbox(database).channels.now() == {cards(here.slack)[0].channel}
        assert Outbox(database).waiting.now() == 0


async def test_card_of_several_nodes_has_their_strips_in_its_thread(here: SlackHere) -> None:
    async with here.serving(Readings(hot)):
        await here.slack.say("alice", CHANNEL, "/zombie check node-1 node-2")
        card = await card_saying(here.slack, "2 critical")
        thread = await here.slack.until(
            lambda: here.slack.thread(card)[2:] and here.slack.thread(card)[1:], what="the details"
        )
    said = [json.dumps([dict(block) for block in reply.blocks], ensure_ascii=False) for reply in thread]
    assert all("core 39 ████▅" in words for words in said)
    assert not here.slack.asked(BEGIN), "a table has no room for pictures"


async def test_a_picture_on_its_way_when_the_bot_ends_is_brought_by_the_next_run(here: SlackHere) -> None:
    here.slack.faults.silent(UPLOAD, timedelta(seconds=30))
    async with here.serving(Readings(hot)):
        await here.slack.say("alice", CHANNEL, "/zombie check node-1")
        await card_saying(here.slack, "CRITICAL")
        await here.slack.until(lambda: here.slack.asked(BEGIN), what="the upload to begin")
    assert not here.slack.asked(COMPLETE)
    here.slack.faults.clear()
    async with here.serving(Readings(hot)):
        card = await illustrated(here.slack)
    assert len(cards(here.slack)) == 1
    assert "CRITICAL" in card.text
    assert len(here.slack.asked(COMPLETE)) == 1


async def test_what_fails_for_a_moment_is_tried_again(here: SlackHere) -> None:
    fails: tuple[Callable[[], object], ...] = (
        lambda: here.slack.faults.status(UPLOAD),
        lambda: here.slack.faults.silent(UPLOAD, timedelta(0)),
        lambda: here.slack.faults.rate_limit(BEGIN, 1),
        lambda: here.slack.faults.error(COMPLETE, "internal_error"),
    )
    async with here.serving(Readings(hot)):
        for number, goes_wrong in enumerate(fails, 1):
            goes_wrong()
            await here.slack.say("alice", CHANNEL, f"/zombie check node-{number}")
            await here.slack.until(
                lambda number=number: sum(picture(card) is not None for card in cards(here.slack)) == number,  # type: ignore[misc]
                what=f"the picture of node-{number}",
            )


@pytest.mark.parametrize(
    ("missing", "tries", "because"), [({"files:write"}, 1, "missing_scope"), (set(), 3, "http_500")]
)
async def test_what_slack_rejects_or_does_not_take_in_a_few_tries_leaves_the_strip(
    tmp_path: Path, missing: set[str], tries: int, because: str
) -> None:
    async with workspace(scopes=DEFAULT_SCOPES - missing) as slack:
        slack.faults.status(UPLOAD, times=10)
        async with serving(slack, tmp_path, Readings(hot)) as bot:
            await slack.say("alice", CHANNEL, "/zombie check node-1")
            card = await card_saying(slack, "CRITICAL")
            await slack.until(lambda: bot.logged("picture_given_up"), what="the end of the tries")
        assert bot.logged("picture_given_up")[0]["because"] == f"The chat rejected the file ({because})."
        assert has_strip(card)
        assert "core 39: 100 % kernel time in 4 of 5 s" in json.dumps(list(card.blocks))
        assert len(slack.asked(BEGIN)) == tries


async def test_a_picture_that_slack_still_looks_at_is_offered_again_and_the_card_stands_meanwhile(
    here: SlackHere,
) -> None:
    here.slack.faults.slow(UPLOAD, timedelta(seconds=0.5))
    async with here.serving(Readings(hot)) as bot:
        await here.slack.say("alice", CHANNEL, "/zombie check node-1")
        first = await card_saying(here.slack, "CRITICAL")
        here.slack.faults.error("chat.update", "invalid_blocks")  # it is not ready yet
        await illustrated(here.slack)
    assert has_strip(first)
    assert len(here.slack.asked(BEGIN)) == 1
    assert bot.logged("slack_refused")
    assert not any("```" in str(call.arguments.get("text")) for call in here.slack.asked("chat.update")), (
        "never text alone"
    )
