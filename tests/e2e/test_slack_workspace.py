"""The simulated workspace, as the real clients see it: Slack's own SDK and Bolt over Socket Mode."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.http_retry.builtin_async_handlers import AsyncRateLimitErrorRetryHandler

from bot.demo.slack.delivery import DeliveryTimeouts
from tests.slack.workspace import SlackWorkspace, bolt, client, workspace

SHORT = timedelta(milliseconds=300)


@pytest.fixture
async def slack() -> AsyncIterator[SlackWorkspace]:
    async with workspace() as slack:
        yield slack


@pytest.fixture
async def app(slack: SlackWorkspace) -> AsyncIterator[AsyncApp]:
    async with bolt(slack) as app:
        yield app


def dialog(callback_id: str = "reason") -> dict[str, Any]:
    element = {"type": "plain_text_input", "action_id": "reason"}
    return {
        "type": "modal",
        "callback_id": callback_id,
        "title": {"type": "plain_text", "text": "Why?"},
        "submit": {"type": "plain_text", "text": "Approve"},
        "blocks": [
            {"type": "input", "block_id": "why", "label": {"type": "plain_text", "text": "Reason"}, "element": element}
        ],
    }


def card(text: str) -> list[dict[str, Any]]:
    label = {"type": "plain_text", "text": "Approve"}
    button = {"type": "button", "text": label, "action_id": "approve", "value": "i1"}
    return [
        {"type": "section", "text": {"type": "mrkdwn", "text": text}},
        {"type": "actions", "block_id": "decide", "elements": [button]},
    ]


async def test_command_becomes_a_card_that_is_edited_clicked_and_approved(slack: SlackWorkspace, app: AsyncApp) -> None:
    reasons = []

    @app.command("/zombie")
    async def check(ack: Any, command: Any, client: Any) -> None:
        await ack(f"Reading {command['text']}…")
        posted = await client.chat_postMessage(channel=command["channel_id"], text="reading…", blocks=card("reading…"))
        await client.chat_update(
            channel=posted["channel"], ts=posted["ts"], text="node-1 is sick", blocks=card("*sick*")
        )

    @app.action("approve")
    async def approve(ack: Any, body: Any, client: Any) -> None:
        await ack()
        await client.views_open(trigger_id=body["trigger_id"], view=dialog())

    @app.view("reason")
    async def decide(ack: Any, view: Any) -> None:
        reasons.append(view["state"]["values"]["why"]["reason"]["value"])
        await ack()

    said = await slack.say("alice", "#oncall-gpu", "/zombie check node-1")
    assert said.delivered
    assert said.delivered.is_acknowledged
    (private,) = [each for each in slack.messages("#oncall-gpu", "alice") if each.only_for]
    assert private.text == "Reading check node-1…"
    edited = await slack.until(lambda: [each for each in slack.messages("#oncall-gpu") if each.edited_ts])
    assert edited[0].text == "node-1 is sick"

    assert (await slack.click("bob", edited[0], "approve")).is_acknowledged
    modal = await slack.until(lambda: slack.modal("bob"))
    assert slack.modal("alice") is None
    assert (await slack.submit("bob", modal, {"reason": ""})).errors == {"why": "Please complete this required field."}
    assert (await slack.submit("bob", modal, {"reason": "it is sick"})).view is None
    assert reasons == ["it is sick"]
    assert slack.modal("bob") is None


async def test_mention_in_a_thread_reaches_the_app_and_its_answer_stays_there(
    slack: SlackWorkspace, app: AsyncApp
) -> None:
    @app.event("app_mention")
    async def answer(event: Any, client: Any) -> None:
        await client.chat_postMessage(channel=event["channel"], thread_ts=event["thread_ts"], text=event["text"])

    parent = (await slack.say("bob", "#alerts", "node-7 is slow")).message
    assert parent
    await slack.say("alice", "#alerts", "@zombie check node-7", thread_ts=parent.ts)
    thread = await slack.until(lambda: slack.thread(parent) if len(slack.thread(parent)) == 3 else [])
    assert [each.text for each in thread[1:]] == ["<@U0ZOMBIE01> check node-7"] * 2


async def test_home_is_published_for_whoever_looks(slack: SlackWorkspace, app: AsyncApp) -> None:
    @app.event("app_home_opened")
    async def show(event: Any, client: Any) -> None:
        section = {"type": "section", "text": {"type": "mrkdwn", "text": f"Hello <@{event['user']}>"}}
        await client.views_publish(user_id=event["user"], view={"type": "home", "blocks": [section]})

    await slack.open_home("alice")
    home = await slack.until(lambda: slack.home("alice"))
    assert home.blocks[0]["text"]["text"] == "Hello <@U0ALICE001>"
    assert slack.home("bob") is None


async def test_app_reconnects_after_being_told_to_go_and_after_a_cut(slack: SlackWorkspace, app: AsyncApp) -> None:
    heard = []

    @app.command("/zombie")
    async def check(ack: Any, command: Any) -> None:
        heard.append(command["text"])
        await ack()

    await slack.sockets.disconnect("refresh_requested")
    await slack.until(lambda: slack.sockets.connections == 1, what="the app to come back after refresh_requested")
    assert (await slack.say("alice", "#alerts", "/zombie one")).delivered
    slack.sockets.drop()
    assert slack.sockets.connections == 0
    await slack.until(lambda: slack.sockets.connections == 1, what="the app to come back after a cut")
    await slack.say("alice", "#alerts", "/zombie two")
    assert heard == ["one", "two"]


async def test_each_of_two_connections_gets_some_of_the_envelopes(slack: SlackWorkspace) -> None:
    async with bolt(slack, connections=2) as app:
        heard = []

        @app.command("/zombie")
        async def check(ack: Any, command: Any) -> None:
            heard.append(command["text"])
            await ack()

        for text in ("one", "two", "three"):
            await slack.say("alice", "#alerts", f"/zombie {text}")
        assert heard == ["one", "two", "three"]
        await slack.sockets.disconnect()
        await slack.until(lambda: slack.sockets.connections == 2, what="both to come back")


async def test_duplicate_envelope_arrives_twice_with_one_id(slack: SlackWorkspace, app: AsyncApp) -> None:
    heard = []

    @app.command("/zombie")
    async def check(ack: Any, command: Any) -> None:
        heard.append(command["trigger_id"])
        await ack()

    slack.faults.duplicates = 1
    await slack.say("alice", "#alerts", "/zombie check node-1")
    await slack.until(lambda: len(heard) == 2)
    assert heard[0] == heard[1]


async def test_rate_limit_is_honoured_by_the_sdk(slack: SlackWorkspace) -> None:
    web = client(slack)
    web.retry_handlers.append(AsyncRateLimitErrorRetryHandler(max_retry_count=1))
    slack.faults.rate_limit("chat.postMessage", retry_after_seconds=1)
    await web.chat_postMessage(channel="C0ALERTS01", text="x")
    first, second = slack.asked("chat.postMessage")
    assert (first.status, first.error, second.status) == (429, "ratelimited", 200)
    assert second.at - first.at >= timedelta(seconds=0.9)


async def test_unacknowledged_command_tells_the_person_and_is_not_tried_again() -> None:
    async with workspace(patience=DeliveryTimeouts(acknowledgement=SHORT)) as slack, bolt(slack) as app:
        never = asyncio.Event()
        heard = []

        @app.command("/zombie")
        async def check(command: Any) -> None:
            heard.append(command["text"])
            await never.wait()

        said = await slack.say("alice", "#alerts", "/zombie check node-1")
        never.set()
        assert said.delivered
        assert said.delivered.failure == "operation_timeout"
        assert heard == ["check node-1"]
        (told,) = slack.messages("#alerts", "alice")
        assert told.text.startswith("`/zombie` failed because the app did not respond.")


async def test_command_without_an_app_says_dispatch_failed(slack: SlackWorkspace) -> None:
    said = await slack.say("alice", "#alerts", "/zombie check node-1")
    assert said.delivered
    assert said.delivered.failure == "dispatch_failed"
    (told,) = slack.messages("#alerts", "alice")
    assert told.text == "`/zombie` failed with the error “dispatch_failed”"


async def test_file_is_uploaded_by_the_sdk_and_shared_in_a_thread(slack: SlackWorkspace) -> None:
    web = client(slack)
    parent = await web.chat_postMessage(channel="C0ALERTS01", text="card")
    await web.files_upload_v2(
        channel="C0ALERTS01", thread_ts=parent["ts"], filename="flame.png", content=b"\x89PNG", alt_txt="a flame graph"
    )
    _, shared = slack.thread(slack.messages("#alerts")[0])
    assert [(file.name, file.content, file.alt_text) for file in shared.files] == [
        ("flame.png", b"\x89PNG", "a flame graph")
    ]
