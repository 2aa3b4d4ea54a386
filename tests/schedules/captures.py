"""Rolling captures in a scheduled world: programs that die, commands that come late, nodes that reboot or go away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from bot.domain.command import Completed, Outputs
from bot.domain.errors import ConnectionLost, ConnectionRefused, HostKeyRejected, StateChanged, UnknownNode, ZombieError
from bot.domain.house_events import HOUSE, BrakePulled, BrakeReleased
from bot.domain.node import Node
from bot.extras.captures.capture_control import RollingControl
from bot.extras.captures.capture_fold import RollingCapture, captures_of
from bot.extras.captures.capture_watch import RollingWatch
from bot.extras.captures.recorder_commands import HERE, RollingRequest
from bot.extras.captures.ring_access import MachineIdentity
from bot.extras.captures.ring_status import RollingStatus, parse_status
from bot.extras.captures.settings import CaptureSettings
from bot.extras.captures.store import CaptureStore
from bot.ledger import Database, Ledger
from tests.schedules.recorder import Recorder
from tests.schedules.world import BEGAN_AT, World

AT_ONCE = 2
LASTS = timedelta(hours=1)
LATE = (0.0, 0.0, 2.0, 9.0, 14.0, 40.0)  # seconds after which a command arrives that nobody heard of
EVERY = (45, 60, 600)  # seconds between two looks


@dataclass
class Run:
    """A recorder that ran on a node: `of` is the uptime in the fence of the command that started it."""

    of: float
    began: datetime
    until: datetime

    def runs(self, now: datetime) -> bool:
        return self.began <= now < self.until


def printed(name: str, lines: list[str]) -> Completed:
    return Completed(name, name, 0, "".join(f"{line}\n" for line in lines), "", 0)


@dataclass
class RecordingNode:
    """A machine with one unit for a recorder, and one folder for its ring."""

    world: World
    machine_id: str
    boot: int = 0
    up_since: datetime = BEGAN_AT - timedelta(days=11)
    away: bool = False
    is_mute: bool = False
    mute: float = 0.0  # how often its systemd says nothing
    runs: list[Run] = field(default_factory=list)
    robbed: int = 0  # rings that were removed while a recorder wrote into them
    key: str = "key"
    asked: int = 0  # commands that came through their fence

    @property
    def uptime(self) -> float:
        return (self.world.now - self.up_since).total_seconds()

    @property
    def run(self) -> Run | None:
        return next((run for run in self.runs if run.runs(self.world.now)), None)

    def identity(self) -> MachineIdentity:
        return MachineIdentity(f"boot-{self.boot}", self.machine_id, self.key, self.uptime)

    def status(self) -> RollingStatus:
        """What the commands of a look print, read; `systemctl` is there and answers nothing while its bus is away."""
        run = self.run
        since = round((run.began - self.up_since).total_seconds() * 1e6) if run is not None else 0
        unit = ["systemctl=there", "version=systemd 252 (252.39)"]
        if not (self.is_mute or self.world.chance(self.mute)):
            state = "active" if run is not None else "inactive"
            unit += [f"ActiveState={state}", f"ExecMainStartTimestampMonotonic={since}", "Result=success"]
        node = ["perf=perf version 6.1", "ring=1", f"room={10**8}", "list=whole"]
        return parse_status(Outputs(*(printed(*each) for each in (("unit", [*unit, "spent=0"]), ("node", node)))))

    def does(self, whom: MachineIdentity, line: str) -> int | None:
        """Do what a command says; return its exit status, None where its fence stops it."""
        fence = whom.fence
        here = (f"boot-{self.boot}", self.machine_id)
        if (fence.boot_id, fence.machine_id) != here or self.uptime >= fence.until:
            return None
        self.asked += 1
        if "case $($p show -p ActiveState" in line and self.run is not None:
            return 1
        if " -rf " in line:
            self.robbed += self.run is not None
        if "systemd-run" in line:
            if self.run is not None:
                return 1
            self.runs.append(Run(whom.uptime, self.world.now, self.world.now + LASTS))
        elif " stop " in line:
            self.end()
        return 0

    def late(self, whom: MachineIdentity, line: str) -> None:
        """A command arrives that nobody waits for any more."""
        if not self.away:
            self.does(whom, line)

    def end(self) -> None:
        if (run := self.run) is not None:
            run.until = self.world.now

    def reboot(self) -> None:
        self.end()
        self.boot += 1
        self.up_since = self.world.now

    def leave(self) -> None:
        self.away = True


@dataclass
class Access:
    """The way to the nodes, which breaks before, in and after a command; now and then it leads to another machine."""

    world: World
    nodes: dict[str, RecordingNode]
    breaks: float
    strays: float = 0.0
    strangers: list[RecordingNode] = field(default_factory=list)
    strayed: dict[str, tuple[RecordingNode, datetime]] = field(default_factory=dict)  # until when a name leads there
    places = HERE

    async def look(self, node: Node) -> tuple[MachineIdentity, RollingStatus]:
        await self.world.sleep(self.world.random.choice((0.1, 1.0)))
        there = self._there(node)
        return there.identity(), there.status()

    async def run(self, node: Node, whom: MachineIdentity, line: str) -> Completed:
        await self.world.boundary()
        there = self._there(node)
        if there.key != whom.host_key:
            raise HostKeyRejected(f"{node.name} shows another host key.")
        if self.world.chance(self.breaks):
            at = self.world.now + timedelta(seconds=self.world.random.choice(LATE))
            self.world.due.append((at, partial(there.late, whom, line)))
            raise ConnectionLost(f"The connection to {node.name} broke.")
        status = there.does(whom, line)
        await self.world.boundary()
        if self.world.chance(self.breaks):
            raise ConnectionLost(f"The connection to {node.name} broke.")
        if status is None:
            raise StateChanged(f"{node.name} is not as it was a moment ago: nothing was run.")
        return Completed("run", "run", 0, "", "a recorder may run there already" if status else "", status)

    def _there(self, node: Node) -> RecordingNode:
        there = self.nodes[node.name]
        if there.away or self.world.chance(self.breaks / 4):
            raise ConnectionRefused(f"{node.name} refused the connection.")
        stranger, until = self.strayed.get(node.name, (there, self.world.now))
        if self.world.now < until:
            return stranger
        if self.strays and self.world.chance(self.strays):
            there = self._stranger(there)
            lasts = timedelta(seconds=self.world.random.choice((0, 5, 100)))
            self.strayed[node.name] = there, self.world.now + lasts
        return there

    def _stranger(self, there: RecordingNode) -> RecordingNode:
        """Return a machine of another id, or a copy of this one: its id, a key of its own, and another boot."""
        key, machine_id = self.world.random.choice((("key", "other"), ("other", "other"), ("other", there.machine_id)))
        self.strangers.append(RecordingNode(self.world, machine_id, 99, there.up_since, key=key))
        return self.strangers[-1]


@dataclass
class PlayedCaptures:
    """A schedule that is over, and everything that must hold of it."""

    seed: int
    ledger: Ledger
    store: CaptureStore
    before: int
    nodes: list[RecordingNode]
    captures: dict[str, RollingCapture]
    strangers: list[RecordingNode]

    def faults(self) -> Iterator[str]:
        """Yield what must not have happened."""
        for fault in (*self._on_record(), *self._on_nodes()):
            yield f"seed {self.seed}: {fault}"

    def _on_record(self) -> Iterator[str]:
        braked, seen = False, Counter[tuple[str, str]]()
        for entry in self.ledger.read.now(HOUSE):
            if entry.kind in (BrakePulled.__name__, BrakeReleased.__name__):
                braked = entry.kind == BrakePulled.__name__
            elif entry.seq > self.before and "capture" in entry.body:
                seen[entry.kind, entry.body["capture"]] += 1
                if braked and entry.kind in ("CaptureAsked", "CaptureStarting"):
                    yield f"{entry.kind} of {entry.body['capture']} while the brake was on"
        yield from (f"{times} entries {kind} of {name}" for (kind, name), times in seen.items() if times > 1)
        yield from (f"{name} on {each.node} has no end" for name, each in self.captures.items() if not each.is_over)

    def _on_nodes(self) -> Iterator[str]:
        owned = {(each.started.machine_id, each.started.host_key) for each in self.captures.values() if each.started}
        if any(each.asked and (each.machine_id, each.key) not in owned for each in self.strangers):
            yield "a command was run on another machine"
        for node in self.nodes:
            if node.robbed:
                yield "a ring was removed while a recorder wrote into it"
            for run in node.runs:
                owner = self._owner(node, run)
                if owner is None:
                    yield "a recorder runs that is not on record"
                elif owner.ended_at is None or owner.ended_at < run.until - timedelta(seconds=1):
                    yield f"the recorder of {owner.id} ran on after {owner.id} was over ({owner.ended})"
        moments = [run.began for node in self.nodes for run in node.runs]
        for now in moments:
            most = sum(run.runs(now) for node in self.nodes for run in node.runs)
            if most > AT_ONCE:
                yield f"{most} recorders ran at once"

    def _owner(self, node: RecordingNode, run: Run) -> Any:
        for each in self.captures.values():
            if each.started is not None and (each.started.machine_id, each.started.uptime) == (node.machine_id, run.of):
                ended = [entry for entry in self.store.entries.now() if entry.kind == "CaptureEnded"]
                at = next((entry.at for entry in ended if entry.body["capture"] == each.id), None)
                return Owner(each.id, each.ended.because if each.ended else "", at)
        return None


@dataclass
class Owner:
    """The capture that a recorder belongs to."""

    id: str
    ended: str
    ended_at: datetime | None


def played_captures(database: Database, seed: int) -> PlayedCaptures:
    """Some captures of three names of two or three machines, two programs that look, people who stop, and a brake."""
    world = World(seed, deadly=0.015)
    ledger, store = Ledger(database, lambda: world.now), CaptureStore(database, lambda: world.now)
    before = ledger.head.now(HOUSE).seq
    entries = store.entries.now()  # of earlier schedules in this record, whose times never go back
    world.now = world.began_at = max([BEGAN_AT, *(entry.at + timedelta(days=1) for entry in entries[-1:])])
    mute, up_since = world.random.choice((0.0, 0.0, 0.05)), world.now - timedelta(days=11)
    machines = [RecordingNode(world, f"{seed}-{number}", up_since=up_since, mute=mute) for number in range(3)]
    nodes = {"n0": machines[0], "n1": machines[1], "n2": machines[world.random.choice((0, 2))]}
    way = Access(world, nodes, world.random.choice((0.0, 0.05, 0.3)), world.random.choice((0.0, 0.0, 0.1)))
    access: Any = way
    known = Known(world, nodes, since=world.now)
    names = iter(f"{seed:08d}{number:02d}" for number in range(100))
    if world.chance(0.3):
        gone = world.random.choice(machines)
        at = world.now + timedelta(seconds=world.random.choice((2, 30, 4000)))
        world.due.append((at, world.random.choice((gone.leave, gone.reboot))))
        if world.chance(0.5):
            known.without, known.since = world.random.choice(("n0", "n1")), at

    def watch(most: int = AT_ONCE) -> RollingWatch:
        recorder: Any = Recorder(world, store, 0.01)
        limits = CaptureSettings(at_once=most, most_hours=24, a_day=100)
        return RollingWatch(RollingControl(access, recorder, limits, world.clock, lambda: next(names)))

    deaths = iter(range(1, 1000))

    async def asks(name: str, life: list[int]) -> None:
        life.append(next(deaths))
        if len(life) > 1:
            return  # a person does not ask again
        await world.sleep(world.random.choice((0, 0, 0.2, 5, 3000)))
        with suppress(ZombieError):
            await watch().control.ask(known.find(name), RollingRequest(1), f"terminal:{name}")

    async def stops() -> None:
        await world.sleep(world.random.choice((0.5, 3, 20, 900)))
        with suppress(ZombieError):
            over = watch()
            for rolling in list((await over.control.all()).values()):
                if rolling.id.startswith(f"{seed:08d}") and world.chance(0.7):
                    await over.stopped(known, rolling, "terminal:bob")

    async def looks() -> None:
        while True:
            with suppress(ZombieError):
                over, asked = watch(), all(task.name == "looks" for task in world.tasks)
                mine = {name: each for name, each in (await over.control.all()).items() if name[:8] == f"{seed:08d}"}
                for rolling in mine.values():
                    with suppress(ZombieError):
                        if not rolling.is_over:
                            await over.look_or_give_up(known, rolling)
                if asked and all(each.is_over for each in mine.values()):
                    return
                if world.now > world.began_at + timedelta(days=3):
                    return
            is_long = world.now > world.began_at + timedelta(hours=3)
            await world.sleep(7200 if is_long else world.random.choice(EVERY))

    async def brakes() -> None:
        await world.sleep(world.random.choice((0.0, 0.5, 1.5)))
        ledger.append.now(HOUSE, None, BrakePulled("stop", f"{seed}"), "terminal:ann")
        await world.sleep(world.random.choice((2, 30)))
        ledger.append.now(HOUSE, None, BrakeReleased("go"), "terminal:ann")

    for name in world.random.choice((("n0", "n0"), ("n0", "n1", "n2"), ("n0", "n2", "n0"))):
        world.start(f"asks {name}", partial(asks, name, []))
    if world.chance(0.5):
        world.start("stops", stops)
    if world.chance(0.3):
        world.start("brakes", once(brakes))
    for _ in range(2):
        world.start("looks", looks)
    world.run(200_000)
    ours = {name: each for name, each in captures_of(store.entries.now()).items() if name.startswith(f"{seed:08d}")}
    return PlayedCaptures(seed, ledger, store, before, machines, ours, way.strangers)


def once(brakes: Any) -> Any:
    """The brake is moved by hand, which does not die; a second life does nothing."""
    lives: list[Any] = []

    async def nothing() -> None:
        return

    def make() -> Any:
        lives.append(None)
        return brakes() if len(lives) == 1 else nothing()

    return make


@dataclass
class Known:
    """The inventory, from which a name may be taken."""

    world: World
    nodes: dict[str, RecordingNode]
    without: str = ""
    since: datetime = BEGAN_AT

    def find(self, name: str, /) -> Node:
        if name == self.without and self.world.now >= self.since:
            raise UnknownNode(f"There is no node {name}.")
        return Node(name, f"{name}.example")
