"""How the machine is fitted and set: PCIe links, memory, microcode and firmware, and the kernel's settings.

Defined in: Linux, Documentation/ABI/testing/sysfs-bus-pci (current_link_*, max_link_*), sysfs-devices-node,
sysfs-devices-edac (dimm*), sysfs-class-net (mtu), Documentation/admin-guide/sysctl/, kernel-parameters.rst.

No cause asks for it: these are facts for comparing a node with its peers. All of it is world-readable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from bot.domain.command import Command, Outputs
from bot.domain.probe import Probe
from bot.domain.safe_text import one_line, redacted_line
from bot.probes.formats.fragment import END, fragment, whole_text


@dataclass(frozen=True, slots=True)
class Link:
    """The PCIe link of a disk, network card, GPU or accelerator, and the most that the device can do.

    Units: GT/s.
    """

    name: str  # its driver and address, `mlx5_core 0000:17:00.0`
    width: int
    most_width: int
    speed: float | None = None
    most_speed: float | None = None
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HardwareReading:
    """The links, and by name what else the machine is fitted with and set to: text, or a figure for an amount.

    Shape: `lines` are the node's own, by the name of a setting.
    """

    probe: ClassVar[str] = "hardware"

    links: tuple[Link, ...] = ()
    settings: Mapping[str, str | float] = field(default_factory=dict)
    lines: Mapping[str, str] = field(default_factory=dict)

    @property
    def narrow_links(self) -> int:
        """How many links have fewer lanes than their device can do."""
        return sum(link.width < link.most_width for link in self.links)


# Settings that make trouble where one node of a fleet has another. What differs in size with a machine is an amount.
_CHOICES = (
    *("kernel/numa_balancing", "kernel/panic", "kernel/sched_rt_runtime_us", "kernel/tainted", "kernel/watchdog"),
    *("net/bridge/bridge-nf-call-iptables", "net/core/default_qdisc", "net/ipv4/conf/all/rp_filter"),
    *("net/ipv4/ip_forward", "net/ipv4/ip_local_port_range", "net/ipv4/tcp_congestion_control"),
    *("net/ipv4/tcp_mtu_probing", "net/ipv4/tcp_rmem", "net/ipv4/tcp_sack", "net/ipv4/tcp_timestamps"),
    *("net/ipv4/tcp_tw_reuse", "net/ipv4/tcp_wmem", "net/ipv6/conf/all/disable_ipv6"),
    *("vm/dirty_background_ratio", "vm/dirty_ratio", "vm/overcommit_memory", "vm/panic_on_oom", "vm/swappiness"),
    "vm/zone_reclaim_mode",
)
_AMOUNTS = (
    *("fs/aio-max-nr", "fs/inotify/max_user_instances", "fs/inotify/max_user_watches", "fs/nr_open"),
    *("net/core/netdev_max_backlog", "net/core/rmem_max", "net/core/somaxconn", "net/core/wmem_max"),
    *("net/ipv4/neigh/default/gc_thresh3", "net/ipv4/tcp_max_syn_backlog"),
    *("vm/dirty_bytes", "vm/max_map_count", "vm/min_free_kbytes", "vm/nr_hugepages"),
)
_CPU = "/sys/devices/system/cpu"
_PCI, _MEMORY = "/sys/bus/pci/devices", "/sys/devices/system/edac/mc"
# Its file, what it is called, and whether it is an amount.
_NAMED = tuple(
    (re.compile(path), name, is_amount)
    for path, name, is_amount in (
        (r"/proc/sys/(?P<sysctl>[\w/.-]+)", "{sysctl}", False),
        (rf"{_CPU}/cpu0/microcode/version|microcode", "microcode", False),
        (r"model name", "CPU model", False),
        (rf"{_CPU}/cpu0/cpufreq/scaling_governor", "CPU governor", False),
        (rf"{_CPU}/cpu0/cpufreq/scaling_max_freq", "highest CPU clock (kHz)", True),
        (rf"{_CPU}/intel_pstate/no_turbo", "intel_pstate no_turbo", False),
        (rf"{_CPU}/cpufreq/boost", "CPU boost", False),
        (rf"{_CPU}/smt/active", "SMT", False),
        (r"/sys/kernel/mm/transparent_hugepage/enabled", "transparent huge pages", False),
        (r"/sys/class/dmi/id/bios_version", "BIOS version", False),
        (r"/sys/devices/system/node/(node[0-9]{1,4})/meminfo", "memory of {0} (kB)", True),
        (rf"{_MEMORY}/(mc[0-9]{{1,4}}/(?:dimm|rank|csrow)[0-9]{{1,4}})/size(?:_mb)?", "memory module {0} (MB)", True),
        (r"/sys/class/net/(?:[^/ ]+)/device/net/([^/ ]{1,40})/mtu", "MTU of {0}", False),
        (r"/sys/class/nvme/(nvme[0-9]{1,4})/(model|firmware_rev)", "{1} of {0}", False),
        (r"/sys/module/([\w-]{1,40})/version", "version of {0}", False),
    )
)
_MOST_DEVICES, _MOST = 64, 400
# PCI classes: 01 disks, 02 network, 03 GPUs, 12 accelerators. A virtual function has its card's link. What is read of a
# device is its configuration space, as lspci does.
_LOOK = fragment(f"""
    set --; n=0; for d in {_PCI}/*; do
        c=; {{ read -r c <"$d/class"; }} 2>/dev/null;
        case $c in 0x01*|0x02*|0x03*|0x12*) ;; *) continue;; esac;
        [ -e "$d/max_link_width" ] && [ ! -e "$d/physfn" ] && [ $n -lt {_MOST_DEVICES} ] || continue;
        n=$((n + 1)); p=; cd -P "$d/driver" 2>/dev/null && p=${{PWD##*/}}; echo "driver ${{d##*/}} $p";
        set -- "$@" "$d/current_link_width" "$d/max_link_width" "$d/current_link_speed" "$d/max_link_speed"; done;
    cd /proc/sys;
    grep -asH '' "$@" {" ".join(f"/proc/sys/{name}" for name in (*_CHOICES, *_AMOUNTS))}
        {_CPU}/cpu0/microcode/version {_CPU}/cpu0/cpufreq/scaling_governor {_CPU}/cpu0/cpufreq/scaling_max_freq
        {_CPU}/intel_pstate/no_turbo {_CPU}/cpufreq/boost {_CPU}/smt/active
        /sys/kernel/mm/transparent_hugepage/enabled /sys/class/dmi/id/bios_version
        {_MEMORY}/mc[0-9]*/dimm[0-9]*/size {_MEMORY}/mc[0-9]*/rank[0-9]*/size {_MEMORY}/mc[0-9]*/csrow[0-9]*/size_mb
        /sys/class/net/*/device/net/*/mtu /sys/class/nvme/nvme*/model /sys/class/nvme/nvme*/firmware_rev
        /sys/module/nvidia/version /sys/module/ena/version /sys/module/mlx5_core/version /sys/module/zfs/version
        /sys/module/lustre/version /sys/module/efa/version;
    grep -asH ' MemTotal:' /sys/devices/system/node/node[0-9]*/meminfo;
    head -c 2048 /proc/cpuinfo 2>/dev/null | grep -am 2 -e '^model name' -e '^microcode';
    c=; {{ read -r c </proc/cmdline; }} 2>/dev/null; echo "cmdline $c"; echo '{END}'
