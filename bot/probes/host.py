"""The machine and its system: kernel, boot, distribution, virtualisation, cores, clock, consoles.

Defined in: proc(5), os-release(5), machine-id(5), systemd-detect-virt(1), Linux, Documentation/ABI/testing/sysfs-*,
fs/proc/consoles.c.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, ClassVar

from bot.domain.command import Command, Outputs
from bot.domain.duration import span_words
from bot.domain.errors import CannotRead
from bot.domain.probe import Probe
from bot.domain.safe_text import one_line
from bot.probes.formats.core_list import core_list
from bot.probes.formats.sections import sections

if TYPE_CHECKING:
    from bot.domain.verdict import Verdict


@dataclass(frozen=True, slots=True)
class HostReading:
    """Kernel, boot, distribution, virtualisation: thresholds depend on them. Empty text: unknown."""

    probe: ClassVar[str] = "host"

    kernel: str
    boot_id: str
    uptime: timedelta
    machine_id: str = ""
    distribution: str = ""
    virtualisation: str = ""
    cgroup_filesystem: str = ""
    clocksource: str = ""
    cores_online: int = 0
    hostname: str = ""
    node_time_at: datetime | None = None
    consoles: tuple[str, ...] = ()  # where the kernel prints: `tty0`, `ttyS0`
    console_level: int | None = None  # messages graver than this are printed there

    def traits(self) -> Mapping[str, str]:
        """Return a short description of the node, for people."""
        found = {"kernel": f"kernel {self.kernel}", "up": f"up {span_words(self.uptime)}"}
        found |= {"cores": f"{self.cores_online} cores"} if self.cores_online else {}
        words = {"distribution": self.distribution, "virtualisation": self.virtualisation}
        return found | {name: said for name, said in words.items() if said}

    @property
    def kernel_version(self) -> tuple[int, int]:
        """Major and minor of `uname -r`; (0, 0) if unknown.

        Example:
        >>> from datetime import timedelta
        >>> HostReading("5.4.0-1084-aws", "b", timedelta(1)).kernel_version
        (5, 4)
        """
        found = re.match(r"(\d+)\.(\d+)", self.kernel)
        return (int(found.group(1)), int(found.group(2))) if found else (0, 0)

    @property
    def serial_consoles(self) -> tuple[str, ...]:
        """The consoles that are serial lines, which are slow."""
        return tuple(console for console in self.consoles if re.match(r"tty(?:S|AMA|USB)[0-9]", console))

    @property
    def is_virtual_machine(self) -> bool:
        """True if a hypervisor runs it; a container is not meant."""
        return self.virtualisation in _VIRTUAL_MACHINES

    @property
    def is_container(self) -> bool:
        """True in a container: there are devices on its bus that were not given to it."""
        return self.virtualisation in _CONTAINERS

    @property
    def uptime_seconds(self) -> float:
        """Seconds since boot."""
        return self.uptime.total_seconds()


# Names in systemd-detect-virt(1).
_VIRTUAL_MACHINES = (
    *("acrn", "amazon", "apple", "bhyve", "bochs", "google", "kvm", "microsoft", "oracle", "parallels", "powervm"),
    *("qemu", "qnx", "sre", "uml", "vmware", "xen", "zvm"),
)
_CONTAINERS = (
    *("container-other", "docker", "lxc", "lxc-libvirt", "openvz", "podman", "pouch", "proot", "rkt"),
    *("systemd-nspawn", "wsl"),
)

_KERNEL, _UPTIME, _HOSTNAME = "/proc/sys/kernel/osrelease", "/proc/uptime", "/proc/sys/kernel/hostname"
_BOOT_ID, _MACHINE_ID = "/proc/sys/kernel/random/boot_id", "/etc/machine-id"
_ETC_RELEASE, _LIB_RELEASE = "/etc/os-release", "/usr/lib/os-release"
_CLOCKSOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
_ONLINE = "/sys/devices/system/cpu/online"
_CONSOLES, _PRINTK = "/proc/consoles", "/proc/sys/kernel/printk"
_VENDOR, _PRODUCT = "/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name"
_HYPERVISOR = "/sys/hypervisor/type"

# Without systemd-detect-virt: the machine's maker, by the names that this tool would print.
_MAKERS = (
    ("amazon ec2", "amazon"),
    ("qemu", "qemu"),
    ("xen", "xen"),
    ("vmware", "vmware"),
    ("innotek", "oracle"),
    ("google", "google"),
    ("openstack", "kvm"),
    ("alibaba", "kvm"),
    ("bochs", "bochs"),
    ("parallels", "parallels"),
)
_CONSOLE = re.compile(r"([A-Za-z][A-Za-z0-9]{1,30})\s+[-RWU]{3} \(([^)]{0,12})\)")
_LEVEL = re.compile(r"([0-9]{1,4})\s")
_SAYS = re.compile(r"(time|cgroup|virt)=(.*)")


def machine_id_of(verdict: Verdict) -> str:
    """Return the machine-id that was read on the node; empty where it was not."""
    host = verdict.snapshot.get(HostReading) if verdict.snapshot is not None else None
    return host.machine_id.lower() if isinstance(host, HostReading) else ""


def parse(outputs: Outputs) -> HostReading:
    """Read the files and the few commands; what a node lacks stays empty.

    Unread when: the kernel's release, the boot id or the uptime is missing, because verdicts depend on them.
    """
    files = sections(outputs.text("files"))
    kernel, boot_id = _first(files, _KERNEL), _first(files, _BOOT_ID)
    uptime = re.match(r"([0-9]{1,12}(?:\.[0-9]{1,6})?) ", _first(files, _UPTIME))
    if not kernel or not re.fullmatch(r"[0-9a-fA-F-]{32,36}", boot_id) or uptime is None:
        raise CannotRead("host: the kernel's release, boot id or uptime is missing")
    said = {
        found.group(1): found.group(2).strip()
        for line in (outputs.text_or_none("said") or "").splitlines()
        if (found := _SAYS.fullmatch(line))
    }
    try:
        cores = len(core_list(_first(files, _ONLINE)))
    except CannotRead:
        cores = 0
    return HostReading(
        kernel=one_line(kernel),
        boot_id=boot_id.lower(),
        uptime=timedelta(seconds=min(float(uptime.group(1)), 1e9)),
        machine_id=_first(files, _MACHINE_ID),
        distribution=_distribution(files),
        virtualisation=_virtualisation(said.get("virt", ""), files),
        cgroup_filesystem="cgroup2fs" if "63677270" in said.get("cgroup", "") else said.get("cgroup", ""),
        clocksource=_first(files, _CLOCKSOURCE),
        cores_online=cores,
        hostname=_first(files, _HOSTNAME),
        node_time_at=_instant(said.get("time", "")),
        consoles=_consoles(files.get(_CONSOLES, ())),
        console_level=int(level.group(1)) if (level := _LEVEL.match(_first(files, _PRINTK))) else None,
    )


def _consoles(lines: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the enabled consoles (E)."""
    return tuple(found.group(1) for line in lines[:20] if (found := _CONSOLE.match(line)) and "E" in found.group(2))


