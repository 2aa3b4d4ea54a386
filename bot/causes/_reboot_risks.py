"""What speaks against a reboot of this node, whatever it would cure: it may hang, not come up, or change nothing.

A shutdown waits for tasks in uninterruptible sleep and for file systems that cannot be unmounted, and cuts off what is
at work: a rebuild, firmware being written, packages, a oneshot. A boot needs its kernel and initrd, its disks and its
file systems, and checks those that were shut or had errors. A container's reboot keeps the kernel, and a
module of memory that errs is the same after it. What was not read is no risk: where a reading decides, the playbook has
to ask for it; what the log tells counts also without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from bot.causes import _packages, _recent, _shut_filesystems, _waiters
from bot.causes._figures import percent, span
from bot.domain.probe import Snapshot, Unread
from bot.domain.safe_text import counted
from bot.domain.verdict import Evidence
from bot.probes.filesystems import FilesystemsReading
from bot.probes.host import HostReading
from bot.probes.kernel_log import KernelLogReading
from bot.probes.memory_errors import MemoryErrorsReading
from bot.probes.processes import ProcessesReading, Waiting
from bot.probes.storage import StorageReading
from bot.probes.unfinished import UnfinishedReading
from bot.probes.units import UnitsReading

BESIDE = ("storage", "filesystems", "memory_errors", "units", "unfinished")  # besides host, log and processes
# Ours: a state that half an hour of work brought about comes back as fast after the next boot.
_JUST_BOOTED = timedelta(minutes=30)
_NOW_MINUTES = 10  # a disk that fails goes on to (kernel/hung_task.c tells of its waiters every two minutes)
_OF_A_BOOT = ("/", "/usr", "/var")
_FEW = 5  # tasks: one or two that wait mean a busy file server (ours)
_ROOM_PERCENT = 1.0  # as gone_percent of disk-full: services stop before the last block, and so does a boot


def risks(snapshot: Snapshot) -> tuple[Evidence, ...]:
    """Return what speaks against a reboot, gravest first; empty if nothing that was read does."""
    return tuple(_all_risks(snapshot))


def risks_of_reboot_only(snapshot: Snapshot) -> tuple[Evidence, ...]:
    """Return the same for a reboot before which nothing is stopped: one that has just been did not help."""
    host = snapshot.get(HostReading)
    if isinstance(host, Unread) or host.uptime >= _JUST_BOOTED:
        return snapshot.once(risks)
    booted = Evidence("just-booted", "host", f"the last boot was {span(host.uptime)} ago, and did not help")
    return (*snapshot.once(risks), booted)


def risks_of_undoing_a_stop(snapshot: Snapshot) -> tuple[Evidence, ...]:
    """Return the same for a reboot after a unit was disabled: where /etc is in memory, the boot enables it again."""
    reading = snapshot.get(FilesystemsReading)
    if isinstance(reading, Unread) or not reading.forgets_etc:
        return snapshot.once(risks)
    says = "/etc is in memory, and the boot enables the unit again: mend the image"
    return (*snapshot.once(risks), Evidence("etc-forgets", "filesystems", says, (f"/etc {reading.etc_type}",)))


def no_reboot_words(risks: tuple[Evidence, ...]) -> str:
    """Return the sentence that says why none is offered.

    Example:
    >>> no_reboot_words((Evidence("is-container", "host", "this is a container, and a reboot keeps its kernel"),))
    'No reboot is offered: this is a container, and a reboot keeps its kernel.'
    """
    return f"No reboot is offered: {'; '.join(risk.says for risk in risks[:2])}."


def _all_risks(snapshot: Snapshot) -> Iterator[Evidence]:
    host = snapshot.get(HostReading)
    if not isinstance(host, Unread) and host.is_container:
        yield Evidence("is-container", "host", "this is a container, and a reboot keeps its kernel")
    if (packages := _packages.running_package_manager(snapshot)) is not None:
        yield replace(packages, says=f"{packages.says}: a boot in between may not come up")
    yield from _unfinished(snapshot)
    waiting = _waiting(snapshot)
    yield from _dead_disk(snapshot, waiting)
    yield from _silent_server(waiting)
    yield from _shut_file_system(snapshot)
    yield from _unchecked_file_system(snapshot)
    yield from _memory(snapshot)
    yield from _no_room(snapshot)


def _unfinished(snapshot: Snapshot) -> Iterator[Evidence]:
    """What a reboot would cut off, or trip over; packages are told of by their own module."""
    reading, units = snapshot.get(UnfinishedReading), snapshot.get(UnitsReading)
    for each in () if isinstance(reading, Unread) else reading.found:
        if each.kind != "packages":
            stops = each.kind in ("boot", "half-done")
            harm = "the boot may not come up" if stops else "a reboot would cut that off"
            yield Evidence(f"unfinished-{each.kind}", "unfinished", f"{each.says}: {harm}", (each.line,))
    for unit in () if isinstance(units, Unread) else units.services:
        if unit.works_once:
            says = f"{unit.name} is at work and ends by itself (Type=oneshot): a reboot would cut that off"
            yield Evidence("unfinished-unit", "units", says, unit.source[:4])


def _waiting(snapshot: Snapshot) -> tuple[Waiting, ...]:
    processes = snapshot.get(ProcessesReading)
    return () if isinstance(processes, Unread) else _waiters.perhaps_stuck(processes, _FEW)


def _dead_disk(snapshot: Snapshot, waiting: tuple[Waiting, ...]) -> Iterator[Evidence]:
    """A disk that holds requests and completes none, or has errors now, if tasks wait for storage."""
    storage, log = snapshot.get(StorageReading), snapshot.get(KernelLogReading)
    if not isinstance(storage, Unread) and storage.stuck and _waiters.for_storage(waiting):
        says = f"disk {storage.stuck[0].name} completes nothing: the shutdown may hang on it"
        yield Evidence("disk-stuck", "storage", says, storage.stuck[0].lines)
    elif not isinstance(log, Unread) and _waiters.may_be_for_storage(waiting):
        errors = _recent.events_surely_within(snapshot, log.of("disk-error"), _NOW_MINUTES)
        if errors:
            says = f"a disk has errors, the last {_recent.ago(snapshot, errors[-1])}: the shutdown may hang on it"
            yield Evidence("disk-errs", "kernel_log", says, _recent.lines(errors, 3))


def _silent_server(waiting: tuple[Waiting, ...]) -> Iterator[Evidence]:
    server = _waiters.for_file_server(waiting)
    if len(server) >= _FEW:
        says = f"{counted(len(server), 'task')} wait for a file server: the shutdown may hang on them"
        yield Evidence("file-server-waits", "processes", says, tuple(map(_waiters.ps_line, server[:4])))


def _shut_file_system(snapshot: Snapshot) -> Iterator[Evidence]:
    """A file system that the kernel shut: the boot checks it, and may stop there and ask."""
    log = snapshot.get(KernelLogReading)
    mounts = snapshot.once(_shut_filesystems.shut_mounts)
    if mounts:
        says = f"{mounts[0].point} takes no writes: the boot may stop at its check"
        yield Evidence("file-system-shut", "filesystems", says, (mounts[0].source,))
        return
    told = [] if isinstance(log, Unread) else _shut_filesystems.events(log)
    reading = snapshot.get(FilesystemsReading)
    if not isinstance(reading, Unread):
        here = {mount.device for mount in reading.mounts}
        told = [event for event in told if here & _shut_filesystems.devices(event)]
    if told:
        says = "the kernel shut a file system: the boot may stop at its check"
        yield Evidence("file-system-shut", "kernel_log", says, _recent.lines(told, 3))
    elif not isinstance(log, Unread) and _shut_filesystems.RING in log.rings_begin:
        says = "the kernel log has too many errors of file systems to know that none was shut"
        yield Evidence("file-system-shut", "kernel_log", f"{says}: the boot may stop at its check", ())


def _unchecked_file_system(snapshot: Snapshot) -> Iterator[Evidence]:
    """A file system of the boot's with an error that no check has mended (ext4 tells of it each day)."""
    reading, told = snapshot.get(FilesystemsReading), _recent.kernel_events(snapshot, "unchecked")
    for mount in () if isinstance(reading, Unread) else reading.mounts:
        lines = [event for event in told if event.device == mount.device]
        if lines and mount.point in _OF_A_BOOT:
            says = f"{mount.point} has errors that no check has mended: the boot may stop at its check"
            yield Evidence("file-system-unchecked", "kernel_log", says, _recent.lines(lines, 1))


def _memory(snapshot: Snapshot) -> Iterator[Evidence]:
    counted, told = snapshot.get(MemoryErrorsReading), _recent.kernel_events(snapshot, "memory-error")
    says = "memory errs, and a reboot keeps the module"
    if errs := _recent.recent(snapshot, told, _recent.DAY_HOURS):
        yield Evidence("memory-errs", "kernel_log", says, _recent.lines(errs))
    elif not isinstance(counted, Unread):
        bad = next((each for each in counted.controllers if each.uncorrected), None)
        if bad is not None:
            yield Evidence("memory-errs", "memory_errors", says, bad.lines)


def _no_room(snapshot: Snapshot) -> Iterator[Evidence]:
    reading = snapshot.get(FilesystemsReading)
    if isinstance(reading, Unread):
        return
    fixed = {mount.point for mount in reading.mounts if mount.is_read_only}
    for room in reading.rooms:
        full = min(room.free_percent, 100.0 if room.free_inodes_percent is None else room.free_inodes_percent)
        if room.point in ("/", "/var") and full < _ROOM_PERCENT and not room.is_image and room.point not in fixed:
            says = f"{room.point} has {percent(full)} left: the boot may not come up"
            yield Evidence("no-room", "filesystems", says, room.lines)
