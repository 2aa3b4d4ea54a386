"""Sweeps by the clock: what [[sweep]] may hold, who runs them, and that only what is new or nearer to harm is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bot.app.bot import Bot
from bot.app.factories import library, now
from bot.chat.background import Background
from bot.chat.document import Document
from bot.chat.post_state import MessageTarget
from bot.domain.chat_request import ChatRequest
from bot.domain.errors import SettingsError, UsageError
from bot.domain.growth import CountSample, Growth, HarmThreshold
from bot.domain.json_form import read, to_json_types
from bot.domain.node import Node
from bot.extras.fleet import EXTRA
from bot.extras.fleet.chat_cards import FleetCards
from bot.extras.fleet.fleet_request import FleetRequest
from bot.extras.fleet.report import FleetReport, report
from bot.extras.fleet.run import FleetRun
from bot.extras.fleet.serving import serving
from bot.extras.fleet.settings import SweepSettings
from bot.extras.fleet.sweep import Found, JudgedBy, NodeAnswer, NodeOutcome
from bot.extras.fleet.sweeps import PostedSweep, ScheduledSweep, SweepScheduler, digest, digest_card, scheduled
from bot.seats import Serves
from bot.settings import Settings
from bot.surfaces.slack.drawing import draw

LEAK = "leaked-memory-cgroups"
BEGAN = datetime(2026, 11, 22, 3, tzinfo=UTC)
SWEEP = ScheduledSweep("s", timedelta(hours=6), FleetRequest(("role=gpu",), (LEAK,)), "C1", ((22 * 60, 6 * 60),))


def seen(**nodes: str) -> FleetReport:
    """A report: by node "sick", "well", "silent" or "unknown"."""
    answers = []
    for name, how in nodes.items():
        outcome = {"silent": NodeOutcome.UNREACHABLE, "unknown": NodeOutcome.UNKNOWN}.get(how, NodeOutcome.ANSWERED)
        found = (Found(LEAK, "degraded", "possible", "many"),) if how == "sick" else ()
        undecided = {LEAK: "not read"} if how == "unknown" else {}
        status = {"silent": "unreachable", "unknown": "unknown", "sick": "degraded"}.get(how, "healthy")
        answers.append(NodeAnswer(name, outcome, status, found=found, undecided=undecided))
    known = [Node(name, name) for name in nodes]
    return report(known, answers, {LEAK: JudgedBy.SIGNATURE}, selected=len(known), seconds=1.0)


def growing(days_left: float) -> Mapping[tuple[str, str], Growth]:
    looks = (CountSample(BEGAN - timedelta(days=1), 1_000), CountSample(BEGAN, 2_000))
    harm = HarmThreshold(2_000 + 1_000 * days_left, "each read holds a core for 2 s")
    rate = 1_000 / 24
    return {("a", LEAK): Growth(LEAK, "dying memory cgroups", looks, 9, rate, rate * 0.9, rate * 1.1, harm)}


def test_what_is_new_is_told_once() -> None:
    first = digest(PostedSweep(), seen(a="sick", b="well"), {})
    assert first.is_news
    assert first.new == {LEAK: ("a",)}
    assert not digest(first.posted, seen(a="sick", b="well"), {}).is_news
    later = digest(first.posted, seen(a="sick", b="sick"), {})
    assert later.new == {LEAK: ("b",)}


def test_who_did_not_answer_is_neither_gone_nor_new_again() -> None:
    told = digest(PostedSweep(), seen(a="sick"), {}).posted
    for how in ("silent", "unknown"):
        away = digest(told, seen(a=how), {})
        assert (away.is_news, away.gone) == (False, {})
        assert not digest(away.posted, seen(a="sick"), {}).is_news


def test_what_is_gone_is_said_and_calls_nobody_and_is_new_when_back() -> None:
    told = digest(PostedSweep(), seen(a="sick"), {}).posted
    gone = digest(told, seen(a="well"), {})
    assert (gone.gone, gone.is_news) == ({LEAK: ("a",)}, False)
    assert digest(gone.posted, seen(a="sick"), {}).new == {LEAK: ("a",)}


def test_node_that_is_no_longer_selected_is_not_called_gone() -> None:
    told = digest(PostedSweep(), seen(a="sick", b="sick"), {}).posted
    left = digest(told, seen(b="well", c="sick"), {})
    assert (left.gone, left.unasked) == ({LEAK: ("b",)}, {LEAK: ("a",)})
    assert f"no longer asked: {LEAK}" in str(draw(digest_card(SWEEP, left)).blocks)


def test_harm_is_told_when_it_comes_within_a_week_and_again_at_half_the_time() -> None:
    told = digest(PostedSweep(), seen(a="sick"), growing(30)).posted
    assert not digest(told, seen(a="sick"), growing(8)).is_news
    near = digest(told, seen(a="sick"), growing(6))
    assert [node for node, _ in near.nearer] == ["a"]
    assert not digest(near.posted, seen(a="sick"), growing(4)).is_news
    nearer = digest(near.posted, seen(a="sick"), growing(2.9))
    assert nearer.is_news
    assert not nearer.is_urgent
    there = digest(nearer.posted, seen(a="sick"), growing(-0.5))
    assert there.is_urgent
    assert not digest(there.posted, seen(a="sick"), growing(-1)).is_news, "harm that was told is not told again"


def test_a_cured_node_is_nearer_again_when_it_leaks_again() -> None:
    told = digest(PostedSweep(), seen(a="sick"), growing(2)).posted
    cured = digest(told, seen(a="well"), {})
    assert digest(cured.posted, seen(a="sick"), growing(5)).nearer


def test_quiet_hours_go_over_midnight_and_slots_are_the_same_for_all() -> None:
    assert SWEEP.is_quiet(BEGAN)
    assert SWEEP.is_quiet(BEGAN.replace(hour=23))
    assert not SWEEP.is_quiet(BEGAN.replace(hour=6))
    assert not replace(SWEEP, quiet=()).is_quiet(BEGAN)
    assert SWEEP.slot(BEGAN) == SWEEP.slot(BEGAN + timedelta(hours=2, minutes=59))
    assert SWEEP.slot(BEGAN + timedelta(hours=3)) == SWEEP.slot(BEGAN) + 1


def test_what_was_told_is_read_as_it_was_kept() -> None:
    told = digest(PostedSweep(), seen(a="sick", b="silent"), growing(2)).posted
    assert read(PostedSweep, to_json_types(told)) == told


def test_the_digest_says_what_is_new_near_and_gone_and_names_nobody_by_markup() -> None:
    before = digest(PostedSweep(), seen(c="sick"), {}).posted
    found = digest(before, seen(a="sick", c="well"), growing(2))
    card = draw(digest_card(SWEEP, found))
    assert card.text.startswith("Sweep of role=gpu: 1 new, 1 nearer to harm.")
    whole = str(card.blocks)
    for words in ("new: leaked-memory-cgroups", "gone: leaked-memory-cgroups", "In about 2 d", "/zombie check NODE"):
        assert words in whole


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


def loaded(folder: Path, text: str) -> Settings:
    (folder / "zombie.toml").write_text(text)
    return Settings.load({}, {}, folder, folder, {"sweep": SweepSettings})


def test_a_sweep_has_one_selector_or_several_and_its_quiet_hours(tmp_path: Path) -> None:
    first, second = loaded(
        tmp_path,
        '[[sweep]]\nevery = "6h"\nselect = "role=gpu"\ncause = "disk-full"\nchannel = "C1"\nquiet = ["22:00-06:00"]\n'
        "full = true\n"
        '[[sweep]]\nselect = ["a", "b-*"]\nchannel = "C2"\n',
    ).every(SweepSettings)
    assert (first.every, first.select, first.cause, first.channel) == (
        timedelta(hours=6),
        ("role=gpu",),
        ("disk-full",),
        "C1",
    )
    assert (first.quiet, first.full, second.full) == (((1320, 360),), True, False)
    assert (second.select, second.cause, second.quiet) == (("a", "b-*"), (), ())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('select = "a"\n', "channel is missing"),
        ('channel = "C1"\n', "select is missing"),
        ('select = "a"\nchannel = "C1"\nevery = "5s"\n', "from “1m”"),
        ('select = "a"\nchannel = "C1"\ncauses = ["x"]\n', "Did you mean cause?"),
        ('select = 7\nchannel = "C1"\n', "list of texts"),
        ('select = "a"\nchannel = "C1"\nquiet = ["late"]\n', "22:00-06:00"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(SettingsError) as no:
        loaded(tmp_path, f"[[sweep]]\n{text}")
    assert says.replace("“", '"').replace("”", '"') in str(no.value)
    assert "zombie.toml:" in str(no.value)
