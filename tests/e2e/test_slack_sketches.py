"""Pictures of a profile in a thread: both, once; a sentence where Slack takes none; and none of what is no sketch."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from bot.chat.post_state import CARD, MessageTarget
from bot.chat.service import Message as Posted
from bot.chat.thread_files import FileRequest
from bot.demo.slack.access import DEFAULT_SCOPES
from bot.extras.profiles.chat_file import SKETCH, pictures_of
from bot.extras.profiles.sketch import Bar, Sketch
from tests.faults import UPLOAD
from tests.slack.acting_team import ONCALL, ActingTeam, acting_team
from tests.slack.workspace import workspace

NAME, TARGET = "profile-a", MessageTarget(ONCALL)
DRAWN = Sketch(
    "node-1",
    39,
    "core 39 ran <!channel> in walk",
    49,
    "walk",
    (Bar(0, 0, 49, "<!channel>"), Bar(1, 0, 49, "walk")),
    ((1,) * 50,),
)


async def posted(slack: Any, team: ActingTeam) -> Any:
    await team.poster.enqueue(NAME, CARD, TARGET, Posted("a profile"))
    return await slack.until(
        lambda: next((m for m in slack.messages("oncall-gpu") if m.text == "a profile"), None), what="the message"
    )


async def attach(team: ActingTeam, drawn: Sketch = DRAWN) -> list[bool | None]:
    return [await team.poster.attach(NAME, TARGET, asked) for asked in pictures_of(drawn)]


async def test_both_pictures_come_once_also_where_the_first_upload_fails(tmp_path: Path) -> None:
    async with workspace() as slack, acting_team(slack, tmp_path, reports=True) as team:
        message = await posted(slack, team)
        slack.faults.status(UPLOAD)
        assert await attach(team) == [True, True]

        def files() -> list[Any] | None:
            found = [file for said in slack.thread(message) for file in said.files]
            return found if len(found) == 2 else None

        found = await slack.until(files, what="both pictures")
        assert {file.name for file in found} == {"flame-core-39.png", "seconds-core-39.png"}
        assert all("<!channel>" in file.alt_text for file in found), "alt text is words, and mentions nobody"

        async with asyncio.timeout(60):
            while len(team.logged("sketch_sent")) < 2:  # noqa: ASYNC110 - asks a log
                await asyncio.sleep(0.02)
        assert await attach(team) == [False, False], "they stand there already"
        await team.poster.attach(NAME, TARGET, FileRequest(SKETCH, "flame-x", {"sketch": {"node": "<b>"}}))
        await slack.until(
            lambda: any("cannot be read" in m.text for m in slack.thread(message)), what="why there is none"
        )


async def test_without_the_scope_a_sentence_stands_in_their_place_once(tmp_path: Path) -> None:
    async with (
        workspace(scopes=DEFAULT_SCOPES - {"files:write"}) as slack,
        acting_team(slack, tmp_path, reports=True) as team,
    ):
        message = await posted(slack, team)
        await attach(team)
        said = await slack.until(
            lambda: next((m for m in slack.thread(message) if "There is no picture" in m.text), None),
            what="the sentence",
        )
        assert "missing_scope" in said.text
        await team.idle()
        assert sum("There is no picture" in m.text for m in slack.thread(message)) == 1
