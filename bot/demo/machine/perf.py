"""What `perf script` prints on a simulated node: a synthetic profile, made from its load and its processes.

Defined in: perf-script(1); the fields are those that a capture asks for (bot/domain/capture_shell.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from bot.demo.machine.cpu import all_processes
from bot.demo.machine.load import Hold
from bot.demo.machine.state import Process, State

SYNTHETIC = "# synthetic: made by a simulated node, not by perf\n#\n"
_SYSCALL = ("ksys_read", "do_syscall_64", "entry_SYSCALL_64_after_hwframe")
_PLAIN = ("copy_user_enhanced_fast_string", "vfs_read")
_SOFTIRQ = ("ena_io_poll", "net_rx_action", "__softirqentry_text_start", "irq_exit")
_NEARBY = "mem_cgroup_iter"  # what a walk spends its other samples in
_GOLDEN = 0.6180339887  # its multiples are spread evenly: shares come out as they should without chance


def samples(state: State, event: str, hertz: int, since: float, until: float) -> Iterator[str]:
    """Yield the text of every sample between two uptimes, in the order of time; an idle core has none."""
    busy = _threads(state)
    holds = {hold.core: hold for hold in (*state.load.holds, *state.load.bursts)}
    holders = {process.comm: process for process in all_processes(state)}
    for number in range(int(since * hertz), int(until * hertz)):
        for core in range(state.load.cores):
            at = (number + core / state.load.cores) / hertz
            luck = 100 * ((number * _GOLDEN + core * 0.381966) % 1)
            shares = state.load.own.get(core, state.load.shares)
            held = _is_held(holds.get(core), at)
            if held:
                shares = holds[core].shares
            stack = _running_stack(state, shares.usr + shares.nice, shares.sys, shares.irq + shares.soft, luck, held)
            if stack:
                process = (holders.get(holds[core].by) if held else None) or busy.get(core)
                comm, pid = (process.comm, process.pid) if process else ("agent", 2_000 + core)
                yield _perf_event(comm, pid, core, at, event, stack)


def _threads(state: State) -> dict[int, Process]:
    """The process with the busiest thread on each core."""
    found: dict[int, tuple[float, Process]] = {}
    for process in all_processes(state):
        for thread in process.threads:
            share = thread.usr + thread.sys
            if share > 1 and share > found.get(thread.core, (0.0, process))[0]:
                found[thread.core] = share, process
    return {core: process for core, (_, process) in found.items()}


def _is_held(hold: Hold | None, at: float) -> bool:
    return hold is not None and hold.held(at + 0.001) > hold.held(at)


def _running_stack(state: State, usr: float, system: float, soft: float, luck: float, held: bool) -> tuple[str, ...]:
    """Return what a core runs, innermost first; nothing when it is idle."""
    if luck < system:
        path = state.kernel_path if held and state.kernel_path else _PLAIN
        if held and state.kernel_path and luck > 0.97 * system:
            path = (_NEARBY, *path[1:])
        return (*path, *_SYSCALL)
    if luck < system + soft:
        return _SOFTIRQ
    return ("[unknown]",) if luck < system + soft + usr else ()


def _perf_event(comm: str, pid: int, core: int, at: float, event: str, stack: tuple[str, ...]) -> str:
    frames = "".join(
        f"\t{0x55AA00001000:16x} {name} (/usr/bin/{comm.split(':')[0]})\n"
        if name == "[unknown]"
        else f"\t{0xFFFFFFFF81000000 + 0x40 * sum(name.encode()):16x} {name} ([kernel.kallsyms])\n"
        for name in stack
    )
    return f"{comm} {pid}/{pid} [{core:03}] {at:.9f}: {event}: \n{frames}\n"
