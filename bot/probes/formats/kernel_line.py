"""A line of the kernel's log, its time and text, whichever program printed it.

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
    """A line. `since_boot` is None if the line has no such time."""

    kind: KernelEventKind
    text: str  # the raw line
    since_boot: timedelta | None = None
    device: str = ""
    core: int | None = None  # the CPU the line names
    queue: int | None = None
    process: str = ""  # the process the line names
    napi_scheduled: bool | None = None
    reason: KernelEventKind | None = None  # of a reset: the driver's complaint just before it


class KernelEventKind(enum.StrEnum):
    """What a line of the kernel log is about."""

    NIC_STARVED = "nic-starved"  # the driver says that its poll was scheduled but did not run
    NIC_STALLED = "nic-stalled"  # queue or completion time-out without a sign of starvation
    NIC_KEEPALIVE = "nic-keepalive"
    NIC_ADMIN = "nic-admin"
    NIC_INTERRUPT = "nic-interrupt"  # interrupt that never came
    NIC_RESET = "nic-reset"
    NIC_RESET_FAILED = "nic-reset-failed"
    NIC_DEVICE_ERROR = "nic-device-error"  # invalid ids, malformed descriptors, failed restore
    NIC_REFILL = "nic-refill"  # receive ring could not be refilled: too little memory
    NETDEV_WATCHDOG = "netdev-watchdog"
    LINK_LOST = "link-lost"  # of a bond's port
    LINK_BACK = "link-back"  # ends it
    HEAT_ON = "heat-on"  # a core's clock is throttled for heat
    HEAT_OFF = "heat-off"  # ends it
    TCP_MEMORY = "tcp-memory"  # a connection was cut for want of TCP's memory
    TCP_ORPHANS = "tcp-orphans"  # the same, for too many closed connections that still wait
    NO_PAGES = "no-pages"  # an allocation that could not wait, or found no room in one piece, failed
    SOFT_LOCKUP = "soft-lockup"
    HARD_LOCKUP = "hard-lockup"
    RCU_STALL = "rcu-stall"
    STACK_MEMCG_WALK = "stack-memcg-walk"  # a call trace that names the memory cgroup statistics walk
    STACK_CONSOLE = "stack-console"  # a trace whose core is in the driver of a serial console
    HUNG_TASK = "hung-task"
    OOM_KILL = "oom-kill"
    OOM_LIMIT = "oom-limit"  # told just before a kill: the cgroup at its limit, or another constraint than the machine
    CONNTRACK_FULL = "conntrack-full"
    CONNTRACK_FULL_ELSEWHERE = "conntrack-full-elsewhere"  # in another network namespace than the host's
    DISK_ERROR = "disk-error"  # I/O errors, NVMe time-outs, aborted journals
    UNCHECKED = "unchecked"  # a file system had an error, and nobody has checked it since
    MOUNTED = "mounted"  # a file system; what was wrong with the device's last one is over
    NFS_SILENT = "nfs-silent"
    NFS_ANSWERS = "nfs-answers"  # ends the silence of the same server
    MEMORY_ERROR = "memory-error"  # memory that could not be corrected
    HARDWARE_ERROR = "hardware-error"  # machine checks and firmware records; most were corrected
    KERNEL_BUG = "kernel-bug"  # an oops: the kernel continued after an error in itself
    WORKQUEUE_STALL = "workqueue-stall"
    NETDEV_HELD = "netdev-held"  # an interface was removed, but something still holds it
    EFA_SILENT = "efa-silent"  # an EFA device does not answer its driver
    NIC_LINK_DOWN = "nic-link-down"  # a cable or a switch: the link of a card went down
    DEVICE_LOST = "device-lost"  # given up by its driver or by the bus, until somebody resets or replaces it
    COMPLAINT = "complaint"  # a driver or a part of the kernel says that something failed; it counts if it repeats
    ERROR = "error"  # no words are known for the line, but the kernel calls it an error; it counts if it repeats
    GRAVE = "grave"  # the same, and the kernel calls it critical or worse
    CGROUP_EXHAUSTED = "cgroup-exhausted"  # ENOSPC on making a cgroup, fork rejected by pids
    CLOCKSOURCE = "clocksource"
    GPU_ERROR = "gpu-error"
    NEIGHBOURS_FULL = "neighbours-full"
    FILES_EXHAUSTED = "files-exhausted"  # only root may open another file


LOCKUPS = (KernelEventKind.SOFT_LOCKUP, KernelEventKind.HARD_LOCKUP, KernelEventKind.RCU_STALL)
RESETS = (KernelEventKind.NIC_RESET, KernelEventKind.NIC_RESET_FAILED)


_SINCE_BOOT = r"\[\s*(?P<at>[0-9]{1,9}\.[0-9]{1,9})\]"
_CALLER = r"(?:\s?\[\s*[TC][0-9]+\])?"  # CONFIG_PRINTK_CALLER
_DATE = r"[A-Z][a-z]{2}\s+[0-9]{1,2} [0-9:]{8}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.,]{8,18}(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
# A journal line names its writer; dmesg's lines do not. A bare `(?:kernel: )` is a syslog line without its date.
_JOURNAL = re.compile(rf"{_SINCE_BOOT} \S+ (?P<who>[^:\[]+)(?:\[[0-9]+\])?: (?P<says>.*)")
_SYSLOG = re.compile(rf"(?:(?:{_DATE}) \S+ )?kernel: (?:{_SINCE_BOOT}{_CALLER} )?(?P<says>.*)")
_DMESG = re.compile(rf"(?:<[0-9]+>)?{_SINCE_BOOT}{_CALLER} (?P<says>.*)")
_DATED = re.compile(rf"(?:\[\s*\+?[A-Z0-9][^\]]{{3,30}}\]|(?:{_DATE})) (?P<says>.*)")


@dataclass(frozen=True, slots=True)
class KernelLine:
    """The text of a line without the printing program's prefix. `since_boot` None: it has no such time."""

    says: str
    raw: str
    since_boot: timedelta | None = None


def kernel_line(raw: str, from_journal: bool) -> KernelLine | None:
    """Remove the prefix of a line; None when the journal names another writer than the kernel.

    Lines that a program of root's writes to /dev/kmsg have another facility than the kernel's, and are not requested;
    only the plain `dmesg` of small systems cannot tell them from the kernel's lines.
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
