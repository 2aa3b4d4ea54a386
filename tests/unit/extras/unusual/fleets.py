"""Fleets with the variety that ordinary ones have, and nodes in them with one planted difference of known size.

The facts of a kind of machine are those of a whole check of it (`tests/independent/kinds.py`), with the hardware of a
GPU node by the probes' own formats, the kernel's words and rates beside them. Words are drawn from a pool with a long
tail; in some fleets nodes have words of their own, too. What varies from node to
node is drawn for each kind of fact: most states are the same everywhere, a tenth are a mixture of versions; of figures
three tenths are the same, a quarter vary by a sixth, three tenths like counters, and the rest with a tail so long that
there is no mean. Nodes have units of their own.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from bot.extras.fleet.facts import PRESENT, READ, Fact, figures_of
from bot.extras.unusual.unusual_facts import SAID, NodeFacts, Peers, compare, kind_of
from bot.probes.gpu import Gpu, GpuReading
from bot.probes.hardware import parse
from tests.contract.asked import evaluated
from tests.independent import kinds
from tests.known import known_as
from tests.readings.recorded import once

AT = datetime(2026, 11, 1, tzinfo=UTC)
KINDS = (
    kinds.gpu_node,
    kinds.founding,
    kinds.amazon2,
    kinds.database,
    kinds.metal,
    kinds.google,
    kinds.arm,
    kinds.azure,
)
PLANTED = (
    *("entry gone", "entry added", "state", "figure x2", "figure x10"),
    *("link half as wide", "link half as fast", "memory module gone", "a tenth less memory", "older microcode"),
    *("older driver", "another sysctl", "a boot option more", "mount option gone", "another MTU", "GPU slowed down"),
    *(
        "GPU clock a third",
        "kernel complains as no peer does",
        "kernel is serious as no peer is",
        "100 errors an hour",
        "3 errors an hour",
    ),
)
_HARDWARE = """\
driver 0000:17:00.0 mlx5_core
/sys/bus/pci/devices/0000:17:00.0/current_link_width:16
/sys/bus/pci/devices/0000:17:00.0/max_link_width:16
/sys/bus/pci/devices/0000:17:00.0/current_link_speed:32.0 GT/s PCIe
/sys/bus/pci/devices/0000:17:00.0/max_link_speed:32.0 GT/s PCIe
/proc/sys/net/ipv4/tcp_congestion_control:cubic
/proc/sys/vm/overcommit_memory:1
/proc/sys/vm/swappiness:60
/proc/sys/vm/max_map_count:262144
/proc/sys/net/core/somaxconn:4096
/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor:performance
/sys/kernel/mm/transparent_hugepage/enabled:always [madvise] never
/sys/class/dmi/id/bios_version:1.6.2
/sys/class/net/ens1/device/net/ens1/mtu:9000
/sys/class/nvme/nvme0/firmware_rev:GDC5602Q
/sys/devices/system/edac/mc/mc0/dimm0/size:65536
/sys/devices/system/edac/mc/mc0/dimm1/size:65536
/sys/devices/system/node/node0/meminfo:Node 0 MemTotal:      131072000 kB
/sys/module/nvidia/version:570.86.15
microcode\t: 0xd0003e7
cmdline ro console=tty0 mitigations=auto iommu=pt
-- end --
"""
_GRAVE = ("complaint",) * 7 + ("error",) * 2 + ("serious",)
_GPU: Mapping[str, str | float] = {
    "Persistence Mode": "Enabled",
    "HW Slowdown": "Not Active",
    "HW Thermal Slowdown": "Not Active",
}
_RATES = ("nic.nics[ens1].counters[rx_crc_errors]", "memory_errors.controllers[mc0].corrected")


@functools.cache
def base(which: int) -> Mapping[str, Fact]:
    """The facts of a healthy machine of a kind."""
    verdict = evaluated(KINDS[which]().case())
    assert (verdict.status, verdict.snapshot is None) == ("healthy", False)
    assert verdict.snapshot is not None
    hardware = parse(once("look", _HARDWARE))
    gpus = [Gpu(f"0000:{bus}:00.0", "nvidia", settings={**_GPU, "Clock (MHz)": 1410.0}) for bus in ("3b", "5e", "86")]
    readings = {**verdict.snapshot.readings, "hardware": hardware, "gpu": GpuReading(tuple(gpus), "answered")}
    return {**figures_of(replace(verdict.snapshot, readings=readings)), **{f"{rate} per hour": 0.0 for rate in _RATES}}


def fleet(usual: Mapping[str, Fact], count: int, seed: int) -> list[NodeFacts]:
    """That many healthy nodes like one with these facts."""
    chance = random.Random(seed)
    varies: dict[str, str] = {}
    shares: dict[str, float] = {}
    nodes = []
    says = {f"{SAID}{chance.choice(_GRAVE)} driver {rank}: not ready]": chance.random() / rank for rank in range(1, 31)}
    own = chance.choice((0.0, 0.0, 0.0, 0.002, 0.02, 0.2))
    for number in range(count):
        facts: dict[str, Fact] = {}
        for fact, value in usual.items():
            how = varies.setdefault(kind_of(fact), _variety("" if fact.startswith("hardware.") else value, chance))
            facts[fact] = _varied(value, how, shares.setdefault(fact, chance.uniform(0.5, 0.97)), chance)
        for _ in range(chance.choice((0, 0, 0, 1, 2))):
            unit = f"units.services[site-{chance.randint(0, 40)}.service]"
            facts |= {unit: PRESENT, f"{unit}.active": "active"}
        facts |= {word: PRESENT for word, share in says.items() if chance.random() < share}
        facts |= (
            {f"{SAID}{chance.choice(_GRAVE)} only node {number} says this]": PRESENT} if chance.random() < own else {}
        )
        facts["hardware.settings[boot option root]"] = f"UUID={number}"
        nodes.append(NodeFacts(f"node-{number}", AT, True, facts))
    return nodes


def peers_of(nodes: list[NodeFacts]) -> Peers:
    """The nodes as peers, each checked once before."""
    peers = Peers()
    for node in nodes:
        peers.add(node)
    for node in nodes:
        peers.remove(node.node)
        peers.add(replace(node, stood_out=compare(node, peers).stood_out))
    return peers


def planted(node: NodeFacts, what: str, chance: random.Random) -> tuple[str, NodeFacts]:
    """The node with one difference, and the fact that it is in."""
    facts = dict(node.facts)
    if what in _SETTINGS:
        fact, value = _SETTINGS[what]
        facts[fact] = value
    elif what in _TIMES:
        fact, times = _TIMES[what]
        facts[fact] = _figure(facts[fact]) * times
    elif what in _GONE:
        fact = chance.choice([each for each in facts if re.fullmatch(_GONE[what], each)])
        del facts[fact]
    elif what == "entry added":
        fact = "units.services[left-behind.service]"
        facts[fact] = PRESENT
    elif what == "entry gone":
        fact = chance.choice([each for each in facts if each.endswith("]")])
        facts = {each: value for each, value in facts.items() if not each.startswith(fact)}
    elif what == "state":
        words = (each for each, value in facts.items() if isinstance(value, str) and value not in (PRESENT, READ))
        fact = chance.choice([each for each in words if "." in each])
        facts[fact] = "something else"
    else:
        fact, figure = chance.choice([(f, v) for f, v in facts.items() if isinstance(v, float) and v >= 4])
        times = float(what.rpartition("x")[2])
        facts[fact] = figure * times if chance.random() < 0.5 else round(figure / times, 3)
    return fact, NodeFacts(node.node, node.at, False, facts)


_SETTINGS: Mapping[str, tuple[str, Fact]] = {
    "older microcode": ("hardware.settings[microcode]", "0xd000390"),
    "older driver": ("hardware.settings[version of nvidia]", "535.104.05"),
    "another sysctl": ("hardware.settings[vm.overcommit_memory]", "2"),
    "a boot option more": ("hardware.settings[boot option nosmt]", "set"),
    "another MTU": ("hardware.settings[MTU of ens1]", "1500"),
    "GPU slowed down": ("gpu.gpus[0000:5e:00.0].settings[HW Thermal Slowdown]", "Active"),
    "kernel complains as no peer does": (f"{SAID}complaint nvme nvme#: I/O # QID # timeout, aborting]", PRESENT),
    "kernel is serious as no peer is": (f"{SAID}serious EXT4-fs error (device sda#): ext4_find_entry]", PRESENT),
    "100 errors an hour": (f"{_RATES[0]} per hour", 100.0),
    "3 errors an hour": (f"{_RATES[1]} per hour", 3.0),
}
_TIMES = {
    "link half as wide": ("hardware.links[mlx5_core 0000:17:00.0].width", 0.5),
    "link half as fast": ("hardware.links[mlx5_core 0000:17:00.0].speed", 0.5),
    "a tenth less memory": ("hardware.settings[memory of node0 (kB)]", 0.88),
    "GPU clock a third": ("gpu.gpus[0000:5e:00.0].settings[Clock (MHz)]", 1 / 3),
}
_GONE = {
    "memory module gone": r"hardware\.settings\[memory module .*\]",
    "mount option gone": r"filesystems\.mounts\[.*\]\.options\[.*\]",
}


def _figure(value: Fact) -> float:
    return known_as(value, float)


def _variety(value: Fact, chance: random.Random) -> str:
    if isinstance(value, str):
        return chance.choices(("same", "mixture"), (9, 1))[0]
    return chance.choices(("same", "little", "counter", "tail"), (30, 25, 30, 15))[0]


def _varied(value: Fact, how: str, share: float, chance: random.Random) -> Fact:
    if isinstance(value, str):
        if how == "same" or value in (PRESENT, READ) or (drawn := chance.random()) < share:
            return value
        return f"{value}-b" if drawn < 0.9 + share / 10 else f"{value}-c"
    if how == "same":
        return value
    if how == "mixture":  # of machines
        return value if chance.random() < share else value / 2
    if how == "little":
        return round(value * chance.gauss(1, 0.15), 3 if value % 1 else 0)
    if how == "counter":
        return float(round(value * chance.lognormvariate(0, 1))) if value else float(chance.random() < 0.1)
    return float(round((value + 1) * chance.paretovariate(1) - 1))
