"""What a plan ends when it is carried out: what keeps data or votes first, then guests, work on GPUs, and the rest.

Read in the check's own batch, with no further right. Nothing here forbids a plan. It is shown with it, for a node's own
verdict knows nothing of the other members; and what keeps data or votes and came after that is a reason to refuse
(`preflight.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from bot.domain.action import EndedItem, PlanImpact
from bot.domain.probe import Snapshot, Unread
from bot.domain.protected import LEFT_OUT, data_pattern, is_protected, makes_cgroups
from bot.domain.protected import units as names
from bot.domain.safe_text import listed, one_line, redacted_line
from bot.probes.containers import MOST_CONTAINERS, ContainersReading
from bot.probes.formats.container_lists import Container
from bot.probes.gpu import GpuReading, GpuUser
from bot.probes.host import HostReading
from bot.probes.processes import ProcessesReading, ProcessKind
from bot.probes.unfinished import UnfinishedReading
from bot.probes.units import UnitsReading

READ_FROM = ("units", "containers", "processes")  # what tells of databases and members: read again before acting
READ_AGAIN = (*READ_FROM, UnfinishedReading.probe)
PART = ": "  # between a reading and a part of it
_MOST = 40  # rows; a plan is part of the record
_MOST_IMAGES = 6
# They come and go beside databases, and keep nothing; a process's name has 15 characters.
_CLIENTS = re.compile(r"(?:-cli|dump|restore|mysql|mongosh|[_-]expo[a-z]*)\Z")
# Each runs a guest; qemu-ga is none of them: it runs inside a guest.
_GUESTS = ("qemu-system", "qemu-kvm", "kvm", "firecracker", "cloud-hyperviso", "VBoxHeadless", "vmware-vmx", "crosvm")
_BUSY_PERCENT = 5.0  # of a core: what rests beside the node's work uses less (ours)
_IDLE_WORKER = "ray::IDLE"
# Of the system, under names that are not their units'; and what starts containers, which are named by themselves.
_SYSTEM = ("containerd-shim", "conmon", "runc", "(sd-pam)", "agetty", "sftp-server", "amazon-ssm-agen", "dbus-", "kube")


def ended_by_reboot(snapshot: Snapshot) -> PlanImpact:
    """Return what runs on the node and ends with its boot, the gravest first.

    Each row is named as the record names it, with which it is compared: a secret is cut by the name alone.
    """
    units, containers = snapshot.get(UnitsReading), snapshot.get(ContainersReading)
    processes, gpu = snapshot.get(ProcessesReading), snapshot.get(GpuReading)
    kept = [*_data_units(snapshot, units), *_data_containers(containers)]
    users = _gpu_users(gpu)
    kinds = () if isinstance(processes, Unread) else processes.kinds or ()
    busy = 0.0 if isinstance(processes, Unread) else _BUSY_PERCENT / 100 * processes.seconds
    named = Counter(user.name for user in users)
    kept += _databases(kinds, kept)
    rows = [
        *_virtual_machines(kinds),
        *_gpu_processes(users),
        *_job_runners(snapshot, units),
        *_busy_programs(kinds, named, busy),
        *_other_containers(containers),
    ]
    room = max(0, _MOST - len(kept))  # what keeps data or votes is never left out: one that came since has to be seen
    unread = tuple(_unread(units, containers, processes, gpu))
    return PlanImpact((*kept, *rows[:room]), max(0, len(rows) - room), unread, tuple(_unseen(snapshot)))


def not_read(ends: PlanImpact, half_read: Iterable[str] = ()) -> str:
    """Return a sentence about what could not be looked at before a reboot; empty where all of it was read.

    Example: "Not read before the reboot: the state of packages. See to it by hand."
    """
    missing = [unseen_words(each) for each in ends.unseen]
    missing += [
        f"which oneshots are at work ({each.reason})" for each in ends.unread if each.probe == UnitsReading.probe
    ]
    missing += half_read
    return one_line(f"Not read before the reboot: {'; '.join(missing)}. See to it by hand.", 600) if missing else ""


def unseen_words(unseen: Unread) -> str:
    """Return in words what could not be looked at of what a reboot must not cut off."""
    _, _, part = unseen.probe.partition(PART)
    return part or f"rebuilds, firmware, packages and the next boot's files ({unseen.reason})"


def _unseen(snapshot: Snapshot) -> Iterator[Unread]:
    unfinished = snapshot.get(UnfinishedReading)
    if isinstance(unfinished, Unread):
        yield unfinished
    else:
        yield from (Unread(f"{UnfinishedReading.probe}{PART}{words}", "") for words in unfinished.not_read)


def ended_by_stop(snapshot: Snapshot, unit: str) -> PlanImpact:
    """Return what ends with a unit that is stopped; what stops with it is read with the plan, and part of it."""
    units = snapshot.get(UnitsReading)
    found = None if isinstance(units, Unread) else units.get(unit)
    runs = found is not None and found.active == "active"
    age = _unit_age(snapshot, found.started_usec) if found is not None and runs else None
    return PlanImpact(
        (EndedItem(redacted_line(unit, 80), "unit", age=age),), 0, (units,) if isinstance(units, Unread) else ()
    )


def _unread(
    units: UnitsReading | Unread,
    containers: ContainersReading | Unread,
    processes: ProcessesReading | Unread,
    gpu: GpuReading | Unread,
) -> Iterator[Unread]:
    """What could not be looked at; a part of a reading has its own name, so that the loss of all of it is seen."""
    yield from (reading for reading in (units, containers, processes) if isinstance(reading, Unread))
    if names(LEFT_OUT):
        yield Unread(f"{UnitsReading.probe}{PART}of this site", "a row of its units.toml is left out")
    if not isinstance(containers, Unread):
        for name, why in containers.refused.items():
            yield Unread(f"containers{PART}{one_line(name, 40)}", one_line(why, 120))
        if containers.count_is_at_least:
            yield Unread(f"containers{PART}older", f"only the newest {MOST_CONTAINERS} are listed")
    if not isinstance(processes, Unread) and processes.kinds is None:
        yield Unread("processes", "their names were not listed")
    elif not isinstance(processes, Unread) and processes.kinds_not_listed:
        yield Unread(f"processes{PART}rarer", f"{processes.kinds_not_listed} more names are not listed")
    if isinstance(gpu, Unread):
        yield gpu
    elif gpu.gpus and gpu.users is None:
        yield Unread("gpu", "which processes use the GPUs is not known")


def _unit_age(snapshot: Snapshot, started_usec: int | None) -> int | None:
    host = snapshot.get(HostReading)
    if isinstance(host, Unread) or not started_usec:
        return None
    return _whole_seconds(host.uptime.total_seconds() - started_usec / 1e6)


def _whole_seconds(seconds: float | None) -> int | None:
    return None if seconds is None else max(0, int(seconds))


def _data_units(snapshot: Snapshot, units: UnitsReading | Unread) -> Iterator[EndedItem]:
    for unit in () if isinstance(units, Unread) else units.services:
        if unit.active == "active" and data_pattern((unit.name, *unit.aliases)):
            yield EndedItem(redacted_line(unit.name, 80), "keeps", age=_unit_age(snapshot, unit.started_usec))


def _job_runners(snapshot: Snapshot, units: UnitsReading | Unread) -> Iterator[EndedItem]:
    for unit in () if isinstance(units, Unread) else units.services:
        names = (unit.name, *unit.aliases)
        if unit.active == "active" and makes_cgroups(names) and not data_pattern(names):
            yield EndedItem(redacted_line(unit.name, 80), "jobs", age=_unit_age(snapshot, unit.started_usec))


def _running(containers: ContainersReading | Unread) -> Iterator[tuple[str, str, Container]]:
    """Each running container with its image's and its own name; a pod's empty one is none."""
    for container in () if isinstance(containers, Unread) else containers.containers:
        folder, _, image = container.image.partition("@")[0].rpartition("/")
        image = image.partition(":")[0]
        if image == "server":  # mssql/server
            image = f"{folder.rpartition('/')[2]}-{image}"
        name = container.name.strip("/").partition(",")[0]
        if name.startswith("k8s_"):  # dockershim: k8s_CONTAINER_POD_…
            name = name.split("_")[1]
        if container.running and name != "POD" and not image.startswith("pause"):
            yield image, name, container


def _data_containers(containers: ContainersReading | Unread) -> Iterator[EndedItem]:
    """The containers whose image or name says so: a pod of the control plane, or a store of data."""
    found: dict[str, list[Container]] = {}
    for image, name, container in _running(containers):
        if keeper := next((word for word in (image, name) if data_pattern((word,))), ""):
            found.setdefault(redacted_line(keeper, 60), []).append(container)
    for keeper, mine in found.items():
        yield EndedItem(keeper, "keeps", len(mine), age=_oldest(mine))


def _other_containers(containers: ContainersReading | Unread) -> Iterator[EndedItem]:
    rest = [
        (image if image and "sha256" not in container.image else name, container)
        for image, name, container in _running(containers)
        if not data_pattern((image, name))
    ]
    if rest:
        names = Counter(redacted_line(name, 60) or "?" for name, _ in rest)
        words = [f"{count} × {name}" if count > 1 else name for name, count in names.most_common()]
        # A comma would make a sentence of it: "password, llama3-70b" reads as if the second were one.
        what = listed(words, _MOST_IMAGES, " | ")
        yield EndedItem(what, "containers", len(rest), age=_oldest([each for _, each in rest]))


def _oldest(containers: Sequence[Container]) -> int | None:
    return _whole_seconds(max((each.age.total_seconds() for each in containers if each.age is not None), default=None))


def _databases(kinds: Sequence[ProcessKind], kept: Sequence[EndedItem]) -> Iterator[EndedItem]:
    """The processes that keep data or vote; those of a unit or container that is named already add nothing."""
    known = {data_pattern((end.what,)) for end in kept}
    for kind in kinds:
        keeper = data_pattern((kind.name,))
        if keeper and keeper not in known and not _CLIENTS.search(kind.name):
            yield replace(
                _ended_process(kind), kind="keeps", count=1
            )  # a server's processes come and go with its clients


def _virtual_machines(kinds: Sequence[ProcessKind]) -> Iterator[EndedItem]:
    """The virtual machines, by the program that runs each: they go down with their host."""
    yield from (replace(_ended_process(kind), kind="guest") for kind in kinds if kind.name.startswith(_GUESTS))


def _gpu_users(gpu: GpuReading | Unread) -> Sequence[GpuUser]:
    return () if isinstance(gpu, Unread) else gpu.users or ()


def _gpu_processes(users: Sequence[GpuUser]) -> Iterator[EndedItem]:
    """The processes on GPUs by name, most GPUs first."""
    found: dict[str, list[GpuUser]] = {}
    for user in users:
        found.setdefault(user.name, []).append(user)
    for name, mine in sorted(found.items(), key=lambda named: (-_gpu_count(named[1]), named[0])):
        oldest = max((user.age for user in mine if user.age is not None), default=None)
        yield EndedItem(
            redacted_line(name, 64) or "process", "gpu", len(mine), _gpu_count(mine), _whole_seconds(oldest)
        )


def _gpu_count(users: Sequence[GpuUser]) -> int:
    return len({bus for user in users for bus in user.buses})


def _busy_programs(kinds: Sequence[ProcessKind], named: Mapping[str, int], seconds: float) -> Iterator[EndedItem]:
    """What works now and is no part of the system, busiest first; workers of Ray also while they wait."""
    for kind in kinds:
        rest = kind.count - named.get(kind.name, 0)
        if rest <= 0 or kind.name.startswith((*_GUESTS, *_SYSTEM)) or kind.name == _IDLE_WORKER:
            continue
        if is_protected((f"{kind.name}.service",)) and not _CLIENTS.search(kind.name):  # a backup is work, too
            continue
        if kind.cpu_seconds >= seconds or kind.name.startswith("ray::"):
            yield replace(_ended_process(kind), count=rest)


def _ended_process(kind: ProcessKind) -> EndedItem:
    return EndedItem(redacted_line(kind.name, 64), "process", kind.count, age=_whole_seconds(kind.age))
