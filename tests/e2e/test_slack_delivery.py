"""Sockets that drop, envelopes that come twice, a bot that is stopped or starts alone: one check, one verdict."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import aiohttp
import pytest

from bot.demo.slack.delivery import DeliveryTimeouts
from bot.domain.errors import SettingsError
from tests.e2e.conftest import SlackHere
from tests.slack.service import (
    QUICK,
    Bot,
    Readings,
    card_saying,
    cards,
    eventually,
    reply_saying,
)
from tests.slack.workspace import SlackWorkspace, workspace

CHECK = "/zombie check node-1"


@pytest.fixture
async def slack() -> AsyncIterator[SlackWorkspace]:
    async with workspace(patience=DeliveryTimeouts(event_retries=(timedelta(0), timedelta(0)))) as slack:
        yield slack


async def ready(bot: Bot) -> tuple[int, str]:
    """What /readyz answers: the status, and why not."""
    async with aiohttp.ClientSession() as session, session.get(f"{bot.address}/readyz") as answer:
        return answer.status, str((await answer.json()).get("because", ""))


async def test_socket_dropped_in_the_middle_of_a_check_changes_nothing(here: SlackHere) -> None:
    async with here.being_read() as bot:
        here.slack.sockets.drop()
        here.readings.let_go()
        await card_saying(here.slack, "CRITICAL")
        await here.slack.until(lambda: here.slack.sockets.connections == 2, what="both connections to be back")
        await eventually(lambda: ready(bot), (200, ""))
        await here.slack.say("bob", "oncall-gpu", "/zombie check node-2")
        await card_saying(here.slack, "node-2: CRITICAL")
    assert here.readings.asked == {"node-1": 1, "node-2": 1}


async def test_refreshed_connection_is_replaced_before_it_is_given_up(here: SlackHere) -> None:
    async with here.serving() as bot:
        await here.slack.until(lambda: here.slack.sockets.connections == 2, what="both connections")
        await here.slack.sockets.disconnect()
        await here.slack.until(lambda: here.slack.sockets.connections == 2, what="two new connections")
        assert await ready(bot) == (200, "")
        said = await here.slack.say("alice", "oncall-gpu", CHECK)
        assert said.delivered is not None
        assert said.delivered.is_acknowledged
        await card_saying(here.slack, "CRITICAL")


async def test_connection_longer_than_a_call_may_take_stays_open(here: SlackHere) -> None:
    async with here.serving(timing=replace(QUICK, call_limit=0.6)) as bot:
        await here.slack.until(lambda: here.slack.sockets.connections == 2, what="both connections")
        await asyncio.sleep(0.8)  # nothing happens in this time, and that is what is looked for
        assert not bot.logged("slack_line_lost")


async def test_help_that_is_asked_for_twice_by_one_envelope_is_given_once(here: SlackHere) -> None:
    async with here.serving():
        here.slack.faults.duplicates = 1
        await here.slack.say("alice", "oncall-gpu", "/zombie help")
        await here.slack.say("alice", "oncall-gpu", "/zombie chekc")
        await reply_saying(here.slack, "Did you mean")
        said = [f"{one.text} {one.blocks}" for one in here.slack.messages("oncall-gpu", "alice")]
        assert sum("What I can do" in text for text in said) == 2


async def test_request_that_is_told_again_after_a_restart_is_not_seen_to_again(here: SlackHere) -> None:
    async with here.serving():
        said = await here.slack.say("alice", "oncall-gpu", "@zombie check node-1")
        await card_saying(here.slack, "CRITICAL")
    assert said.delivered is not None
    async with here.serving() as bot:
        await here.slack.dispatcher.event(said.delivered.payload)
        await here.slack.say("alice", "oncall-gpu", "/zombie check node-2")
        await card_saying(here.slack, "node-2: CRITICAL")
        await eventually(bot.incidents, {"node-1": "triaged", "node-2": "triaged"})
    assert here.readings.asked["node-1"] == 1


async def test_stop_in_the_middle_waits_for_the_reading_and_posts_its_verdict(here: SlackHere) -> None:
    async with here.being_read() as bot:
        stopping = asyncio.create_task(bot.service.stop())
        await eventually(lambda: ready(bot), (503, "stopping"))
        here.readings.let_go()
        await stopping
        assert "CRITICAL" in cards(here.slack)[0].text
        assert await bot.outbox.waiting() == 0


async def test_stop_leaves_what_takes_too_long_to_the_next_run_which_posts_it_into_the_same_card(
    here: SlackHere,
) -> None:
    in_haste = replace(QUICK, drain=0.1)
    async with here.serving(timing=in_haste, toml="[check]\nparallel = 1\n") as bot:
        here.readings.hold()
        await here.slack.say("alice", "oncall-gpu", "/zombie check node-1 node-2")
        await card_saying(here.slack, "reading")
        await here.slack.until(lambda: here.readings.asked, what="the first reading")
        await bot.service.stop()
        assert [[one.node for one in group] for group in await bot.owing()] == [["node-1", "node-2"]]
    here.readings.let_go()
    async with here.serving() as bot:
        await card_saying(here.slack, "2 nodes: 2 critical")
        await eventually(bot.incidents, {"node-1": "triaged", "node-2": "triaged"})
    assert len(cards(here.slack)) == 1


async def test_restart_keeps_the_verdicts_that_a_card_had_already(here: SlackHere) -> None:
    in_haste = replace(QUICK, drain=0.1)
    async with here.serving(timing=in_haste, nodes=2) as bot:
        here.readings.hold("node-2")
        await here.slack.say("alice", "oncall-gpu", "/zombie check node-1 node-2")
        await eventually(bot.incidents, {"node-1": "triaged", "node-2": "opened"})
        await bot.service.stop()
    async with here.serving(nodes=1) as bot:
        card = await card_saying(here.slack, "2 nodes: 1 critical, 1 unknown")
        first = card.blocks[1]["rows"][1]
        assert [cell["text"] for cell in first[:2]] == ["🔴 critical", "node-1"], "it was read before the restart"
        assert here.readings.asked == {"node-1": 1, "node-2": 1}, "it has left the inventory, and is not read again"


async def test_post_that_slack_did_not_take_is_posted_after_the_restart(here: SlackHere) -> None:
    async with here.serving(timing=replace(QUICK, post_drain=0.1)) as bot:
        here.slack.faults.status("chat.postMessage", 500, times=1000)
        await here.slack.say("alice", "oncall-gpu", CHECK)
        await eventually(bot.incidents, {"node-1": "triaged"})
        await bot.service.stop()
        assert cards(here.slack) == []
    here.slack.faults.clear()
    async with here.serving() as bot:
        card = await card_saying(here.slack, "CRITICAL")
        await here.slack.until(lambda: here.slack.thread(card)[1:], what="the details, which wait for their card")
        await eventually(bot.outbox.waiting, 0)
    assert (len(cards(here.slack)), here.readings.asked["node-1"]) == (1, 1)


async def test_slack_that_cannot_be_reached_at_the_start_is_waited_for(here: SlackHere) -> None:
    here.slack.faults.status("auth.test", 503)
    async with here.built() as bot:
        starting = asyncio.create_task(bot.service.start())
        await here.slack.until(lambda: bot.logged("waiting"), what="the bot to wait")
        assert await ready(bot) == (503, "Slack cannot be reached: http_503")
        assert await starting
        assert await ready(bot) == (200, "")
        await bot.service.stop()


async def test_stop_while_slack_is_waited_for_ends_at_once(here: SlackHere) -> None:
    here.slack.faults.silent("auth.test", timedelta(seconds=60))
    async with here.built(timing=replace(QUICK, call_limit=60.0)) as bot:
        starting = asyncio.create_task(bot.service.start())
        await here.slack.until(lambda: bot.logged("listening"), what="the bot to start")
        async with asyncio.timeout(5):
            await bot.service.stop()
            assert not await starting


async def test_bot_that_is_stopped_while_it_starts_begins_nothing_more(
    here: SlackHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    noting, stopped = asyncio.Event(), asyncio.Event()

    async def slow(*_: object) -> None:
        noting.set()
        await stopped.wait()

    monkeypatch.setattr("bot.app.service.note_policy", slow)
    async with here.built() as bot, asyncio.timeout(10):
        starting = asyncio.create_task(bot.service.start())
        await noting.wait()
        await bot.service.stop()
        stopped.set()
        assert not await starting
        assert not here.slack.asked("auth.test"), "nobody would hang up"


@pytest.mark.parametrize(
    ("variable", "token", "says"),
    [
        ("SLACK_BOT_TOKEN", "xoxb-wrong", "Slack rejects SLACK_BOT_TOKEN: invalid_auth."),
        ("SLACK_APP_TOKEN", "xapp-wrong", "Slack rejects SLACK_APP_TOKEN: invalid_auth."),
    ],
)
async def test_token_that_slack_does_not_take_is_named_with_an_example(
    here: SlackHere, variable: str, token: str, says: str
) -> None:
    async with here.built(environment={variable: token}) as bot:
        with pytest.raises(SettingsError) as raised:
            await bot.service.start()
        await bot.service.stop()
        assert raised.value.sentence == says
        assert f"{variable}={token[:5]}" in raised.value.try_next


@pytest.mark.parametrize(
    ("missing", "says"),
    [
        (("SLACK_BOT_TOKEN",), "SLACK_BOT_TOKEN=xoxb-"),
        (("SLACK_APP_TOKEN",), "SLACK_APP_TOKEN=xapp-"),
        (("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"), "SLACK_BOT_TOKEN=xoxb-"),
    ],
)
async def test_token_that_is_missing_is_named_with_an_example(
    here: SlackHere, missing: tuple[str, ...], says: str
) -> None:
    with pytest.raises(SettingsError) as raised:
        async with here.built(environment=dict.fromkeys(missing, "")):
            pass
    assert says in raised.value.try_next


async def test_ledger_that_fails_in_the_middle_of_a_check_keeps_no_verdict_back(here: SlackHere) -> None:
    async with here.being_read() as bot:
        bot.ledger.is_gone = bot.outbox.is_gone = True
        assert await ready(bot) == (503, "the ledger cannot be used, and the log says why"), "nor its host and login"
        here.readings.let_go()
        card = await card_saying(here.slack, "CRITICAL")
        await here.slack.until(lambda: here.slack.thread(card)[1:], what="the details")
        await here.slack.until(lambda: bot.logged("record_failed"), what="the record's failure to be logged")
        await here.slack.say("alice", "oncall-gpu", "/zombie check node-2")
        await card_saying(here.slack, "node-2: CRITICAL")
        here.slack.faults.duplicates = 1
        await here.slack.say("alice", "oncall-gpu", "/zombie check node-3")
        await card_saying(here.slack, "node-3: CRITICAL")
        assert here.readings.asked["node-3"] == 1, "also without a ledger the same envelope twice is one check"


async def test_bot_whose_record_a_newer_program_upgraded_writes_nothing_and_says_that_it_is_not_ready(
    here: SlackHere,
) -> None:
    def upgraded(versions: int) -> None:
        with contextlib.closing(sqlite3.connect(here.folder / "zombie.db")) as database, database:
            database.execute("UPDATE zombie_schema SET version = version + ?", (versions,))

    async with here.serving() as bot:
        upgraded(1)
        assert await ready(bot) == (503, "the ledger cannot be used, and the log says why")

        def why() -> bool:
            return any("this program knows up to" in str(line["error"]) for line in bot.logged("ledger_unavailable"))

        await here.slack.until(why, what="why")
        await here.slack.say("alice", "oncall-gpu", CHECK)
        await card_saying(here.slack, "CRITICAL")
        await here.slack.until(lambda: bot.logged("record_failed"), what="the record's failure to be logged")
        assert await bot.incidents() == {}, "nobody can say yes to what is not on record"
        upgraded(-1)
        await eventually(lambda: ready(bot), (200, ""))
        await eventually(bot.incidents, {"node-1": "triaged"})


# --- two bots at one ledger, both in Slack


async def test_every_check_is_read_once_and_has_one_card(here: SlackHere) -> None:
    readings = Readings()
    async with here.serving(readings) as first, here.serving(readings) as second:
        names = [f"node-{number}" for number in range(1, 13)]
        for name in names:
            await here.slack.say("alice", "oncall-gpu", f"/zombie check {name}")
        await here.slack.until(
            lambda: sum("CRITICAL" in card.text for card in cards(here.slack)) == 12, what="all verdicts to stand"
        )
        await eventually(first.outbox.waiting, 0)
        assert readings.asked == Counter(names)
        assert len(cards(here.slack)) == 12
        took = [len(bot.logged("checked")) for bot in (first, second)]
        assert sum(took) == 12
        assert all(took), f"both take what Slack brings: {took}"


async def test_what_one_left_owing_when_it_was_told_to_stop_the_other_sees_to(here: SlackHere) -> None:
    readings = Readings()
    readings.hold()
    async with here.serving(readings) as staying:
        async with here.serving(readings) as leaving:
            for number in range(1, 7):
                await here.slack.say("alice", "oncall-gpu", f"/zombie check node-{number}")
            await here.slack.until(lambda: len(readings.asked) == 6, what="all to be read")
            await leaving.service.stop()
        await here.slack.until(
            lambda: sum("CRITICAL" in card.text for card in cards(here.slack)) == 6, what="all verdicts to stand"
        )
        assert len(cards(here.slack)) == 6
        twice = [name for name, times in readings.asked.items() if times == 2]
        assert len(staying.logged("resumed")) == len(twice), readings.asked
        assert set(readings.asked.values()) == {1, 2}, "what the one that stays had begun it did not begin again"
