"""Signed HTTP: what arrives at the app's address is signed as Slack signs, and tried again as Slack tries."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from urllib.parse import parse_qs

import pytest
from aiohttp import web
from slack_sdk.signature import SignatureVerifier

from bot.demo.slack.delivery import DeliveryTimeouts
from tests.slack.workspace import SlackWorkspace, workspace

SOON = DeliveryTimeouts(timedelta(milliseconds=200), (timedelta(0),))


class App:
    """An app's address that keeps what comes and answers what it was told to."""

    def __init__(self, slack: SlackWorkspace) -> None:
        self.slack = slack
        self.came: list[tuple[dict[str, str], bytes]] = []
        self.answer: Callable[[], web.Response] = web.Response
        self.url = ""

    async def receive(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.came.append((dict(request.headers), body))
        given = json.loads(body) if request.content_type == "application/json" else {}
        if given.get("type") == "url_verification":
            return web.json_response({"challenge": given["challenge"]})
        return self.answer()

    def form(self, index: int = -1) -> dict[str, list[str]]:
        return parse_qs(self.came[index][1].decode())


@pytest.fixture
async def app() -> AsyncIterator[App]:
    async with workspace(patience=SOON) as slack:
        app = App(slack)
        server = web.Application()
        server.router.add_post("/slack/events", app.receive)
        runner = web.AppRunner(server)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        app.url = f"http://127.0.0.1:{runner.addresses[0][1]}/slack/events"
        slack.deliver_to(app.url)
        yield app
        await runner.cleanup()


async def test_command_is_a_signed_form_and_its_answer_is_shown(app: App) -> None:
    app.answer = lambda: web.json_response({"text": "reading…", "response_type": "in_channel"})
    await app.slack.say("alice", "#alerts", "/zombie check node-1")
    headers, body = app.came[0]
    assert SignatureVerifier(app.slack.signing_secret).is_valid_request(body, headers)
    assert not SignatureVerifier("another").is_valid_request(body, headers)
    assert app.form()["text"] == ["check node-1"]
    assert [each.text for each in app.slack.messages("#alerts")] == ["reading…"]


async def test_plain_text_answer_is_for_the_person_alone(app: App) -> None:
    app.answer = lambda: web.Response(text="reading…")
    await app.slack.say("alice", "#alerts", "/zombie check node-1")
    assert app.slack.messages("#alerts") == []
    assert [each.text for each in app.slack.messages("#alerts", "alice")] == ["reading…"]


async def test_event_that_fails_comes_again_with_its_number(app: App) -> None:
    app.answer = lambda: web.Response(status=500)
    await app.slack.say("alice", "#alerts", "@zombie check node-1")
    await app.slack.until(lambda: len(app.came) == 2)
    (first, body), (second, again) = app.came
    assert "X-Slack-Retry-Num" not in first
    assert (second["X-Slack-Retry-Num"], second["X-Slack-Retry-Reason"]) == ("1", "http_error")
    assert body == again


async def test_command_that_fails_says_so_to_the_person(app: App) -> None:
    app.answer = lambda: web.Response(status=500)
    said = await app.slack.say("alice", "#alerts", "/zombie check node-1")
    assert said.delivered
    assert said.delivered.failure == "http_service_error_500"
    (told,) = app.slack.messages("#alerts", "alice")
    assert told.text == "`/zombie` failed with the error “http_service_error_500”"


async def test_address_where_nobody_is(app: App) -> None:
    app.slack.deliver_to("http://127.0.0.1:1/slack/events")
    said = await app.slack.say("alice", "#alerts", "/zombie check node-1")
    assert said.delivered
    assert said.delivered.failure == "dispatch_failed"


async def test_duplicate_comes_twice_with_the_same_body(app: App) -> None:
    app.slack.faults.duplicates = 1
    await app.slack.say("alice", "#alerts", "/zombie check node-1")
    assert len(app.came) == 2
    assert app.came[0][1] == app.came[1][1]
