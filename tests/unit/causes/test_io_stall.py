"""Tasks that hang on a disk."""

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain.verdict import Confidence, Status
from bot.probes.formats.kernel_line import KernelEvent
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

STALL = "io-stall"
WAITING = ("jbd2/nvme0n1", "python", "python", "rsync", "tar")
STILL = b.storage(b.disk(completed=0))
STUCK = b.storage(b.disk(), b.disk(0, 12, "nvme1n1"))


def test_ten_hung_tasks_after_which_the_kernel_is_silent_are_over_or_open_and_never_of_now() -> None:
    line = "INFO: task python:4711 blocked for more than 120 seconds."
    ten = b.log(*[b.event("hung-task", line, timedelta(hours=3))] * 10)
    left_open = undecided(STALL, ten)
    assert (left_open.worst, left_open.suspected) == (Status.DEGRADED, False)
    assert "logged 3 hours ago" in left_open.because
    assert "ps -eLo state" in left_open.would_decide
    # One task that waits for I/O keeps "some" at its core's share: 12.5 % of eight.
    assert "not again" in ruled_out(STALL, ten, b.memory(pressure={"io some": 12.4})).because
    undecided(STALL, ten, b.memory(pressure={"io some": 12.5}))
    undecided(STALL, ten, b.memory(pressure={"io some": 1.0}), b.unread("cpu"))
    finding = found(STALL, ten, b.processes(waiting=WAITING[:1]))
    assert (finding.status, finding.confidence, finding.remedy) == (Status.DEGRADED, Confidence.CONFIRMED, ())
    ruled_out(STALL, b.log(*[b.event("hung-task", line, timedelta(hours=30))] * 10))
    now = found(STALL, b.log(b.event("hung-task", line)), b.processes(waiting=WAITING[:1]))
    assert now.status is Status.CRITICAL


def test_stall_has_ended_when_the_kernel_could_tell_of_it_again_and_did_not() -> None:
    line = "INFO: task python:4711 blocked for more than 120 seconds."
    nine = [b.event("hung-task", line, timedelta(minutes=20))] * 9
    assert ruled_out(STALL, b.log(*nine)).because.startswith(
        "the last hung task was logged 20 minutes ago, and not again"
    )
    waits = b.processes(waiting=WAITING[:1])
    assert found(STALL, b.log(*nine), waits).status is Status.DEGRADED, "somebody still waits"
    fresh = b.event("hung-task", line, timedelta(minutes=2))
    assert found(STALL, b.log(*nine, fresh)).status is Status.DEGRADED
    assert found(STALL, b.log(*nine), b.unread("processes")).status is Status.DEGRADED
    assert found(STALL, b.log(b.event("hung-task", line, None))).status is Status.DEGRADED, "it may be of now"
    more = replace(b.log(*nine), left_out=1)
    assert undecided(STALL, more).worst is Status.DEGRADED, "lines were left out, so that ten may have been told"


def test_errors_of_a_volume_that_was_taken_away_are_over_and_those_of_a_disk_that_died_are_not() -> None:
    volume = b.event("disk-error", "EXT4-fs error (device dm-3): ext4_journal_check_start", device="dm-3")
    ruled_out(STALL, b.log(volume), b.storage(b.disk()))
    found(STALL, b.log(volume), b.storage(b.disk(), b.disk(name="dm-3")))
    found(STALL, b.log(volume), b.unread("storage"))
    gone = b.event("disk-error", "nvme nvme1: Removing after probe failure status: -19", device="nvme1")
    found(STALL, b.log(gone), b.storage(b.disk()))


def test_crowd_that_waits_under_pressure_confirms_a_stall() -> None:
    pressed = b.memory(pressure={"io full": 20.0})
    assert found(STALL, b.processes(waiting=WAITING), pressed, STILL).confidence is Confidence.CONFIRMED
    waits = b.cpu({core: {"usr": 1.0, "iowait": 70.0} for core in range(8)})
    for storage in (STILL, b.unread("storage")):
        assert found(STALL, b.processes(waiting=WAITING), waits, storage).confidence is Confidence.CONFIRMED
    ruled_out(STALL, b.processes(waiting=WAITING[:4]), pressed, STILL)
    told = ruled_out(STALL, b.processes(waiting=WAITING), STILL)
    assert told.because.startswith("5 tasks waited uninterruptibly at both looks, but not for I/O as far as is known")


def test_disk_errors_are_likely_until_something_waits() -> None:
    error = b.log(b.event("disk-error", "nvme nvme1: I/O 5 QID 1 timeout, aborting"))
    assert found(STALL, error).confidence is Confidence.LIKELY
    assert found(STALL, error, b.processes(waiting=WAITING[:1])).confidence is Confidence.CONFIRMED


