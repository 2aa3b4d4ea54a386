"""Slack by signed HTTP: what is signed is seen to once, and what is not is refused before anybody reads it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import aiohttp
import pytest

from tests.alerts.given_up import give_up
from tests.slack.service import Bot, Readings, card_saying, cards, eventually, reply_saying, serving
from tests.slack.signed_http import sign
from tests.slack.workspace import SlackWorkspace, now

JSON = {"Content-Type": "application/json"}
CHECK = "/zombie check node-1"


@pytest.fixture
async def bot(slack: SlackWorkspace, readings: Readings, tmp_path: Path) -> AsyncIterator[Bot]:
    environment = {"SLACK_APP_TOKEN": "", "SLACK_SIGNING_SECRET": slack.signing_secret}
    async with serving(slack, tmp_path, readings, environment=environment) as bot:
        slack.deliver_to(f"{bot.address}/slack/events")
        yield bot


def stamp() -> int:
    """This second, as Slack writes it."""
    return int(now().timestamp())


async def post(bot: Bot, body: bytes, headers: dict[str, str], path: str = "/slack/events") -> tuple[int, str]:
    """Post to the bot as anybody might, and return the status and the answer."""
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{bot.address}{path}", data=body, headers={**JSON, **headers}) as answer,
    ):
        return answer.status, await answer.text()


def mention(text: str = "<@U0ZOMBIE01> check node-1") -> bytes:
    """A mention as an event's body."""
    event = {"type": "app_mention", "user": "U0ALICE001", "text": text, "ts": "1.000001", "channel": "C0ONCALL01"}
    return json.dumps({"type": "event_callback", "team_id": "T0DEMO0001", "event": event}).encode()


async def test_address_is_verified(slack: SlackWorkspace, bot: Bot) -> None:
    way = slack.deliver_to(f"{bot.address}/slack/events")
    assert await way.verify()


@pytest.mark.parametrize("said", [CHECK, "@zombie check node-1"])
async def test_what_people_say_becomes_a_card(slack: SlackWorkspace, bot: Bot, said: str) -> None:
    delivered = (await slack.say("alice", "oncall-gpu", said)).delivered
    assert delivered is not None
    assert delivered.is_acknowledged
    await card_saying(slack, "CRITICAL")
    assert not slack.asked("apps.connections.open")
    await slack.say("alice", "oncall-gpu", "/zombie")
    assert (await reply_saying(slack, "What I can do")).only_for is not None


async def test_home_is_published_and_says_which_alerts_were_given_up(
    slack: SlackWorkspace, bot: Bot, tmp_path: Path
) -> None:
    give_up(tmp_path, 5)
    await slack.open_home("alice")
    home = await slack.until(lambda: slack.home("alice"), what="the home")
    shown = json.dumps(home.blocks)
    assert "100 nodes in the inventory" in shown
    assert "5 alerts were given up" in shown
    assert [page in shown for page in ("Q4", "Q3", "Q2", "Q1")] == [True, True, True, False]
    assert "And 2 more." in shown
    async with aiohttp.ClientSession() as session, session.get(f"{bot.address}/metrics") as answer:
        assert "zombie_deliveries_given_up 5.0" in await answer.text()


async def test_requests_that_slack_did_not_sign_are_counted(bot: Bot) -> None:
    for _ in range(2):
        assert (await post(bot, mention(), {}))[0] == 401
    async with aiohttp.ClientSession() as session, session.get(f"{bot.address}/metrics") as answer:
        lines = (await answer.text()).splitlines()
    assert 'zombie_webhooks_total{outcome="unauthorized",source="slack"} 2.0' in lines
    assert 'zombie_unauthorized_total{path="/slack/events"} 2.0' in lines
    assert len(bot.logged("request_refused")) == 1


