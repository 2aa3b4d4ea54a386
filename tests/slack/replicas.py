"""Several `zombie serve` at one ledger, in a simulated workspace, over nodes that can be acted on."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import text

from bot.app.acting import acting
from bot.demo.faults import Fault
from bot.demo.machine.state import State
from bot.domain.entry import Entry
from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.domain.policy import Approval
from bot.inventory import Inventory
from bot.ledger import Database, Ledger
from bot.settings import Settings
from bot.sources import settings_of
from tests.nodes.acting_fleet import POLICY, Site, site
from tests.serving import Served
from tests.slack.workspace import SlackWorkspace, workspace

NO_REPORTS = '[extras]\noff = ["reports"]\n'  # each takes a second of a core, and nobody here reads it
ACTING = POLICY.replace("[policy]", "[policy]\nacting = true") + NO_REPORTS


class Replicas:
    """The runners, and their ledger."""

    def __init__(self, here: Site, url: str, slack: SlackWorkspace) -> None:
        self.here = here
        self.slack = slack
        self.runners: list[Served] = []
        self._database = Database.open(url)

    async def joins(self) -> Served:
        """Start one more, and wait until it takes its share."""
        self.runners.append(await self.here.serve({}))
        return self.runners[-1]

    async def approve(self, incident: str) -> None:
        """Say yes, and leave the rest to whoever serves."""
        settings = Settings.load({}, self.here.environ, self.here.folder, members=settings_of())
        known = Inventory.load(self.here.fleet.inventory)
        ledger = Ledger(self._database)
        parts = acting(settings, known, ledger, self.here.environ)
        await parts.responder.decide(incident, Approval("terminal:alice", "it leaks", os_user="tests"))

    def story(self, incident: str) -> tuple[Entry, ...]:
        return Ledger(self._database).read.now(incident)

    def incident(self, incident: str) -> Incident:
        return fold(self.story(incident))

    def kinds(self, incident: str) -> list[str]:
        return [entry.kind for entry in self.story(incident)]

    def owner(self, incident: str) -> Served | None:
        """Return who sees to an incident, None while nobody does."""
        with self._database.reading() as connection:
            asked = text('SELECT runner FROM leases WHERE "group" = :card')
            found = connection.execute(asked, {"card": self.incident(incident).card}).scalar_one_or_none()
        living = [one for one in self.runners if one.process.returncode is None]
        return next((one for one in living if one.logged("listening").get("runner") == found), None)

    async def end(self) -> None:
        """End what still runs."""
        for runner in self.runners:
            await runner.kill()
        self._database.close()


async def until(question: Callable[[], Any], what: str, within: float = 120.0) -> Any:
    """Ask again and again until the answer is truthy, and return it."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(within):
            while not (answer := question()):  # noqa: ASYNC110 - what is asked is another process's doing
                await asyncio.sleep(0.1)
            return answer
    raise TimeoutError(f"waited {within:g} s for {what}")


@asynccontextmanager
async def replicas(
    folder: Path, url: str, nodes: Mapping[str, tuple[State, Fault | None]], policy: str = ACTING
) -> AsyncIterator[Replicas]:
    """Such a crew, without anybody yet, for the length of a block."""
    async with workspace() as slack, site(folder, nodes, policy) as here:
        here.environ = {**here.environ, **slack.environment, "ZOMBIE_DATABASE_URL": url}
        made = Replicas(here, url, slack)
        try:
            yield made
        finally:
            await made.end()