@pytest.mark.parametrize("probe", ["kernel_log", "processes"])
def test_stall_is_not_ruled_out_by_what_was_not_read(probe: str) -> None:
    undecided(STALL, b.unread(probe))


def test_stall_is_critical_only_while_it_is_fresh_and_something_waits() -> None:
    fresh, old = b.event("hung-task"), b.event("hung-task", ago=timedelta(hours=3))
    pressed = b.memory(pressure={"io full": 60.0})
    assert found(STALL, b.log(fresh)).status is Status.DEGRADED
    assert found(STALL, b.log(fresh), pressed).status is Status.CRITICAL
    assert found(STALL, b.log(old), b.processes(waiting=WAITING)).status is Status.DEGRADED


def test_stall_is_told_with_who_waits_and_how_much_time_is_lost() -> None:
    waits = b.cpu({core: {"usr": 1.0, "iowait": 70.0} for core in range(8)})
    finding = found(STALL, b.processes(waiting=WAITING), waits, STILL)
    assert finding.summary == (
        "5 tasks waited uninterruptibly at both looks: jbd2/nvme0n1, python (2), rsync, tar; "
        "70 % of all cores' time waits for I/O, 70 % of core 0's"
    )
    assert finding.evidence[1].source[0].startswith("10:00:01 0 ")
    pressed = found(STALL, b.processes(waiting=WAITING), b.memory(pressure={"io full": 60.0}), STILL)
    assert pressed.evidence[1].source == ("full avg10=60.0",)


def test_what_was_not_read_is_named() -> None:
    assert undecided(STALL, b.unread("kernel_log")).because == "the kernel log was not read (permission denied)"
    assert undecided(STALL, b.unread("processes")).because == "the processes were not read (permission denied)"


FORTY = ("python",) * 40
BUSY = b.cpu({core: {"usr": 95.0, "iowait": 0.4} for core in range(96)}, cores=96)
SOME = b.memory(pressure={"io some": 42.0, "io full": 0.5})


def test_forty_that_wait_on_busy_cores_are_a_stuck_disk_whatever_io_full_says() -> None:
    for wchan in ("folio_wait_bit_common", ""):  # a login that is not root is not told where they sleep
        finding = found(STALL, b.processes(waiting=FORTY, wchan=wchan), BUSY, SOME, STUCK)
        assert (finding.status, finding.confidence) == (Status.CRITICAL, Confidence.CONFIRMED)
        assert finding.summary.startswith("Disk nvme1n1 held 12 requests at both looks and completed none")
        assert finding.evidence[1].source[0] == f"5000 D {wchan or '-'} python"
    ruled_out(STALL, b.processes(waiting=FORTY), BUSY, SOME)


def test_pressure_alone_makes_a_stuck_disk_felt_and_a_count_that_drifted_does_not() -> None:
    assert found(STALL, b.memory(pressure={"io some": 20.0}), STUCK).status is Status.CRITICAL
    ruled_out(STALL, STUCK)
    ruled_out(STALL, STUCK, b.processes(waiting=["nv_queue"], wchan="nv_wait"))


@pytest.mark.parametrize(
    "wchan",
    ["wait_on_page_bit_common", "__wait_on_buffer", "jbd2_log_wait_commit", "xlog_wait_on_iclog", "blk_mq_get_tag",
     "balance_dirty_pages", "submit_bio_wait"],
)  # fmt: skip
def test_crowd_known_to_wait_for_storage_while_no_disk_completes_anything_is_critical(wchan: str) -> None:
    crowd = b.processes(waiting=WAITING, wchan=wchan)
    finding = found(STALL, crowd, STILL)
    assert (finding.status, finding.confidence) == (Status.CRITICAL, Confidence.CONFIRMED)
    assert finding.evidence[0].source[1] == f"5001 D {wchan} python"
    assert "while the disks completed 400 requests" in ruled_out(STALL, crowd).because  # others go on
    ruled_out(STALL, b.processes(waiting=WAITING[:4], wchan=wchan), STILL)
    assert "disks were not read" in undecided(STALL, crowd, b.unread("storage")).because


@pytest.mark.parametrize(
    "wchan", ["rpc_wait_bit_killable", "ptlrpc_set_wait", "wait_for_response", "request_wait_answer"]
)
def test_crowd_that_waits_for_a_file_server_which_may_only_be_slow_is_degraded(wchan: str) -> None:
    finding = found(STALL, b.processes(waiting=WAITING, wchan=wchan), STILL)
    assert (finding.status, finding.confidence) == (Status.DEGRADED, Confidence.LIKELY)
    assert finding.summary.endswith("; 5 of them for a file server")
    ruled_out(STALL, b.processes(waiting=WAITING[:4], wchan=wchan), STILL)


