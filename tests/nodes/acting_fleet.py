"""A fleet whose nodes can be acted on, and the program run over it as a person runs it."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bot.demo.faults import Fault
from bot.demo.fleet import Fleet, Member, running
from bot.demo.machine.machine import Machine
from bot.demo.machine.state import State
from tests.program import Running, awaited
from tests.serving import Served

ROOT = Path(__file__).parents[2]
POLICY = """
[check]
samples = 1
[policy]
terminal_approvers = ["alice", "bob"]
[act]
units = ["ecs.service"]
max_nodes_at_once = 9
validation = "2s"
reboot_deadline = "20s"
"""


@dataclass(frozen=True)
class Ended:
    """What one run of the program came to."""

    status: int | None
    out: str
    err: str


@dataclass
class Site:
    """A fleet, a settings file and a ledger in one folder."""

    folder: Path
    fleet: Fleet
    environ: Mapping[str, str] = field(default_factory=dict)
    started: list[Running] = field(default_factory=list)

    def machine(self, name: str) -> Machine:
        machine = self.fleet.servers[name].machine
        assert isinstance(machine, Machine)
        return machine

    async def start(self, *arguments: str, login: str = "") -> Running:
        """Run the program by a login; whoever claims a name has a login of that name where none is said."""
        self.started.append(await Running.start(*arguments, cwd=self.folder, env=self._environ_of(arguments, login)))
        return self.started[-1]

    async def serve(self, environ: Mapping[str, str]) -> Served:
        """Start a program that serves, and is told this beside, and wait until it is ready."""
        self.environ = {**self.environ, "ZOMBIE_LISTEN": "127.0.0.1:0", **environ}
        return await Served(await self.start("serve")).ready()

    async def zombie(self, *arguments: str, login: str = "") -> Ended:
        done = await awaited(*arguments, cwd=self.folder, env=self._environ_of(arguments, login))
        return Ended(done.returncode, done.stdout, done.stderr)

    def _environ_of(self, arguments: tuple[str, ...], login: str) -> dict[str, str]:
        claimed = {arguments[at + 1] for at, word in enumerate(arguments[:-1]) if word in ("--approve-as", "--as")}
        login = login or "".join(claimed)
        return {**self.environ, **({"SUDO_USER": login} if login else {})}

    async def opened(self, *names: str) -> dict[str, str]:
        """Check nodes and return their incidents by name."""
        done = await self.zombie("check", *names, "--open", "--json")
        assert done.out, done.err
        return {one["node"]: one["incident"] for one in json.loads(done.out)["nodes"]}

    async def remediate(self, incident: str, name: str = "alice", reason: str = "it leaks") -> Ended:
        return await self.zombie("remediate", incident, "--approve-as", name, "--reason", reason)

    async def told(self, incident: str) -> dict[str, Any]:
        """Return an incident as `incidents show --json` prints it."""
        done = await self.zombie("incidents", "show", incident, "--json")
        told: dict[str, Any] = json.loads(done.out)
        return told

    async def kinds(self, incident: str) -> list[str]:
        return [entry["kind"] for entry in (await self.told(incident))["entries"]]


@asynccontextmanager
async def site(
    folder: Path, nodes: Mapping[str, tuple[State, Fault | None]], policy: str = POLICY
) -> AsyncIterator[Site]:
    """Run such a site for the length of a block."""
    members = [
        Member(replace(state, name=name), "may be acted on", "gpu", fault) for name, (state, fault) in nodes.items()
    ]
    async with running(members, folder, lambda: datetime.now(UTC)) as fleet:
        (folder / "zombie.toml").write_text(policy)
        environ = {
            **{
                name: value for name, value in os.environ.items() if not name.startswith(("ZOMBIE_", "SLACK_", "SUDO_"))
            },
            "PYTHONPATH": str(ROOT),
            "HOME": str(folder),
            "ZOMBIE_STATE_DIR": str(folder / "state"),
            "ZOMBIE_INVENTORY": str(fleet.inventory),
        }
        here = Site(folder, fleet, environ)
        try:
            yield here
        finally:
            for left in here.started:  # by a test that failed
                left.kill()
