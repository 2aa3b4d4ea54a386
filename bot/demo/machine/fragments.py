"""Answers to the shell and awk fragments that probes send.

A simulated node has no shell. Each fragment is recognised by words that only it contains, and answered as a real
machine in this state would.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from bot.demo.machine import (
    hardware,
    kernel_log,
    network,
    nic_counters,
    proc_files,
    processes,
    runtime,
    systemd,
    tracing,
    unit_fragments,
)
from bot.demo.machine.command import Answer, CommandContext, Tool
from bot.demo.machine.load import TICKS
from bot.probes.formats.kernel_filter import ring_patterns
from bot.probes.formats.kernel_table import table


async def looks_at_proc_stat(context: CommandContext, argv: Sequence[str]) -> Answer:
    """The cpu rows of /proc/stat, once a second."""
    text = ""
    for second in range(int(argv[-1]) + 1):
        if second:
            await asyncio.sleep(1)
        now = context.now()
        rows = [line for line in proc_files.proc_stat(context.state, now).splitlines() if line.startswith("cpu")]
        text += f"uptime {now.uptime:.2f}\n" + "\n".join(rows) + "\n"
    return Answer.text(text)


def cgroups(context: CommandContext, argv: Sequence[str]) -> Answer:
    """Where cgroups are mounted, what the kernel counts, how many directories there are."""
    now, state = context.now(), context.state
    kind = "cgroup2fs" if state.system.cgroups == "v2" else "tmpfs"
    mounts = [line for line in proc_files.mountinfo(state).splitlines() if " - cgroup" in line]
    text = (
        f"filesystem {kind}\nnamespace cgroup:[4026531835]\n==> /proc/self/mountinfo <==\n" + "\n".join(mounts) + "\n"
    )
    for tree in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        paths = (f"{tree}/cgroup.controllers", f"{tree}/cgroup.stat")
        if context.files.read(paths[0], now) is not None:
            text += context.files.tail(paths, now)[0]
    if state.system.cgroups != "v2":
        text += context.files.tail(("/proc/cgroups",), now)[0]
        text += f"==> /walk <==\ndirectories {state.cgroups.alive} in /sys/fs/cgroup/memory\n"
    return Answer.text(text + "-- end of look --\n")


def interrupts(context: CommandContext, argv: Sequence[str]) -> Answer:
    """The network devices' interrupts and their rows in /proc/interrupts."""
    now, state = context.now(), context.state
    text = "".join(
        f"net {name}{''.join(f' {irq}' for irq in irqs)}\n" for name, irqs in network.msi_irqs(state).items()
    )
    header, *rows = network.interrupts(state, now).splitlines()
    text += " ".join(header.split()) + "\n"
    mine = {str(irq) for irqs in network.msi_irqs(state).values() for irq in irqs}
    for row in rows:
        irq = row.partition(":")[0].strip()
        if irq in mine:
            affinity = context.files.read(f"/proc/irq/{irq}/effective_affinity_list", now)
            text += f"{' '.join(row.split())}\ncores {irq} {affinity}"
    return Answer.text(text)


def irqbalance(context: CommandContext, argv: Sequence[str]) -> Answer:
    """Whether irqbalance runs."""
    return Answer.text("yes\n" if any(nic.irqbalance for nic in context.state.nics) else "no\n")


