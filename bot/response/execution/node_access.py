"""Access to a node for acting: short looks, single commands, and what the login there may run."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import timedelta
from types import MappingProxyType

from bot.actions.uncordon import LEFT_SO
from bot.domain.action import ALSO, Action, Facts, Step
from bot.domain.batch import Batch, Sampling
from bot.domain.command import Command, Completed, Outputs
from bot.domain.contracts import ActingTransport
from bot.domain.errors import CannotDrain, CannotRead, LoginRefused, MissingFile
from bot.domain.fence import BOOT_ID, JOURNAL_WITHIN, MACHINE_ID, Fence, FenceRefusal, journal_line, refusal_of
from bot.domain.node import Node
from bot.domain.safe_text import redacted_text
from bot.response.diagnosis.planning import DrainSettings
from bot.response.execution.cluster_calls import ClusterAccess, TooLate, never_braked

IDENTITY = Command("identity", ("tail", "-v", "-n", "+1", BOOT_ID, MACHINE_ID), output_limit_bytes=4096)
_LOOK_LIMIT = timedelta(seconds=15)
_NOWHERE = DrainSettings()
_A_MOMENT = timedelta(seconds=3)
_BEYOND_LIMIT = timedelta(seconds=10)  # connecting and logging in, before a command's own limit begins

__all__ = [
    "IDENTITY",
    "NodeAccess",
    "NodeStatus",
    "RefusedByFence",
    "TooLate",
    "identity",
    "missing_rights_of",
    "right_questions",
    "runs_by_probe",
    "uptime",
]


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """Which machine answered, in which boot, behind which host key; and the facts of each step that was asked for.

    Shape: `also` is what else steps do, by the name in the plan's bindings; None where it was not asked for.
    Units: `uptime` is the node's, in seconds, at the look; None where it was not read.
    """

    boot_id: str
    machine_id: str
    host_key: str
    facts: tuple[Facts, ...] = ()
    also: Mapping[str, str] | None = None
    uptime: float | None = None


class RefusedByFence(Exception):
    """A command's fence refused it, so nothing was done. No ZombieError: the caller handles it."""

    def __init__(self, why: FenceRefusal) -> None:
        super().__init__(why)
        self.why = why


