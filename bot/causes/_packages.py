"""A package manager at work: what it replaces is stopped and started by itself, and a boot in between may not come up.

It is known by its name; where the names were not read, one that uses the CPU is seen.
"""

from __future__ import annotations

from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Evidence
from bot.probes.processes import ProcessesReading
from bot.probes.unfinished import UnfinishedReading

# Of packages, and of what makes the next boot's files; the kernel cuts names at fifteen letters (TASK_COMM_LEN).
_NAMES = (
    *("dpkg", "apt", "apt-get", "aptitude", "unattended-upgr", "rpm", "dnf", "dnf5", "microdnf", "yum", "tdnf"),
    *("zypper", "transactional-u", "rpm-ostree", "pacman", "apk", "emerge"),
    *("dracut", "mkinitramfs", "update-initramf", "mkinitcpio", "depmod", "dkms", "kernel-install"),
)


def running_package_manager(snapshot: Snapshot) -> Evidence | None:
    """Return the package manager that is at work; None if none was seen."""
    unfinished = snapshot.get(UnfinishedReading)
    for each in () if isinstance(unfinished, Unread) else unfinished.found:
        if each.kind == "packages":
            return Evidence("packages-change", "unfinished", each.says, (each.line,))
    processes = snapshot.get(ProcessesReading)
    for process in () if isinstance(processes, Unread) else processes.busiest:
        if process.name in _NAMES and not process.kernel_thread:
            says = f"{process.name} installs or removes packages now"
            return Evidence("packages-change", "processes", says, tuple(filter(None, (process.raw,))))
    return None