async def busiest(context: CommandContext, argv: Sequence[str]) -> Answer:
    """The processes that used CPU between two samples, most kernel time first, and the busiest ones' threads."""
    gap = float(argv[argv.index("-v") + 1].removeprefix("gap="))
    first = context.now()
    everyone = processes.all_processes(context.state)
    before = {process.pid: processes.ticks(process, process.threads, first) for process in everyone}
    await asyncio.sleep(max(0.0, gap - 0.25))
    second = context.now()
    rows = []
    for process in everyone:
        then, now = before[process.pid], processes.ticks(process, process.threads, second)
        if now != then:
            rows.append((now[0] - then[0], now[1] - then[1], process))
    text = f"hz {TICKS}\n"
    text += "".join(
        f"d {processes.stat(process, process.pid, process.threads, second)}w {process.pid} folio_wait_bit_common\n"
        for process in everyone
        if process.state == "D"
    )
    text += f"looks {first.uptime:.2f} {second.uptime:.2f} {len(everyone)}\n"
    alike: dict[str, list[tuple[int, int]]] = {}
    for process in everyone:
        if not process.kernel:
            spent = sum(processes.ticks(process, process.threads, second)) - sum(before[process.pid])
            alike.setdefault(process.comm, []).append((int(process.since * TICKS), spent))
    text += "".join(
        f"n {len(mine)} {min(born for born, _ in mine)} {sum(spent for _, spent in mine)} ({name})\n"
        for name, mine in alike.items()
    )
    text += f"names {len(alike)}\n"
    by_kernel = sorted((row for row in rows if row[1]), key=lambda row: -row[1])[:15]
    by_all = sorted((row for row in rows if row not in by_kernel), key=lambda row: -(row[0] + row[1]))
    for usr, sys, process in (*by_kernel, *by_all[: 25 - len(by_kernel)]):
        text += f"p {usr} {sys} {processes.stat(process, process.pid, process.threads, second)}"
    many = [process for _, _, process in by_kernel[:5] if len(process.threads) > 1]
    if many:
        await asyncio.sleep(0.3)
        third = context.now()
        for process in many:
            for number, thread in enumerate(process.threads):
                then, now = (processes.ticks(process, (thread,), moment) for moment in (second, third))
                if now != then:
                    text += (
                        f"t {process.pid} {process.pid + number} {thread.core} {now[0] - then[0]} {now[1] - then[1]}\n"
                    )
    return Answer.text(text + "end\n")


def host(context: CommandContext, argv: Sequence[str]) -> Answer:
    """Time, the file system of the cgroup mount, virtualisation."""
    kind = "cgroup2fs" if context.state.system.cgroups == "v2" else "tmpfs"
    return Answer.text(f"time={int(context.now().at.timestamp())}\ncgroup={kind}\nvirt=amazon\n")


def throttled(context: CommandContext, argv: Sequence[str]) -> Answer:
    """cpu.stat of every cgroup with a quota."""
    now, text = context.now(), ""
    for quota in context.state.quotas:
        held = quota.throttled_seconds * now.uptime
        last = (
            f"throttled_usec {int(held * 1e6)}"
            if context.state.system.cgroups == "v2"
            else f"throttled_time {int(held * 1e9)}"
        )
        text += f"==> /{quota.path} <==\nnr_periods {int(quota.periods * now.uptime)}\n"
        text += f"nr_throttled {int(quota.throttled * now.uptime)}\n{last}\n"
    return Answer.text(f"{text}==> /seen <==\n{40 + len(context.state.quotas)}\n")


def shown_units(context: CommandContext, argv: Sequence[str]) -> Answer:
    """`systemctl show` of every service that is not at rest."""
    return systemd.systemctl(context.state, context.now(), argv[2].partition("exec ")[2].replace("'", "").split())


def nothing_starts(context: CommandContext, argv: Sequence[str]) -> Answer:
    """No oneshot is at work here."""
    return Answer.text("-- end of units --\n")


def failed_units(context: CommandContext, argv: Sequence[str]) -> Answer:
    """systemd's version, its failed units, and the end of the list."""
    rows = systemd.listed(context.state, context.now(), ("failed",))
    version = context.state.system.systemd
    return Answer.text(f"systemd {version} ({version}.1)\n{rows}-- status 0 --\n")


def restarts(context: CommandContext, argv: Sequence[str]) -> Answer:
    """systemd's journal lines about restarts in the last hour."""
    as_root = "sudo -n" in argv[2]
    if as_root and not context.state.sudo:
        return Answer.error("sudo: a password is required", 1)
    if not as_root and not context.state.reads_journal:
        return Answer()
    now = context.now()
    lines = systemd.restarts(context.state, now, now.uptime - 3600)
    text = "".join(f"[{at:12.6f}] {context.state.name} {who}: {says}\n" for at, who, says in lines[-2000:])
    return Answer.text(f"{text}-- read --\n")


