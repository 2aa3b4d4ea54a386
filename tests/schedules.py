"""A world in one process in which everything that can go wrong does, by a seed: no thread, no socket, no real time.

Coroutines are driven by hand. Each stops at every boundary (around a ledger's verb, around a node's command, in each
sleep), and there the schedule decides: go on with another, kill it as SIGKILL would, freeze it, step the clock.
"""

from __future__ import annotations

import contextlib
import functools
import random
import re
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.actions import ACTIONS
from bot.domain.alert import BOT, Alert, SourceKind
from bot.domain.approval import Approval
from bot.domain.batch import Batch
from bot.domain.claim import Claim, Hold
from bot.domain.command import Completed
from bot.domain.entry import Entry, Head
from bot.domain.errors import ConnectionLost, ConnectionRefused, HostKeyRejected, LedgerUnavailable, Refused
from bot.domain.event_form import Event
from bot.domain.events import AlertReceived, PlanProposed, StepStarted, Triaged
from bot.domain.incident import IncidentSummary
from bot.domain.node import Node
from bot.domain.plan import Plan, Step
from bot.domain.playbook import Playbook
from bot.domain.verdict import Confidence, Evidence, Status, Verdict
from bot.ledger import Ledger
from bot.response.binding import binds
from bot.response.casebook import Casebook
from bot.response.policy import Policy
from bot.response.reach import Reach, Seen
from bot.response.remediation import Remediation
from bot.response.responder import Responder
from bot.response.stepping import Stepping

BEGAN_AT = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
PLAYBOOK = Playbook("node-health", "Health", 1, (), (), ())
FENCE = re.compile(r'test "\$\(cat /proc/sys/kernel/random/boot_id\)" = (\S+) && exec sudo -n systemctl reboot')
ENDINGS = ("cured", "cured", "swallowed", "enabled-again", "gone", "other-key", "other-machine", "rebooted-by-others")
SETTLED = ("resolved", "expired", "cancelled", "escalated", "declined")


class Pause:
    """Where a coroutine stands still until the schedule lets it go on, not before `until`."""

    def __init__(self, until: datetime | None = None) -> None:
        self.until = until

    def __await__(self) -> Generator[Pause, None, None]:
        yield self


class Killed(BaseException):
    """As SIGKILL: nothing of a coroutine runs on, for nothing in it expects this."""


@dataclass
class Task:
    """One coroutine of the world; `make` begins it anew after a death."""

    name: str
    make: Callable[[], Coroutine[Any, Any, None]]
    running: Coroutine[Any, Any, None]
    wakes_at: datetime
    deaths: int = 0