async def test_what_slack_did_not_sign_just_now_is_refused(slack: SlackWorkspace, bot: Bot, readings: Readings) -> None:
    genuine = sign(slack.signing_secret, stamp(), mention())
    of_another = mention("<@U0ZOMBIE01> check node-2")
    long = mention("x" * 256 * 1024)
    refused: list[tuple[int, bytes, dict[str, str]]] = [
        (401, mention(), {}),
        (401, mention(), sign("another secret", stamp(), mention())),
        (401, mention(), {"X-Slack-Request-Timestamp": str(stamp())}),
        (401, mention(), {"X-Slack-Request-Timestamp": str(stamp()), "X-Slack-Signature": "v0=ünsigned"}),
        (401, mention(), {"X-Slack-Request-Timestamp": str(stamp()), "X-Slack-Signature": ""}),
        (401, of_another, genuine),
        # A slow machine sends them a while later.
        *((401, mention(), sign(slack.signing_secret, stamp() + off, mention())) for off in (-301, 420, -86_400)),
        *(
            (401, mention(), genuine | {"X-Slack-Request-Timestamp": written})
            for written in ("soon", "", "1e9", "-1", "²", "9" * 5000, "17 00")
        ),
        *((415, mention(), genuine | {"Content-Encoding": packed}) for packed in ("gzip", "deflate", "identity", "br")),
        (413, long, sign(slack.signing_secret, stamp(), long)),
    ]
    for status, body, headers in refused:
        assert (await post(bot, body, headers))[0] == status, headers
    assert not readings.asked


async def test_signed_body_that_is_none_of_slacks_is_refused_or_passed_over(slack: SlackWorkspace, bot: Bot) -> None:
    for body in (b"\xff\xfe", b"{", b'["x"]', b"payload={", b"{}"):
        status, _ = await post(bot, body, sign(slack.signing_secret, stamp(), body))
        assert status in (200, 400), body
    without: tuple[dict[str, Any], ...] = (  # what its type says
        {"type": "block_actions"},
        {"type": "block_actions", "actions": []},
        {"type": "block_actions", "actions": [{"action_id": 1}]},
        {"type": "view_submission", "view": None},
        {"type": "view_submission", "view": {"callback_id": "reason"}},
        {"type": "event_callback", "event": ["x"]},
    )
    for told in without:
        body = urlencode({"payload": json.dumps(told)}).encode()
        headers = sign(slack.signing_secret, stamp(), body) | {"Content-Type": "application/x-www-form-urlencoded"}
        assert (await post(bot, body, headers))[0] == 400, told
    assert not bot.logged("task_failed")


@pytest.mark.parametrize("kind", ["event", "command"])
async def test_replay_inside_the_window_is_one_check(
    slack: SlackWorkspace, bot: Bot, readings: Readings, kind: str
) -> None:
    command = {"command": "/zombie", "text": "check node-1", "trigger_id": "1.2.x", "user_id": "U0ALICE001"}
    command |= {"team_id": "T0DEMO0001", "channel_id": "C0ONCALL01", "response_url": f"{slack.origin}/none"}
    body = mention() if kind == "event" else urlencode(command).encode()
    headers = sign(slack.signing_secret, stamp(), body)
    headers["Content-Type"] = JSON["Content-Type"] if kind == "event" else "application/x-www-form-urlencoded"
    answered = await asyncio.gather(*(post(bot, body, headers) for _ in range(5)))
    assert {status for status, _ in answered} == {200}
    await card_saying(slack, "CRITICAL")
    await eventually(bot.incidents, {"node-1": "triaged"})
    assert (await post(bot, body, headers))[0] == 200
    assert (len(cards(slack)), readings.asked) == (1, {"node-1": 1})


async def test_nothing_is_taken_while_the_bot_stops(slack: SlackWorkspace, bot: Bot, readings: Readings) -> None:
    readings.hold()
    await slack.say("alice", "oncall-gpu", CHECK)
    await card_saying(slack, "reading")
    stopping = asyncio.create_task(bot.service.stop())
    await slack.until(lambda: bot.logged("stopping"), what="the bot to stop")
    said = await slack.say("bob", "oncall-gpu", "/zombie check node-2")
    assert said.delivered is not None
    assert said.delivered.failure == "http_service_error_503"
    readings.let_go()
    await stopping
    assert readings.asked == {"node-1": 1}


async def test_no_route_is_open_in_socket_mode(slack: SlackWorkspace, readings: Readings, tmp_path: Path) -> None:
    environment = {"SLACK_SIGNING_SECRET": slack.signing_secret}
    async with serving(slack, tmp_path, readings, environment=environment) as bot:
        assert (await post(bot, mention(), sign(slack.signing_secret, stamp(), mention())))[0] == 404
