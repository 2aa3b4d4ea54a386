"""Readings made by hand: what a healthy node answers, and small ways to make it sick."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from bot.causes import CAUSES
from bot.domain.cause import Cause, CauseResult, Threshold, Tuning
from bot.domain.command import Completed, Outputs, SampleTimes
from bot.domain.probe import Probe, Snapshot, Unread
from bot.domain.verdict import Finding, RuledOut
from bot.probes import PROBES
from bot.probes.agents import Agent, AgentsReading
from bot.probes.boot_units import BootUnit, BootUnitsReading
from bot.probes.certificates import CertificatesReading
from bot.probes.cgroups import CgroupsReading
from bot.probes.clock import ClockReading
from bot.probes.containers import ContainersReading
from bot.probes.cpu import CpuReading
from bot.probes.dns import DnsReading, NameServer
from bot.probes.ebs import EbsReading
from bot.probes.essential_units import EssentialUnit, EssentialUnitsReading
from bot.probes.filesystems import FilesystemsReading, Mount, Room
from bot.probes.formats.container_lists import Container
from bot.probes.formats.core_second import CoreSecond
from bot.probes.formats.kernel_line import KernelEvent
from bot.probes.gpu import GpuReading
from bot.probes.host import HostReading
from bot.probes.interrupts import InterruptLine, InterruptsReading
from bot.probes.kernel_limits import KernelLimitsReading, Limit, TcpMemory
from bot.probes.kernel_log import KernelLogReading
from bot.probes.memory_errors import MemoryController, MemoryErrorsReading
from bot.probes.nic import Nic, NicReading
from bot.probes.processes import ProcessesReading, ProcessUse, ThreadUse, Waiting
from bot.probes.reclaim import Pressure, ReclaimReading
from bot.probes.softirq import SoftirqReading, SoftnetCore
from bot.probes.storage import Disk, StorageReading
from bot.probes.throttling import ThrottlingReading
from bot.probes.units import Unit, UnitsReading
from tests.known import known_as

PLAYBOOKS = Path(__file__).parents[3] / "playbooks"
NODE_HEALTH: dict[str, Any] = yaml.safe_load((PLAYBOOKS / "node-health.yaml").read_text())
IMAGE_GATE: dict[str, Any] = yaml.safe_load((PLAYBOOKS / "image-gate.yaml").read_text())
# A cause that only the gate evaluates is there alone.
USED: tuple[str, ...] = tuple(dict.fromkeys([*NODE_HEALTH["causes"], *IMAGE_GATE["causes"]]))
DAYS = 11.25
GIB = 1048576
BOOTED = BootUnit("kubelet.service", "multi-user.target.wants", source="multi-user.target.wants/kubelet.service")
KUBELET = EssentialUnit("kubelet.service", "kubelet", active_later="active")


def tuning(cause: Cause, **changed: float) -> Tuning:
    """Return the values of the cause's thresholds, some of them changed."""
    return Tuning(dict(cause.thresholds) | {name: Threshold(value, "in this test") for name, value in changed.items()})


def evaluate(name: str, *readings: Any, **changed: float) -> CauseResult:
    """Evaluate one cause on a healthy node with these readings in place of its own."""
    cause = CAUSES[name]
    return cause.evaluate(node(*readings), tuning(cause, **changed))


def found(name: str, *readings: Any, **changed: float) -> Finding:
    """Evaluate, and hold it to be a finding."""
    return known_as(evaluate(name, *readings, **changed), Finding)


def ruled_out(name: str, *readings: Any, **changed: float) -> RuledOut:
    """Evaluate, and hold it to be ruled out."""
    return known_as(evaluate(name, *readings, **changed), RuledOut)


def steps(finding: Finding) -> list[tuple[str, str]]:
    """Return the remedy as pairs of action and unit."""
    return [(step.action, step.args.get("unit", "")) for step in finding.remedy]