def nics(context: CommandContext, argv: Sequence[str]) -> Answer:
    """Driver and counters of every network interface; of the queues only the error counters."""
    text = "".join(nic_counters.look(nic, context.now()) for nic in context.state.nics)
    return Answer.text(f"{text}-- end of look --\n")


def known_agents(context: CommandContext, argv: Sequence[str]) -> Answer:
    """Unit files and states of the platform agents that the fragment names."""
    names = argv[2].partition("list-unit-files --no-pager --no-legend ")[2].partition(";")[0].split()
    files = systemd.unit_files(context.state, names)
    return Answer.text(f"{files}-- active --\n{systemd.listed(context.state, context.now(), names=names)}-- end --\n")


_ECS_FILES = ("/etc/ecs/ecs.config", "/var/lib/ecs/ecs.config")
_ECS_LOGS = ("/var/log/ecs/ecs-init.log", "/var/log/ecs/ecs-agent.log")
_ECS_SAYS = re.compile("Agent exited with code|Agent failed to start|egistered container|Registration completed")


def ecs_files(context: CommandContext, argv: Sequence[str]) -> Answer:
    """The ECS agent's cluster, and its log lines about failed runs and registrations."""
    text, now = "", context.now()
    for path in (*_ECS_FILES, *_ECS_LOGS):
        content = context.files.read(path, now)
        if content is not None:
            keeps = _ECS_SAYS.search if path in _ECS_LOGS else re.compile(r"\s*ECS_CLUSTER=").match
            lines = [line for line in content[-65536:].splitlines() if keeps(line)][-300:]
            text += f"==> {path} <==\n" + "".join(f"{line}\n" for line in lines)
    return Answer.text(f"{text}-- end --\n")


def essential_units(context: CommandContext, argv: Sequence[str]) -> Answer:
    """The units that the node stands on, and the kubelet's own health check."""
    now = context.now()
    words = argv[2].partition("systemctl ")[2].partition(";")[0].split()
    shown = systemd.systemctl(context.state, now, ["systemctl", *words]).stdout.decode()
    here = {unit.name for unit in context.state.units}
    missing = (name for name in words if "." in name and name not in here)
    shown += "".join(f"\nId={name}\nLoadState=not-found\nActiveState=inactive\n" for name in missing)
    runs = any(unit.name == "kubelet.service" and unit.active == "active" for unit in context.state.units)
    return Answer.text(f"{shown}\nId=-- health --\nAnswer={'200 0' if runs else '000 7'}\n-- end --\n")


def boot_units(context: CommandContext, argv: Sequence[str]) -> Answer:
    """The units that the next boot starts, and what shows a node of Kubernetes."""
    units = [unit for unit in context.state.units if unit.enabled == "enabled"]
    text = "".join(f"enabled multi-user.target.wants/{unit.name}\n" for unit in units)
    text += "".join(f"kubelet {unit.name}\n" for unit in context.state.units if unit.name == "kubelet.service")
    for path in _ECS_FILES:
        content = context.files.read(path, context.now()) or ""
        text += "".join(f"{line}\n" for line in content.splitlines() if line.lstrip().startswith("ECS_CLUSTER="))
    return Answer.text(f"{text}-- end --\n")


def kubelet_complaints(context: CommandContext, argv: Sequence[str]) -> Answer:
    """Nothing: every simulated kubelet has a container runtime that answers."""
    return Answer.text("-- end --\n")


_ERROR, _UNLISTED = 3, -1  # the level from which the kernel calls a line an error; their own sort
_MOST_OF_A_SORT = 80


