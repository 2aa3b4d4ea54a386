"""When a reboot is earned: what must be so at the least, told from the snapshot alone and not by the causes' own rules.

The figures are those of the field, written out here: they are not read from a playbook, and know no cause.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

from bot.domain.probe import Snapshot, Unread
from bot.probes.cgroups import CgroupsReading
from bot.probes.containers import ContainersReading
from bot.probes.cpu import CpuReading
from bot.probes.gpu import GpuReading
from bot.probes.host import HostReading
from bot.probes.kernel_log import KernelLogReading
from bot.probes.nic import NicReading
from bot.probes.processes import ProcessesReading
from bot.probes.reclaim import ReclaimReading

_WALK = 0.7 / 10_000  # seconds of a read for each cgroup, before 5.8 (dd8657b6c1cb)
_STALLS = ("soft-lockup", "hard-lockup", "rcu-stall")


def why_unearned(cause: str | None, snapshot: Snapshot) -> str:
    """Return what is lacking for a reboot for that cause, empty where nothing is."""
    match cause:
        case "leaked-memory-cgroups":
            return _leak(snapshot)
        case "lockup":
            return _lockup(snapshot)
        case "too-many-live-cgroups":
            return _live(snapshot)
        case "gpu-fault":
            return _gpu(snapshot)
    return f"no reboot cures {cause}"


def _ages(snapshot: Snapshot, *kinds: str) -> list[timedelta]:
    log, host = snapshot.get(KernelLogReading), snapshot.get(HostReading)
    if isinstance(log, Unread) or isinstance(host, Unread):
        return []
    return [host.uptime - event.since_boot for event in log.of(*kinds) if event.since_boot is not None]


def _held(snapshot: Snapshot) -> set[int]:
    """The cores that the kernel did not give back for a second at least."""
    cpu = snapshot.get(CpuReading)
    if isinstance(cpu, Unread):
        return set()
    return {core.core for second in cpu.seconds for core in second if core.sys_percent >= 90}


def _walks(snapshot: Snapshot, many: int) -> bool:
    """True where so many can hold a core, and a walk over them was caught within the hour."""
    caught = _ages(snapshot, "stack-memcg-walk")
    return many * _WALK >= 1 and any(age <= timedelta(hours=1) for age in caught)


def _leak(snapshot: Snapshot) -> str:
    cgroups, host = snapshot.get(CgroupsReading), snapshot.get(HostReading)
    if isinstance(cgroups, Unread) or isinstance(host, Unread):
        return "cgroups or uptime were not read"
    dying = cgroups.dying if cgroups.dying_later is None else cgroups.dying_later
    alive = cgroups.alive if cgroups.alive_later is None else cgroups.alive_later
    if cgroups.growth is not None and dying + 12 * cgroups.growth <= 0:
        return "all of them are freed within a minute"
    if dying * _WALK >= 1 and host.kernel_version < (5, 8) and cgroups.mode != "v2":
        processes, nic = snapshot.get(ProcessesReading), snapshot.get(NicReading)
        burns = not isinstance(processes, Unread) and any(each.sys_seconds > 0 for each in processes.busiest)
        if _held(snapshot) and burns:
            return ""
        starved = _ages(snapshot, "nic-starved", "nic-stalled", "netdev-watchdog", "nic-reset")
        if any(age <= timedelta(hours=1) for age in starved) or len(starved) >= 3:
            return ""
        if not isinstance(nic, Unread) and any(card.rise("suspected_poll_starvation") for card in nic.nics):
            return ""
    if _walks(snapshot, dying):
        return ""
    reclaim, cpu = snapshot.get(ReclaimReading), snapshot.get(CpuReading)
    if not isinstance(reclaim, Unread) and reclaim.mem_total_kib:
        cpus = 2 if isinstance(cpu, Unread) else max(2, cpu.cores)
        theirs = min(reclaim.kernel_held_kib or 0, dying * (25 + 1.87 * (cpus - 2)))
        left = reclaim.mem_available_kib
        if theirs > 0.1 * reclaim.mem_total_kib or (left is not None and theirs > left):
            return ""
    refused = any(age <= timedelta(hours=1) for age in _ages(snapshot, "cgroup-exhausted"))
    if refused and host.kernel_version < (4, 8) and alive + dying >= 60_000:
        return ""
    return f"{dying} dying cgroups do no harm of now here"


def _lockup(snapshot: Snapshot) -> str:
    cpu, log, host = snapshot.get(CpuReading), snapshot.get(KernelLogReading), snapshot.get(HostReading)
    if isinstance(cpu, Unread) or isinstance(log, Unread) or isinstance(host, Unread):
        return "cores, log or uptime were not read"
    if cpu.steal_percent >= 5:
        return "the hypervisor takes the cores away"
    lately = sorted(age for age in _ages(snapshot, *_STALLS) if age <= timedelta(minutes=10))
    if any(later - first > timedelta(minutes=3) for first, later in pairwise(lately)):
        return ""
    stuck = {event.core for event in log.of(*_STALLS)}
    return "" if lately and stuck & _held(snapshot) else "no core that was stuck is held, and no stall came back"


def _live(snapshot: Snapshot) -> str:
    cgroups, containers = snapshot.get(CgroupsReading), snapshot.get(ContainersReading)
    if isinstance(cgroups, Unread) or isinstance(containers, Unread):
        return "cgroups or containers were not read"
    alive = cgroups.alive if cgroups.alive_later is None else cgroups.alive_later
    if alive <= 8 * sum(container.running for container in containers.containers):
        return "they are those of containers that run"
    refused = any(age <= timedelta(hours=1) for age in _ages(snapshot, "cgroup-exhausted"))
    if _walks(snapshot, alive) or (refused and alive >= 60_000):
        return ""
    return f"{alive} live cgroups do no harm of now"


def _gpu(snapshot: Snapshot) -> str:
    gpus, log = snapshot.get(GpuReading), snapshot.get(KernelLogReading)
    if isinstance(gpus, Unread):
        return "the GPUs were not read"
    told = [] if isinstance(log, Unread) else [event.text for event in log.of("gpu-error", "gpu-application")]
    silent = any(gpu.answers is False for gpu in gpus.gpus) and any("Xid" in text for text in told)
    asked = any("Reboot" in gpu.recovery for gpu in gpus.gpus) or any("Node Reboot Required" in text for text in told)
    return "" if silent or asked else "every GPU answers, and none asks for a reboot"