@pytest.mark.parametrize("wchan", ["rwsem_down_write_slowpath", "kernel_clone", "do_freezer_trap", "nv_wait"])
def test_crowd_that_waits_for_something_else_is_none(wchan: str) -> None:
    ruled_out(STALL, b.processes(waiting=WAITING, wchan=wchan), STILL)


def test_checkpoint_writers_that_progress_are_a_busy_disk() -> None:
    writers = b.processes(waiting=["python"] * 8, wchan="folio_wait_bit_common")
    pressed = b.memory(pressure={"io some": 96.0, "io full": 91.0})
    ruled_out(STALL, writers, pressed, b.storage(b.disk(completed=90_000, waiting=180)))
    ruled_out(STALL, writers, pressed, b.storage(b.disk(completed=90_000, read_ms=80.0)))


def test_disk_that_goes_on_and_takes_seconds_for_a_read_is_degraded() -> None:
    slow = b.storage(b.disk(completed=40, waiting=32, read_ms=2300.0))
    finding = found(STALL, b.processes(waiting=WAITING), b.memory(pressure={"io full": 60.0}), slow)
    assert finding.status is Status.DEGRADED


def nfs(*said: str, ago: timedelta = timedelta(hours=3), server: str = "10.0.3.7") -> list[KernelEvent]:
    kinds = ("nfs-answers" if words == "OK" else "nfs-silent" for words in said)
    return [
        b.event(kind, f"nfs: server {server} {words}", ago - timedelta(seconds=at), device=server)
        for at, (kind, words) in enumerate(zip(kinds, said, strict=True))
    ]


SILENT = "not responding, still trying"


def test_file_server_that_does_not_answer_holds_who_waits_for_it() -> None:
    one_waits = b.processes(waiting=["tar"], wchan="rpc_wait_bit_killable")
    finding = found(STALL, b.log(*nfs(SILENT)), one_waits)
    assert (finding.status, finding.confidence) == (Status.CRITICAL, Confidence.CONFIRMED)
    assert "10.0.3.7 stopped answering" in finding.summary
    # what still waits does not age
    assert found(STALL, b.log(*nfs(SILENT, ago=timedelta(days=3))), one_waits).status is Status.CRITICAL
    assert found(STALL, b.log(*nfs("not responding, timed out")), one_waits).status is Status.CRITICAL


def test_file_server_that_nothing_waits_for_is_only_likely() -> None:
    finding = found(STALL, b.log(*nfs(SILENT)))
    assert (finding.status, finding.confidence) == (Status.DEGRADED, Confidence.LIKELY)
    ruled_out(STALL, b.log(*nfs(SILENT, ago=timedelta(days=3))))
    ruled_out(STALL, b.log(*nfs("not responding, timed out")))


def test_file_servers_ok_ends_its_episode_and_no_others() -> None:
    ruled_out(STALL, b.log(*nfs(SILENT, "OK")))
    found(STALL, b.log(*nfs(SILENT, "OK", SILENT)))
    finding = found(STALL, b.log(*nfs(SILENT, "OK"), *nfs(SILENT, server="filer")))
    assert "filer" in finding.summary


def test_kernels_own_count_of_hung_tasks_goes_on_after_its_ten_lines() -> None:
    waits = b.processes(waiting=WAITING[:1])
    assert found(STALL, waits, b.storage(hung=2)).status is Status.CRITICAL
    ruled_out(STALL, waits, b.storage(hung=0))


def test_hung_tasks_beside_few_at_a_lock_of_the_kernel_are_open_and_beside_many_are_told_elsewhere() -> None:
    line = "INFO: task calico-node:4711 blocked for more than 122 seconds."
    fresh, old = b.log(b.event("hung-task", line)), b.log(b.event("hung-task", line, timedelta(hours=3)))
    few = b.processes(waiting=WAITING[:2], wchan="rtnl_lock")
    left_open = undecided(STALL, fresh, few)
    assert left_open.suspected, "or the node would be called healthy"
    assert "2 tasks waited at both looks for a lock of the kernel" in left_open.because
    ruled_out(STALL, old, few)
    ruled_out(STALL, few)
    many = ruled_out(STALL, fresh, b.processes(waiting=WAITING, wchan="rtnl_lock"))
    assert "for a lock of the kernel's network or cgroup code" in many.because
