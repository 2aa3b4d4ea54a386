"""A line of the kernel's log, its time and text, whichever program printed it.

Defined in: Linux, kernel/printk/printk.c (times, callers), dmesg(1), journalctl(1) `-o short-monotonic`, RFC 3164
(syslog files).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class KernelEvent:
    """A line. `kind` is what it tells (`tables/kernel-log.toml`); `since_boot` is None if the line has no such time."""

    kind: str
    text: str  # the raw line
    since_boot: timedelta | None = None
    device: str = ""
    core: int | None = None  # the CPU the line names
    queue: int | None = None
    process: str = ""  # the process the line names
    napi_scheduled: bool | None = None
    reason: str | None = None  # of a reset: the driver's complaint just before it


LOCKUPS = ("soft-lockup", "hard-lockup", "rcu-stall")
RESETS = ("nic-reset", "nic-reset-failed")


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
        return KernelLine(found["says"], raw, _time_since_boot(found["at"])) if found["who"] == "kernel" else None
    for form in (_DMESG, _SYSLOG):
        found = form.fullmatch(raw)
        if found is not None:
            return KernelLine(found["says"], raw, _time_since_boot(found["at"]))
    found = _DATED.fullmatch(raw)
    return KernelLine(found["says"] if found else raw, raw)


def _time_since_boot(at: str | None) -> timedelta | None:
    return None if at is None else timedelta(seconds=float(at))
