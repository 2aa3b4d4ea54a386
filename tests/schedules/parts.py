"""A node and a wire of a scheduled world: each may fail at every boundary, and the node counts."""

from __future__ import annotations

import functools
import re
import shlex
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.domain.batch import Batch
from bot.domain.command import Completed
from bot.domain.errors import ConnectionLost, ConnectionRefused, HostKeyRejected
from bot.domain.node import Node
from tests.nodes.at_rest import nothing_at_work
from tests.schedules.world import BEGAN_AT, World

BOOT_FENCE = re.compile(r'test "\$\(cat /proc/sys/kernel/random/boot_id\)" = (\S+) && exec sudo -n systemctl reboot')
# One condition of a fence, as a shell would take it: nothing of ours that knows fences is asked what it says.
_CONDITION = re.compile(
    r'(?:up=\$\(cat /proc/uptime\); )?test "([^"]+)" (=|-lt) (\'[^\']*\'|\S+) '
    r'\|\| \{ echo "([^"]*)" >&2; exit (\d+); \}; '
)
# What writes a line into the node's journal, from its input; also as a shell would take it.
_JOURNAL = re.compile(
    r"timeout -k 1 2 sh -c 'logger -p user\.notice -t \"zombie\[([\w-]+)\]\" <&3 & wait' 3<&0 >/dev/null 2>&1; "
    r"exec </dev/null; "
)
_UPTIME = "${up%%.*}"
_UNTIL = re.compile(r'"\$\{up%%\.\*\}" -lt (\d+) ')
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
    hangs: bool = False  # its unit, when it is to stop
    down_until: datetime = BEGAN_AT
    up_since: datetime = BEGAN_AT - timedelta(days=11)
    copied_id: str = ""  # the machine-id of another, which it shows
    copied_boot: str = ""  # and the boot_id, as what was woken from a snapshot of it
    reboots: Counter[str] = field(default_factory=Counter)  # by the boot that they ended
    asked: int = 0  # reboot commands that came through their fence
    stopped: int = 0  # times that a unit which was on was switched off
    may: bool = True  # its login has the rights
    names: str = "ecs.service"  # what its unit is called
    consists_of: str = ""  # what stops with its unit
    excludes: str = ""  # what runs, and stops when its unit is started
    at_work: str = ""  # lines of what a reboot would cut off
    done_as_stranger: int = 0  # changes after it became another machine
    done_late: int = 0  # changes by a command that was sent into another boot, or long ago
    on_its_way: list[tuple[str, float]] = field(default_factory=list)  # boot and deadline of what may arrive yet
    crossing: list[Callable[[], None]] = field(default_factory=list)  # what arrives once more after its next boot
    overtaken: int = 0  # commands that came while an earlier one could still have begun
    journal: list[str] = field(default_factory=list)  # the incidents of its lines, in order
    untold: int = 0  # changes without a line in its journal
    in_vain: int = 0  # lines for commands that did nothing

    @property
    def machine_id(self) -> str:
        is_another = self.is_stranger and self.ending == "other-machine"
        return self.copied_id or f"{self.name.encode().hex():0>31}"[-31:] + ("2" if is_another else "1")

    @property
    def boot_id(self) -> str:
        return self.copied_boot or f"{self.boot:08x}-0000-4000-8000-{sum(map(ord, self.name)):012x}"

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
    def words(self) -> dict[str, str]:
        """What it says of itself, by the words of a shell that stand for it."""
        return {
            "$(tr A-F a-f </etc/machine-id)": self.machine_id.lower(),
            "$(cat /proc/sys/kernel/random/boot_id)": self.boot_id,
            _UPTIME: str(int(self.uptime)),
        }

    def through(self, line: str) -> tuple[str, str, int]:
        """Return what is left of a shell command behind conditions that hold; else what one says, and its status."""
        while (found := _CONDITION.match(line) or _JOURNAL.match(line)) is not None:
            if found.re is _JOURNAL:
                self.journal.append(found.group(1))
                line = line[found.end() :]
                continue
            left, how, right, says, status = found.groups()
            is_so, (wanted,) = self.words[left], shlex.split(right)
            if not (is_so == wanted if how == "=" else int(is_so) < int(wanted)):
                return "", says, int(status)
            line = line[found.end() :]
        return line, "", 0

    def answer(self, argv: tuple[str, ...]) -> tuple[str, str, int]:
        """Do what a command line says, now; return what it prints, its errors and its exit status."""
        if argv[0] == "tail":
            files = zip(argv[4:6], (self.boot_id, self.machine_id), strict=True)
            return "\n".join(f"==> {path} <==\n{said}\n" for path, said in files), "", 0
        if argv[0] == "cat":
            return f"{self.boot_id}\n", "", 0
        if argv[:2] == ("systemctl", "show"):
            active = ("activating", "auto-restart") if self.active else ("inactive", "dead")
            file = "enabled" if self.enabled else "disabled"
            told = (
                f"Id=ecs.service\nNames={self.names}\nLoadState=loaded\nActiveState={active[0]}\nSubState={active[1]}\n"
            )
            wanted = f"WantedBy={'multi-user.target' if self.enabled else ''}\n"
            return f"{told}{wanted}UnitFileState={file}\nNRestarts=0\nRestartUSec=10s\n", "", 0
        if argv[:3] == ("sudo", "-n", "-l"):
            return ("/usr/bin/" + " ".join(argv[3:]), "", 0) if self.may else ("", "", 1)
        assert argv[:2] == ("sh", "-c"), argv
        if (at_rest := nothing_at_work(argv)) is not None:
            return at_rest.replace("boot file", f"{self.at_work}boot file", 1), "", 0
        if argv[3:] == ("sh", "ecs.service") and "Conflicts" in argv[2]:
            state = "LoadState=loaded\nActiveState="
            own = f"Id=ecs.service\nNames={self.names}\n{state}inactive\nConflicts={self.excludes}\n"
            others = "".join(f"\nId={name}\nNames={name}\n{state}active\n" for name in self.excludes.split())
            return f"{own}{others}\n-- all told --\n", "", 0
        if argv[3:] == ("sh", "ecs.service"):  # what else stops with it
            own = f"Id=ecs.service\nNames={self.names}\nConsistsOf={self.consists_of}\n"
            others = "".join(f"\nId={name}\nNames={name}\n" for name in self.consists_of.split())
            return f"{own}{others}\n-- all told --\n", "", 0
        before = len(self.journal)
        line, says, status = self.through(argv[2])
        if status:
            self.in_vain += len(self.journal) - before
            return "", says, status
        self.untold += len(self.journal) != before + 1
        self.overtaken += any(boot == self.boot_id and self.uptime < until for boot, until in self.on_its_way)
        return "", "", self.change(line)

    def change(self, line: str) -> int:
        """Do what came through its fence, or had none."""
        self.done_as_stranger += self.is_stranger
        if line == "sudo -n systemctl disable --now -- ecs.service":
            self.stopped += self.enabled or self.active
            self.enabled, self.active = False, self.active and self.hangs
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

    def deadline(self, argv: tuple[str, ...]) -> tuple[str, float]:
        """In which boot, and until which uptime, a command may begin."""
        until, boot = _UNTIL.search(argv[2]), re.search(r'/boot_id\)" = (\S+) ', argv[2])
        return boot.group(1) if boot else "", float(until.group(1)) if until else float("inf")

    def late(self, argv: tuple[str, ...], boot: int, sent_at: datetime) -> None:
        """A command runs that nobody waits for any more, maybe in another boot than it was sent into."""
        self.on_its_way = [each for each in self.on_its_way if each != self.deadline(argv)]
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
        self.world.due += [(self.down_until + timedelta(seconds=1), late) for late in self.crossing]
        self.crossing.clear()
        self.active = self.enabled = self.enabled or self.ending == "enabled-again"


