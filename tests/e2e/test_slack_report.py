"""The report in Slack: in the thread at the end, by a button on closed cards, once; or a sentence in its place."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from bot.chat.clicks import UNKNOWN_BUTTON
from bot.demo.slack.access import DEFAULT_SCOPES
from bot.demo.slack.message import File, Message
from tests.slack.acting_team import ActingTeam, acting_team
from tests.slack.workspace import SlackWorkspace, workspace

COMPLETE = "files.completeUploadExternal"
ABSENT = frozenset({"report"})  # the button of an extra that is left out


def attached(slack: SlackWorkspace, card: Message) -> list[File]:
    return [file for message in slack.thread(card) for file in message.files]


async def report_of(slack: SlackWorkspace, card: Message) -> File:
    found = await slack.until(lambda: attached(slack, card), what="the report in the thread")
    return found[0]


async def logged(team: ActingTeam, event: str) -> None:
    """Wait until that was logged."""
    async with asyncio.timeout(60):
        while not team.logged(event):  # noqa: ASYNC110 - asks a log
            await asyncio.sleep(0.02)


def has_button(card: Message) -> bool:
    return '"report"' in json.dumps(card.blocks)


async def cured(team: ActingTeam) -> Message:
    await team.decides("bob", await team.proposed("node-1"))
    return await team.card("Resolved: node-1")


async def declined(team: ActingTeam) -> Message:
    await team.decides("bob", await team.proposed("node-1"), "decline", "the job has to finish")
    card = await team.card("Declined: node-1")
    await team.idle()
    return card


async def test_report_stands_in_the_thread_once_it_is_over(tmp_path: Path) -> None:
    async with workspace() as slack, acting_team(slack, tmp_path, reports=True) as team:
        offer = await team.proposed("node-1")
        assert not has_button(offer), "what is not over has no report here"
        await team.decides("bob", offer)
        card = await team.card("Resolved: node-1")
        file = await report_of(slack, card)
        incident = (await team.ledger.incidents())[0].id
        assert (file.name, file.content[:15]) == (f"report-{incident}.html", b"<!doctype html>")
        page = file.content.decode()
        for words in ("Resolved: node-1", "it leaks", "sudo -n systemctl reboot", "default-src &#x27;none&#x27;"):
            assert words in page, words
        assert has_button(await team.card("Resolved: node-1"))
        await logged(team, "report_sent")
        await slack.click("alice", card, "report")
        await team.told("alice", "The report is in this card's thread.")
        await team.shown(incident)
        assert len(attached(slack, card)) == len(slack.asked(COMPLETE)) == 1, "and no second one"


async def test_button_brings_the_report_of_what_ended_with_nothing_done(tmp_path: Path) -> None:
    async with workspace() as slack, acting_team(slack, tmp_path, reports=True) as team:
        card = await declined(team)
        assert not attached(slack, card), "nobody asked for it"
        await slack.click("alice", card, "report")
        await team.told("alice", "The report comes into this card's thread.")
        assert "the job has to finish" in (await report_of(slack, card)).content.decode()


async def test_without_the_scope_a_sentence_says_how_it_is_written(tmp_path: Path) -> None:
    async with (
        workspace(scopes=DEFAULT_SCOPES - {"files:write"}) as slack,
        acting_team(slack, tmp_path, reports=True) as team,
    ):
        card = await cured(team)
        said = await slack.until(
            lambda: next((one for one in slack.thread(card) if "The report is not here" in one.text), None),
            what="the sentence",
        )
        assert "missing_scope" in said.text
        assert "zombie report " in said.text
        assert not attached(slack, card)


async def test_bot_that_sends_none_names_the_command_and_without_the_extra_says_that_it_cannot(tmp_path: Path) -> None:
    async with workspace() as slack:
        async with acting_team(slack, tmp_path) as team:
            card = await declined(team)
            assert has_button(card)
            await slack.click("alice", card, "report")
            await team.told("alice", "To write the report: zombie report ")
        async with acting_team(slack, tmp_path, reports=True, absent=ABSENT) as team:
            await slack.click("alice", card, "report")
            await team.told("alice", UNKNOWN_BUTTON)
            await team.decides("bob", await team.proposed("node-2", key="cmd-2"))
            card = await team.card("Resolved: node-2")
            await team.idle()
            assert not has_button(card)
            assert not attached(slack, card)
            assert "report" not in json.dumps([message.text for message in slack.thread(card)])