class NodeAccess:
    """Access to a node for looking and acting; `acting` is the same node with the login that may act."""

    def __init__(
        self,
        transport: ActingTransport,
        actions: Mapping[str, Action],
        acting: Callable[[Node], Node] = lambda node: node,
        cluster: ClusterAccess | None = None,
        draining: DrainSettings = _NOWHERE,
    ) -> None:
        """`acting` is the node with the login that may act, `cluster` the access to a cluster's API."""
        self._transport = transport
        self._cluster = cluster or ClusterAccess(None)
        self._draining = draining
        self._acting = acting
        self._lately: dict[str, tuple[float, NodeStatus]] = {}
        self.actions = actions

    async def look(
        self, node: Node, steps: Sequence[Step] = (), around: Sequence[Step] | None = None, first: int = 1
    ) -> NodeStatus:
        """Look once, over a single connection: at the proof of `steps`, and at what else `around` would do.

        Shape: `first` is the number that the first step of `around` has in its plan.
        Raises: Unreachable; CannotRead when the node does not answer a question; WouldStopProtected.
        """
        asked, asking = [("identity", IDENTITY)], self.side_effect_questions(around or (), first)
        for number, step in enumerate(steps):
            action = self.actions[step.action]
            asked += [(f"step {number}", command) for command in action.looks(step.args) if action.by_calls is None]
        asked += [(name, command) for name, commands in asking for command in commands]
        runs = await runs_by_probe(self._transport, node, asked, _LOOK_LIMIT)
        outputs = Outputs(*runs.get("identity", ()))
        boot_id, machine_id = identity(node, outputs)
        facts = []
        for number, step in enumerate(steps):
            action = self.actions[step.action]
            if action.by_calls is not None:
                facts.append(await self._cluster.facts(action, step.args, boot_id))
            else:
                facts.append(action.facts(step.args, Outputs(*runs.get(f"step {number}", ()))))
        around_told = {name: Outputs(*runs.get(name, ())) for name, _ in asking}
        also = self.side_effects(around, around_told, first) if around is not None else None
        return NodeStatus(boot_id, machine_id, self.host_key(node), tuple(facts), also, uptime(outputs))

    def side_effect_questions(self, steps: Sequence[Step], first: int = 1) -> list[tuple[str, tuple[Command, ...]]]:
        """Return the questions about what else a plan's steps do, by their names in the bindings."""
        numbered = enumerate(steps, first)
        found = ((f"{ALSO}{number}", self.actions[step.action].around, step) for number, step in numbered)
        return [(name, around.looks(step.args)) for name, around, step in found if around is not None]

    def side_effects(self, steps: Sequence[Step], outputs: Mapping[str, Outputs], first: int = 1) -> Mapping[str, str]:
        """Return what else a plan's steps do, by that name, as it is recorded; steps without side effects are left out.

        Raises: WouldStopProtected; CannotRead when the node does not say.
        """
        found = {}
        for number, step in enumerate(steps, first):
            around, name = self.actions[step.action].around, f"{ALSO}{number}"
            if around is not None and (words := around.affects(step.args, outputs[name])):
                found[name] = redacted_text(words)
        return found

    def remember(self, incident: str, seen: NodeStatus) -> None:
        """Remember briefly what was seen of a node and its first step: a step that begins at once need not look."""
        now = asyncio.get_running_loop().time()
        self._lately = {node: told for node, told in self._lately.items() if now - told[0] < _A_MOMENT.total_seconds()}
        self._lately[incident] = (now, seen)

    def recall(self, incident: str) -> NodeStatus | None:
        """Return what was just seen, once; None where it is too old to begin from."""
        seen_at, seen = self._lately.pop(incident, (0.0, None))
        if seen is None or asyncio.get_running_loop().time() - seen_at >= _A_MOMENT.total_seconds():
            return None
        return seen

    def host_key(self, node: Node) -> str:
        """Return the fingerprint of the host key that the node showed last."""
        return self._transport.host_key(node)

    def has_one_login(self, node: Node) -> bool:
        """True if the same login reads and acts."""
        return self._acting(node) == node

    def by_calls(self, step: Step) -> bool:
        """True if a step is done by API calls, not on the node."""
        return self.actions[step.action].by_calls is not None

    async def cluster_side_effects(self, steps: Sequence[Step], seen: NodeStatus) -> Mapping[str, bool]:
        """Return what else steps would touch on a node that was seen in that boot, as `ClusterCalls.affects`.

        Raises: CannotDrain if an eviction would be refused; Unreachable or CannotRead when that is not known.
        """
        effects: dict[str, bool] = {}
        for step in steps:
            action = self.actions[step.action]
            if action.by_calls is not None:
                now = await self._cluster.facts(action, step.args, seen.boot_id)
                if why := action.by_calls.refuses(step.args, now):
                    raise CannotDrain(why)
                effects |= action.by_calls.affects(step.args, now)
        return effects

    async def cluster_trouble(
        self, node: Node, done: Sequence[Step], seen: NodeStatus, waiting: Sequence[Step] = ()
    ) -> str:
        """Say what is wrong with a node in its cluster; empty where it is in none, or a step done there explains it.

        Shape: `waiting` are steps that are still to come, such as that which ends a drain.
        Raises: Unreachable or CannotRead when the cluster does not say.
        """
        closing = (*self._draining.with_drain(node, (Step("reboot"),), 0)[0], *waiting)[-1]
        action = self.actions[closing.action]
        if action.by_calls is None or any(self.by_calls(step) and not self._is_taken_back(step) for step in done):
            return ""
        now = await self._cluster.facts(action, closing.args, seen.boot_id)
        return action.by_calls.lasts(closing.args, {LEFT_SO: "true"}, now)  # who cordoned it is not asked here

    def _is_taken_back(self, step: Step) -> bool:
        return bool(self.actions[step.action].ended_by)

    async def run(
        self,
        node: Node,
        step: Step,
        fence: Fence,
        before: Facts = MappingProxyType({}),
        in_time: Callable[[], bool] = lambda: True,
        released: Callable[[], Awaitable[None]] = never_braked,
        why: str = "",
    ) -> Completed | None:
        """Run a step's commands, each as approved; return the last command's end, None if it was never heard.

        Only this function sends commands that change a node, and it puts the fence around each of them. A later
        command of the same step may begin later, by the time that the commands before it may take.

        Shape: for a step done by API calls, the present round of calls; `before` is what it began from. `in_time` is
        asked before each command, `released` before each API call: a step may make hundreds of calls, so a brake
        pulled meanwhile stops the rest. `why` is the line for the node's journal, which every command writes behind its
        fence; no shell reads it.
        Raises: Unreachable when the connection failed or broke: then it may have run or not. HostKeyRejected when
        another machine answered: nothing was sent to it. TooLate when it was not in time: that command and those after
        it were not sent; for API calls, Braked likewise. NotRun when the fence refused it and those after it.
        """
        action = self.actions[step.action]
        if action.by_calls is not None:
            return await self._cluster.send_due_calls(action, step, before, in_time, released)
        limit = action.limit
        ended = None
        for number, line in enumerate(step.commands):
            if not in_time():
                raise TooLate
            own = replace(fence, until=fence.until - self.seconds_after_fence(step, number + 1))
            argv = ("sh", "-c", own.fenced_line(line))
            command = Command("run", argv, limit=limit, output_limit_bytes=16 * 1024, stdin=why and journal_line(why))
            runs = await runs_by_probe(
                self._transport, self._acting(node), [("step", command)], limit + _BEYOND_LIMIT, fence.host_key
            )
            ended = next(iter(runs.get("step", ())), None)
            if ended is not None and (refusal := refusal_of(ended)) is not None:
                raise RefusedByFence(refusal)
            if ended is None or ended.exit_status != 0:
                break
        return ended

    def seconds_after_fence(self, step: Step, number: int = 1) -> int:
        """Return how many seconds after this command's fence the last command of a step may begin."""
        later = max(0, len(step.commands) - number) * math.ceil(self.actions[step.action].limit.total_seconds())
        return later + math.ceil(JOURNAL_WITHIN.total_seconds())

    async def lacking(self, node: Node, steps: Sequence[Step]) -> tuple[tuple[str, ...], ...]:
        """Return the argument lists that the login may not run as root there.

        Shape: a right in a cluster begins with `kubernetes`, then verb and resource.
        Raises: Unreachable; CannotRead when the node does not answer the question; UnknownCluster.
        """
        rights = self.rights(steps)
        asked = [(f"right {number}", command) for number, command in enumerate(right_questions(rights))]
        runs = await runs_by_probe(self._transport, self._acting(node), asked, _LOOK_LIMIT) if asked else {}
        answers = [Outputs(*runs.get(f"right {number}", ())) for number in range(len(rights))]
        missing = list(missing_rights_of(node, rights, answers))
        for step in steps:
            if self.by_calls(step):
                missing += await self._cluster.lacking(self.actions[step.action], step.args)
        return tuple(dict.fromkeys(missing))

    def rights(self, steps: Sequence[Step]) -> tuple[tuple[str, ...], ...]:
        """Return the argument lists that steps run as root on their node."""
        on_node = [step for step in steps if not self.by_calls(step)]
        return tuple(dict.fromkeys(argv for step in on_node for argv in self.actions[step.action].rights_of(step.args)))


