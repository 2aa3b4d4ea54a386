"""A record of 100,000 incidents and 5 million entries: what its size costs whoever works with it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import count, islice
from pathlib import Path

import pytest

from bot.app.policy_settings import note_policy
from bot.demo.fleet_leaks import HIDDEN
from bot.domain.action import Plan
from bot.domain.alert import Alert
from bot.domain.events import AlertJoined, AlertReceived
from bot.domain.house_events import HOUSE, BrakePulled, BrakeReleased
from bot.domain.policy import Policy
from bot.domain.post import Post
from bot.ledger import Database, Leases, Ledger, Outbox, Pruner, exported
from bot.ledger.pruning import SHORTEST
from tests.contract.test_ledger_acting import FIRST, claim
from tests.record.incidents import ALERT, ASKER
from tests.record.keeping import approved
from tests.record.large import Large
from tests.slack.replicas import replicas

pytestmark = pytest.mark.benchmark
INCIDENTS, ENTRIES = 100_000, 50
TIMES = 20
MOST = 0.25  # seconds, also where other programs keep the disk busy; `test_record_cost.py` counts what it costs
MOST_TO_START = 10.0
JOINED = 800


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of the large record."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('large') / 'zombie.db'}"
    else:
        url = request.getfixturevalue("postgresql").new_database()
    began = time.monotonic()
    Large(INCIDENTS, ENTRIES).fill(url)
    print(f"\n{INCIDENTS * ENTRIES:,} entries in {url.partition(':')[0]}, made in {time.monotonic() - began:.0f} s")
    return url


def took(name: str, ask: Callable[[], object]) -> float:
    """Seconds that it takes, the median of some; the first, for which statements are written, is left out."""
    seconds = []
    for _ in range(TIMES + 1):
        began = time.perf_counter()
        ask()
        seconds.append(time.perf_counter() - began)
    median = statistics.median(seconds[1:])
    print(f"{name}: {median * 1000:.2f} ms")
    return median


def test_brake_guards_and_joins_do_not_feel_its_size(url: str) -> None:
    with Database.open(url) as database:
        ledger, leases, outbox = Ledger(database), Leases(database, "r1"), Outbox(database)
        numbers = count()

        def begins() -> float:
            seconds = []
            for name in islice((f"begins-{number}" for number in numbers), TIMES):
                approved(ledger, name, f"node-{name}")
                began = time.perf_counter()
                ledger.begin.now(name, 4, FIRST, "bot", claim(f"node-{name}", at_once=1000, per_hour=1000))
                seconds.append(time.perf_counter() - began)
            print(f"beginning a step: {statistics.median(seconds) * 1000:.2f} ms")
            return statistics.median(seconds)

        ledger.append.now("joined", 0, AlertReceived(ALERT, "node-joined", "group-joined"), ASKER)
        lengths = count(1)

        def joins() -> None:
            length = next(lengths)
            ledger.append.now("joined", length, AlertJoined(Alert("alertmanager", f"a{length}")), "bot")

        for _ in range(JOINED):
            joins()
        seconds = {
            "reading the brake": took("reading the brake", ledger.brake_pull.now),
            "beginning": begins(),
            "pulling": took("pulling the brake", lambda: ledger.append.now(HOUSE, None, BrakePulled("stop"), "bot")),
            "releasing": took("releasing it", lambda: ledger.append.now(HOUSE, None, BrakeReleased("over"), "bot")),
            "joining": took(f"joining after {JOINED} others", joins),
            "folding": took("reading that incident", lambda: ledger.incident.now("joined")),
            "beating": took("a heartbeat", leases.beat.now),
            "posting": took("a new post", lambda: outbox.keep.now(Post(f"new-{next(numbers)}", "card", "C1", {}))),
            "due": took("what is due", lambda: outbox.claim_due_posts.now(datetime.now(UTC))),
            "a group": took("a group's nodes, for a proposal", lambda: ledger.nodes.now("group-joined")),
            "tried": took(
                "whether it was tried", lambda: ledger.last_try.now(Plan("node-3", ()), "ab" * 16, timedelta(days=1))
            ),
        }
    assert {name: took for name, took in seconds.items() if took > MOST} == {}


async def test_policy_is_compared_without_reading_the_house(url: str) -> None:
    with Database.open(url) as database:
        began = time.perf_counter()
        await note_policy(Policy(), Ledger(database), lambda *_, **__: None)
        seconds = time.perf_counter() - began
    print(f"comparing the policy at the start: {seconds * 1000:.1f} ms")
    assert seconds < 0.2


async def test_bot_starts_on_it_in_seconds(url: str, tmp_path: Path) -> None:
    began = time.monotonic()
    async with replicas(tmp_path, url, {"node": (HIDDEN, None)}) as here:
        await here.joins()
        seconds = time.monotonic() - began
    print(f"zombie serve, until it is ready: {seconds:.1f} s")
    assert seconds < MOST_TO_START


def test_export_reads_it_page_by_page(url: str) -> None:
    lines = 100_000
    with Database.open(url) as database:
        began = time.monotonic()
        assert sum(1 for _ in islice(exported(database), lines)) == lines
        seconds = time.monotonic() - began
    print(f"export: {lines / seconds:,.0f} entries a second")
    assert seconds < 60


def test_pruning_it_keeps_nobody_waiting(url: str) -> None:
    old = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(minutes=2000)
    with Database.open(url) as database, ThreadPoolExecutor(1) as threads:
        pruner, leases, waited = Pruner(database, "bot"), Leases(database, "r2"), list[float]()
        began = time.monotonic()
        pruning = threads.submit(pruner.prune_incidents, max(SHORTEST, datetime.now(UTC) - old))
        while not pruning.done():
            before = time.perf_counter()
            leases.beat.now()
            waited.append(time.perf_counter() - before)
        found, seconds = pruning.result(), time.monotonic() - began
    print(
        f"pruning {found.incidents} incidents, {found.entries} entries: {seconds:.1f} s; "
        f"a heartbeat meanwhile waits for {max(waited) * 1000:.0f} ms at most"
    )
    assert found.incidents > 1000
    assert max(waited) < 2
