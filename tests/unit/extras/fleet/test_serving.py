"""What a bot that serves does of itself: scheduled sweeps run from its start to its end, where there are any."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from bot.app.bot import Bot
from bot.app.factories import library, now
from bot.domain.errors import UsageError
from bot.extras.fleet import EXTRA
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


def test_seats_of_an_extra_share_what_is_made_of_a_bot_once() -> None:
    made: Any = Bot.__new__(Bot)
    made._made = {}
    assert made.once(lambda _: object()) is not made.once(lambda _: object())
    assert made.once(list_of) is made.once(list_of)
    assert EXTRA.buttons == ("who-else",)


def list_of(_: Bot) -> list[int]:
    return []