async def runs_by_probe(
    transport: ActingTransport,
    node: Node,
    asked: Sequence[tuple[str, Command]],
    deadline: timedelta,
    host_key: str | None = None,
) -> dict[str, list[Completed]]:
    """Run commands over a single connection, and return what each printed, by the probe's name.

    Raises: Unreachable, also where the bot's own key or known_hosts is gone: nothing was sent then.
    """
    runs: dict[str, list[Completed]] = {}
    try:
        async with aclosing(transport.read(node, Batch.of(asked, Sampling(1)), deadline, host_key)) as arriving:
            async for run in arriving:
                runs.setdefault(run.probe, []).append(run)
    except MissingFile as no:
        raise LoginRefused(no.sentence, no.try_next) from no
    return runs


def identity(node: Node, outputs: Outputs) -> tuple[str, str]:
    """Return which boot answered, and which machine.

    Raises: CannotRead when it does not say.
    """
    files = _sections(outputs.text("identity"))
    boot_id, machine_id = files.get(BOOT_ID, "").lower(), files.get(MACHINE_ID, "").lower()
    if not boot_id or not machine_id:
        raise CannotRead(f"{node.name} does not say which machine and which boot it is.")
    return boot_id, machine_id


def uptime(outputs: Outputs) -> float | None:
    """Return the node's uptime in seconds when it identified itself; None where it was not read."""
    run = outputs.get("identity")
    return run.started_at_uptime if run is not None else None


def right_questions(rights: Sequence[tuple[str, ...]]) -> tuple[Command, ...]:
    """Return the questions whether these argument lists may be run as root; none of them is run."""
    return tuple(Command("may", ("sudo", "-n", "-l", *argv), output_limit_bytes=4096) for argv in rights)


def missing_rights_of(
    node: Node, rights: Sequence[tuple[str, ...]], answers: Sequence[Outputs]
) -> tuple[tuple[str, ...], ...]:
    """Return the argument lists that may not be run, from the answers.

    Raises: CannotRead when an answer is missing.
    """
    missing = []
    for argv, outputs in zip(rights, answers, strict=True):
        ended = outputs.get("may")
        if ended is None or ended.exit_status in (None, 124, 137):
            raise CannotRead(f"{node.name} does not say what its login may run as root.")
        if ended.exit_status != 0:
            missing.append(argv)
    return tuple(missing)


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
