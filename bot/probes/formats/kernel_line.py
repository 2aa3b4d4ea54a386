"""One line of the kernel's log: when it was said, and what; whatever printed it.

Defined in: Linux, kernel/printk/printk.c (times, callers), dmesg(1), journalctl(1) `-o short-monotonic`, RFC 3164
(syslog files).
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class KernelEvent:
    """One line. `since_boot` is None where the line carries no time of that kind."""

    kind: KernelEventKind
    text: str  # the raw line
    since_boot: timedelta | None = None
    device: str = ""
    core: int | None = None  # the CPU the line names
    queue: int | None = None
    process: str = ""  # the process the line names
    napi_scheduled: bool | None = None
    reason: KernelEventKind | None = None  # of a reset: what the driver said just before it


class KernelEventKind(enum.StrEnum):
    """What a line of the kernel log is about."""

    NIC_STARVED = "nic-starved"  # the driver says that its poll was scheduled and did not run
    NIC_STALLED = "nic-stalled"  # queue or completion time-out that does not say starved
    NIC_KEEPALIVE = "nic-keepalive"
    NIC_ADMIN = "nic-admin"
    NIC_INTERRUPT = "nic-interrupt"  # interrupt that never came
    NIC_RESET = "nic-reset"
    NIC_RESET_FAILED = "nic-reset-failed"
    NIC_DEVICE_ERROR = "nic-device-error"  # invalid ids, malformed descriptors, failed restore
    NIC_REFILL = "nic-refill"  # receive ring could not be refilled: too little memory
    NETDEV_WATCHDOG = "netdev-watchdog"
    SOFT_LOCKUP = "soft-lockup"
    HARD_LOCKUP = "hard-lockup"
    RCU_STALL = "rcu-stall"
    STACK_MEMCG_WALK = "stack-memcg-walk"  # a call trace that names the memory cgroup statistics walk
    HUNG_TASK = "hung-task"
    OOM_KILL = "oom-kill"
    CONNTRACK_FULL = "conntrack-full"
    CONNTRACK_FULL_ELSEWHERE = "conntrack-full-elsewhere"  # in another network namespace than the host's
    DISK_ERROR = "disk-error"  # I/O errors, NVMe time-outs, aborted journals
    NFS_SILENT = "nfs-silent"
    NFS_ANSWERS = "nfs-answers"  # ends the silence of the same server
    MEMORY_ERROR = "memory-error"  # memory that could not be corrected
    HARDWARE_ERROR = "hardware-error"  # machine checks and firmware records; most were corrected
    KERNEL_BUG = "kernel-bug"  # an oops: the kernel went on after an error of its own
    WORKQUEUE_STALL = "workqueue-stall"
    NETDEV_HELD = "netdev-held"  # an interface was removed, and something still holds it
    EFA_SILENT = "efa-silent"  # an EFA device does not answer its driver
    CGROUP_EXHAUSTED = "cgroup-exhausted"  # ENOSPC on making a cgroup, fork rejected by pids
    CLOCKSOURCE = "clocksource"
    GPU_ERROR = "gpu-error"
    NEIGHBOURS_FULL = "neighbours-full"
    FILES_EXHAUSTED = "files-exhausted"  # nobody but root may open another file


_SINCE_BOOT = r"\[\s*(?P<at>[0-9]{1,9}\.[0-9]{1,9})\]"
_CALLER = r"(?:\s?\[\s*[TC][0-9]+\])?"  # CONFIG_PRINTK_CALLER
_DATE = r"[A-Z][a-z]{2}\s+[0-9]{1,2} [0-9:]{8}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.,]{8,18}(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
# A journal line names who spoke; dmesg's do not. `(?:kernel: )` alone is a syslog line whose date was dropped.
_JOURNAL = re.compile(rf"{_SINCE_BOOT} \S+ (?P<who>[^:\[]+)(?:\[[0-9]+\])?: (?P<says>.*)")
_SYSLOG = re.compile(rf"(?:(?:{_DATE}) \S+ )?kernel: (?:{_SINCE_BOOT}{_CALLER} )?(?P<says>.*)")
_DMESG = re.compile(rf"(?:<[0-9]+>)?{_SINCE_BOOT}{_CALLER} (?P<says>.*)")
_DATED = re.compile(rf"(?:\[\s*\+?[A-Z0-9][^\]]{{3,30}}\]|(?:{_DATE})) (?P<says>.*)")


@dataclass(frozen=True, slots=True)
class KernelLine:
    """What one line says, without the prefix of whoever printed it. `since_boot` None: it carries no such time."""

    says: str
    raw: str
    since_boot: timedelta | None = None


def kernel_line(raw: str, from_journal: bool) -> KernelLine | None:
    """Take the prefix off a line; None when the journal names another speaker than the kernel.

    What a program (root's) writes to /dev/kmsg carries another facility than the kernel's, and is not asked for; only
    plain `dmesg`, as small systems have it, cannot tell it from the kernel's words.
    """
    if from_journal:
        found = _JOURNAL.fullmatch(raw)
        if found is None:
            return None
        return KernelLine(found["says"], raw, _since(found["at"])) if found["who"] == "kernel" else None
    for form in (_DMESG, _SYSLOG):
        found = form.fullmatch(raw)
        if found is not None:
            return KernelLine(found["says"], raw, _since(found["at"]))
    found = _DATED.fullmatch(raw)
    return KernelLine(found["says"] if found else raw, raw)


def _since(at: str | None) -> timedelta | None:
    return None if at is None else timedelta(seconds=float(at))