def node(*readings: Any) -> Snapshot:
    """Return a healthy node's snapshot with these readings in place of its own."""
    taken_at = datetime(2026, 11, 21, tzinfo=UTC)
    told = {reading.probe: reading for reading in readings}
    return Snapshot("n", taken_at, timedelta(seconds=5), {**_healthy(), **told})


@cache  # readings are values: tests only read from them
def _healthy() -> Mapping[str, Any]:
    examples = tuple(example(probe) for probe in PROBES.values() if probe.example)
    healthy = (
        host(), cpu(), cgroups(), units(), containers(), agents(), nic(), log(), processes(), interrupts(), softirq(),
        memory(), ThrottlingReading(()), GpuReading(()), ClockReading("chrony", True, 0.00002, "tsc", ("tsc",)),
        KernelLimitsReading((Limit("threads", 900, 32_768),), 0, 0, tcp=TcpMemory(57, 512_000, 768_000)),
        EssentialUnitsReading(True, (KUBELET,), ("ok", "ok")), BootUnitsReading(True, (BOOTED,), ("kubelet.service",)),
        CertificatesReading(datetime(2026, 11, 21, tzinfo=UTC), True),
        DnsReading((NameServer("10.0.0.2", ("NOERROR", "NXDOMAIN", "NOERROR")),)),
        EbsReading(), storage(), MemoryErrorsReading((MemoryController("mc0", 0, 3, 972_000),), 0),
        FilesystemsReading((Mount("/", "nvme0n1p1", "ext4", ("rw",), "rw"),), (Room("/", 58.0, 94.0),), True),
    )  # fmt: skip
    return {reading.probe: reading for reading in (*examples, *healthy)}


def example(probe: Probe) -> Any:
    """Return what a probe reads of its own example, at both looks where it looks twice."""
    runs = [
        Completed(probe.name, command.name, look, probe.example[command.name])
        for command in probe.commands
        if command.name in probe.example
        for look in ((0, 1) if command.looks is SampleTimes.TWICE else (0,))
    ]
    return probe.read(Outputs(*runs))


def unread(probe: str) -> Unread:
    """Return what stands for a reading that could not be made."""
    return Unread(probe, "permission denied")


def host(kernel: str = "5.4.0-1084-aws", days: float = DAYS, **more: Any) -> HostReading:
    return HostReading(kernel=kernel, boot_id="b", uptime=timedelta(days=days), **more)


def cgroups(
    dying: int = 31, later: int | None = None, mode: str = "v1", alive: int = 240, **more: Any
) -> CgroupsReading:
    later = dying if later is None else later
    rows = [f"memory\t3\t{figure + alive}\t1" for figure in (dying, later)]
    return CgroupsReading(
        mode=mode, dying=dying, alive=alive, counter="num_cgroups less directories", dying_later=later,
        alive_later=alive, seconds_between=5.0, source=(rows[0],), source_later=(rows[1],), **more,
    )  # fmt: skip


def second(core: int, **percents: float) -> CoreSecond:
    share = {"usr": 20.0, "sys": 3.0, "iowait": 0.0, "irq": 0.0, "soft": 1.0, "steal": 0.0, **percents}
    idle = max(0.0, 100 - sum(share.values()))
    raw = f"10:00:01 {core} {share['usr']} 0.00 {share['sys']} {share['soft']} {idle}"
    named = {f"{name}_percent": value for name, value in share.items()}
    return CoreSecond(core=core, idle_percent=idle, raw=raw, **named)


def cpu(
    hot: Mapping[int, Mapping[str, float]] | None = None, cores: int = 8, seconds: int = 5, hot_for: int = 9
) -> CpuReading:
    """Every second alike, but for the hot cores in the first `hot_for` seconds."""
    hot = hot or {}
    numbers = sorted({*range(cores), *hot})
    return CpuReading(
        tuple(
            tuple(second(core, **(hot.get(core, {}) if at < hot_for else {})) for core in numbers)
            for at in range(seconds)
        ),
        "mpstat json",
    )


