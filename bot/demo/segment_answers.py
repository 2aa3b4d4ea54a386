"""How a simulated node sends text of a ring's segments: the words and the stream of the script that a shell runs."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.demo.capture_answers import MARK
from bot.demo.machine.machine import Machine
from bot.demo.machine.perf import SYNTHETIC, samples

_HERTZ = 49  # as the recorder was told
_NONCE = re.compile(r"^N=([0-9a-f]+)$", re.MULTILINE)
_NAMES = re.compile(r"for name in ((?:perf\.data\.\d+ ?)+); do")
_TIME = re.compile(r"--time=([\d.]+),([\d.]+)")


@dataclass(frozen=True, slots=True)
class SegmentsAsked:
    """Which segments are asked for, and between which seconds of the node's clock."""

    nonce: str
    names: tuple[str, ...]
    between: tuple[float, float]


def read_segments(script: str) -> SegmentsAsked:
    """Read such a script. Raises: ValueError when it is none."""
    nonce, names, time = _NONCE.search(script), _NAMES.search(script), _TIME.search(script)
    if nonce is None or names is None:
        raise ValueError("no segments are asked for")
    between = (float(time[1]), float(time[2])) if time is not None else (0.0, float("inf"))
    return SegmentsAsked(nonce[1], tuple(names[1].split()), between)


async def send_segments(asked: SegmentsAsked, machine: Machine, send: Callable[[bytes], Awaitable[None]]) -> None:
    """Send the text of each segment that is still in the ring."""

    async def say(words: str) -> None:
        await send(f"{MARK} {asked.nonce} {words}\n".encode())

    for words in ("symbols /proc/self/fd/8", "ready", "data"):
        await say(words)
    packer = zlib.compressobj(1, wbits=16 + zlib.MAX_WBITS)
    await send(packer.compress(SYNTHETIC.encode()))
    for name in asked.names:
        recorded = machine.recorder.between(name, machine.uptime())
        if recorded is None or not machine.state.sudo:
            continue
        at, until = max(recorded[0], asked.between[0]), min(recorded[1], asked.between[1])
        while at < until:
            second = min(at + 1, until)
            text = "".join(samples(machine.state, "cycles", _HERTZ, at, second)).encode()
            await send(packer.compress(text))
            await asyncio.sleep(0)
            at = second
    await send(packer.flush() + b"\n")
    for words in ("text 0", "errors ", "end"):
        await say(words)