class Wire:
    """The way to the nodes, which breaks, and on which now and then another machine answers; a transport with keys."""

    def __init__(self, world: World, nodes: dict[str, CountingNode], breaks: float, strays: float = 0.0) -> None:
        self.cuts = breaks  # of the connections that act
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
        # What was woken from a snapshot has its boot, and by now a key of its own; containers of one host share a boot.
        other, strange, same, boot = "SHA256:other", "s" * 32, there.machine_id, there.boot_id
        kinds = ((other, strange, ""), (KEY, strange, ""), (KEY, same, ""), (other, same, boot), (KEY, strange, boot))
        key, machine_id, boot = self.world.random.choice(kinds[: 5 if acts else 2])
        up = there.up_since
        stranger = CountingNode(
            self.world, f"{node.name}x", "cured", copied_id=machine_id, copied_boot=boot, up_since=up
        )
        self.strangers.append(stranger)
        return stranger, key

    async def read(
        self, node: Node, batch: Batch, deadline: timedelta, host_key: str | None = None
    ) -> AsyncGenerator[Completed, None]:
        asked = [question.command.argv for question in batch.questions]
        acts = any(argv[0] == "sh" and len(argv) == 3 and nothing_at_work(argv) is None for argv in asked)
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
                yield Completed(question.probe, question.command.name, question.look, stdout, stderr, status)
                continue
            if self.world.chance(self.cuts if acts else self.breaks):
                if acts and self.world.chance(0.5):  # it arrives all the same, and maybe much later
                    at = self.world.now + timedelta(seconds=self.world.random.choice((0, 5, 30, 90, 600)))
                    there.on_its_way.append(there.deadline(argv))
                    late = functools.partial(there.late, argv, there.boot, self.world.now)
                    self.world.due.append((at, late))
                raise ConnectionLost(f"The connection to {node.name} broke.")
            began, boot = there.uptime, there.boot
            if acts:
                there.crossing.append(functools.partial(there.late, argv, boot, self.world.now))
            stdout, stderr, status = there.answer(argv)
            if acts:
                await self.world.sleep(self.world.random.choice((0.0, 0.2, 4.0)))
                if there.boot != boot:
                    raise ConnectionLost(f"The connection to {node.name} broke.")
            yield Completed(
                question.probe, question.command.name, question.look, stdout, stderr, status, started_at_uptime=began
            )