def held(core: int = 39, seconds: int = 5, hot_for: int = 3) -> CpuReading:
    """A core that the kernel does not give back."""
    return cpu({core: {"usr": 0.0, "sys": 99.0, "soft": 0.0}}, seconds=seconds, hot_for=hot_for)


def process(
    name: str = "kubelet", sys: float = 4.6, usr: float = 0.2, on: Sequence[int] = (39,), **more: Any
) -> ProcessUse:
    threads = tuple(ThreadUse(tid=100 + core, core=core, usr_seconds=0.0, sys_seconds=0.3) for core in on)
    return ProcessUse(1723, name, usr, sys, threads=threads, raw=f"1723 ({name}) S 1 …", **more)


def processes(*busiest: ProcessUse, waiting: Sequence[str] = (), wchan: str = "") -> ProcessesReading:
    waits = tuple(Waiting(5000 + at, name, wchan) for at, name in enumerate(waiting))
    busiest = busiest or (process("python", sys=0.2, usr=4.8, on=(1,)),)
    return ProcessesReading(busiest, 5.0, tuple(waiting), 300, waits)


def disk(completed: int = 400, waiting: int = 0, name: str = "nvme0n1", read_ms: float | None = 0.4) -> Disk:
    """A disk; `waiting` requests are in it at both looks."""
    lines = (f"259 0 {name} at the first look", f"259 0 {name} at the second look")
    return Disk(name, waiting, waiting, completed, read_ms if completed else None, lines)


def storage(*disks: Disk, hung: int | None = None) -> StorageReading:
    return StorageReading(disks or (disk(),), hung)


def unit(name: str = "ecs.service", restarts: int | None = 0, later: int | None = None, **more: Any) -> Unit:
    """A unit that restarts on failure; `later` is the counter's second look."""
    later = restarts if later is None else later
    given = {"enabled": "enabled", "restart": "on-failure", "aliases": (), **more}
    source = (f"Id={name}", f"ActiveState={given.get('active', 'active')}", f"NRestarts={later}")
    return Unit(name, restarts=restarts, restarts_later=later, source=source, **given)


def between_tries(name: str = "ecs.service", restarts: int = 68_000, **more: Any) -> Unit:
    return unit(name, restarts, active="activating", sub="auto-restart", sub_later="auto-restart", **more)


def stopped(name: str = "ecs.service", restarts: int = 0, after_days: float | None = DAYS - 0.5, **more: Any) -> Unit:
    usec = None if after_days is None else round(after_days * 86_400e6)
    return unit(name, restarts, active="failed", sub="failed", result="exit-code", state_changed_usec=usec, **more)


def units(*services: Unit, **more: Any) -> UnitsReading:
    quiet = (unit("kubelet.service", protected=True), unit("containerd.service", protected=True))
    return UnitsReading(True, (*quiet, *services), **more)


AGENT_IMAGE = "amazon/amazon-ecs-agent:latest"


def container(id_: str, seconds: float, image: str = AGENT_IMAGE, **more: Any) -> Container:
    source = f"{id_} {image} Up {seconds:.0f} seconds"
    return Container(id_, image, f"c-{id_}", age=timedelta(seconds=seconds), source=source, **more)


def containers(*first: Container, later: Sequence[Container] | None = None, **more: Any) -> ContainersReading:
    steady = container("aaaa", 900_000, "ray/worker:1")
    looks = None if later is None else (steady, *later)
    return ContainersReading(("docker",), (steady, *first), looks if later is not None else (steady, *first), **more)


def churning() -> ContainersReading:
    """The founding loop: one agent container, new each 11 to 16 s."""
    return containers(container("bbbb", 11), later=[container("cccc", 1)])


def agent(**more: Any) -> Agent:
    given = {"enabled": "enabled", "active": "active", "image": "amazon/amazon-ecs-agent", "used": False, **more}
    return Agent("ecs", "ecs.service", because="no cluster is configured", source=("ecs.service enabled",), **given)


def agents(*known: Agent) -> AgentsReading:
    return AgentsReading(known, "kubernetes")


