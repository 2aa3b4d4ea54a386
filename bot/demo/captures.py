"""How a simulated node answers a capture, and a reader of a ring's segments: the words and the stream of their scripts.

The samples are synthetic: they are made when they are read.
"""

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

MARK = "%p"  # what each line begins with, as the scripts say
_HERTZ = 49  # as the recorder was told
_NONCE = re.compile(r"^N=([0-9a-f]+)$", re.MULTILINE)
_RECORD = re.compile(r"timeout -k 5 (\d+) /usr/bin/perf record [a-zA-Z -]+ -e cycles/freq=(\d+)/ --output=-")
_NAMES = re.compile(r"for name in ((?:perf\.data\.\d+ ?)+); do")
_TIME = re.compile(r"--time=([\d.]+),([\d.]+)")
_REFUSED = base64.b64encode(b"sudo: a password is required\n").decode()


@dataclass(frozen=True, slots=True)
class Captures:
    """Answers such scripts. `send` waits while the line is full; `heard` is what the node is told after the script."""

    machine: Machine
    send: Callable[[bytes], Awaitable[None]]
    heard: Callable[[], Awaitable[str]]

    async def answer(self, script: str) -> bool:
        """Answer a script; False where it is neither."""
        nonce, names, record = (form.search(script) for form in (_NONCE, _NAMES, _RECORD))
        if nonce is None or (names or record) is None:
            return False
        if names is not None:
            found = _TIME.search(script)
            between = (float(found[1]), float(found[2])) if found is not None else (0.0, float("inf"))
            await self._segments(nonce[1], names[1].split(), between)
        elif record is not None:
            await self._capture(nonce[1], int(record[1]), int(record[2]))
        return True

    async def _send_marked(self, nonce: str, *words: str) -> None:
        await self.send("".join(f"{MARK} {nonce} {each}\n" for each in words).encode())

    async def _capture(self, nonce: str, seconds: int, hertz: int) -> None:
        """Tell the facts; record when told to."""
        await self._send_marked(nonce, *self._fact_lines(), "ready")
        word, _, rest = (await self.heard()).partition(" ")
        if word != "go":
            return
        now, allowed = self.machine.now(), self.machine.state.sudo
        pairs = " ".join(f"{stamp}:{mono}" for stamp, mono in journal_pairs(self.machine.state, now))
        clock = f"clock {now.at.timestamp():.9f} {now.uptime:.2f} {now.uptime:.2f}"
        await self._send_marked(nonce, f"pairs {pairs}", clock, "symbols /proc/self/fd/8", "data")
        await self._record(rest.split(" ")[0] if allowed else "", seconds, hertz)
        spent, status = (0.004 * seconds, 124) if allowed else (0.0, 1)
        times = "0m0.000000s 0m0.000000s", f"0m0.000000s 0m{spent:.6f}s", f"0m{spent:.6f}s 0m0.000000s"
        await self.send(b"\n")
        await self._send_marked(nonce, f"record {status}", times[0], times[1], "text 0", times[0], times[2])
        await self._send_marked(nonce, f"errors {'' if allowed else _REFUSED}", "end")

    def _fact_lines(self) -> list[str]:
        state, now, read = self.machine.state, self.machine.now(), self.machine.read_file
        return [
            f"kernel {state.system.kernel}",
            "uid 1001",
            f"cores {state.load.cores}",
            f"load {read('/proc/loadavg')}",
            f"boot {state.boot_id}",
            "paranoid 2",
            "kptr 1",
            f"memory {state.memory.total} {state.memory.available}",
            f"system {state.system.os_id}",
            "room /tmp 41000000",
            f"perf perf version {state.system.kernel.split('-')[0]}" if state.perf else "perf",
            "pmu yes",
            f"uptime {now.uptime:.2f}",
        ]

    async def _record(self, event: str, seconds: int, hertz: int) -> None:
        """Send each second's samples when it is over; none where there is no event."""
        packer, began = zlib.compressobj(1, wbits=16 + zlib.MAX_WBITS), self.machine.uptime()
        if event:
            await self.send(packer.compress(SYNTHETIC.encode()))
            for second in range(seconds):
                await asyncio.sleep(max(0.0, began + second + 1 - self.machine.uptime()))
                found = samples(self.machine.state, event, hertz, began + second, began + second + 1)
                await self.send(packer.compress("".join(found).encode()) + packer.flush(zlib.Z_SYNC_FLUSH))
        await self.send(packer.flush())

    async def _segments(self, nonce: str, names: list[str], between: tuple[float, float]) -> None:
        """Send the text of each segment that is still in the ring."""
        await self._send_marked(nonce, "symbols /proc/self/fd/8", "ready", "data")
        packer = zlib.compressobj(1, wbits=16 + zlib.MAX_WBITS)
        await self.send(packer.compress(SYNTHETIC.encode()))
        for name in names if self.machine.state.sudo else ():
            since, until = self.machine.recorder.between(name, self.machine.uptime()) or (0.0, 0.0)
            at, until = max(since, between[0]), min(until, between[1])
            while at < until:
                text = "".join(samples(self.machine.state, "cycles", _HERTZ, at, min(at + 1, until)))
                await self.send(packer.compress(text.encode()))
                await asyncio.sleep(0)
                at += 1
        await self.send(packer.flush() + b"\n")
        await self._send_marked(nonce, "text 0", "errors ", "end")
