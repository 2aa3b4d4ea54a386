"""A disk or file server does not answer in time, and tasks that need it wait and cannot be killed.

Confirms: a disk that holds requests and completes none while tasks wait; many tasks that wait for storage at both looks
while no disk completes anything; tasks that wait for a file server which has not said OK; tasks that wait for a pool of
ZFS that was suspended; tasks blocked for over 120 s in the log. Many tasks that wait for a file server of which the log
tells nothing make the node degraded: it may only be slow.
A disk that completes fewer requests than it holds, while many wait under pressure, is as good as still. Tasks that all
wait for a lock of the kernel's network or cgroup code wait for no storage, though the kernel finds them hung: a few of
them beside a line of now leave it open.
Supports: disk errors, NVMe time-outs, I/O wait or I/O pressure.
Refutes: no task waits, a log without such lines; many writers on disks that keep working and answer reads in time;
waiters that used CPU between the looks, as readers of a file server do: what they wait for answers.
After ten hung tasks the kernel logs no more: if nothing waits now, the stall is over or undecided, never present.
Remedy: none planned: the disk is the same after a reboot, and the reboot may hang on the waiting tasks.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import timedelta

from bot.causes import _recent, _waiters
from bot.causes._figures import percent
from bot.causes._finding import make_finding
from bot.domain.cause import Cause, CauseResult, Threshold, Tuning
from bot.domain.probe import Snapshot, Unread
from bot.domain.safe_text import counted
from bot.domain.verdict import Confidence, Evidence, RuledOut, Status, Undecided
from bot.probes.cpu import CpuReading
from bot.probes.formats.kernel_line import KernelEvent
from bot.probes.kernel_log import KernelLogReading
from bot.probes.processes import ProcessesReading, Waiting, waits_for_kernel_lock
from bot.probes.reclaim import ReclaimReading
from bot.probes.storage import StorageReading

NAME = "io-stall"
_TOLD_BY = ("hung-task", "disk-error", "nfs-silent")
_MOST_TOLD = 10  # kernel.hung_task_warnings: after that many lines the kernel is silent, whatever hangs
_VOLUME = re.compile(r"dm-[0-9]{1,6}")
_ARRAY = re.compile(r"\bmd/raid[0-9]{0,2}:([^\s:]{1,40}): ")
# Requests that failed on their way and were tried again, or on another path: over once it does not happen any more.
_TRIED_AGAIN = re.compile(
    r"recoverable transport error|: failed command: |task abort|timing out command|detected conn error|ping timeout|"
    r"remote port time out|uas_eh_abort_handler|was evicted by|hv_storvsc|qla2xxx|mpt[23]sas|aacraid|FW in FAULT|"
    r"resetting fusion adapter|Reconnecting in|failed to connect socket|starting error recovery"
)
_SUSPENDED = "has been suspended"  # a pool of ZFS, until a person clears it: whoever writes to it waits


def evaluate(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
    """Tell whether tasks hang on a disk or a file server."""
    processes, storage = snapshot.get(ProcessesReading), snapshot.get(StorageReading)
    waiting = () if isinstance(processes, Unread) else _waiters.perhaps_stuck(processes, tuning["waiting_few"])
    told, now = _log_evidence(snapshot, waiting, tuning)
    pressed = _pressure(snapshot, tuning)
    silent = _silent_server(snapshot, waiting, tuning)
    io_is_pressed = pressed is not None or _io_some_percent(snapshot) >= tuning["io_some_avg10"]
    stuck = _stuck_disks(storage, waiting, io_is_pressed, _nothing_waits(snapshot))
    still, slow = _stalled_disks_and_server(storage, waiting, tuning)
    crowd = _many_wait_under_pressure(storage, waiting, pressed, tuning)
    hung = not isinstance(storage, Unread) and bool(storage.hung_tasks_rise)
    evidence = [*told, *silent, *stuck, *(_crawling_disks(storage) if crowd else ())]
    if hung and not isinstance(storage, Unread):
        says = f"the kernel found {counted(storage.hung_tasks_rise or 0, 'hung task')} within the window"
        row = f"hung_task_detect_count +{storage.hung_tasks_rise}"
        evidence.append(Evidence("hung-tasks-counted", "storage", says, (row,)))
    stalled = bool(still or crowd or stuck or hung)
    if waiting and (stalled or slow or evidence):
        says = f"{counted(len(waiting), 'task')} waited uninterruptibly at both looks: {_waiting_names(waiting)}"
        if slow:
            says += f"; {len(_waiters.for_file_server(waiting))} of them for a file server"
        evidence.append(Evidence("tasks-waiting", "processes", says, tuple(map(_waiters.ps_line, waiting[:8]))))
    if pressed is not None and (stalled or evidence):
        evidence.append(pressed)
    if not evidence:
        return _ruled_out_or_undecided(snapshot, waiting, tuning)
    suspended = any(_SUSPENDED in line for item in told for line in item.source)
    held = bool(stuck or still or hung or (silent and _waiters.for_file_server(waiting)) or (suspended and waiting))
    seen = {item.finding for item in evidence}
    sure = stalled or held or "hung-task" in seen or ("disk-error" in seen and waiting)
    status = Status.CRITICAL if held or (now and (waiting or pressed is not None)) else Status.DEGRADED
    return make_finding(NAME, status, Confidence.CONFIRMED if sure else Confidence.LIKELY, evidence)


def _log_evidence(snapshot: Snapshot, waiting: tuple[Waiting, ...], tuning: Tuning) -> tuple[list[Evidence], bool]:
    """The log's evidence of hung tasks and disks, and whether any of it is from the last minutes."""
    log = snapshot.get(KernelLogReading)
    if isinstance(log, Unread):
        return [], False
    hung = _recent.recent(snapshot, log.of("hung-task"), tuning["recent_hours"])
    if not waiting and _hung_before(snapshot, log, tuning):
        hung = ()  # of now nothing tells; whether it is over, or nobody can see it, is for the end to say
    if waiting and all(waits_for_kernel_lock(each.wchan) for each in waiting):
        hung = ()  # they wait for each other, and for no storage
    errors = _recent.recent(snapshot, log.of("disk-error"), tuning["recent_hours"])
    tried_again = [event for event in errors if _TRIED_AGAIN.search(event.text)]
    over = set(tried_again).difference(_recent.recent(snapshot, tried_again, tuning["tried_again_minutes"] / 60))
    errors = tuple(event for event in errors if event not in over and not _is_taken_away(snapshot, event))
    if not waiting:
        errors = tuple(event for event in errors if not _is_of_a_known_array(snapshot, event))
    evidence = [
        Evidence(
            name,
            "kernel_log",
            f"{counted(len(events), noun)}, the last {_recent.ago(snapshot, events[-1])}",
            _recent.lines(events, 3),
        )
        for name, noun, events in (("hung-task", "hung-task line", hung), ("disk-error", "disk error", errors))
        if events
    ]
    return evidence, bool(_recent.events_surely_within(snapshot, (*hung, *errors), tuning["now_minutes"]))


