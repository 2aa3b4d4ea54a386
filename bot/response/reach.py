"""Reaching a node to act on it: short looks, one command at a time, and what the login there may run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType

from bot.domain.action import Action, Facts
from bot.domain.batch import Batch, Sampling
from bot.domain.command import Command, Completed, Outputs
from bot.domain.contracts import ActingTransport
from bot.domain.errors import CannotDrain, CannotRead
from bot.domain.node import Node
from bot.domain.plan import Step
from bot.response.cluster import ClusterReach

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
        cluster: ClusterReach | None = None,
    ) -> None:
        """`acting` is the node by the login that may act, `cluster` the way to what is done by calls of an API."""
        self._transport = transport
        self._cluster = cluster or ClusterReach(None)
        self._acting = acting
        self.actions = actions

    async def look(self, node: Node, steps: Sequence[Step] = ()) -> Seen:
        """Look once, over one connection.

        Raises: Unreachable when nobody could talk to the node; CannotRead when it does not say.
        """
        asked = [("identity", _IDENTITY)]
        for number, step in enumerate(steps):
            action = self.actions[step.action]
            asked += [(f"step {number}", command) for command in action.looks(step.args) if action.by_calls is None]
        runs = await self._runs(node, asked, _LOOK_LIMIT)
        files = _sections(Outputs(*runs.get("identity", ())).text("identity"))
        boot_id, machine_id = files.get(_BOOT_ID, "").lower(), files.get(_MACHINE_ID, "").lower()
        if not boot_id or not machine_id:
            raise CannotRead(f"{node.name} does not say which machine it is, and in which boot.")
        facts = []
        for number, step in enumerate(steps):
            action = self.actions[step.action]
            if action.by_calls is not None:
                facts.append(await self._cluster.facts(action, step.args, boot_id))
            else:
                facts.append(action.facts(step.args, Outputs(*runs.get(f"step {number}", ()))))
        return Seen(boot_id, machine_id, self._transport.host_key(node), tuple(facts))

    async def affected(self, steps: Sequence[Step], seen: Seen) -> tuple[str, ...]:
        """Return what else steps would touch, one line each, on a node that was seen in that boot.

        Raises: CannotDrain where one of them would be refused; Unreachable or CannotRead when that cannot be told.
        """
        told: list[str] = []
        for step in steps:
            action = self.actions[step.action]
            if action.by_calls is not None:
                now = await self._cluster.facts(action, step.args, seen.boot_id)
                if why := action.by_calls.refuses(step.args, now):
                    raise CannotDrain(why)
                told += action.by_calls.affects(step.args, now)
        return tuple(told)

    async def run(self, node: Node, step: Step, before: Facts = MappingProxyType({})) -> Completed | None:
        """Run a step's commands, each as it was approved; return the last one's end, None where it was never heard.

        Shape: of a step that is done by calls, one round of these, as it stands now; `before` is what it began from.
        Raises: Unreachable when the connection could not be made, or broke: then it may have run or not.
        """
        action = self.actions[step.action]
        if action.by_calls is not None:
            return await self._cluster.round(action, step, before)
        limit = action.limit
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

        Shape: what a cluster would have to allow begins with `kubernetes`, then verb and resource.
        Raises: Unreachable when nobody could talk to the node; CannotRead when it does not say; UnknownCluster.
        """
        by_calls = [step for step in steps if self.actions[step.action].by_calls is not None]
        by_command = [step for step in steps if step not in by_calls]
        rights = [argv for step in by_command for argv in self.actions[step.action].rights(step.args)]
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
        for step in by_calls:
            missing += await self._cluster.lacking(self.actions[step.action], step.args)
        return tuple(dict.fromkeys(missing))

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
