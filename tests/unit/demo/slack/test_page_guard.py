"""The page opens for one browser on this machine only, and runs nothing but its own scripts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import ClientSession, ClientWebSocketResponse, CookieJar, WSServerHandshakeError

from tests.slack.workspace import SlackWorkspace, workspace


class Browser:
    """What a browser sends, cookies included."""

    def __init__(self, slack: SlackWorkspace, session: ClientSession) -> None:
        self.slack, self.session = slack, session

    async def get(self, path: str, **headers: str) -> int:
        async with self.session.get(self.slack.origin + path, headers=headers) as response:
            return response.status

    async def post(self, path: str, **headers: str) -> int:
        say = {"as": "alice", "channel": "C0ALERTS01", "text": "hello"}
        async with self.session.post(self.slack.origin + path, json=say, headers=headers) as response:
            return response.status

    async def enter(self) -> None:
        async with self.session.get(self.slack.page_url) as response:
            assert response.status == 200


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with workspace() as slack, ClientSession(cookie_jar=CookieJar(unsafe=True)) as session:
        yield Browser(slack, session)


async def test_first_visit_needs_the_printed_token(browser: Browser) -> None:
    assert await browser.get("/") == 401
    assert await browser.get("/?token=guess") == 401
    assert await browser.get("/static/app.js") == 401
    await browser.enter()
    assert await browser.get("/") == 200
    assert await browser.get("/static/app.js") == 200


async def test_cookie_is_for_this_site_only_and_out_of_reach_of_scripts(browser: Browser) -> None:
    async with browser.session.get(browser.slack.page_url) as response:
        (cookie,) = response.headers.getall("Set-Cookie")
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert browser.slack.page_url.partition("token=")[2] not in cookie


@pytest.mark.parametrize("path", ["/", "/page/say", "/api/auth.test", "/commands/T/1/x"])
async def test_foreign_host_is_refused_everywhere(browser: Browser, path: str) -> None:
    await browser.enter()
    assert await browser.get(path, Host="rebound.example") == 421
    assert await browser.post(path, Host="rebound.example") == 421


@pytest.mark.parametrize("origin", ["https://evil.example", "http://127.0.0.1:1", "null"])
async def test_post_from_elsewhere_is_refused(browser: Browser, origin: str) -> None:
    await browser.enter()
    assert await browser.post("/page/say", Origin=origin) == 403
    assert await browser.post("/page/say") == 403, "a browser always says where it posts from"
    assert browser.slack.messages("#alerts") == []
    assert await browser.post("/page/say", Origin=browser.slack.origin) == 200


async def test_wire_from_elsewhere_is_refused(browser: Browser) -> None:
    await browser.enter()
    address = f"{browser.slack.origin}/page/live?as=alice"
    for origin in ("https://evil.example", ""):
        with pytest.raises(WSServerHandshakeError, match="403"):
            await browser.session.ws_connect(address, origin=origin or None)
    async with browser.session.ws_connect(address, origin=browser.slack.origin) as wire:
        assert (await wire.receive_json())["me"] == "U0ALICE001"


async def test_app_side_is_not_for_browsers(browser: Browser) -> None:
    assert await browser.post("/api/auth.test", Origin=browser.slack.origin) == 403


async def test_nothing_is_allowed_to_other_origins_and_scripts_are_the_pages_own(browser: Browser) -> None:
    async with browser.session.get(browser.slack.page_url) as response:
        headers = response.headers
    assert not [name for name in headers if name.lower().startswith("access-control-")]
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy.replace("https", "http").replace("'self'", "")
    assert "require-trusted-types-for 'script'" in policy


@pytest.mark.parametrize("name", ["..%2Fserver.py", "%2Fetc%2Fpasswd", "missing.js", "index.html"])
async def test_only_the_pages_own_files_are_served(browser: Browser, name: str) -> None:
    await browser.enter()
    assert await browser.get(f"/static/{name}") == 404


async def told_until(wire: ClientWebSocketResponse, text: str) -> list[dict[str, list[Any]]]:
    """Return each state of the channels' messages that comes over the wire, up to the one with that text."""
    told: list[dict[str, list[Any]]] = []
    while not any(message["text"] == text for messages in (told or [{}])[-1].values() for message in messages):
        told.append((await wire.receive_json())["messages"])
    return told


async def test_private_message_goes_to_its_persons_wire_alone(browser: Browser) -> None:
    await browser.enter()
    origin = browser.slack.origin
    async with (
        browser.session.ws_connect(f"{origin}/page/live?as=alice", origin=origin) as alice,
        browser.session.ws_connect(f"{origin}/page/live?as=gina", origin=origin) as gina,
    ):
        for place, text in (("#alerts", "not for guests"), ("#oncall-gpu", "for all")):
            await browser.slack.say("alice", place, "/nothing")
            await browser.slack.say("alice", place, text)
        hers = (await told_until(alice, "for all"))[-1]
        assert [message["user"] for message in hers["C0ALERTS01"]] == ["USLACKBOT", "U0ALICE001"]
        assert [message["user"] for message in hers["C0ONCALL01"]] == ["USLACKBOT", "U0ALICE001"]
        for state in await told_until(gina, "for all"):
            assert "C0ALERTS01" not in state
            assert {message["user"] for message in state["C0ONCALL01"]} <= {"U0ALICE001"}
