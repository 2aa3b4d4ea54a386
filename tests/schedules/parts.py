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
from bot.domain.house_events import NodeReleased, WishRefused
from bot.domain.incident import Changes, Incident, IncidentSummary
from bot.domain.node import Node
from bot.ledger import Ledger
from tests.schedules.world import BEGAN_AT, World

FENCE = re.compile(r'test "\$\(cat /proc/sys/kernel/random/boot_id\)" = (\S+) && exec sudo -n systemctl reboot')


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
    may: bool = True  # its login has the rights
    names: str = "ecs.service"  # what its unit is called
    required_by: str = ""  # what stops with its unit
    done_as_stranger: int = 0  # changes after it became another machine

    @property
    def machine_id(self) -> str:
        is_another = self.is_stranger and self.ending == "other-machine"
        return f"{self.name.encode().hex():0>31}"[-31:] + ("2" if is_another else "1")

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
            return f"==> {argv[4]} <==\n{self.boot_id}\n\n==> {argv[5]} <==\n{self.machine_id}\n", 0
        if argv[0] == "cat":
            return f"{self.boot_id}\n", 0
        if argv[:2] == ("systemctl", "show"):
            active = ("activating", "auto-restart") if self.active else ("inactive", "dead")
            file = "enabled" if self.enabled else "disabled"
            told = (
                f"Id=ecs.service\nNames={self.names}\nLoadState=loaded\nActiveState={active[0]}\nSubState={active[1]}\n"
            )
            return told + f"UnitFileState={file}\nNRestarts=0\nRestartUSec=10s\n", 0
        if argv[:3] == ("sudo", "-n", "-l"):
            return ("/usr/bin/" + " ".join(argv[3:]), 0) if self.may else ("", 1)
        assert argv[:2] == ("sh", "-c"), argv
        if argv[3:] == ("sh", "ecs.service"):  # what else stops with it
            own = f"Id=ecs.service\nNames={self.names}\nRequiredBy={self.required_by}\n"
            others = "".join(f"\nId={name}\nNames={name}\n" for name in self.required_by.split())
            return f"{own}{others}\n-- all told --\n", 0
        if argv[2] == "sudo -n systemctl disable --now -- ecs.service":
            self.done_as_stranger += self.is_stranger
            self.enabled = self.active = False
            return "", 0
        if back := re.fullmatch(r"sudo -n systemctl (enable|start) -- ecs\.service", argv[2]):
            self.done_as_stranger += self.is_stranger
            self.enabled |= back.group(1) == "enable"
            self.active |= back.group(1) == "start"
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
        away = 10**6 if self.ending == "gone" else self.world.random.choice((3, 12, 25))
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
            if len(argv) > 3 and argv[0] == "sh":  # asked together with the identity, and broken off together with it
                yield Completed(question.probe, question.command.name, 0, *there.answer(argv)[:1])
                continue
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
