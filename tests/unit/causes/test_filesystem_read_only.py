"""File systems that take no writes: after an error, and by design."""

from datetime import timedelta

import pytest

from bot.domain.action import Step
from bot.domain.verdict import Confidence, Status
from bot.probes.filesystems import FilesystemsReading, Mount
from bot.probes.formats.kernel_line import KernelEvent, KernelLine
from bot.probes.formats.kernel_table import own_table
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

READ_ONLY = "filesystem-read-only"
EXT4 = "EXT4-fs (nvme1n1): Remounting filesystem read-only"
XFS = "XFS (nvme1n1): Metadata I/O Error (0x1) detected at xfs_trans+0x1 (fs/xfs/a.c:1).  Shutting down filesystem."
JOURNAL = "EXT4-fs error (device nvme1n1): ext4_journal_check_start:83: comm java: Detected aborted journal"


def mounts(*data: Mount) -> FilesystemsReading:
    return FilesystemsReading((Mount("/", "nvme0n1p1", "ext4", ("rw",), "rw"), *data))


def data(*options: str, meant: str = "", device: str = "nvme1n1", kind: str = "ext4") -> Mount:
    return Mount("/data", device, kind, options, meant, f"{device} {kind} {','.join(options)} /data")


def said(text: str, ago: timedelta = timedelta(minutes=2)) -> KernelEvent:
    at = timedelta(days=b.DAYS) - ago
    event = own_table().event(KernelLine(text, f"[1.0] {text}", at))
    assert event is not None, text
    return event


@pytest.mark.parametrize("option", ["emergency_ro", "shutdown"])
def test_options_that_tell_of_an_error_confirm_it(option: str) -> None:
    finding = found(READ_ONLY, mounts(data("rw", option)))
    assert (finding.status, finding.confidence) == (Status.CRITICAL, Confidence.CONFIRMED)
    assert "/data" in finding.summary
    assert finding.remedy == (Step("cordon"),)


def test_read_only_against_fstab_or_with_an_error_in_the_log_is_confirmed() -> None:
    assert found(READ_ONLY, mounts(data("ro", meant="rw"))).confidence is Confidence.CONFIRMED
    finding = found(READ_ONLY, mounts(data("ro")), b.log(said(EXT4)))
    assert finding.confidence is Confidence.CONFIRMED
    assert "the log says why" in finding.summary


@pytest.mark.parametrize("line", [EXT4, XFS, JOURNAL])
def test_kernels_that_leave_the_options_alone_are_known_by_the_log(line: str) -> None:
    finding = found(READ_ONLY, mounts(data("rw")), b.log(said(line)))
    assert (finding.status, finding.confidence, finding.remedy) == (Status.CRITICAL, Confidence.LIKELY, ())
    days_ago = found(READ_ONLY, mounts(data("rw")), b.log(said(line, timedelta(days=9))))
    assert days_ago.status is Status.CRITICAL  # a state does not age


@pytest.mark.parametrize(
    "line",
    [
        "XFS (dm-2): I/O Error Detected. Shutting down filesystem",
        "EXT4-fs (dm-2): Remounting filesystem read-only",
        "Aborting journal on device dm-2-8.",
        "BTRFS info (device dm-2: state EA): forced readonly",
    ],
)
def test_volume_of_lvm_is_known_by_its_own_name(line: str) -> None:
    finding = found(READ_ONLY, mounts(data("rw", device="dm-2", kind="xfs")), b.log(said(line)))
    assert "kernel shut down /data" in finding.summary
    ruled_out(READ_ONLY, mounts(data("rw", device="dm-8", kind="xfs")), b.log(said(line)))


@pytest.mark.parametrize(
    ("mount", "line"),
    [
        (data("ro", meant="ro"), ""),
        (data("ro"), ""),  # an image, or /boot: nobody asks for writes
        (data("rw"), "EXT4-fs (sdz9): Remounting filesystem read-only"),  # a disk that is gone
        (data("rw"), "EXT4-fs error (device nvme1n1): ext4_lookup:1: inode #2: comm ls: deleted inode referenced: 12"),
        (data("rw"), "nvme nvme1: I/O 214 (I/O Cmd) QID 3 timeout, aborting"),
    ],
)
def test_read_only_by_design_and_errors_that_shut_nothing_are_ruled_out(mount: Mount, line: str) -> None:
    ruled_out(READ_ONLY, mounts(mount), b.log(*([said(line)] if line else [])))


def test_what_was_not_read_is_open() -> None:
    assert "not read" in undecided(READ_ONLY, b.unread("filesystems")).because
    assert "only there" in undecided(READ_ONLY, mounts(data("rw")), b.unread("kernel_log")).because
    found(READ_ONLY, mounts(data("rw", "shutdown")), b.unread("kernel_log"))
