"""Access to a node's ring: looks, single fenced commands, and text of its segments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from bot.domain.command import Command, Completed, Outputs
from bot.domain.contracts import ActingTransport, Fresh, TakesBytes
from bot.domain.errors import CannotRead, ConnectionLost, MissingRight, StateChanged
from bot.domain.fence import SENT_WITHIN, Fence, refusal_of
from bot.domain.node import Node
from bot.domain.safe_text import redacted_line
from bot.domain.script_session import ScriptTransport
from bot.extras.captures.events import CaptureStarting
from bot.extras.captures.recorder_commands import HERE, READ_SECONDS, TEXT_SECONDS, CapturePaths, segments_script
from bot.extras.captures.ring_status import RollingStatus, parse_status, status_commands
from bot.extras.profiles.capture_wire import CaptureWire
from bot.extras.profiles.profiler import RIGHTS
from bot.response.execution.node_access import IDENTITY, identity, runs_by_probe, uptime

_LOOK_LIMIT = timedelta(seconds=25)
_COMMAND_LIMIT = timedelta(seconds=15)
_BEYOND_LIMIT = timedelta(seconds=10)
_LATER = 8.0  # seconds between the script's own end and the bot's deadline


@dataclass(frozen=True, slots=True)
class MachineIdentity:
    """Which machine answered, in which boot, behind which host key. Units: `uptime` in seconds."""

    boot_id: str
    machine_id: str
    host_key: str
    uptime: float

    def matches_capture_start(self, started: CaptureStarting) -> bool:
        """True if it is the machine and boot on which a capture was started."""
        return (self.boot_id, self.machine_id) == (started.boot_id, started.machine_id)

    @property
    def fence(self) -> Fence:
        """The fence for a command sent now."""
        until = math.ceil(self.uptime + SENT_WITHIN.total_seconds())
        return Fence(self.boot_id, self.machine_id, self.host_key, until)


@dataclass(frozen=True, slots=True)
class RingAccess:
    """Reaches rings. `nonce` makes a new secret for each session; `places` are the paths of programs on nodes."""

    transport: ActingTransport
    scripts: ScriptTransport
    nonce: Fresh
    places: CapturePaths = HERE

    async def look(self, node: Node) -> tuple[MachineIdentity, RollingStatus]:
        """Look once, over a single connection.

        Raises: Unreachable when nobody could talk to the node; CannotRead when it does not say which machine it is.
        """
        asked = [("identity", IDENTITY), *(("ring", command) for command in status_commands(self.places))]
        runs = await runs_by_probe(self.transport, node, asked, _LOOK_LIMIT)
        outputs = Outputs(*runs.get("identity", ()))
        boot_id, machine_id = identity(node, outputs)
        if (up := uptime(outputs)) is None:
            raise CannotRead(f"{node.name} does not say how long it is up.")
        whom = MachineIdentity(boot_id, machine_id, self.transport.host_key(node), up)
        return whom, parse_status(Outputs(*runs.get("ring", ())))

    async def run(self, node: Node, whom: MachineIdentity, line: str) -> Completed:
        """Run a command on exactly that machine, in that boot, in time; otherwise nothing is run.

        Raises: Unreachable when the connection broke: then it may have run or not. HostKeyRejected, or StateChanged if
        the fence refused it: then it did not. MissingRight when sudo refused.
        """
        argv = ("sh", "-c", whom.fence.fenced_line(line))
        command = Command("run", argv, limit=_COMMAND_LIMIT, output_limit_bytes=8192)
        runs = await runs_by_probe(
            self.transport, node, [("run", command)], _COMMAND_LIMIT + _BEYOND_LIMIT, whom.host_key
        )
        ended = next(iter(runs.get("run", ())), None)
        if ended is None:
            raise ConnectionLost(f"{node.name} did not say how the command ended.")
        if (why := refusal_of(ended)) is not None:
            raise StateChanged(f"{node.name} is not as it was a moment ago ({why.name.lower()}): nothing was run.")
        said = ended.stderr.lower()
        if ended.exit_status and "sudo:" in said and ("password" in said or "not allowed" in said):
            raise MissingRight(f"The login on {node.name} may not run captures.", RIGHTS)
        return ended

    async def text(
        self,
        node: Node,
        names: Sequence[str],
        between: tuple[float, float] | None,
        hand_on: TakesBytes,
    ) -> str:
        """Pass on perf's text of these segments; return what perf says that it lost, empty if nothing.

        Shape: `between` are seconds of the node's CLOCK_MONOTONIC.

        Raises: Unreachable; CannotRead, with the reason, when there is no text, or not all of it.
        """
        nonce = self.nonce()
        lasts = len(names) * (READ_SECONDS + TEXT_SECONDS) + _LATER
        script = segments_script(names, between, nonce, timedelta(seconds=lasts - _LATER), self.places)
        wire = CaptureWire(nonce)
        async with self.scripts.start_script(node, script, timedelta(seconds=lasts)) as session:
            await wire.take(session, hand_on)
        end = wire.end()
        if wire.cut or not wire.ended:
            raise CannotRead("the text of the segments is cut")
        if not wire.taken:
            said = redacted_line(end.said, 160) or "perf printed none"
            raise CannotRead(f"no text of the segments came ({said})", RIGHTS)
        if end.text_status != 0:
            raise CannotRead(f"perf could not make text of all samples (exit status {end.text_status})")
        return end.lost
