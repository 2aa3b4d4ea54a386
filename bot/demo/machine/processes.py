"""Processes of a simulated node, as /proc and ps show them.

Defined in: proc_pid_stat(5), 52 fields; ps(1) of procps.
"""

from __future__ import annotations

import functools

from bot.demo.machine.load import TICKS
from bot.demo.machine.state import Content, Moment, Process, State, Thread

_KERNEL_THREAD = 0x00200000  # PF_KTHREAD
_PAGE_KIB = 4


def all_processes(state: State) -> tuple[Process, ...]:
    """Return the node's processes: those of every Linux, the units' main processes, and the node's own."""
    found = [
        Process(1, "systemd", (Thread(0, 0.05, 0.05),), ppid=0, command="/sbin/init", since=0.0, group="/init.scope")
    ]
    found.append(Process(2, "kthreadd", ppid=0, kernel=True, since=0.0, group="/"))
    cores = min(state.load.cores, 32)
    for core in range(cores):
        found.append(
            Process(10 + 2 * core, f"ksoftirqd/{core}", (Thread(core, 0, 0.02),), ppid=2, kernel=True, since=0.0)
        )
        found.append(Process(11 + 2 * core, f"kworker/{core}:1", (Thread(core, 0, 0.05),), "I", ppid=2, kernel=True))
    known = {process.pid for process in state.processes}
    for unit in state.units:
        if unit.pid and unit.active == "active" and unit.loop is None and unit.pid not in known:
            comm = unit.command.split(" ")[0].rpartition("/")[2][:15] or unit.name.removesuffix(".service")[:15]
            core = unit.pid % state.load.cores
            command = unit.command or f"/usr/sbin/{comm}"
            group = f"/system.slice/{unit.name}"
            found.append(
                Process(unit.pid, comm, (Thread(core, 0.1, 0.05),), command=command, since=unit.since, group=group)
            )
    found = [process for process in found if process.pid not in known]
    return tuple(sorted((*found, *state.processes), key=lambda process: process.pid))


def files(state: State) -> dict[str, Content]:
    """Return the files of every process and of its busy threads."""
    found: dict[str, Content] = {}
    for process in all_processes(state):
        here = f"/proc/{process.pid}"
        found[f"{here}/comm"] = f"{process.comm}\n"
        found[f"{here}/cmdline"] = "" if process.kernel else process.command.replace(" ", "\0") + "\0"
        found[f"{here}/cgroup"] = f"1:name=systemd:{process.group}\n0::{process.group}\n"
        found[f"{here}/stat"] = functools.partial(stat, process, process.pid, process.threads)
        for number, thread in enumerate(process.threads):
            tid = process.pid + number
            found[f"{here}/task/{tid}/stat"] = functools.partial(stat, process, tid, (thread,))
    return found


def ticks(process: Process, threads: tuple[Thread, ...], now: Moment) -> tuple[int, int]:
    """Return the user and system ticks since the process started."""
    lived = max(0.0, now.uptime - process.since)
    usr = sum(thread.usr for thread in threads) / 100
    sys = sum(thread.sys for thread in threads) / 100
    return int(usr * lived * TICKS), int(sys * lived * TICKS)


def state_of(process: Process, threads: tuple[Thread, ...]) -> str:
    """Return the state letter: R with a thread that uses most of a core."""
    return "R" if process.state == "S" and any(thread.usr + thread.sys > 60 for thread in threads) else process.state


def stat(process: Process, tid: int, threads: tuple[Thread, ...], now: Moment) -> str:
    """Return /proc/PID/stat."""
    usr, sys = ticks(process, threads, now)
    flags = _KERNEL_THREAD | 0x40 if process.kernel else 0x400100
    priority, realtime = (-51, 50) if process.policy else (20, 0)
    rss = 0 if process.kernel else process.rss_kib // _PAGE_KIB
    fields = [
        tid,
        f"({process.comm})",
        state_of(process, threads),
        process.ppid,
        process.pid,
        process.pid,
        0,
        -1,
        flags,
        1200,
        0,
        3,
        0,
        usr,
        sys,
        0,
        0,
        priority,
        0,
        len(process.threads),
        0,
        int(process.since * TICKS),
        rss * 16384,
        rss,
        18446744073709551615,
        1,
        1,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        17,
        threads[0].core,
        realtime,
        process.policy,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
    ]
    return " ".join(map(str, fields)) + "\n"