def _first(files: dict[str, tuple[str, ...]], path: str) -> str:
    return one_line(files.get(path, ("",))[0]) if files.get(path) else ""


def _distribution(files: dict[str, tuple[str, ...]]) -> str:
    lines = files.get(_ETC_RELEASE) or files.get(_LIB_RELEASE) or ()
    named = dict(line.split("=", 1) for line in lines if "=" in line)
    name = named.get("PRETTY_NAME") or " ".join(named[key] for key in ("NAME", "VERSION") if key in named)
    return one_line(name.replace('"', "").strip("'"))


def _virtualisation(words: str, files: dict[str, tuple[str, ...]]) -> str:
    if words:
        return one_line(words, 40)
    maker = f"{_first(files, _VENDOR)} {_first(files, _PRODUCT)} {_first(files, _HYPERVISOR)}".lower()
    return next((name for sign, name in _MAKERS if sign in maker), "")


def _instant(seconds: str) -> datetime | None:
    return datetime.fromtimestamp(int(seconds), UTC) if re.fullmatch(r"[0-9]{1,11}", seconds) else None


_FILES = (
    _KERNEL,
    _BOOT_ID,
    _MACHINE_ID,
    _UPTIME,
    _ETC_RELEASE,
    _LIB_RELEASE,
    _CLOCKSOURCE,
    _ONLINE,
    _HOSTNAME,
    _VENDOR,
    _PRODUCT,
    _HYPERVISOR,
    _CONSOLES,
    _PRINTK,
)
_FRAGMENT = (
    "{ printf time=; date -u +%s || echo; printf cgroup=; "
    "if [ -e /sys/fs/cgroup/cgroup.controllers ]; then echo cgroup2fs; else stat -fc %T /sys/fs/cgroup || echo; fi; "
    "printf virt=; systemd-detect-virt || echo; } 2>/dev/null"
)

PROBE = Probe(
    name="host",
    title="kernel, boot and machine",
    commands=(
        Command("files", ("tail", "-v", "-n", "+1", *_FILES), output_limit_bytes=32 * 1024),
        Command("said", ("sh", "-c", _FRAGMENT), output_limit_bytes=4096),
    ),
    parse=parse,
    reading=HostReading,
)
