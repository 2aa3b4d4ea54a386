"""The simulated PagerDuty behaves as the real one does where the bot relies on it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import ClientSession, CookieJar, web

from bot.demo.pagerduty.page import Suggestion
from bot.demo.pagerduty.webhooks import RetryPolicy
from tests.alerts.pagerduty import PagerDuty, account, client

SOON = RetryPolicy(timedelta(seconds=2), tuple(timedelta(seconds=0.01) for _ in range(4)))
VERSION = "application/vnd.pagerduty+json;version=2"


class Receiver:
    """Takes webhooks, and answers as told; 202 where it was told nothing."""

    def __init__(self) -> None:
        self.url = ""
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[int] = []

    async def take(self, request: web.Request) -> web.Response:
        self.got.append((dict(request.headers), await request.read()))
        return web.Response(status=self.answers.pop(0) if self.answers else 202)

    @property
    def kinds(self) -> list[str]:
        return [json.loads(body)["event"]["event_type"] for _, body in self.got]


@asynccontextmanager
async def receiver() -> AsyncIterator[Receiver]:
    one = Receiver()
    app = web.Application()
    app.router.add_post("/pagerduty", one.take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    one.url = f"http://127.0.0.1:{runner.addresses[0][1]}/pagerduty"
    try:
        yield one
    finally:
        await runner.cleanup()


async def ask(pagerduty: PagerDuty, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    async with (
        ClientSession() as session,
        session.request(method, f"{pagerduty.api_url}{path}", json=body, headers=headers) as response,
    ):
        return response.status, await response.json()


async def test_failed_webhook_comes_again_under_the_same_id_and_holds_up_the_later_ones() -> None:
    async with account(retry_policy=SOON) as pagerduty, receiver() as bot:
        pagerduty.deliver_to(bot.url, "s")
        bot.answers = [503, 429, 202]
        page = pagerduty.account.trigger("node is slow")
        pagerduty.account.acknowledge(page, pagerduty.account.person)
        pagerduty.account.resolve(page)
        await pagerduty.webhooks.settled()
        assert bot.kinds == [*["incident.triggered"] * 3, "incident.acknowledged", "incident.resolved"]
        assert len({headers["X-Webhook-Id"] for headers, _ in bot.got[:3]}) == 1
        assert len({headers["X-Webhook-Id"] for headers, _ in bot.got}) == 3


async def test_three_drops_in_a_row_disable_the_subscription() -> None:
    async with account(retry_policy=SOON) as pagerduty, receiver() as bot, client(pagerduty) as asking:
        pagerduty.deliver_to(bot.url, "s")
        bot.answers = [400, 202, 401, 400, 404]
        for number in range(6):
            pagerduty.account.trigger(f"number {number}")
            await pagerduty.webhooks.settled()
        assert len(bot.got) == 5, "what is taken ends a row, and after three nothing is brought"
        assert [one.is_suspended for one in await asking.subscriptions()] == [True]


async def test_secret_of_a_subscription_is_never_shown() -> None:
    async with account() as pagerduty:
        token = {"Authorization": f"Token token={pagerduty.token}", "Accept": VERSION}
        pagerduty.deliver_to("https://bot.example/pagerduty", "known to two")
        _, listed = await ask(pagerduty, "GET", "/webhook_subscriptions", **token)
        assert [one["delivery_method"]["secret"] for one in listed["webhook_subscriptions"]] == [None]
        assert "known to two" not in str(listed)


@pytest.mark.parametrize(("left_out", "status"), [("Authorization", 401), ("Accept", 400), ("From", 400), ("", 200)])
async def test_headers_are_demanded(left_out: str, status: int) -> None:
    async with account() as pagerduty:
        page = pagerduty.account.trigger("node is slow")
        headers = {
            "Authorization": f"Token token={pagerduty.token}",
            "Accept": VERSION,
            "From": pagerduty.sender,
        }
        headers.pop(left_out, None)
        body = {"note": {"content": "hello"}}
        assert (await ask(pagerduty, "POST", f"/incidents/{page.id}/notes", body, **headers))[0] == status
        assert len(page.notes) == (status == 200)


async def test_acknowledging_a_resolved_page_opens_it_again() -> None:
    async with account() as pagerduty:
        page = pagerduty.account.trigger("node is slow")
        pagerduty.account.resolve(page)
        headers = {"Authorization": f"Token token={pagerduty.token}", "Accept": VERSION, "From": pagerduty.sender}
        body = {"incident": {"type": "incident_reference", "status": "acknowledged"}}
        await ask(pagerduty, "PUT", f"/incidents/{page.id}", body, **headers)
        assert page.status == "acknowledged"


async def test_event_of_an_unknown_key_or_form_is_refused() -> None:
    async with account() as pagerduty:
        good = {
            "routing_key": pagerduty.routing_key,
            "event_action": "trigger",
            "payload": {"summary": "a", "source": "b", "severity": "critical"},
        }
        bad: list[dict[str, Any]] = [{"routing_key": "no"}, {"event_action": "shout"}, {"payload": {}}]
        for change in (*bad, {"dedup_key": "x" * 256}):
            assert (await ask(pagerduty, "POST", "/v2/enqueue", {**good, **change}))[0] == 400
        assert (await ask(pagerduty, "POST", "/v2/enqueue", good))[0] == 202
        assert len(pagerduty.account.incidents) == 1


async def test_page_of_another_server_cannot_ask() -> None:
    async with account() as pagerduty, ClientSession() as session:
        for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
            async with session.get(f"{pagerduty.api_url}/users", headers=headers) as response:
                assert response.status in (403, 421)


async def test_page_is_for_whoever_has_its_token_and_comes_from_itself() -> None:
    async with account() as pagerduty, ClientSession(cookie_jar=CookieJar(unsafe=True)) as session:
        pagerduty.page.suggestions = (Suggestion("the first case", "a core is pinned", {"host": "node-1"}),)
        at, fire = pagerduty.api_url, {"number": 0}
        for path in ("/", "/page/pages", "/static/pagerduty.js"):
            async with session.get(f"{at}{path}") as response:
                assert response.status == 401
        async with session.get(pagerduty.page_url) as response:
            assert response.status == 200
            assert "default-src 'none'" in response.headers["Content-Security-Policy"]
        async with session.post(f"{at}/page/fire", json=fire, headers={"Origin": "http://evil.example"}) as response:
            assert response.status == 403
        assert not pagerduty.account.incidents
        async with session.post(f"{at}/page/fire", json=fire, headers={"Origin": at}) as response:
            assert response.status == 200
        (page,) = pagerduty.account.incidents.values()
        async with session.post(f"{at}/page/resolve", json={"page": page.id}, headers={"Origin": at}) as response:
            assert response.status == 200
        async with session.post(f"{at}/page/fire", json={"number": 7}, headers={"Origin": at}) as response:
            assert response.status == 400
        async with session.get(f"{at}/page/pages") as response:
            told = await response.json()
        assert [(one["title"], one["status"]) for one in told["pages"]] == [("a core is pinned", "resolved")]
