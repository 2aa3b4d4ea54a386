"""Reaching a node to act on it: short looks, one command at a time, and what the login there may run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta

from bot.domain.action import Action, Facts
from bot.domain.batch import Batch, Sampling
from bot.domain.command import Command, Completed, Outputs
from bot.domain.contracts import ActingTransport
from bot.domain.errors import CannotRead
from bot.domain.node import Node
from bot.domain.plan import Step

_BOOT_ID, _MACHINE_ID = "/proc/sys/kernel/random/boot_id", "/etc/machine-id"
_IDENTITY = Command("identity", ("tail", "-v", "-n", "+1", _BOOT_ID, _MACHINE_ID), output_limit_bytes=4096)
_LOOK_LIMIT = timedelta(seconds=15)
_BEYOND_LIMIT = timedelta(seconds=10)  # connecting and logging in, before a command's own limit begins


@dataclass(frozen=True, slots=True)
class Seen:
    """Which machine answered, in which boot, behind which host key; and the facts of each step that was asked for."""

    boot_id: str
    machine_id: str
    host_key: str
    facts: tuple[Facts, ...] = ()


class Reach:
    """The way to a node for looking and for acting; `acting` is the same node by the login that may act."""

    def __init__(
        self,
        transport: ActingTransport,
        actions: Mapping[str, Action],
        acting: Callable[[Node], Node] = lambda node: node,
    ) -> None:
        self._transport = transport
        self._acting = acting
        self.actions = actions

    async def look(self, node: Node, steps: Sequence[Step] = ()) -> Seen:
        """Look once, over one connection.

        Raises: Unreachable when nobody could talk to the node; CannotRead when it does not say.
        """
        asked = [("identity", _IDENTITY)]
        for number, step in enumerate(steps):
            asked += [(f"step {number}", command) for command in self.actions[step.action].looks(step.args)]
        runs = await self._runs(node, asked, _LOOK_LIMIT)
        files = _sections(Outputs(*runs.get("identity", ())).text("identity"))
        boot_id, machine_id = files.get(_BOOT_ID, "").lower(), files.get(_MACHINE_ID, "").lower()
        if not boot_id or not machine_id:
            raise CannotRead(f"{node.name} does not say which machine it is, and in which boot.")
        facts = tuple(
            self.actions[step.action].facts(step.args, Outputs(*runs.get(f"step {number}", ())))
            for number, step in enumerate(steps)
        )
        return Seen(boot_id, machine_id, self._transport.host_key(node), facts)

    async def run(self, node: Node, step: Step) -> Completed | None:
        """Run a step's commands, each as it was approved; return the last one's end, None where it was never heard.

        Raises: Unreachable when the connection could not be made, or broke: then it may have run or not.
        """
        limit = self.actions[step.action].limit
        ended = None
        for line in step.commands:
            command = Command("run", ("sh", "-c", line), limit=limit, output_limit_bytes=16 * 1024)
            runs = await self._runs(self._acting(node), [("step", command)], limit + _BEYOND_LIMIT)
            ended = next(iter(runs.get("step", ())), None)
            if ended is None or ended.exit_status != 0:
                break
        return ended

    async def lacking(self, node: Node, steps: Sequence[Step]) -> tuple[tuple[str, ...], ...]:
        """Return the argument lists that the login may not run as root there.

        Raises: Unreachable when nobody could talk to the node; CannotRead when it does not say.
        """
        rights = [argv for step in steps for argv in self.actions[step.action].rights(step.args)]
        asked = [
            (f"right {number}", Command("may", ("sudo", "-n", "-l", *argv), output_limit_bytes=4096))
            for number, argv in enumerate(rights)
        ]
        runs = await self._runs(self._acting(node), asked, _LOOK_LIMIT) if asked else {}
        missing = []
        for number, argv in enumerate(rights):
            told = next(iter(runs.get(f"right {number}", ())), None)
            if told is None or told.exit_status in (None, 124, 137):
                raise CannotRead(f"{node.name} does not say what its login may run as root.")
            if told.exit_status != 0:
                missing.append(argv)
        return tuple(missing)

    async def _runs(
        self, node: Node, asked: Sequence[tuple[str, Command]], deadline: timedelta
    ) -> dict[str, list[Completed]]:
        runs: dict[str, list[Completed]] = {}
        async with aclosing(self._transport.read(node, Batch.of(asked, Sampling(1)), deadline)) as arriving:
            async for run in arriving:
                runs.setdefault(run.probe, []).append(run)
        return runs


def _sections(text: str) -> dict[str, str]:
    """The first line of each file that `tail -v` printed."""
    found: dict[str, str] = {}
    path = ""
    for line in text.splitlines():
        if line.startswith("==> ") and line.endswith(" <=="):
            path = line[4:-4]
        elif path and line.strip():
            found.setdefault(path, line.strip())
    return found
