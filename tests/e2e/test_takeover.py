"""Whoever sees to an incident may be killed, stopped or told to stop at any moment; somebody goes on, once."""

from __future__ import annotations

import asyncio
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from bot.demo.fleet import FLEET
from bot.demo.fleet_leaks import HIDDEN
from bot.demo.machine.state import Line
from bot.ledger import Database, audit
from tests.record.postgresql import Postgresql
from tests.serving import Served
from tests.slack.replicas import Replicas, replicas, until

pytestmark = pytest.mark.slow
APPROVED = 4  # entries, up to the decision
WATCHED = 9  # entries, up to the beginning of the watch
AT_ONCE = 3
_WORKS = next(member.state for member in FLEET if member.name.startswith("train-gpu"))
_STUCK = Line(_WORKS.uptime - 300.0, "watchdog: BUG: soft lockup - CPU#7 stuck for 22s! [java:4242]", 0, every=200.0)
# The founding case, whose disabled unit is watched for fifteen seconds; and one whose plan is the reboot alone.
CASES = {"founding": HIDDEN, "stuck": replace(_WORKS, log=(*_WORKS.log, _STUCK))}


def place(kind: str, folder: Path, request: pytest.FixtureRequest) -> str:
    """The URL of an empty database."""
    if kind == "sqlite":
        return f"sqlite:///{folder / 'zombie.db'}"
    server: Postgresql = request.getfixturevalue("postgresql")
    return server.new_database()


async def opened_and_approved(replicas: Replicas) -> str:
    incident = (await replicas.here.opened("node"))["node"]
    await until(lambda: replicas.owner(incident), "somebody to see to it")
    await replicas.approve(incident)
    return incident


def boundaries(replicas: Replicas, incident: str) -> int:
    """How many entries there are, without further attempts: of those a step has three, and then a person is asked."""
    return sum(1 for entry in replicas.story(incident) if entry.body.get("attempt", 1) == 1)


def ended_well(replicas: Replicas, incident: str, url: str) -> None:
    told = replicas.incident(incident)
    assert told.state == "resolved", replicas.kinds(incident)
    assert replicas.here.machine("node").reboots == 1
    with Database.open(url) as database:
        assert audit(database).broken == ()


@pytest.mark.parametrize(
    ("kind", "case", "fewest"),
    [pytest.param("sqlite", "founding", 4, marks=pytest.mark.long), ("postgresql", "stuck", 2)],
)
async def test_owner_killed_after_every_entry_is_followed_by_another(
    tmp_path: Path, request: pytest.FixtureRequest, kind: str, case: str, fewest: int
) -> None:
    database_url = place(kind, tmp_path, request)
    async with replicas(tmp_path, database_url, {"node": (CASES[case], None)}) as here:
        await asyncio.gather(*(here.joins() for _ in range(AT_ONCE)))
        incident = await opened_and_approved(here)
        length, took, joining = APPROVED, list[float](), list[asyncio.Task[Served]]()

        def is_longer() -> bool:
            return boundaries(here, incident) >= length or here.incident(incident).ended

        while True:
            # A command whose sender died may still be under way: it is sent again when its fence has run out (15 s),
            # and the proof of a stopped unit waits for 15 s more.
            await until(is_longer, "the next entry", 150)
            if here.incident(incident).ended or length > WATCHED:
                break
            owner = await until(lambda: here.owner(incident), "somebody to see to it", 15)
            length = boundaries(here, incident) + 1
            joining.append(asyncio.create_task(here.joins()))
            await owner.kill()
            killed_at = time.monotonic()
            await until(lambda: here.owner(incident), "another to see to it", 15)
            took.append(time.monotonic() - killed_at)
        await until(lambda: here.incident(incident).ended, "the end", 90)
        await asyncio.gather(*joining)
        ended_well(here, incident, database_url)
        assert len(took) >= fewest, here.kinds(incident)
        assert max(took) < 15, took


async def test_owner_that_is_stopped_is_taken_over_and_does_nothing_twice_when_it_wakes(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    database_url = postgresql.new_database()
    async with replicas(tmp_path, database_url, {"node": (CASES["stuck"], None)}) as here:
        await asyncio.gather(here.joins(), here.joins())
        incident = await opened_and_approved(here)
        await until(lambda: "StepStarted" in here.kinds(incident), "the reboot to begin")
        stopped: Served = here.owner(incident)  # type: ignore[assignment]
        stopped.process.send_signal(signal.SIGSTOP)
        stopped_at, length = time.monotonic(), len(here.story(incident))
        await until(lambda: here.owner(incident) not in (None, stopped), "another to see to it", 15)
        assert time.monotonic() - stopped_at < 15
        await until(lambda: len(here.story(incident)) > length, "the next entry", 45)  # once the fence has run out
        stopped.process.send_signal(signal.SIGCONT)
        await until(lambda: here.incident(incident).ended, "the end", 60)
        ended_well(here, incident, database_url)
        assert await stopped.end(within=120) == 0, stopped.lines


async def test_told_to_stop_while_it_acts_it_ends_well_and_a_new_one_goes_on_within_three_seconds(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path / 'zombie.db'}"
    async with replicas(tmp_path, url, {"node": (CASES["stuck"], None)}) as here:
        first = await here.joins()
        incident = await opened_and_approved(here)
        await until(lambda: here.kinds(incident)[-1] == "StepStarted", "a step to begin")
        assert await first.end(within=120) == 0, first.lines
        assert here.owner(incident) is None
        length = len(here.story(incident))
        second = await here.joins()
        await until(lambda: here.owner(incident) is second, "the new one to see to it", 3)
        await until(lambda: len(here.story(incident)) > length, "the next entry")
        await second.kill()
        third = await here.joins()
        await until(lambda: here.owner(incident) is third, "the newest one to see to it", 3)
        await until(lambda: here.incident(incident).ended, "the end", 60)
        ended_well(here, incident, url)


async def test_terminal_that_carries_it_out_beside_a_serving_bot_sees_it_through_to_the_same_end(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path / 'zombie.db'}"
    async with replicas(tmp_path, url, {"node": (CASES["stuck"], None)}) as here:
        serving = await here.joins()
        incident = (await here.here.opened("node"))["node"]
        await until(lambda: here.owner(incident) is serving, "the bot to see to it")
        done = await here.here.remediate(incident)
        assert done.status == 0, done
        ended_well(here, incident, url)
        assert "Resolved" in done.out
        assert await serving.end(within=120) == 0
        assert [line for line in serving.lines if line["event"].endswith("_failed")] == []