def _hung_before(snapshot: Snapshot, log: KernelLogReading, tuning: Tuning) -> bool:
    """True if every hung task was logged longer ago than the two minutes after which the kernel repeats its line."""
    told = log.of("hung-task")
    if isinstance(snapshot.get(ProcessesReading), Unread):
        return False
    least = timedelta(minutes=tuning["now_minutes"])
    return all((old := _recent.age(snapshot, event)) is not None and old > least for event in told)


def _may_still_hang(snapshot: Snapshot, log: KernelLogReading) -> bool:
    """True where the kernel has told all that it tells, and threads that nobody looked at may wait unseen.

    One task that waits for I/O keeps PSI's "some" at its core's share of all cores' time (kernel/sched/psi.c evaluates
    by the time that each core is not idle): below that, none does.
    """
    if not log.left_out and len(log.of("hung-task")) < _MOST_TOLD:
        return False
    return not _nothing_waits(snapshot)


def _nothing_waits(snapshot: Snapshot) -> bool:
    """True if by PSI no task waits for I/O; False too if that was not read."""
    reclaim, cpu = snapshot.get(ReclaimReading), snapshot.get(CpuReading)
    if isinstance(reclaim, Unread) or isinstance(cpu, Unread) or not cpu.cores:
        return False
    line = reclaim.pressure.get("io some")
    return line is not None and line.avg10 < 100 / cpu.cores


