"""What bpftrace would say of a simulated node's soft interrupts, in the form of version 0.23."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from bot.demo.machine.command import Answer, CommandContext

_SECONDS = 3.0
_TIMER, _NET_RX = 1, 3  # their numbers in the kernel
_USUAL_US, _FULL_PERCENT = 40, 80.0


async def softirq_waits(context: CommandContext, argv: Sequence[str]) -> Answer:
    """Timer and packet work of each core; on a held or full core it waits for as long as that lasts."""
    load = context.state.load
    await asyncio.sleep(_SECONDS)
    worst = dict.fromkeys(range(load.cores), _USUAL_US)
    for hold in load.holds:
        if hold.shares.sys + hold.shares.soft >= _FULL_PERCENT:
            worst[hold.core] = round(min(hold.lasting, _SECONDS) * 1_000_000)
    for core, shares in load.own.items():
        if shares.sys + shares.soft >= _FULL_PERCENT:
            worst[core] = 90_000
    keys = [(core, kind) for core in worst for kind in (_TIMER, _NET_RX)]
    maps: dict[str, object] = {
        "@ended": round(context.now().uptime * 1e9),
        "@raised": {f"{core},{kind}": 0 for core, kind in keys},
        "@waits": {f"{core},{kind}": 300 for core, kind in keys},
        "@worst": {f"{core},{kind}": worst[core] for core, kind in keys},
    }
    lines = [{"type": "attached_probes", "data": {"probes": 4}}]
    lines += [{"type": "map", "data": {name: told}} for name, told in maps.items()]
    return Answer.text("".join(json.dumps(line) + "\n" for line in lines))
