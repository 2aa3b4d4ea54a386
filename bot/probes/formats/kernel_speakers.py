"""Which speakers of the kernel's log are in trouble. A speaker is a driver, a file system or a part, with its device.

Words of drivers never end. So a line is judged by who says it and how often, or in how many ways at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta

from bot.domain.safe_text import redacted_text
from bot.probes.formats.kernel_line import KernelEvent
from bot.probes.formats.kernel_table import COMPLAINTS

_COMPLAINTS = (*COMPLAINTS, "error", "grave", "serious")
BOOT = timedelta(minutes=5)  # drivers look for what is not there, and say so once
_MINUTES_FEW = 3  # of an hour
_FLOOD_LINES, _FLOOD_SECONDS = 20, 10.0
_TOGETHER = timedelta(minutes=1)
_FIGURE = re.compile(r"\b(?:0x)?[0-9a-f]*[0-9][0-9a-f]*")
_BEFORE = re.compile(r"\A\s*(?:\[[^\]]*\] )?(?:\S+ kernel: )?")  # the time, and the journal's own words
_LONGEST = 60  # characters of a line that are compared with what other nodes say
_WORDS = 40  # characters of a wording: what follows names processes and files
# While the machine starts: a card or a disk. Platforms, boards and firmware say in many ways what they do not have.
_DEVICE = re.compile(r"(?!pcieport )[a-z][\w-]* [0-9a-f]{4}:[0-9a-f:.]{7,}|(?:sd|scsi) [0-9:]{7,}|ata[0-9.]+|nvme nvme")
# A driver that failed, and what it does about it, in one line.
_FAILED = r"(?:[Tt]ime(?:d )?-?out|timed out|\b[Hh](?:ang|ung)\b|[Ss]tuck|not respon)"
_MENDED = r"(?:\b[Rr]e-?(?:set|init|cover|start)\w*)"
_FAILED_AND_MENDED = re.compile(rf"{_FAILED}.{{0,60}}{_MENDED}|{_MENDED}.{{0,60}}{_FAILED}")
# What firmware has left over from before the kernel.
_AT_BOOT = re.compile(r"DMAR|IO_PAGE_FAULT|Non-Fatal")
# Errors that were corrected are no harm, one by one. So many within so many seconds never end (ours): a bus that tries
# each transfer again, a module of memory of which each look finds more.
_ENDLESS = {"corrected": (3, timedelta(seconds=1)), "hardware-error": (5, timedelta(seconds=10))}
_STARTS = timedelta(minutes=2)  # ours: a unit may take 90 s to start (systemd-system.conf(5), DefaultTimeoutStartSec=)


def complaints_by_speaker(events: Sequence[KernelEvent]) -> dict[str, tuple[KernelEvent, ...]]:
    """Return the complaints of each speaker in trouble, oldest first.

    It repeats itself, the kernel says that it left the same out, one line tells it all, or it fails in two wordings
    within a minute. One failure writes many lines at once: only lines of three different minutes of an hour, or many
    over ten seconds, repeat. What was corrected counts by its rate alone.
    """
    by_speaker: dict[str, list[KernelEvent]] = {}
    corrected: dict[str, list[KernelEvent]] = {}
    for event in events:
        if event.kind in _ENDLESS and event.device and event.since_boot is not None:
            corrected.setdefault(event.device, []).append(event)
        if event.kind in _COMPLAINTS and event.since_boot is not None:
            by_speaker.setdefault(event.device.rstrip(":"), []).append(event)
    never_end = {speaker: tuple(said) for speaker, said in corrected.items() if _never_ends(said)}
    return never_end | {
        speaker: tuple(said)
        for speaker, said in by_speaker.items()
        if _repeats([event.since_boot.total_seconds() for event in said if event.since_boot is not None])
        or any(_tells_alone(event) for event in said)
        or _fails_in_two_wordings(speaker, said)
    }


def _repeats(times: Sequence[float]) -> bool:
    hour = [at for at in times if times[-1] - at <= 3600]
    minutes = {int(at // 60) for at in hour}
    last = hour[-_FLOOD_LINES:]
    is_flood = len(last) == _FLOOD_LINES and hour[-1] - hour[0] >= _FLOOD_SECONDS
    return len(minutes) >= _MINUTES_FEW or is_flood


def _tells_alone(event: KernelEvent) -> bool:
    """True for a line that needs no other: a known one, one like which there were more, a failure with its mending."""
    if event.kind in ("repeated", "serious"):
        at_boot = (
            _AT_BOOT.search(event.text) is not None and event.since_boot is not None and event.since_boot < _STARTS
        )
        return not at_boot
    says = event.text.partition(event.device)[2] if event.device else ""
    later = event.since_boot is not None and event.since_boot >= _STARTS
    return event.kind in ("complaint", "mending") and later and _FAILED_AND_MENDED.search(says) is not None


def _never_ends(said: Sequence[KernelEvent]) -> bool:
    many, within = _ENDLESS[said[-1].kind]
    times = [event.since_boot for event in said if event.since_boot is not None]
    return any(last - first <= within for first, last in zip(times, times[many - 1 :], strict=False))


def _fails_in_two_wordings(speaker: str, said: Sequence[KernelEvent]) -> bool:
    """True for two wordings, at least one of them a failure, within a minute of each other."""
    latest: dict[str, timedelta] = {}  # of each wording
    failed: dict[str, timedelta] = {}  # of each as a failure: what mends tells of one only beside a failure
    is_device = _DEVICE.match(speaker) is not None
    for event in said:
        at, fails = event.since_boot, event.kind == "complaint"
        if at is None or not (fails or event.kind == "mending") or not (at >= _STARTS or is_device):
            continue
        words = _words(event)
        others = latest if fails else failed
        if any(other != words and at - before <= _TOGETHER for other, before in others.items()):
            return True
        for known in (latest, failed) if fails else (latest,):
            known[words] = max(at, known.get(words, at))
    return False


def wording(event: KernelEvent) -> str:
    """Return a line's words without secrets, time, numbers and addresses.

    Example:
    >>> wording(KernelEvent("complaint", "[9.1] node kernel: nvme nvme0: I/O 22 QID 5 timeout, aborting"))
    'nvme nvme0: I/O # QID # timeout, aborting'
    """
    said = redacted_text(event.text)  # first: a key without its figures, or half of one, is known by nobody
    return _FIGURE.sub("#", _BEFORE.sub("", said, count=1))[:_LONGEST].strip()


def _words(event: KernelEvent) -> str:
    after = event.text.partition(event.device)[2] if event.device else event.text
    return _FIGURE.sub("#", after)[:_WORDS]
