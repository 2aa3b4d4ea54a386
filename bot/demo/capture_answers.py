"""How a simulated node answers a capture: the same facts, words and stream as the script that a shell runs."""

from __future__ import annotations

import asyncio
import base64
import re
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.demo.machine.kernel_log import journal_pairs
from bot.demo.machine.machine import Machine
from bot.demo.machine.perf import SYNTHETIC, samples

MARK = "%p"  # what each line begins with, as the script says
Send = Callable[[bytes], Awaitable[None]]

_NONCE = re.compile(r"^N=([0-9a-f]+)$", re.MULTILINE)
_RECORD = re.compile(r"timeout -k 5 (\d+) /usr/bin/perf record [a-zA-Z -]+ -e cycles/freq=(\d+)/ --output=-")
_REFUSED = "sudo: a password is required\n"


@dataclass(frozen=True, slots=True)
class CaptureAsked:
    """What a capture's script asks of a node."""

    nonce: str
    seconds: int
    hertz: int


def read_capture(script: str) -> CaptureAsked:
    """Read a capture's script. Raises: ValueError when it is none."""
    nonce, record = _NONCE.search(script), _RECORD.search(script)
    if nonce is None or record is None:
        raise ValueError("not a capture")
    return CaptureAsked(nonce.group(1), int(record.group(1)), int(record.group(2)))


@dataclass(slots=True)
class CaptureAnswers:
    """Answers a capture. `heard` returns the line that says whether to begin, `send` waits while the line is full."""

    asked: CaptureAsked
    machine: Machine
    send: Send
    heard: Callable[[], Awaitable[str]]

    async def run(self) -> None:
        """Tell the facts; record when told to."""
        for line in self._facts():
            await self._say(line)
        await self._say("ready")
        word, _, rest = (await self.heard()).partition(" ")
        if word != "go":
            return
        now = self.machine.now()
        await self._say(
            "pairs " + " ".join(f"{stamp}:{mono}" for stamp, mono in journal_pairs(self.machine.state, now))
        )
        await self._say(f"clock {now.at.timestamp():.9f} {now.uptime:.2f} {now.uptime:.2f}")
        await self._say("symbols /proc/self/fd/8")
        await self._say("data")
        allowed = self.machine.state.sudo
        await self._record(rest.split(" ")[0] if allowed else "")
        said = "" if allowed else base64.b64encode(_REFUSED.encode()).decode()
        spent = 0.004 * self.asked.seconds if allowed else 0.0
        await self._say(f"\n{MARK} {self.asked.nonce} record {124 if allowed else 1}")
        for line in ("0m0.000000s 0m0.000000s", f"0m0.000000s 0m{spent:.6f}s", "text 0"):
            await self._say(line)
        for line in ("0m0.000000s 0m0.000000s", f"0m{spent:.6f}s 0m0.000000s", f"errors {said}", "end"):
            await self._say(line)

    async def _say(self, words: str) -> None:
        start = "" if words.startswith("\n") else f"{MARK} {self.asked.nonce} "
        await self.send(f"{start}{words}\n".encode())

    def _facts(self) -> list[str]:
        state, now = self.machine.state, self.machine.now()
        memory = state.memory
        return [
            f"kernel {state.system.kernel}",
            "uid 1001",
            f"cores {state.load.cores}",
            f"load {self.machine.read_file('/proc/loadavg')}",
            f"boot {self.machine.read_file('/proc/sys/kernel/random/boot_id')}",
            "paranoid 2",
            "kptr 1",
            f"memory {memory.total} {memory.available}",
            f"system {state.system.os_id}",
            "room /tmp 41000000",
            f"perf perf version {state.system.kernel.split('-')[0]}" if state.perf else "perf",
            "pmu yes",
            f"uptime {now.uptime:.2f}",
        ]

    async def _record(self, event: str) -> None:
        packer = zlib.compressobj(1, wbits=16 + zlib.MAX_WBITS)
        if event:
            await self.send(packer.compress(SYNTHETIC.encode()))
            began = self.machine.uptime()
            for second in range(self.asked.seconds):
                await asyncio.sleep(max(0.0, began + second + 1 - self.machine.uptime()))
                found = samples(self.machine.state, event, self.asked.hertz, began + second, began + second + 1)
                text = "".join(found).encode()
                await self.send(packer.compress(text) + packer.flush(zlib.Z_SYNC_FLUSH))
        await self.send(packer.flush())
