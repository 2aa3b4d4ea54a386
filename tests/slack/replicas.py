"""Several `zombie serve` at one ledger, in a simulated workspace, over nodes that can be acted on."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
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
from tests.program import Running
from tests.slack.workspace import SlackWorkspace, workspace

ACTING = POLICY.replace("[policy]", "[policy]\nacting = true")


class Runner:
    """One of them, as a process; `lines` is what it logged."""

    def __init__(self, process: Running | asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[dict[str, Any]] = []
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            try:
                self.lines.append(json.loads(line))
            except ValueError:  # a traceback, which whoever reads a failure wants to see
                self.lines.append({"event": "said", "says": line.decode()})

    def logged(self, event: str) -> dict[str, Any]:
        return next((line for line in self.lines if line["event"] == event), {})

    @property
    def name(self) -> str:
        return str(self.logged("listening").get("runner", ""))

    async def kill(self) -> None:
        """End it for good, also while it is stopped."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGKILL)
            await self.process.wait()
        await self._reading

    async def end(self) -> int:
        """Ask it to stop, and return its exit status."""
        self.process.terminate()
        async with asyncio.timeout(120):
            status = await self.process.wait()
        await self._reading
        return status


class Replicas:
    """The runners, and their ledger."""

    def __init__(self, here: Site, url: str, slack: SlackWorkspace) -> None:
        self.here = here
        self.slack = slack
        self.runners: list[Runner] = []
        self._database = Database.open(url)

    async def joins(self) -> Runner:
        """Start one more, and wait until it takes its share."""
        process = await Running.start("serve", cwd=self.here.folder, env=self.here.environ, out=False)
        runner = Runner(process)
        self.runners.append(runner)
        await until(lambda: runner.logged("ready") or process.returncode is not None, "a runner to be ready")
        assert runner.logged("ready"), runner.lines
        return runner

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

    def owner(self, incident: str) -> Runner | None:
        """Return who sees to an incident, None while nobody does."""
        with self._database.reading() as connection:
            asked = text('SELECT runner FROM leases WHERE "group" = :card')
            found = connection.execute(asked, {"card": self.incident(incident).card}).scalar_one_or_none()
        return next((one for one in self.runners if one.name == found and one.process.returncode is None), None)

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
        here.environ = {
            **here.environ,
            "ZOMBIE_DATABASE_URL": url,
            "ZOMBIE_LISTEN": "127.0.0.1:0",
            "SLACK_BOT_TOKEN": slack.bot_token,
            "SLACK_APP_TOKEN": slack.app_token,
            "SLACK_API_URL": slack.api_url,
        }
        made = Replicas(here, url, slack)
        try:
            yield made
        finally:
            await made.end()