def event(kind: str, text: str = "", ago: timedelta | None = timedelta(minutes=3), **more: Any) -> KernelEvent:
    """A line of the kernel log; `ago` None: the log gives it no time."""
    since_boot = None if ago is None else timedelta(days=more.pop("days", DAYS)) - ago
    return KernelEvent(kind, text or f"kernel: {kind}", since_boot, **more)


def log(*events: KernelEvent) -> KernelLogReading:
    return KernelLogReading("journal", 1200, events, tuple(dict.fromkeys(one.kind for one in events)))


def starved(ago: timedelta | None = timedelta(minutes=3), queue: int | None = 5) -> tuple[KernelEvent, ...]:
    """A reset of the network card for want of CPU, as the driver tells it."""
    stall = "ena 0000:20:03.0 eth0: TX q 5 is paused for too long. napi scheduled: 1"
    told = {"device": "eth0", "queue": queue}
    return (
        event("nic-stalled", stall, ago, napi_scheduled=True, **told),
        event("nic-starved", "napi handler hasn't been called but is scheduled", ago, **told),
        event("nic-reset", "Device reset completed successfully", ago, device="eth0"),
    )


# What was counted long ago and stands still.
OLD = {"total_resets": 2, "suspected_poll_starvation": 2, "bw_in_allowance_exceeded": 4211, "pps_allowance_exceeded": 0}


def nic(counters: Mapping[str, int] = OLD, later: Mapping[str, int] | None = None, **more: Any) -> NicReading:
    both = {**counters, **(later or {})}
    lines = {name: f"{name}: {value}" for name, value in both.items()}
    card = Nic("eth0", more.pop("driver", "ena"), "2.11.0g", counters=counters, counters_later=both, lines=lines)
    bond = more.pop("bonds", None)
    return NicReading((card,), 5.0, (bond,) if bond else ())


def interrupts(rises: Mapping[int, Mapping[int, int]] | None = None, **more: Any) -> InterruptsReading:
    """Rises by queue and core; without them every queue rises on a core of its own."""
    rises = {queue: {queue: 900} for queue in range(8)} if rises is None else rises
    lines = tuple(
        InterruptLine(str(40 + queue), f"eth0-Tx-Rx-{queue}", by, tuple(by), queue, f"{40 + queue}: eth0-Tx-Rx-{queue}")
        for queue, by in rises.items()
    )
    return InterruptsReading(
        lines, more.pop("seconds_between", 5.0), more.pop("irqbalance_runs", True), more.pop("hot", ())
    )


def softirq(dropped: int = 0, squeezed: int = 0, core: int = 0) -> SoftirqReading:
    return SoftirqReading({"NET_RX": {core: 9000}}, (SoftnetCore(core, 9000, dropped, squeezed, "0000abcd"),), 5.0)


def memory_gone() -> ReclaimReading:
    """A machine of 16 GiB of which the kernel holds three: 68,440 dying cgroups on 8 CPUs cost 2.4 GiB."""
    return memory(16 * GIB, available=10 * GIB, percpu=2 * GIB)


def memory(
    total: int = 384 * GIB, available: int = 300 * GIB, percpu: int = GIB // 4, slab: int = GIB, **more: Any
) -> ReclaimReading:
    """Units: KiB. `rises` are counters' rises in the window, `pressure` percents of the last 10 s."""
    held_kib = {"MemTotal": total, "MemAvailable": available, "Percpu": percpu, "SUnreclaim": slab}
    rises = {"allocstall_normal": 0, "pgscan_direct": 0, **more.get("rises", {})}
    lines = {name: f"{name}: {value} kB" for name, value in held_kib.items()}
    lines |= {name: f"{name} {value}" for name, value in rises.items()}
    pressure = {name: Pressure(avg, avg, avg, 0, f"full avg10={avg}") for name, avg in more.get("pressure", {}).items()}
    return ReclaimReading(dict.fromkeys(rises, 0), rises, held_kib, pressure, 5.0, lines)
