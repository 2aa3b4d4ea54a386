"""The kernel log of a simulated node: its lines, and what the filter that probes send leaves of them.

Defined in: journalctl(1); bot/probes/formats/kernel_filter.py.
"""

from __future__ import annotations

import re

from bot.demo.machine import network
from bot.demo.machine.command import Asked
from bot.demo.machine.state import Line, Moment, State
from bot.probes.formats.kernel_filter import MOST_OF_A_SORT, ring_patterns
from bot.probes.formats.kernel_table import ROWS_OF_SITES, table

_ERROR, _UNLISTED = 3, -1  # the level from which the kernel calls a line an error; their own sort


def entries(state: State, now: Moment) -> list[tuple[float, int, str]]:
    """Return every line since boot, oldest first: uptime, level, text."""
    found = []
    for line in (
        *_boot_lines(state),
        *state.log,
        *(line for nic in state.nics for line in network.reset_lines(nic, now)),
    ):
        times = int((now.uptime - line.at) // line.every) + 1 if line.every else int(line.at <= now.uptime)
        found += [(line.at + number * line.every, line.level, line.text) for number in range(times)]
    return sorted(found, key=lambda entry: entry[0])


def _boot_lines(state: State) -> list[Line]:
    system, cores = state.system, state.load.cores
    texts = [
        (0.0, f"Linux version {system.kernel} (buildd@lcy02) (gcc version 9.4.0) {system.build}"),
        (0.0, f"Command line: BOOT_IMAGE=/boot/vmlinuz-{system.kernel} root=LABEL=root ro console=ttyS0"),
        (0.000001, f"DMI: Amazon EC2 {system.product}/, BIOS 1.0 10/16/2017"),
        (0.000002, "Hypervisor detected: KVM"),
        (0.1, f"smpboot: Allowing {cores} CPUs, 0 hotplug CPUs"),
        (0.2, f"Memory: {state.memory.total}K/{state.memory.total + 900_000}K available"),
        (0.3, "rcu: Hierarchical RCU implementation."),
        (0.9, f"smp: Brought up 1 node, {cores} CPUs"),
        (1.2, "clocksource: Switched to clocksource tsc"),
        (2.1, "nvme nvme0: pci function 0000:00:04.0"),
        (3.0, "EXT4-fs (nvme0n1p1): mounted filesystem with ordered data mode. Opts: (null)"),
        (4.1, f"systemd[1]: systemd {system.systemd} running in system mode."),
        *(line for nic in state.nics for line in network.boot_lines(nic)),
    ]
    return [Line(at, text) for at, text in texts]


@ROWS_OF_SITES.cached
def _rings() -> list[list[re.Pattern[str]]]:
    """The patterns of each ring, for lines without and with a word of failure; the same for all nodes."""
    return [[re.compile(words or "(?!)") for words in ring] for ring in ring_patterns(table())]


def kernel_lines(asked: Asked) -> str:
    """The lines that match the filter's patterns or are errors, the newest of each sort, and the line count."""
    rows = table()
    rings = _rings()
    fails = re.compile(rows.failing)
    every = entries(asked.state, asked.now)
    kept: dict[int, list[int]] = {}
    for number, (_, level, text) in enumerate(every):
        unlisted = _UNLISTED if level <= _ERROR and not rows.is_habit(text) else None
        words = slice(2 if fails.search(text) else 1)
        told = (at for at, ring in enumerate(rings) if any(pattern.search(text) for pattern in ring[words]))
        if (sort := min(told, default=unlisted)) is not None:
            kept.setdefault(sort, []).append(number)
    left_out = sum(max(0, len(numbers) - MOST_OF_A_SORT) for numbers in kept.values())
    newest = sorted(number for numbers in kept.values() for number in numbers[-MOST_OF_A_SORT:])
    lines = "".join(
        f"{_level_prefix(level)}[{at:12.6f}] {asked.state.name} kernel: {text}\n"
        for at, level, text in map(every.__getitem__, newest)
    )
    return f"{lines}-- journal: {len(every)} lines, {left_out} left out --\n"


def _level_prefix(level: int) -> str:
    return f"<{level if level == _ERROR else _ERROR - 1}>" if level <= _ERROR else ""


def last_lines(asked: Asked) -> str:
    """The end of the kernel log as it stands."""
    newest = entries(asked.state, asked.now)[-400:]
    return "".join(f"[{at:12.6f}] {asked.state.name} kernel: {text}\n" for at, _, text in newest)


def journal_pairs(state: State, now: Moment) -> list[tuple[int, int]]:
    """Return printk's stamp and the journal's of the newest lines, in microseconds: taken in 0.2 ms later."""
    newest = entries(state, now)[-200:]
    return [(round(at * 1e6), round(at * 1e6) + 200) for at, _, _ in newest]