def kernel_lines(context: CommandContext, argv: Sequence[str]) -> Answer:
    """The kernel log lines that match the fragment's patterns or are errors, the newest of each, and the line count."""
    script = argv[2]
    if "sudo -n" in script and not context.state.sudo:
        return Answer.error("sudo: a password is required", 1)
    if "sudo -n" not in script and not context.state.reads_journal:
        return Answer.error("Hint: You are currently not seeing messages from other users and the system.", 0)
    origin = "journal" if "o=journal" in script else "dmesg"
    rows = table()
    rings = [[re.compile(words or "(?!)") for words in ring] for ring in ring_patterns(rows)]
    fails = re.compile(rows.failing)
    every = kernel_log.entries(context.state, context.now())
    kept: dict[int, list[int]] = {}
    for number, (_, level, text) in enumerate(every):
        unlisted = _UNLISTED if level <= _ERROR and not rows.is_habit(text) else None
        asked = slice(2 if fails.search(text) else 1)
        told = (at for at, ring in enumerate(rings) if any(words.search(text) for words in ring[asked]))
        sort = min(told, default=unlisted)
        if sort is not None:
            kept.setdefault(sort, []).append(number)
    left_out = sum(max(0, len(numbers) - _MOST_OF_A_SORT) for numbers in kept.values())
    newest = sorted(number for numbers in kept.values() for number in numbers[-_MOST_OF_A_SORT:])
    who = f"{context.state.name} kernel: " if origin == "journal" else ""
    lines = "".join(f"{_level(level)}[{at:12.6f}] {who}{text}\n" for at, level, text in map(every.__getitem__, newest))
    return Answer.text(f"{lines}-- {origin}: {len(every)} lines, {left_out} left out --\n")


def _level(level: int) -> str:
    return f"<{level if level == _ERROR else _ERROR - 1}>" if level <= _ERROR else ""


def last_lines(context: CommandContext, argv: Sequence[str]) -> Answer:
    """The end of the kernel log as it stands."""
    script = argv[2]
    if not (context.state.sudo if "sudo -n" in script else context.state.reads_journal):
        return Answer.error("no rights", 0)
    who = f"{context.state.name} kernel: " if "journalctl" in script else ""
    lines = kernel_log.entries(context.state, context.now())[-400:]
    return Answer.text("".join(f"[{at:12.6f}] {who}{text}\n" for at, _, text in lines))


FRAGMENTS: tuple[tuple[str, Tool], ...] = (
    ('grep -a "^cpu" /proc/stat', looks_at_proc_stat),
    ("echo namespace $(readlink /proc/self/ns/cgroup)", cgroups),
    ("/msi_irqs", interrupts),
    ("irqbalance.service", irqbalance),
    ("function busiest(", busiest),
    ("127.0.0.1:10248", essential_units),
    ("PLEG is not healthy", kubelet_complaints),
    ("/etc/systemd/system; d=", boot_units),
    ("chronyc -n tracking", hardware.clock),
    ("/etc/resolv.conf", hardware.name_servers),
    ("Amazon Elastic Block Store", hardware.ebs_volumes),
    ("openssl x509", hardware.certificates),
    ("/sys/devices/system/edac/mc/", hardware.memory_errors),
    ("readlink $d/driver", hardware.pci_gpus),
    ("/dev/block/$d", hardware.filesystems),
    ("nvidia-smi --query-gpu", hardware.nvidia_smi),
    (" events --since", runtime.docker),
    (" --no-trunc --format", runtime.docker),
    (" -o json", runtime.cri),
    ("/device/driver", nics),
    ("tracepoint:irq:softirq_raise", tracing.softirq_waits),
    ("-- whole --", kernel_lines),
    ("| tail -n 400", last_lines),
    ("systemctl list-unit-files", known_agents),
    ("ECS_CLUSTER=", ecs_files),
    ("systemd-detect-virt", host),
    ("cpu.cfs_quota_us", throttled),
    ("exec systemctl show", shown_units),
    ("--state=activating -p Id", nothing_starts),
    ("|PropagatesStopTo)=", unit_fragments.dependents),
    ("ConflictedBy", unit_fragments.conflicts),
    ("systemctl list-units --all --state=failed", failed_units),
    ("5eb03494b6584870a536b337290809b3", restarts),
)
