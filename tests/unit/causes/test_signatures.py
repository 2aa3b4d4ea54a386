"""A cause's signature tells it in a single look: sick nodes are found by it, and healthy ones are not left open."""

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.causes import CAUSES
from bot.domain.cause import CauseResult
from bot.domain.command import SampleTimes
from bot.domain.verdict import Finding, RuledOut
from bot.probes import PROBES
from bot.probes.boot_units import BootUnit, BootUnitsReading
from bot.probes.certificates import Certificate, CertificatesReading
from bot.probes.clock import ClockReading
from bot.probes.conntrack import ConntrackReading
from bot.probes.dns import DnsReading, NameServer
from bot.probes.essential_units import EssentialUnit, EssentialUnitsReading
from bot.probes.filesystems import FilesystemsReading, Mount, Room
from bot.probes.formats.systemctl import FailedUnit
from bot.probes.gpu import Gpu, GpuReading
from bot.probes.kernel_limits import KernelLimitsReading, Limit, TcpMemory
from bot.probes.memory_errors import MemoryController, MemoryErrorsReading
from tests.unit.causes import builders as b

ENDED = datetime(2026, 11, 18, tzinfo=UTC)
SIGNED = [name for name, cause in CAUSES.items() if cause.signature]
ROOT = Mount("/", "nvme0n1p1", "ext4", ("rw",), "rw")
STOPPED = EssentialUnit("kubelet.service", "kubelet", active="inactive", sub="dead", changed_usec=1)
SICK: dict[str, tuple[Any, ...]] = {
    "leaked-memory-cgroups": (b.cgroups(68_440),),
    "essential-unit-stopped": (EssentialUnitsReading(True, (STOPPED,), ("",)),),
    "filesystem-read-only": (FilesystemsReading((replace(ROOT, options=("ro",)),), (Room("/", 58.0, 94.0),), True),),
    "disk-full": (FilesystemsReading((ROOT,), (Room("/", 2.0, 94.0),), True),),
    "oom-kills": (b.log(b.event("oom-kill", "Out of memory: Killed process 4711 (java) total-vm:1kB")),),
    "serial-console-printk": (
        b.host(consoles=("ttyS0",), console_level=7),
        b.log(b.event("oom-kill", "Out of memory: Killed process 812 (python3)", timedelta(seconds=194)), *b.starved()),
    ),
    "pid-or-fd-exhaustion": (KernelLimitsReading((Limit("threads", 32_000, 32_768),), 0, 0),),
    "tcp-memory-exhausted": (
        KernelLimitsReading((Limit("threads", 900, 32_768),), 0, 0, tcp=TcpMemory(768_100, 512_000, 768_000)),
    ),
    "page-allocation-failing": (
        b.log(*(b.event("no-pages", "x: page allocation failure: order:0, mode:0x20") for _ in range(3))),
    ),
    "clock-unsynced": (ClockReading("chrony", True, 1.2, "tsc"),),
    "unused-agent-enabled": (
        BootUnitsReading(True, (BootUnit("ecs.service", "multi-user.target.wants"),), ("usr/bin/kubelet",)),
    ),
    "failed-units": (b.units(failed_units=(FailedUnit("data.mount", "Data", "data.mount failed"),)),),
    "conntrack-full": (ConntrackReading(True, 262_100, 262_144),),
    "lockup": (b.log(*(b.event("soft-lockup", ago=timedelta(minutes=ago), core=7) for ago in (5, 1))),),
    "memory-errors": (MemoryErrorsReading((MemoryController("mc0", 1, 3, 972_000),), 0),),
    "dns-failing": (DnsReading((NameServer("10.0.0.2", ()),)),),
    "certificate-expiry": (CertificatesReading(ENDED + timedelta(days=4), True, (Certificate("/x", ENDED, ENDED),)),),
    "gpu-fault": (
        GpuReading((Gpu("0000:3b:00.0", "nvidia", answers=False),), "answered"),
        b.log(b.event("gpu-error", "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234")),
    ),
}


def by_signature(name: str, *readings: Any) -> CauseResult:
    """Evaluate what a single look at the signature's probes tells."""
    cause, whole = CAUSES[name], b.node(*readings, *(() if name == "conntrack-full" and readings else QUIET))
    seen = {probe: once(whole.readings[probe]) for probe in cause.signature}
    return cause.evaluate(replace(whole, readings=seen), b.tuning(cause))


QUIET = (ConntrackReading(True, 100, 262_144),)


def once(reading: Any) -> Any:
    """The reading without its second look, as far as its fields say that there was none."""
    later = {field.name: field.default for field in fields(reading) if field.name.endswith("_later")}
    return replace(reading, **{name: value for name, value in later.items() if value is None or value == ()})


@pytest.mark.parametrize("name", SIGNED)
def test_sick_node_is_found_by_the_signature_alone(name: str) -> None:
    assert isinstance(by_signature(name, *SICK[name]), Finding)


@pytest.mark.parametrize("name", SIGNED)
def test_healthy_node_is_ruled_out_by_the_signature_alone(name: str) -> None:
    assert isinstance(by_signature(name), RuledOut)


@pytest.mark.parametrize("name", SIGNED)
def test_signature_is_part_of_what_the_cause_looks_at_and_needs_no_window(name: str) -> None:
    cause = CAUSES[name]
    assert set(cause.signature) <= set(cause.probes)
    looks = {command.looks for probe in cause.signature for command in PROBES[probe].commands}
    assert SampleTimes.THROUGHOUT not in looks


def test_every_signature_has_its_sick_node() -> None:
    assert set(SICK) == set(SIGNED)