""")
_LINE = re.compile(rf"({_PCI}/[0-9a-f:.]{{7,16}}/\w+|/[^:]+|model name|microcode)\s*:\s*(\S.*)", re.ASCII)
_LINK = re.compile(rf"{_PCI}/([0-9a-f:.]{{7,16}})/(current|max)_link_(width|speed)")
_DRIVER = re.compile(r"driver ([0-9a-f:.]{7,16}) ?(\S{0,40})")
_CHOSEN = re.compile(r"\[([\w-]{1,40})\]")
_FIGURE = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,3})?)(?: GT/s.*)?")
_NO_LINK = 63  # what the kernel tells as the width of a link that does not answer


def parse(outputs: Outputs) -> HardwareReading:
    """Read what there is; a file that a machine lacks is left out.

    Unread when: the answer is cut short.
    """
    text = whole_text(outputs, "look", "hardware")
    drivers: dict[str, str] = {}
    links: dict[str, dict[str, str]] = {}
    settings: dict[str, str | float] = {}
    lines: dict[str, str] = {}
    for line in text.splitlines():
        if said := _DRIVER.fullmatch(line):
            drivers[said.group(1)] = said.group(2)
        elif line.startswith("cmdline "):
            for option, value in _boot_options(line.removeprefix("cmdline ")):
                word = redacted_line(f"{option}={value}", 200)
                settings[name := f"boot option {option}"] = word.partition("=")[2]
                lines[name] = f"/proc/cmdline: {word}"
        elif found := _LINE.fullmatch(line):
            path, value = found.group(1).strip(), found.group(2).strip()
            if link := _LINK.fullmatch(path):
                links.setdefault(link.group(1), {})[f"{link.group(2)}_{link.group(3)}"] = value
            elif len(settings) < _MOST and (named := _setting(path)):
                settings[named[0]], lines[named[0]] = _value(value, named[1]), redacted_line(line, 200)
    return HardwareReading(tuple(_links(links, drivers)), settings, lines)


def _setting(path: str) -> tuple[str, bool] | None:
    for pattern, name, is_amount in _NAMED:
        if found := pattern.fullmatch(path):
            sysctl = found.groupdict().get("sysctl") or ""
            return name.format(*found.groups(), sysctl=sysctl.replace("/", ".")), is_amount or sysctl in _AMOUNTS
    return None


def _value(said: str, is_amount: bool) -> str | float:
    if is_amount and (figure := re.search(r"([0-9]{1,18})(?: kB)?\Z", said)):
        return float(figure.group(1))
    chosen = _CHOSEN.search(said)
    return chosen.group(1) if chosen else " ".join(one_line(said, 80).split())


def _boot_options(words: str) -> Iterator[tuple[str, str]]:
    options: dict[str, list[str]] = {}
    for word in words.partition(" -- ")[0].split()[:100]:  # after the dashes they are for init
        name, _, value = word.partition("=")
        if re.fullmatch(r"[A-Za-z_][\w.-]{0,60}", name, re.ASCII) and name not in ("BOOT_IMAGE", "initrd"):
            options.setdefault(name, []).append(value or "set")
    return ((name, " ".join(values)) for name, values in options.items())


def _links(links: Mapping[str, Mapping[str, str]], drivers: Mapping[str, str]) -> Iterator[Link]:
    for address, said in links.items():
        figures = {name: float(found.group(1)) for name, value in said.items() if (found := _FIGURE.fullmatch(value))}
        width, most = (int(figures.get(name, 0)) for name in ("current_width", "max_width"))
        if 0 < width < _NO_LINK and 0 < most < _NO_LINK:  # a virtual machine's devices have none
            lines = tuple(f"{name}: {one_line(value, 60)}" for name, value in said.items())
            yield Link(
                name=f"{drivers.get(address, '')} {address}".strip(),
                width=width,
                most_width=most,
                speed=figures.get("current_speed"),
                most_speed=figures.get("max_speed"),
                lines=lines,
            )


_EXAMPLE = f"""\
driver 0000:00:1f.0 nvme
/sys/bus/pci/devices/0000:00:1f.0/current_link_width:4
/sys/bus/pci/devices/0000:00:1f.0/max_link_width:4
/sys/bus/pci/devices/0000:00:1f.0/current_link_speed:8.0 GT/s PCIe
/sys/bus/pci/devices/0000:00:1f.0/max_link_speed:8.0 GT/s PCIe
/proc/sys/net/ipv4/tcp_congestion_control:cubic
/proc/sys/vm/overcommit_memory:1
/proc/sys/vm/swappiness:60
/proc/sys/net/core/somaxconn:4096
/sys/kernel/mm/transparent_hugepage/enabled:always [madvise] never
/sys/class/dmi/id/bios_version:1.0
/sys/class/net/eth0/device/net/eth0/mtu:9001
/sys/class/nvme/nvme0/firmware_rev:1.0
/sys/devices/system/node/node0/meminfo:Node 0 MemTotal:       32614872 kB
model name\t: Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz
microcode\t: 0x5003801
cmdline BOOT_IMAGE=/boot/vmlinuz root=LABEL=root ro console=tty0 nvme_core.io_timeout=4294967295
{END}
"""

PROBE = Probe(
    name="hardware",
    title="how the machine is fitted and set",
    commands=(Command("look", ("sh", "-c", _LOOK), output_limit_bytes=64 * 1024),),
    parse=parse,
    reading=HardwareReading,
    example={"look": _EXAMPLE},
)