def _is_taken_away(snapshot: Snapshot, event: KernelEvent) -> bool:
    """True for a device-mapper volume that is gone: somebody removed it. A real disk that is gone has failed."""
    storage = snapshot.get(StorageReading)
    found = _VOLUME.match(event.device)
    return bool(
        found
        and not isinstance(storage, Unread)
        and storage.disks
        and all(disk.name != found.group() for disk in storage.disks)
    )


def _is_of_a_known_array(snapshot: Snapshot, event: KernelEvent) -> bool:
    """True for a line about an array whose state was read: whether it lacks a disk is that state's to tell."""
    storage, found = snapshot.get(StorageReading), _ARRAY.search(event.text)
    arrays = () if isinstance(storage, Unread) else storage.arrays
    return bool(found and any(array.name == found[1] and array.degraded is not None for array in arrays))


def _silent_server(snapshot: Snapshot, waiting: tuple[Waiting, ...], tuning: Tuning) -> list[Evidence]:
    """The file servers that do not answer: only their OK clears that, or time if nothing waits for them.

    A soft mount gives up with `timed out`, and no OK need follow; SMB never says OK, and Lustre leaves lines out that
    are like the ones before. So those count only while something waits.
    """
    log = snapshot.get(KernelLogReading)
    if isinstance(log, Unread):
        return []
    last: dict[str, KernelEvent] = {}
    for event in log.of("nfs-silent", "nfs-answers"):
        last[event.device] = event
    silent = [event for event in last.values() if event.kind == "nfs-silent"]
    if not _waiters.for_file_server(waiting):
        silent = [event for event in silent if "not responding, still trying" in event.text]
        silent = list(_recent.recent(snapshot, silent, tuning["recent_hours"]))
    return [
        Evidence(
            "file-server-silent",
            "kernel_log",
            f"the file server {event.device} stopped answering {_recent.ago(snapshot, event)}",
            (event.text,),
        )
        for event in silent[:4]
    ]


def _stuck_disks(
    storage: StorageReading | Unread, waiting: tuple[Waiting, ...], pressed: bool, idle: bool
) -> list[Evidence]:
    """Disks that hold requests and complete none, if something waits: some kernels' request counts drift.

    Shape: `idle`: by PSI nothing waits for I/O.
    """
    if isinstance(storage, Unread) or not (pressed or _waiters.may_be_for_storage(waiting)):
        return []
    if idle and not _waiters.for_storage(waiting):
        return []
    return [
        Evidence(
            "disk-stuck",
            "storage",
            f"disk {disk.name} held {counted(disk.waiting_later, 'request')} at both looks and completed none",
            disk.lines,
        )
        for disk in storage.stuck[:4]
    ]


def _crawling_disks(storage: StorageReading | Unread) -> list[Evidence]:
    """Disks that hold more than they complete: each request takes longer than the window."""
    return [
        Evidence(
            "disk-crawls",
            "storage",
            f"disk {disk.name} held {counted(disk.waiting_later, 'request')}, and completed {disk.completed} meanwhile",
            disk.lines,
        )
        for disk in (() if isinstance(storage, Unread) else storage.crawling[:4])
    ]


def _stalled_disks_and_server(
    storage: StorageReading | Unread, waiting: tuple[Waiting, ...], tuning: Tuning
) -> tuple[bool, bool]:
    """Whether many tasks are known to wait for disks that complete no request, and whether many wait for a file server.

    Idle disks prove nothing of a file server, and it tells when it does not answer: until then it may only be slow.
    """
    if isinstance(storage, Unread):
        return False, False
    server = _waiters.for_file_server(waiting)
    disks = [each for each in _waiters.for_storage(waiting) if each not in server]
    still = not storage.completed_count and len(disks) >= tuning["waiting_few"]
    return still, len(server) >= tuning["waiting_few"]


