"""CPU time of a simulated node: mpstat's JSON, processes, soft interrupts that wait.

Defined in: sysstat, mpstat.c; proc_pid_stat(5), 52 fields; bpftrace 0.23.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Sequence

from bot.demo.machine import proc_files
from bot.demo.machine.command import Answer, Asked
from bot.demo.machine.load import TICKS
from bot.demo.machine.state import Moment, Process, State, Thread

_JSON_NAMES = ("usr", "nice", "sys", "iowait", "irq", "soft", "steal", "guest", "gnice", "idle")
_ROW = "\t\t\t\t\t\t" + "{{" + '"cpu": "{}", ' + ", ".join(f'"{name}": {{:.2f}}' for name in _JSON_NAMES) + "}}"
_BLOCK = '\t\t\t\t{{\n\t\t\t\t\t"timestamp": "{}",\n\t\t\t\t\t"cpu-load": [\n{}\n\t\t\t\t\t]\n\t\t\t\t}}'


def mpstat(asked: Asked) -> Answer | Awaitable[str]:
    """mpstat's JSON, where there is such an mpstat; else what the last way reads."""
    if asked.argv[0] == "sh":
        return _proc_stat(asked)
    if not asked.state.system.sysstat:
        return Answer.error("mpstat is not installed, or knows no JSON", 127)
    return _mpstat(asked) if "-o" in asked.argv else Answer.error("a demo node: only mpstat's JSON is recorded here")


async def _mpstat(asked: Asked) -> str:
    """Each second is worded when it is over, as mpstat does."""
    state, began, blocks = asked.state, asked.now, []
    before = _ticks(state, began.uptime)
    for second in range(1, int(asked.argv[-1]) + 1):
        await asyncio.sleep(1)
        after = _ticks(state, began.uptime + second)
        rows = zip(("all", *range(state.load.cores)), _mpstat_rows(before, after), strict=True)
        lines = ",\n".join(_ROW.format(name, *row) for name, row in rows)
        blocks.append(_BLOCK.format(f"{began.wall(began.uptime + second):%H:%M:%S}", lines))
        before = after
    return (
        '{"sysstat": {\n\t"hosts": [\n\t\t{\n'
        f'\t\t\t"nodename": "{state.name}",\n\t\t\t"sysname": "Linux",\n'
        f'\t\t\t"release": "{state.system.kernel}",\n\t\t\t"machine": "x86_64",\n'
        f'\t\t\t"number-of-cpus": {state.load.cores},\n\t\t\t"date": "{began.at:%m/%d/%y}",\n'
        '\t\t\t"statistics": [\n' + ",\n".join(blocks) + "\n\t\t\t]\n\t\t}\n\t]\n}}\n"
    )


def _ticks(state: State, uptime: float) -> list[tuple[int, ...]]:
    return [state.load.ticks(core, uptime) for core in range(state.load.cores)]


def _mpstat_rows(before: Sequence[tuple[int, ...]], after: Sequence[tuple[int, ...]]) -> list[tuple[float, ...]]:
    """The aggregate and then each core: usr nice sys iowait irq soft steal guest gnice idle, in percent."""
    cores = [[max(0, new - old) for old, new in zip(*pair, strict=True)] for pair in zip(before, after, strict=True)]
    total = [sum(column) for column in zip(*cores, strict=True)]
    shares = ([100 * tick / (sum(ticks) or 1) for tick in ticks] for ticks in (total, *cores))
    return [(*mine[:7], 0.0, 0.0, mine[7]) for mine in shares]


async def _proc_stat(asked: Asked) -> str:
    """The cpu rows of /proc/stat, once a second."""
    text = ""
    for second in range(int(asked.argv[-1]) + 1):
        await asyncio.sleep(min(second, 1))
        text += f"uptime {asked.now.uptime:.2f}\n" + proc_files.cpu_rows(asked.state, asked.now)
    return text


def all_processes(state: State) -> tuple[Process, ...]:
    """Return the node's processes: those of every Linux, the units' main processes, and the node's own."""
    found = [Process(1, "systemd", (Thread(0, 0.05, 0.05),), ppid=0, since=0.0)]
    found.append(Process(2, "kthreadd", ppid=0, kernel=True, since=0.0))
    for core in range(min(state.load.cores, 32)):
        busy = (Thread(core, 0, 0.02),), (Thread(core, 0, 0.05),)
        found.append(Process(10 + 2 * core, f"ksoftirqd/{core}", busy[0], ppid=2, kernel=True, since=0.0))
        found.append(Process(11 + 2 * core, f"kworker/{core}:1", busy[1], "I", ppid=2, kernel=True))
    for unit in state.units:
        if unit.pid and unit.active == "active" and unit.loop is None:
            comm = (unit.program or unit.name.removesuffix(".service"))[:15]
            found.append(Process(unit.pid, comm, (Thread(unit.pid % state.load.cores, 0.1, 0.05),), since=unit.since))
    by_pid = {process.pid: process for process in (*found, *state.processes)}
    return tuple(by_pid[pid] for pid in sorted(by_pid))


