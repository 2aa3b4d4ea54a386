"""A node, a wire and a ledger of a scheduled world: each may fail at every boundary, and the node counts."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from bot.domain.action import Plan
from bot.domain.batch import Batch
from bot.domain.claim import Claim, Hold
from bot.domain.command import Completed
from bot.domain.entry import Entry, Event, Head
from bot.domain.errors import ConnectionLost, ConnectionRefused, HostKeyRejected, LedgerUnavailable
from bot.domain.events import IncidentEvent, StepStarted
from bot.domain.fence import BOOT_ID, MACHINE_ID, UPTIME, fenced, said
from bot.domain.house_events import NodeReleased, WishRefused
from bot.domain.incident import Changes, Incident, IncidentSummary
from bot.domain.node import Node
from bot.ledger import Ledger
from tests.schedules.world import BEGAN_AT, World

BOOT_FENCE = re.compile(r'test "\$\(cat /proc/sys/kernel/random/boot_id\)" = (\S+) && exec sudo -n systemctl reboot')
KEY = "SHA256:as-ever"
LONG_AGO = timedelta(seconds=60)  # no command of ours may still begin so long after it was sent


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
    up_since: datetime = BEGAN_AT - timedelta(days=11)
    copied_id: str = ""  # the machine-id of another, which it shows
    reboots: Counter[str] = field(default_factory=Counter)  # by the boot that they ended
    asked: int = 0  # reboot commands that came through their fence
    stopped: int = 0  # times that a unit which was on was switched off
    may: bool = True  # its login has the rights
    names: str = "ecs.service"  # what its unit is called
    required_by: str = ""  # what stops with its unit
    done_as_stranger: int = 0  # changes after it became another machine
    done_late: int = 0  # changes by a command that was sent into another boot, or long ago

    @property
    def machine_id(self) -> str:
        is_another = self.is_stranger and self.ending == "other-machine"
        return self.copied_id or f"{self.name.encode().hex():0>31}"[-31:] + ("2" if is_another else "1")

    @property
    def boot_id(self) -> str:
        return f"{self.boot:08x}-0000-4000-8000-{sum(map(ord, self.name)):012x}"

    @property
    def is_stranger(self) -> bool:
        return self.boot > 0 and self.ending in ("other-key", "other-machine")

    @property
    def is_up(self) -> bool:
        return self.world.now >= self.down_until

    @property
    def uptime(self) -> float:
        return (self.world.now - self.up_since).total_seconds()

    @property
    def files(self) -> dict[str, str]:
        """What it says of itself."""
        return {BOOT_ID: self.boot_id, MACHINE_ID: self.machine_id, UPTIME: f"{self.uptime:.2f} 0.00"}

    def answer(self, argv: tuple[str, ...]) -> tuple[str, str, int]:
        """Do what a command line says, now; return what it prints, its errors and its exit status."""
        if argv[0] == "tail":
            return "\n".join(f"==> {path} <==\n{self.files[path]}\n" for path in argv[4:6]), "", 0
        if argv[0] == "cat":
            return f"{self.boot_id}\n", "", 0
        if argv[:2] == ("systemctl", "show"):
            active = ("activating", "auto-restart") if self.active else ("inactive", "dead")
            file = "enabled" if self.enabled else "disabled"
            told = (
                f"Id=ecs.service\nNames={self.names}\nLoadState=loaded\nActiveState={active[0]}\nSubState={active[1]}\n"
            )
            return told + f"UnitFileState={file}\nNRestarts=0\nRestartUSec=10s\n", "", 0
        if argv[:3] == ("sudo", "-n", "-l"):
            return ("/usr/bin/" + " ".join(argv[3:]), "", 0) if self.may else ("", "", 1)
        assert argv[:2] == ("sh", "-c"), argv
        if argv[3:] == ("sh", "ecs.service"):  # what else stops with it
            own = f"Id=ecs.service\nNames={self.names}\nRequiredBy={self.required_by}\n"
            others = "".join(f"\nId={name}\nNames={name}\n" for name in self.required_by.split())
            return f"{own}{others}\n-- all told --\n", "", 0
        line = argv[2]
        if (found := fenced(line)) is not None:
            fence, line = found
            if (why := fence.bars(self.files)) is not None:
                return "", said(why), why.value
        return "", "", self.change(line)

    def change(self, line: str) -> int:
        """Do what came through its fence, or had none."""
        self.done_as_stranger += self.is_stranger
        if line == "sudo -n systemctl disable --now -- ecs.service":
            self.stopped += self.enabled or self.active
            self.enabled = self.active = False
        elif back := re.fullmatch(r"sudo -n systemctl (enable|start) -- ecs\.service", line):
            self.enabled |= back.group(1) == "enable"
            self.active |= back.group(1) == "start"
        else:
            found = BOOT_FENCE.fullmatch(line)
            assert found is not None, line
            if found.group(1) != self.boot_id:
                return 1
            self.asked += 1
            if self.ending != "swallowed":
                self.reboot()
        return 0

    def late(self, argv: tuple[str, ...], boot: int, sent_at: datetime) -> None:
        """A command runs that nobody waits for any more, maybe in another boot than it was sent into."""
        if self.is_up:
            is_late = self.boot != boot or self.world.now - sent_at > LONG_AGO
            _, _, status = self.answer(argv)
            self.done_late += is_late and status == 0

    def reboot(self, by_us: bool = True) -> None:
        if not self.is_up:
            return  # it is on its way down already
        if by_us:
            self.reboots[self.boot_id] += 1
        self.boot += 1
        away = 10**6 if self.ending == "gone" else self.world.random.choice((3, 12, 25))
        self.down_until = self.world.now + timedelta(seconds=away)
        self.up_since = self.down_until - timedelta(seconds=10)
        self.active = self.enabled = self.enabled or self.ending == "enabled-again"


class Wire:
    """The way to the nodes, which breaks, and on which now and then another machine answers; a transport with keys."""

    def __init__(self, world: World, nodes: dict[str, CountingNode], breaks: float, strays: float = 0.0) -> None:
        self.world, self.nodes, self.breaks, self.strays = world, nodes, breaks, strays
        self.strangers: list[CountingNode] = []
        self._shown: dict[str, str] = {}

    def host_key(self, node: Node) -> str:
        return self._shown.get(node.name, KEY)

    def lands(self, node: Node, acts: bool) -> tuple[CountingNode, str]:
        """Return the machine that a connection reaches, and the host key that it shows; all of them are trusted."""
        there = self.nodes[node.name]
        if not self.world.chance(self.strays * (5 if acts else 1)):  # few connections act, and many look
            return there, KEY
        # What has the same key and machine-id is a copy: only its boot tells, and only who acts asks for that.
        kinds = (("SHA256:other", "s" * 32), (KEY, "s" * 32), (KEY, there.machine_id))
        key, machine_id = self.world.random.choice(kinds[: 2 + acts])
        stranger = CountingNode(self.world, f"{node.name}x", "cured", copied_id=machine_id, up_since=there.up_since)
        self.strangers.append(stranger)
        return stranger, key

    async def read(
        self, node: Node, batch: Batch, deadline: timedelta, host_key: str | None = None
    ) -> AsyncGenerator[Completed, None]:
        acts = any(question.command.argv[0] == "sh" and len(question.command.argv) == 3 for question in batch.questions)
        there, shown = self.lands(node, acts)
        await self.world.boundary()
        if not there.is_up:
            raise ConnectionRefused(f"{node.name} refused the connection.")
        if there.is_stranger and there.ending == "other-key":
            raise HostKeyRejected(f"The host key of {node.name} is not the one on file.")
        self._shown[node.name] = shown
        if host_key is not None and host_key != shown:
            raise HostKeyRejected(f"{node.name} shows another host key than the approved one.")
        for question in batch.questions:
            argv = question.command.argv
            if len(argv) > 3 and argv[0] == "sh":  # asked together with the identity, and broken off together with it
                stdout, stderr, status = there.answer(argv)
                yield Completed(question.probe, question.command.name, 0, stdout, stderr, status)
                continue
            if self.world.chance(self.breaks):
                if acts and self.world.chance(0.5):  # it arrives all the same, and maybe much later
                    at = self.world.now + timedelta(seconds=self.world.random.choice((0, 5, 30, 90, 600)))
                    late = functools.partial(there.late, argv, there.boot, self.world.now)
                    self.world.due.append((at, late))
                raise ConnectionLost(f"The connection to {node.name} broke.")
            began, boot = there.uptime, there.boot
            stdout, stderr, status = there.answer(argv)
            if acts:
                await self.world.sleep(self.world.random.choice((0.0, 0.2, 4.0)))
                if there.boot != boot:
                    raise ConnectionLost(f"The connection to {node.name} broke.")
            yield Completed(question.probe, question.command.name, 0, stdout, stderr, status, started_at_uptime=began)


class Recorder:
    """A ledger whose verbs may fail before or after they are through, and between which anybody may die."""

    def __init__(self, world: World, ledger: Ledger, fails: float) -> None:
        self.world, self.ledger, self.fails = world, ledger, fails

    async def _do(self, verb: Callable[..., Any], *args: Any) -> Any:
        await self.world.boundary()
        if self.world.chance(self.fails):
            raise LedgerUnavailable("The database is locked.")
        done = verb(*args)
        if verb.__name__ not in ("append", "append_all", "begin", "free", "refused"):
            return done  # nothing was written that somebody could die without having heard of
        await self.world.boundary()
        if self.world.chance(self.fails):
            raise LedgerUnavailable("The connection to the database broke.")
        return done

    async def append(self, stream: str, expected_seq: int | None, event: Event, by: str) -> Entry:
        return await self._do(self.ledger.append, stream, expected_seq, event, by)  # type: ignore[no-any-return]

    async def append_all(
        self, stream: str, expected_seq: int, events: Sequence[IncidentEvent], by: str
    ) -> tuple[Entry, ...]:
        return await self._do(self.ledger.append_all, stream, expected_seq, events, by)  # type: ignore[no-any-return]

    async def begin(self, stream: str, expected_seq: int, event: StepStarted, by: str, claim: Claim) -> Entry:
        return await self._do(self.ledger.begin, stream, expected_seq, event, by, claim)  # type: ignore[no-any-return]

    async def read(self, stream: str) -> tuple[Entry, ...]:
        return await self._do(self.ledger.read, stream)  # type: ignore[no-any-return]

    async def mutes(self) -> tuple[Entry, ...]:
        return await self._do(self.ledger.mutes)  # type: ignore[no-any-return]

    async def incident(self, stream: str) -> Incident | None:
        return await self._do(self.ledger.incident, stream)  # type: ignore[no-any-return]

    async def head(self, stream: str) -> Head:
        return await self._do(self.ledger.head, stream)  # type: ignore[no-any-return]

    async def open_streams(self) -> tuple[str, ...]:
        return await self._do(self.ledger.open_streams)  # type: ignore[no-any-return]

    async def incidents(self, only_open: bool = False, node: str | None = None) -> tuple[IncidentSummary, ...]:
        return await self._do(self.ledger.incidents, only_open, node)  # type: ignore[no-any-return]

    async def nodes(self, group: str) -> frozenset[str]:
        return await self._do(self.ledger.nodes, group)  # type: ignore[no-any-return]

    async def policy(self) -> Entry | None:
        return await self._do(self.ledger.policy)  # type: ignore[no-any-return]

    async def changed(self, since: int | None = None) -> Changes:
        return await self._do(self.ledger.changed, since)  # type: ignore[no-any-return]

    async def together(self, card: str) -> tuple[str, ...]:
        return await self._do(self.ledger.together, card)  # type: ignore[no-any-return]

    async def hold(self, node: str, machine_id: str = "") -> Hold | None:
        return await self._do(self.ledger.hold, node, machine_id)  # type: ignore[no-any-return]

    async def free(self, hold: Hold, event: NodeReleased, by: str) -> Entry:
        return await self._do(self.ledger.free, hold, event, by)  # type: ignore[no-any-return]

    async def machines(self, machine_id: str = "") -> Mapping[str, tuple[str, ...]]:
        return await self._do(self.ledger.machines, machine_id)  # type: ignore[no-any-return]

    async def refused(self, event: WishRefused, by: str) -> None:
        await self._do(self.ledger.refused, event, by)

    async def beat(self, incident: str, runner: str) -> None:
        await self._do(self.ledger.beat, incident, runner)

    async def braked(self) -> Entry | None:
        return await self._do(self.ledger.braked)  # type: ignore[no-any-return]

    async def tried(self, plan: Plan, machine_id: str, within: timedelta) -> str | None:
        return await self._do(self.ledger.tried, plan, machine_id, within)  # type: ignore[no-any-return]