class World:
    """Time, chance and the coroutines that live in it."""

    def __init__(self, seed: int, deadly: float = 0.02) -> None:
        self.random = random.Random(seed)
        self.now = BEGAN_AT
        self.skew = timedelta(0)  # of the bot's clock; the database's is right
        self.deadly = deadly
        self.tasks: list[Task] = []
        self.due: list[tuple[datetime, Callable[[], None]]] = []
        self.turns = 0

    def clock(self) -> datetime:
        return self.now + self.skew

    async def sleep(self, seconds: float) -> None:
        await Pause(self.now + timedelta(seconds=seconds))

    async def boundary(self) -> None:
        await Pause()

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def start(self, name: str, make: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.tasks.append(Task(name, make, make(), self.now))

    def run(self, most: int = 20_000) -> None:
        """Drive everything to its end."""
        while self.tasks:
            self.turns += 1
            assert self.turns < most, "it never ends: " + ", ".join(task.name for task in self.tasks)
            ready = [task for task in self.tasks if task.wakes_at <= self.now]
            if not ready:
                self._to(min(task.wakes_at for task in self.tasks))
                continue
            self._turn(self.random.choice(ready))
            self.now += timedelta(milliseconds=self.random.choice((1, 3, 20)))
        for _, happen in self.due:
            happen()

    def _turn(self, task: Task) -> None:
        if self.chance(self.deadly):
            fate = self.random.choice(("kill", "freeze", "clock"))
            if fate == "kill" and task.deaths < 4:
                with contextlib.suppress(Killed):
                    task.running.throw(Killed())
                task.deaths += 1
                task.running, task.wakes_at = task.make(), self.now + timedelta(seconds=self.random.choice((0, 3, 30)))
                return
            if fate == "freeze":
                task.wakes_at = self.now + timedelta(seconds=self.random.choice((1, 20, 60)))
                return
            self.skew = timedelta(seconds=self.random.choice((-7200, -60, 0, 0, 60, 100)))
        try:
            paused = task.running.send(None)
        except StopIteration:
            self.tasks.remove(task)
            return
        task.wakes_at = paused.until or self.now

    def _to(self, moment: datetime) -> None:
        for at, happen in sorted(self.due, key=lambda one: one[0]):
            if at <= moment:
                self.now = max(self.now, at)
                happen()
        self.due = [one for one in self.due if one[0] > moment]
        self.now = max(self.now, moment)


@dataclass
class CountingNode:
    """A node that counts what is done to it."""

    world: World
    name: str
    ending: str
    boot: int = 0
    enabled: bool = True
    active: bool = True
    down_until: datetime = BEGAN_AT
    reboots: Counter[str] = field(default_factory=Counter)  # by the boot that they ended
    asked: int = 0  # reboot commands that came through their fence
    done_as_stranger: int = 0  # changes after it became another machine

    @property
    def boot_id(self) -> str:
        return f"{self.boot:08x}-0000-4000-8000-{sum(map(ord, self.name)):012x}"

    @property
    def is_stranger(self) -> bool:
        return self.boot > 0 and self.ending in ("other-key", "other-machine")

    @property
    def is_up(self) -> bool:
        return self.world.now >= self.down_until

    def answer(self, argv: tuple[str, ...]) -> tuple[str, int]:
        """Do what a command line says, now."""
        if argv[0] == "tail":
            machine = "m" * 31 + ("2" if self.is_stranger and self.ending == "other-machine" else "1")
            return f"==> {argv[4]} <==\n{self.boot_id}\n\n==> {argv[5]} <==\n{machine}\n", 0
        if argv[0] == "cat":
            return f"{self.boot_id}\n", 0
        if argv[:2] == ("systemctl", "show"):
            active = ("activating", "auto-restart") if self.active else ("inactive", "dead")
            file = "enabled" if self.enabled else "disabled"
            told = f"Id=ecs.service\nLoadState=loaded\nActiveState={active[0]}\nSubState={active[1]}\n"
            return told + f"UnitFileState={file}\nNRestarts=0\nRestartUSec=10s\n", 0
        if argv[:3] == ("sudo", "-n", "-l"):
            return "/usr/bin/" + " ".join(argv[3:]), 0
        assert argv[:2] == ("sh", "-c"), argv
        if argv[2] == "sudo -n systemctl disable --now -- ecs.service":
            self.done_as_stranger += self.is_stranger
            self.enabled = self.active = False
            return "", 0
        fence = FENCE.fullmatch(argv[2])
        assert fence is not None, argv
        if fence.group(1) != self.boot_id:
            return "", 1
        self.asked += 1
        self.done_as_stranger += self.is_stranger
        if self.ending != "swallowed":
            self.reboot()
        return "", 0

    def late(self, argv: tuple[str, ...], boot: int) -> None:
        """A command runs that nobody waits for any more; what was on its way ends with its boot."""
        if self.is_up and self.boot == boot:
            self.answer(argv)

    def reboot(self, by_us: bool = True) -> None:
        if not self.is_up:
            return  # it is on its way down already
        if by_us:
            self.reboots[self.boot_id] += 1
        self.boot += 1
        away = 10**6 if self.ending == "gone" else self.world.random.choice((3, 12, 45))
        self.down_until = self.world.now + timedelta(seconds=away)
        self.active = self.enabled = self.enabled or self.ending == "enabled-again"


class Wire:
    """The way to the nodes, which breaks; a transport with host keys."""

    def __init__(self, world: World, nodes: dict[str, CountingNode], breaks: float) -> None:
        self.world, self.nodes, self.breaks = world, nodes, breaks

    def host_key(self, node: Node) -> str:
        return "SHA256:as-ever"

    async def read(self, node: Node, batch: Batch, deadline: timedelta) -> AsyncGenerator[Completed, None]:
        there = self.nodes[node.name]
        await self.world.boundary()
        if not there.is_up:
            raise ConnectionRefused(f"{node.name} refused the connection.")
        if there.is_stranger and there.ending == "other-key":
            raise HostKeyRejected(f"The host key of {node.name} is not the one on file.")
        for question in batch.questions:
            argv = question.command.argv
            acts = argv[0] == "sh"
            if self.world.chance(self.breaks):
                if acts and self.world.chance(0.5):  # it arrives all the same, and maybe much later
                    at = self.world.now + timedelta(seconds=self.world.random.choice((0, 5, 90, 600)))
                    self.world.due.append((at, functools.partial(there.late, argv, there.boot)))
                raise ConnectionLost(f"The connection to {node.name} broke.")
            stdout, status = there.answer(argv)
            if acts:
                await self.world.sleep(self.world.random.choice((0.0, 0.2, 4.0)))
                if not there.is_up:
                    raise ConnectionLost(f"The connection to {node.name} broke.")
            yield Completed(question.probe, question.command.name, 0, stdout, "", status)


class Recorder:
    """A ledger whose verbs may fail before or after they are through, and between which anybody may die."""

    def __init__(self, world: World, ledger: Ledger, fails: float) -> None:
        self.world, self.ledger, self.fails = world, ledger, fails

    async def _do(self, verb: Callable[..., Any], *args: Any) -> Any:
        await self.world.boundary()
        if self.world.chance(self.fails):
            raise LedgerUnavailable("The database is locked.")
        done = verb(*args)
        await self.world.boundary()
        if self.world.chance(self.fails):
            raise LedgerUnavailable("The connection to the database broke.")
        return done

    async def append(self, stream: str, expected_seq: int | None, event: Event, by: str) -> Entry:
        return await self._do(self.ledger.append, stream, expected_seq, event, by)  # type: ignore[no-any-return]

    async def begin(self, stream: str, expected_seq: int, event: StepStarted, by: str, claim: Claim) -> Entry:
        return await self._do(self.ledger.begin, stream, expected_seq, event, by, claim)  # type: ignore[no-any-return]

    async def read(self, stream: str) -> tuple[Entry, ...]:
        return await self._do(self.ledger.read, stream)  # type: ignore[no-any-return]

    async def head(self, stream: str) -> Head:
        return await self._do(self.ledger.head, stream)  # type: ignore[no-any-return]

    async def open_streams(self) -> tuple[str, ...]:
        return await self._do(self.ledger.open_streams)  # type: ignore[no-any-return]

    async def incidents(self, only_open: bool = False) -> tuple[IncidentSummary, ...]:
        return await self._do(self.ledger.incidents, only_open)  # type: ignore[no-any-return]

    async def hold(self, node: str) -> Hold | None:
        return await self._do(self.ledger.hold, node)  # type: ignore[no-any-return]

    async def beat(self, incident: str, runner: str) -> None:
        await self._do(self.ledger.beat, incident, runner)

    async def braked(self) -> Entry | None:
        return await self._do(self.ledger.braked)  # type: ignore[no-any-return]

    async def tried(self, remedy: str, within: timedelta) -> str | None:
        return await self._do(self.ledger.tried, remedy, within)  # type: ignore[no-any-return]


@dataclass
class Stage:
    """Nodes, their incidents, and everything that acts on them, in one world."""

    world: World
    ledger: Ledger
    policy: Policy
    nodes: dict[str, CountingNode]
    wire: Wire
    recorder: Recorder
    refusals: Counter[str] = field(default_factory=Counter)
    runners: int = 0

    @classmethod
    def set(cls, world: World, ledger: Ledger, endings: dict[str, str], policy: Policy, breaks: float = 0.02) -> Stage:
        nodes = {name: CountingNode(world, name, ending) for name, ending in endings.items()}
        return cls(world, ledger, policy, nodes, Wire(world, nodes, breaks), Recorder(world, ledger, breaks))

    @staticmethod
    def find(name: str) -> Node:
        return Node(name, "10.0.0.7", 22)

    def plan(self, name: str, boot_id: str) -> Plan:
        steps = (
            Step("disable_unit", {"unit": "ecs.service"}, ("sudo -n systemctl disable --now -- ecs.service",)),
            Step(
                "reboot",
                {},
                (f'test "$(cat /proc/sys/kernel/random/boot_id)" = {boot_id} && exec sudo -n systemctl reboot',),
            ),
        )
        return Plan(name, steps, "Take the agent out of the image.")

    def verdict(self, name: str) -> Verdict:
        node = self.nodes[name]
        if node.boot > 0 and not node.active:
            return Verdict(name, Status.HEALTHY, None, None, "Healthy")
        plan = self.plan(name, node.boot_id)
        said = Evidence("dying", "cgroups", "68,700 dying", ("memory 4 68700 1",))
        return Verdict(
            name, Status.CRITICAL, "leaked-memory-cgroups", Confidence.CONFIRMED, "ecs.service leaks", (said,),
            suspects=("ecs.service",) if node.active else (), remedy=plan.steps, plan=plan if node.active else None,
        )  # fmt: skip

    async def diagnose(self, node: Node, playbook: str) -> Verdict:
        await self.world.boundary()
        if not self.nodes[node.name].is_up:
            return Verdict(node.name, Status.UNREACHABLE, None, None, "refused")
        return self.verdict(node.name)

    def propose(self, incident: str, name: str) -> None:
        """Put an incident on record, up to its proposal."""
        node, verdict = self.nodes[name], self.verdict(name)
        assert verdict.plan is not None
        seen = Seen(node.boot_id, "m" * 31 + "1", "SHA256:as-ever")
        alert = Alert(SourceKind.TERMINAL, "group", "terminal:asker")
        self.ledger.append(incident, 0, AlertReceived(alert, name, "group", PLAYBOOK.name), "terminal:asker")
        self.ledger.append(incident, 1, Triaged(verdict, PLAYBOOK.name, 1), BOT)
        bound = binds(verdict, self.find(name), seen, PLAYBOOK, self.policy)
        self.ledger.append(incident, 2, PlanProposed.of(verdict.plan, bound), BOT)

    @property
    def book(self) -> Casebook:
        return Casebook(self.recorder, lambda: "never-drawn")

    def responder(self) -> Responder:
        reach = Reach(self.wire, ACTIONS)
        return Responder(self.policy, self.book, self.recorder, reach, self.find, self.diagnose, self.world.clock)

    def remediation(self) -> Remediation:
        self.runners += 1
        world, reach = self.world, Reach(self.wire, ACTIONS)
        stepping = Stepping(
            self.policy, self.recorder, reach, self.find, world.clock, world.sleep, f"runner-{self.runners}"
        )
        return Remediation(self.book, stepping, self.find, self.diagnose)

    def decided_by(self, incident: str, name: str) -> None:
        """Let a person approve it; a locked database is tried again, a refusal is not."""

        async def decide() -> None:
            for _ in range(5):
                try:
                    await self.responder().decide(incident, Approval(f"terminal:{name}", "it is sick"))
                except Refused as no:
                    self.refusals[no.name] += 1
                except LedgerUnavailable:
                    await self.world.sleep(1)
                    continue
                return

        self.world.start(f"{name} approves {incident}", decide)

    def run_by(self, incident: str, name: str) -> None:
        """Let a runner carry it to its end, through every death."""

        async def run() -> None:
            remediation = self.remediation()
            while True:
                try:
                    again = await remediation.advance(incident)
                except LedgerUnavailable:
                    await self.world.sleep(1)
                    continue
                if again is None:
                    return
                await self.world.sleep(max(0.01, again.after.total_seconds()))

        self.world.start(f"{name} runs {incident}", run)


POLICY = Policy(
    acting=True,
    terminal_approvers={"ann": "", "bob": ""},
    approval_expires=timedelta(minutes=4),
    units=frozenset(("ecs.service",)),
    validation=timedelta(seconds=2),
    reboot_deadline=timedelta(seconds=60),
)