def _process_ticks(process: Process, threads: Sequence[Thread], now: Moment) -> tuple[int, int]:
    """The user and system ticks since the process started."""
    lived = max(0.0, now.uptime - process.since)
    usr, sys = (sum(shares) / 100 for shares in zip(*((thread.usr, thread.sys) for thread in threads), strict=True))
    return int(usr * lived * TICKS), int(sys * lived * TICKS)


def stat(process: Process, now: Moment) -> str:
    """Return /proc/PID/stat; a process with a thread that uses most of a core runs."""
    usr, sys = _process_ticks(process, process.threads, now)
    busy = process.state == "S" and any(thread.usr + thread.sys > 60 for thread in process.threads)
    fields = [
        *(process.pid, f"({process.comm})", "R" if busy else process.state, process.ppid, process.pid, process.pid),
        *(0, -1, 0x00200040 if process.kernel else 0x400100, 1200, 0, 3, 0, usr, sys, 0, 0, 20, 0),  # PF_KTHREAD
        *(len(process.threads), 0, int(process.since * TICKS), 81_920_000, 5_000, 2**64 - 1, *[1] * 2, *[0] * 10),
        *(17, process.threads[0].core, *[0] * 13),
    ]
    return " ".join(map(str, fields)) + "\n"


async def busiest(asked: Asked) -> str:
    """The processes that used CPU between two samples, most kernel time first, and the busiest ones' threads."""
    gap, first, everyone = float(asked.argv[2].removeprefix("gap=")), asked.now, all_processes(asked.state)
    before = {process.pid: _process_ticks(process, process.threads, first) for process in everyone}
    await asyncio.sleep(max(0.0, gap - 0.25))
    second = asked.now
    used = {
        process.pid: _process_ticks_since(before[process.pid], process, process.threads, second) for process in everyone
    }
    text = f"hz {TICKS}\n" + "".join(
        f"d {stat(process, second)}w {process.pid} folio_wait_bit_common\n"
        for process in everyone
        if process.state == "D"
    )
    text += f"looks {first.uptime:.2f} {second.uptime:.2f} {len(everyone)}\n"
    alike: dict[str, list[Process]] = {}
    for process in everyone:
        if not process.kernel:
            alike.setdefault(process.comm, []).append(process)
    for name, mine in alike.items():
        born, spent = min(process.since for process in mine), sum(sum(used[process.pid]) for process in mine)
        text += f"n {len(mine)} {int(born * TICKS)} {spent} ({name})\n"
    text += f"names {len(alike)}\n"
    in_kernel = (process for process in everyone if used[process.pid][1])
    by_kernel = sorted(in_kernel, key=lambda process: -used[process.pid][1])[:15]
    rest = (process for process in everyone if any(used[process.pid]) and process not in by_kernel)
    by_all = sorted(rest, key=lambda process: -sum(used[process.pid]))[: 25 - len(by_kernel)]
    for process in (*by_kernel, *by_all):
        text += f"p {used[process.pid][0]} {used[process.pid][1]} {stat(process, second)}"
    if many := [process for process in by_kernel[:5] if len(process.threads) > 1]:
        await asyncio.sleep(0.3)
        for process in many:
            for number, thread in enumerate(process.threads):
                usr, sys = _process_ticks_since(
                    _process_ticks(process, (thread,), second), process, (thread,), asked.now
                )
                text += f"t {process.pid} {process.pid + number} {thread.core} {usr} {sys}\n" if usr or sys else ""
    return text + "end\n"


def _process_ticks_since(
    before: tuple[int, int], process: Process, threads: Sequence[Thread], now: Moment
) -> tuple[int, int]:
    usr, sys = _process_ticks(process, threads, now)
    return usr - before[0], sys - before[1]


_SECONDS = 3.0
_TIMER, _NET_RX = 1, 3  # their numbers in the kernel
_USUAL_US, _FULL_US, _FULL_PERCENT = 40, 90_000, 80.0


async def softirq_waits(asked: Asked) -> str:
    """Timer and packet work of each core, by bpftrace; on a held or full core it waits for as long as that lasts."""
    load = asked.state.load
    await asyncio.sleep(_SECONDS)
    full = {core: _FULL_US for core, shares in load.own.items() if shares.sys + shares.soft >= _FULL_PERCENT}
    held = {hold.core: round(min(hold.lasting, _SECONDS) * 1_000_000) for hold in load.holds}
    worst = {**dict.fromkeys(range(load.cores), _USUAL_US), **held, **full}
    keys = [(core, kind) for core in worst for kind in (_TIMER, _NET_RX)]
    maps: dict[str, object] = {
        "@ended": round(asked.now.uptime * 1e9),
        "@raised": {f"{core},{kind}": 0 for core, kind in keys},
        "@waits": {f"{core},{kind}": 300 for core, kind in keys},
        "@worst": {f"{core},{kind}": worst[core] for core, kind in keys},
    }
    lines = [{"type": "attached_probes", "data": {"probes": 4}}]
    lines += [{"type": "map", "data": {name: told}} for name, told in maps.items()]
    return "".join(json.dumps(line) + "\n" for line in lines)
