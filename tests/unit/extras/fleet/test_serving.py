"""What a bot that serves does of itself: scheduled sweeps run from its start to its end, where there are any."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bot.app.bot import Bot
from bot.app.factories import library, now
from bot.chat.background import Background
from bot.chat.document import Document
from bot.chat.post_state import MessageTarget
from bot.domain.chat_request import ChatRequest
from bot.domain.errors import UsageError
from bot.extras.fleet import EXTRA
from bot.extras.fleet.chat_cards import FleetCards
from bot.extras.fleet.fleet_request import FleetRequest
from bot.extras.fleet.run import FleetRun
from bot.extras.fleet.serving import serving
from bot.extras.fleet.settings import SweepSettings
from bot.extras.fleet.sweeps import SweepScheduler, scheduled
from bot.seats import Serves
from bot.settings import Settings

PLAYBOOK = library().get("node-health")


def bot(*sweeps: SweepSettings) -> Any:
    return SimpleNamespace(
        settings=Settings(members={"sweep": sweeps}), playbooks=SimpleNamespace(get=lambda: PLAYBOOK)
    )


def test_nothing_runs_where_no_sweep_is_named_and_a_meaningless_one_ends_the_start() -> None:
    assert serving(bot()) is None
    with pytest.raises(UsageError, match=r"\[\[sweep\]\] 2 in zombie.toml"):
        serving(
            bot(SweepSettings(select=("a",), channel="C1"), SweepSettings(select=("a",), cause=("leak",), channel="C1"))
        )


async def test_due_sweeps_run_from_the_start_to_the_end() -> None:
    asked, seen = list[str](), asyncio.Event()

    class Requests:
        async def keep(self, key: str) -> bool:
            asked.append(key)
            seen.set()
            return False  # another program has it

    nothing: Any = None
    requests: Any = Requests()
    sweeps = scheduled((SweepSettings(select=("role=gpu",), channel="C1"),), PLAYBOOK)
    work: Serves = SweepScheduler(sweeps, nothing, requests, nothing, nothing, nothing, now, lambda *_, **__: None)
    assert not work.posts
    await work.stop()
    await work.start()
    await seen.wait()
    await work.stop()
    assert asked == [f"sweep-{sweeps[0].name}-{sweeps[0].slot(now())}"]


async def test_card_of_a_sweep_that_cannot_be_begun_again_says_so_and_asks_no_more() -> None:
    posted, done = list[tuple[str, str]](), list[str]()

    class Cluster:
        async def prepared(self, ask: FleetRequest) -> FleetRun:
            raise UsageError("The cluster does not say where job/train runs: 503")

    class Posts:
        async def finish(self, card: str, spot: MessageTarget, message: Document) -> None:
            posted.append((card, str(message.text)))

    class Requests:
        async def mark_done(self, key: str) -> None:
            done.append(key)

    nothing: Any = None
    work, context = Background(lambda *_, **__: None), SimpleNamespace(log=nothing, chat_requests=Requests())
    cards = FleetCards(cast("Any", context), cast("Any", Cluster()), cast("Any", Posts()), work)
    body = {"ask": FleetRequest(("job/train",)).text, "channel": "C1", "thread_ts": "", "by": "slack:T1/U1"}
    assert cards.takes(ChatRequest("fleet-abc", json.dumps(body), now()))
    await work.drain(5.0)
    assert posted == [("fleet-abc", "The cluster does not say where job/train runs: 503")]
    assert done == ["fleet-abc", "fleet-stop fleet-abc"]


def test_seats_of_an_extra_share_what_is_made_of_a_bot_once() -> None:
    made: Any = Bot.__new__(Bot)
    made._made = {}
    assert made.once(lambda _: object()) is not made.once(lambda _: object())
    assert made.once(list_of) is made.once(list_of)
    assert EXTRA.buttons == ("who-else",)


def list_of(_: Bot) -> list[int]:
    return []
