"""The founding case on smaller nodes, each with another ending once somebody lets the bot act on it."""

from __future__ import annotations

from dataclasses import replace

from bot.demo import ecs_agent
from bot.demo.fleet_founding import gpu_node
from bot.demo.machine.state import Loop, Resets, State

_LOOP = Loop(runs=1.2, rests=10.0, since=45.0)


def _node(name: str, number: int, dying: int) -> State:
    return gpu_node(
        name,
        number,
        dying,
        _LOOP,
        replace(ecs_agent.UNIT, loop=_LOOP, exit_status=5),
        core=number % 16,
        resets=Resets(queue=3, first=39_000.0, every=6_000.0 + number),
        cores=16,
        product="g5.4xlarge",
    )


SWALLOWS_REBOOT = _node("ray-gpu-1b-0601", 0x601, 41_210)
ENABLED_AT_BOOT = _node("ray-gpu-1b-0602", 0x602, 44_870)
STAYS_DOWN = _node("ray-gpu-1b-0603", 0x603, 39_940)
BOOTED_BY_SOMEBODY = _node("ray-gpu-1b-0604", 0x604, 47_330)
IN_CLUSTER = _node("ray-gpu-1b-0605", 0x605, 43_150)
