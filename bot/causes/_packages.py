"""A package manager at work: what it replaces is stopped and started by itself, and a boot in between may not come up.

Only the busiest processes are read, so one that waits for its download is not seen.
"""

from __future__ import annotations

from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Evidence
from bot.probes.processes import ProcessesReading

# Of packages, and of what makes the next boot's files; the kernel cuts names at fifteen letters (TASK_COMM_LEN).
_NAMES = (
    *("dpkg", "apt", "apt-get", "aptitude", "unattended-upgr", "rpm", "dnf", "dnf5", "microdnf", "yum", "tdnf"),
    *("zypper", "transactional-u", "rpm-ostree", "pacman", "apk", "emerge"),
    *("dracut", "mkinitramfs", "update-initramf", "mkinitcpio", "depmod", "dkms", "kernel-install"),
)


def at_work(snapshot: Snapshot) -> Evidence | None:
    """Return the package manager that used the CPU in the window; None if none was seen."""
    processes = snapshot.get(ProcessesReading)
    for process in () if isinstance(processes, Unread) else processes.busiest:
        if process.name in _NAMES and not process.kernel_thread:
            says = f"{process.name} installs or removes packages now"
            return Evidence("packages-change", "processes", says, tuple(filter(None, (process.raw,))))
    return None