def _many_wait_under_pressure(
    storage: StorageReading | Unread, waiting: tuple[Waiting, ...], pressed: Evidence | None, tuning: Tuning
) -> bool:
    """True if many tasks wait under pressure, unless the disks complete requests: then they are only busy."""
    if len(waiting) < tuning["waiting_few"] or pressed is None:
        return False
    moving = not isinstance(storage, Unread) and storage.completed_count > 0 and not (storage.stuck or storage.crawling)
    return not moving or (not isinstance(storage, Unread) and storage.slowest_read_ms >= tuning["slow_read_ms"])


def _io_some_percent(snapshot: Snapshot) -> float:
    reclaim = snapshot.get(ReclaimReading)
    line = None if isinstance(reclaim, Unread) else reclaim.pressure.get("io some")
    return 0.0 if line is None else line.avg10


def _pressure(snapshot: Snapshot, tuning: Tuning) -> Evidence | None:
    reclaim, cpu = snapshot.get(ReclaimReading), snapshot.get(CpuReading)
    if not isinstance(reclaim, Unread):
        line = reclaim.pressure.get("io full")
        if line is not None and line.avg10 >= tuning["io_full_avg10"]:
            says = f"for {percent(line.avg10)} of the last 10 s everything waited for I/O"
            return Evidence("io-pressure", "reclaim", says, (line.raw,) if line.raw else ())
    if not isinstance(cpu, Unread):
        core, wait = cpu.hottest("iowait_percent")
        if cpu.iowait_percent >= tuning["iowait_percent"]:
            rows = tuple(c.raw for second in cpu.seconds for c in second if c.core == core and c.raw)[:3]
            says = f"{percent(cpu.iowait_percent)} of all cores' time waits for I/O, {percent(wait)} of core {core}'s"
            return Evidence("io-wait", "cpu", says, rows)
    return None


def _waiting_names(waiting: tuple[Waiting, ...]) -> str:
    many = Counter(each.name for each in waiting)
    return ", ".join(f"{name} ({times})" if times > 1 else name for name, times in list(many.items())[:5])


def _ruled_out_or_undecided(snapshot: Snapshot, waiting: tuple[Waiting, ...], tuning: Tuning) -> CauseResult:
    for reading in (snapshot.get(KernelLogReading), snapshot.get(ProcessesReading)):
        if isinstance(reading, Unread):
            what = "kernel log was" if reading.probe == "kernel_log" else "processes were"
            return Undecided(NAME, f"the {what} not read ({reading.reason})")
    log, storage = snapshot.get(KernelLogReading), snapshot.get(StorageReading)
    for_storage = _waiters.for_storage(waiting)
    if isinstance(storage, Unread) and len(for_storage) >= tuning["waiting_few"]:
        says = f"{counted(len(for_storage), 'task')} waited for storage at both looks, and the disks were not read"
        return Undecided(NAME, f"{says} ({storage.reason})")
    if len(waiting) >= tuning["waiting_few"]:
        says = f"{counted(len(waiting), 'task')} waited uninterruptibly at both looks"
        if all(waits_for_kernel_lock(each.wchan) for each in waiting):
            return RuledOut(NAME, f"{says}, for a lock of the kernel's network or cgroup code, and not for storage")
        known = {*_waiters.for_storage(waiting)}
        hidden = [each for each in waiting if each not in known and not waits_for_kernel_lock(each.wchan)]
        if len(hidden) >= tuning["hidden_many"] and not isinstance(storage, Unread) and not storage.completed_count:
            by_hand = "`ps -eLo state,wchan:32,comm | grep ^D` as root"
            return Undecided(NAME, f"{says}, and it is not known for what", suspected=True, would_decide=by_hand)
        if not isinstance(storage, Unread) and storage.completed_count:
            says += f", while the disks completed {counted(storage.completed_count, 'request')}"
            return _recent.none_told(snapshot, NAME, says, ("disk-error", "nfs-silent"), tuning["recent_hours"])
        # Writers to a frozen file system wait like this, as do tasks at a busy lock; the kernel logs it after two
        # minutes.
        says += ", but not for I/O as far as is known: no I/O pressure, no hung task and no disk error in the log"
        return _recent.none_told(snapshot, NAME, says, _TOLD_BY, tuning["recent_hours"])
    told = _recent.recent(snapshot, _recent.kernel_events(snapshot, "hung-task"), tuning["recent_hours"])
    if told and not isinstance(log, Unread):
        since = _recent.ago(snapshot, told[-1])
        if waiting and _recent.events_perhaps_within(snapshot, told, tuning["now_minutes"]):
            # At a lock of the kernel's own, else the lines would be evidence; and too few for a condition to tell of.
            waits = f"{counted(len(waiting), 'task')} waited at both looks for a lock of the kernel"
            says = f"the last hung task was logged {since}, and {waits}"
            by_hand = "`ps -eLo state,wchan:32,comm | grep ^D` by hand"
            return Undecided(NAME, says, suspected=True, would_decide=by_hand)
        if _may_still_hang(snapshot, log):
            because = f"the last hung task was logged {since}; after ten the kernel logs no more, and none is seen now"
            by_hand = "`ps -eLo state,wchan:32,comm | grep ^D` by hand"
            return Undecided(NAME, because, would_decide=by_hand, worst=Status.DEGRADED)
        says = f"the last hung task was logged {since}, and not again; nothing waits for I/O now"
        return _recent.none_told(snapshot, NAME, says, _TOLD_BY, tuning["recent_hours"])
    none = "no hung task and no disk error in the log, and few or no tasks wait for I/O"
    return _recent.none_told(snapshot, NAME, none, _TOLD_BY, tuning["recent_hours"])


