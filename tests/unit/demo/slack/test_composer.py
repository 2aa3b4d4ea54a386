"""What people type: commands, mentions, and what Slack says when they cannot work here."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.demo.slack.message import Message
from bot.demo.slack.typed import as_typed
from tests.slack.notified import mentions
from tests.slack.workspace import SlackWorkspace, workspace


@pytest.fixture
async def slack() -> AsyncIterator[SlackWorkspace]:
    async with workspace() as slack:
        yield slack


def told(slack: SlackWorkspace, channel: str, user: str) -> list[str]:
    """What Slackbot told a person alone."""
    return [each.text for each in slack.messages(channel, user) if each.only_for and each.user == "USLACKBOT"]


async def test_command_in_a_thread_is_not_supported(slack: SlackWorkspace) -> None:
    parent = (await slack.say("alice", "#alerts", "node-1 is slow")).message
    assert parent
    said = await slack.say("alice", "#alerts", "/zombie check node-1", thread_ts=parent.ts)
    assert said.delivered is None
    assert told(slack, "#alerts", "alice") == ["`/zombie` is not supported in threads. Sorry!"]


async def test_unknown_command_is_told_and_goes_nowhere(slack: SlackWorkspace) -> None:
    assert (await slack.say("alice", "#alerts", "/zomby check node-1")).delivered is None
    (says,) = told(slack, "#alerts", "alice")
    assert says.startswith("`/zomby` is not a valid command.")
    assert told(slack, "#alerts", "bob") == []


async def test_mention_where_the_bot_is_no_member_is_heard_after_an_invitation(slack: SlackWorkspace) -> None:
    said = await slack.say("alice", "#general", "@zombie check node-1")
    assert said.delivered is None
    assert "not in this channel" in told(slack, "#general", "alice")[0]
    await slack.say("alice", "#general", "/invite @zombie")
    said = await slack.say("alice", "#general", "@zombie check node-1")
    assert said.delivered
    assert said.delivered.payload["event"]["type"] == "app_mention"


async def test_talk_among_people_is_no_business_of_the_app(slack: SlackWorkspace) -> None:
    assert (await slack.say("bob", "#alerts", "lunch?")).delivered is None


async def test_nobody_speaks_where_they_are_not(slack: SlackWorkspace) -> None:
    with pytest.raises(LookupError, match="gina is not in #alerts"):
        await slack.say("gina", "#alerts", "hello")
    with pytest.raises(LookupError, match="nobody here is called 'eve'"):
        await slack.say("eve", "#alerts", "hello")


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("@bob look", "<@U0BOB00001> look"),
        ("ask @sre-oncall.", "ask <!subteam^S0SRE00001>."),
        ("@here @channel", "<!here> <!channel>"),
        ("see #alerts", "see <#C0ALERTS01|alerts>"),
        ("<!channel> & <@U0BOB00001>", "&lt;!channel&gt; &amp; &lt;@U0BOB00001&gt;"),
        ("root@node-1 bob@here.example", "root@node-1 bob@here.example"),
    ],
)
async def test_typed_text_as_slack_keeps_it(slack: SlackWorkspace, typed: str, kept: str) -> None:
    assert as_typed(slack.state, typed) == kept


def message(said: str, /, **block: object) -> Message:
    return Message("1.000000", "C1", "U1", said, blocks=(block,) if block else ())


@pytest.mark.parametrize(
    ("said", "who"),
    [
        (message("<!channel> and <@U0BOB00001|bob>"), ["channel", "U0BOB00001"]),
        (message("&lt;!channel&gt; @channel <!date^1^{date}|x>"), []),
        (message("x", type="section", text={"type": "mrkdwn", "text": "<!subteam^S1>"}), ["S1"]),
        (message("x", type="section", text={"type": "plain_text", "text": "<!here>"}), []),
        (message("x", type="section", fields=[{"type": "mrkdwn", "text": "`<!here>`"}]), ["here"]),
        (message("x", type="rich_text", elements=[{"type": "broadcast", "range": "everyone"}]), ["everyone"]),
        (message("x", type="rich_text", elements=[{"type": "text", "text": "<!everyone>"}]), []),
    ],
)
def test_whom_a_message_notifies(said: Message, who: list[str]) -> None:
    assert mentions(said) == who
