"""What a reboot would take from others: what runs on the node and keeps data, leads a cluster or runs jobs, and guests.

Nothing here forbids a plan. It is told with it, for a node's own verdict knows nothing of the other members.
"""

from __future__ import annotations

from collections.abc import Iterable

from bot.domain.probe import Snapshot, Unread
from bot.domain.protected import keeps_for_others, makes_cgroups
from bot.domain.safe_text import listed, one_line
from bot.probes.containers import ContainersReading
from bot.probes.processes import ProcessesReading
from bot.probes.units import UnitsReading

_NAMED = 4
# Each runs a guest; qemu-ga is none of them: it runs inside a guest.
_PROGRAMS = ("qemu-system", "qemu-kvm", "kvm", "firecracker", "cloud-hyperviso", "VBoxHeadless", "vmware-vmx", "crosvm")


def warning(snapshot: Snapshot) -> str:
    """Return a sentence about what runs here that others may need while the node boots; empty if nothing is known to.

    Example: "etcd.service, ceph-osd@3.service run here: before the reboot, see that …".
    """
    units, containers = _units(snapshot.get(UnitsReading)), _containers(snapshot.get(ContainersReading))
    names = list(dict.fromkeys((*units, *containers, *_guests(snapshot.get(ProcessesReading)))))
    if not names:
        return ""
    verb = "run" if names[1:] else "runs"
    return f"{listed(names, _NAMED)} {verb} here: before the reboot, see that what they serve can do without this node."


def _units(units: UnitsReading | Unread) -> Iterable[str]:
    for unit in () if isinstance(units, Unread) else units.services:
        names = (unit.name, *unit.aliases)
        if unit.active == "active" and (keeps_for_others(names) or makes_cgroups(names)):
            yield one_line(unit.name, 80)


def _guests(processes: ProcessesReading | Unread) -> Iterable[str]:
    """The virtual machines among the busiest processes, by the program that runs each: they go down with their host."""
    for process in () if isinstance(processes, Unread) else processes.busiest:
        if process.name.startswith(_PROGRAMS) and not process.kernel_thread:
            yield one_line(process.name, 40)


def _containers(containers: ContainersReading | Unread) -> Iterable[str]:
    """The containers whose own name or image says so: a pod of the control plane, or a store of data."""
    for container in () if isinstance(containers, Unread) else containers.containers:
        image = container.image.partition("@")[0].rpartition("/")[2].partition(":")[0]
        if container.running and keeps_for_others((f"{image}.service",)):
            yield one_line(image, 60)