CAUSE = Cause(
    name=NAME,
    title="I/O stall",
    probes=("kernel_log", "processes", "storage", "reclaim", "cpu", "host"),
    settled_by="a second check while work waits, or the stack of a waiting task (`cat /proc/PID/stack`)",
    thresholds={
        "recent_hours": Threshold(
            24,
            "A disk that had an error hours ago may have the next at any time (ours). A hung task counts that long "
            "only while something waits.",
        ),
        "now_minutes": Threshold(
            10,
            "A task that still hangs is logged every two minutes, up to ten times (kernel/hung_task.c). Ten minutes "
            "are ours.",
        ),
        "waiting_few": Threshold(
            5, "One or two tasks in state D at both looks mean a busy disk; many mean a stuck disk (ours)."
        ),
        "hidden_many": Threshold(
            10,
            "Tasks in state D of which it is not seen, or not known here, what they wait for (ours). A few are "
            "drivers' own threads; so many that wait while no disk works may wait for a file server, which PSI does "
            "not show.",
        ),
        "io_full_avg10": Threshold(
            20,
            "Percent of the last 10 s in which nothing could run for lack of I/O (ours). A single writer on an idle "
            "node exceeds it too, so it counts only together with many waiting tasks, and if the disks are not seen to "
            "make progress.",
        ),
        "io_some_avg10": Threshold(
            20,
            "Percent of the last 10 s in which something waited for I/O (ours). On busy cores it stays at the number "
            'of waiters over the cores, and "full" near zero; it counts only together with a disk that completes no '
            "request.",
        ),
        "slow_read_ms": Threshold(
            1000,
            "Ours. A read takes under a millisecond on NVMe, and a few on EBS; behind a limit or on a dying disk it "
            "takes a second. Writers that fill a queue do not count.",
        ),
        "tried_again_minutes": Threshold(
            60,
            "A path, a target or a command that failed and was tried again harmed nobody for long; an hour without "
            "another is ours. A request that failed for good counts for a day.",
        ),
        "iowait_percent": Threshold(
            50,
            "Ours. Used if the kernel has no pressure figures; half of all cores' time waiting is more than a busy "
            "disk.",
        ),
    },
    evaluate=evaluate,
    lasting_fix="Replace the disk or volume, or give it the throughput that the work asks for.",
)
