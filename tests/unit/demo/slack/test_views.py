"""Views: whose trigger opens them, when it is too late, and what becomes of an answer to a submission."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.slack.workspace import SlackWorkspace, SteppedClock, client, workspace


def modal(**parts: Any) -> dict[str, Any]:
    return {"type": "modal", "title": {"type": "plain_text", "text": "Why?"}, "blocks": [], **parts}


class Desk:
    """A workspace whose clock stands still, and the SDK's client in it."""

    def __init__(self, slack: SlackWorkspace, clock: SteppedClock) -> None:
        self.slack, self.clock, self.web = slack, clock, client(slack)

    def trigger(self, user: str = "U0ALICE001") -> str:
        return self.slack.triggers.give(user)


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    clock = SteppedClock()
    async with workspace(clock=clock) as slack:
        yield Desk(slack, clock)


async def error_of(web: AsyncWebClient, method: str, **arguments: Any) -> str:
    with pytest.raises(SlackApiError) as refused:
        await web.api_call(method, json=arguments)
    return str(refused.value.response["error"])


async def test_trigger_lives_three_seconds(desk: Desk) -> None:
    trigger = desk.trigger()
    desk.clock.move(timedelta(seconds=3, microseconds=1))
    assert await error_of(desk.web, "views.open", trigger_id=trigger, view=modal()) == "expired_trigger_id"


async def test_unknown_trigger(desk: Desk) -> None:
    assert await error_of(desk.web, "views.open", trigger_id="1.2.3", view=modal()) == "invalid_trigger_id"


async def test_bad_view_does_not_use_the_trigger_up(desk: Desk) -> None:
    trigger = desk.trigger()
    long = {"type": "plain_text", "text": "x" * 25}
    assert await error_of(desk.web, "views.open", trigger_id=trigger, view=modal(title=long)) == "invalid_arguments"
    await desk.web.views_open(trigger_id=trigger, view=modal())


async def test_closed_view_is_not_found(desk: Desk) -> None:
    await desk.web.views_open(trigger_id=desk.trigger(), view=modal())
    view = desk.slack.modal("alice")
    assert view
    await desk.slack.close("alice", view)
    assert desk.slack.modal("alice") is None
    with pytest.raises(LookupError, match="closed"):
        await desk.slack.submit("alice", view)


async def test_home_is_one_persons_and_keeps_its_id(desk: Desk) -> None:
    home = {"type": "home", "blocks": [{"type": "divider"}]}
    first = await desk.web.views_publish(user_id="U0BOB00001", view=home)
    second = await desk.web.views_publish(user_id="U0BOB00001", view=home)
    assert first["view"]["id"] == second["view"]["id"]
    assert desk.slack.home("alice") is None
