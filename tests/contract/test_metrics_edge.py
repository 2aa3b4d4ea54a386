"""Who may read /metrics over real HTTP, and that neither a hanging record nor a failing one keeps it from answering."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from bot.app.json_log import JsonLog
from bot.app.metrics import Metering
from bot.domain.errors import LedgerUnavailable
from bot.domain.policy import Policy
from bot.extras.marks.marks import CauseLookedAt, VerdictMarked
from bot.extras.marks.store import MarkCounts, MarkStore
from bot.ledger.ledger_counts import Gauged, LedgerCounts
from bot.seats import Counts
from bot.settings import Settings
from bot.sources import settings_of
from bot.surfaces.web import WebEdge
from tests.record.ledgers import ledger_in

TOKEN = "a-token-of-thirty-two-characters"
SOME: Gauged = {
    "zombie_incidents": {("resolved",): 2.0},
    "zombie_queue_depth": {(): 4.0},
    "zombie_deliveries_given_up": {(): 3.0},
}


class Standing:
    """A bot that is ready, and reads three nodes."""

    running = 3

    async def not_ready_reason(self) -> str:
        return ""


async def tally() -> Gauged:
    return SOME


@asynccontextmanager
async def edge(
    folder: Path,
    token: str = "",
    tallies: Callable[[], Awaitable[Gauged]] = tally,
    patience: float = 5.0,
    of_extras: Sequence[Counts] = (),
) -> AsyncIterator[tuple[httpx.AsyncClient, Metering, JsonLog]]:
    environment = {"ZOMBIE_METRICS_TOKEN": token} if token else {}
    journal = JsonLog(io.StringIO())
    settings = Settings.load({}, environment, folder, members=settings_of())
    meter = Metering(settings, journal, tallies, patience, of_extras)
    meter.set_sources(7, Standing(), Standing().not_ready_reason)
    web = WebEdge(
        "127.0.0.1:0", Standing().not_ready_reason, gets=(("/metrics", meter.scrape.answer),),
        log=journal.log, unauthorized=meter.metrics.unauthorized,
    )  # fmt: skip
    address = await web.start()
    try:
        async with httpx.AsyncClient(base_url=address, trust_env=False) as client:
            yield client, meter, journal
    finally:
        await web.stop()


async def test_this_machine_is_answered_and_hears_what_the_log_and_the_record_say(tmp_path: Path) -> None:
    async with edge(tmp_path) as (client, meter, journal):
        journal.log("checked", node="node-1", status="critical", cause="leak", took_seconds=5.2)
        meter.counted("pagerduty", "accepted", 0.01)
        answer = await client.get("/metrics")
        assert answer.status_code == 200
        assert answer.headers["Content-Type"].startswith("text/plain; version=")
        lines = answer.text.splitlines()
        for line in (
            'zombie_checks_total{status="critical"} 1.0',
            'zombie_webhooks_total{outcome="accepted",source="pagerduty"} 1.0',
            'zombie_incidents{state="resolved"} 2.0',
            "zombie_queue_depth 4.0",
            "zombie_deliveries_given_up 3.0",
            "zombie_readings_running 3.0",
            "zombie_ready 1.0",
        ):
            assert line in lines


async def test_causes_are_told_as_right_as_people_marked_them_until_somebody_looks(tmp_path: Path) -> None:
    with ledger_in(tmp_path) as database:
        counts = MarkCounts(Policy(approvers=frozenset(f"slack:U{number}" for number in range(10))))
        marks, tallies = MarkStore(database), LedgerCounts(database, [counts.read])
        for number in range(10):
            marks.append.now(VerdictMarked(f"i{number}", "leak", number == 0), f"slack:T1/U{number}")
        marks.append.now(VerdictMarked("i0", "leak", False), "slack:T1/U0")

        async with edge(tmp_path, tallies=tallies.read, of_extras=[counts]) as (client, _, _):
            lines = (await client.get("/metrics")).text.splitlines()
            assert 'zombie_verdict_marks{cause="leak",said="right"} 0.0' in lines
            assert 'zombie_verdict_marks{cause="leak",said="wrong"} 10.0' in lines
            assert 'zombie_cause_in_doubt{cause="leak"} 1.0' in lines
            marks.append.now(CauseLookedAt("leak", "the threshold is another"), "terminal:ann")
            lines = (await client.get("/metrics")).text.splitlines()
            assert 'zombie_cause_in_doubt{cause="leak"} 0.0' in lines


@pytest.mark.parametrize(
    ("token", "headers", "status"),
    [
        ("", {"X-Forwarded-For": "203.0.113.9"}, 403),
        ("", {"Host": "bot.example"}, 403),
        ("", {"Host": "[::1"}, 403),
        ("", {"Authorization": f"Bearer {TOKEN}"}, 403),
        ("", {"Host": "localhost:8080"}, 200),
        ("", {"Host": "[::ffff:203.0.113.9]"}, 403),
        (TOKEN, {}, 200),
        (TOKEN, {"Host": "bot.example"}, 401),
        (TOKEN, {"Authorization": f"Bearer {TOKEN}x"}, 401),
        (TOKEN, {"X-Forwarded-For": "203.0.113.9", "Authorization": f"bearer {TOKEN}"}, 200),
    ],
)
async def test_others_need_the_token(tmp_path: Path, token: str, headers: Mapping[str, str], status: int) -> None:
    async with edge(tmp_path, token) as (client, _, _):
        answer = await client.get("/metrics", headers=headers)
        assert answer.status_code == status
        assert ("zombie_" in answer.text) == (status == 200)
        assert (await client.post("/metrics", headers=headers)).status_code == 405


async def test_record_that_cannot_be_asked_is_told_as_that(tmp_path: Path) -> None:
    async def broken() -> Gauged:
        raise LedgerUnavailable("The disk is gone.")

    async with edge(tmp_path, tallies=broken) as (client, _, _):
        text = (await client.get("/metrics")).text
        assert "zombie_ledger_up 0.0" in text
        assert "zombie_incidents{" not in text


async def test_record_that_hangs_is_asked_once_however_many_scrape(tmp_path: Path) -> None:
    asked, never = 0, asyncio.Event()

    async def hangs() -> Gauged:
        nonlocal asked
        asked += 1
        await never.wait()
        return SOME

    async with edge(tmp_path, tallies=hangs, patience=0.2) as (client, _, _):
        answers = await asyncio.gather(*(client.get("/metrics") for _ in range(5)))
        assert {answer.status_code for answer in answers} == {200}
        assert all("zombie_ledger_up 0.0" in answer.text for answer in answers)
        assert asked == 1
        never.set()
        assert "zombie_ledger_up 1.0" in (await client.get("/metrics")).text
