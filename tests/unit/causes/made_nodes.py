"""Nodes made at random: every reading as sick, as odd or as absent as it can be, for what must hold on all nodes."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from bot.probes import PROBES as READ
from bot.probes.certificates import Certificate, CertificatesReading
from bot.probes.clock import ClockReading
from bot.probes.conntrack import ConntrackReading
from bot.probes.dns import DnsReading, NameServer
from bot.probes.ebs import EbsReading, Volume
from bot.probes.essential_units import EssentialUnit, EssentialUnitsReading
from bot.probes.filesystems import FilesystemsReading, Mount, Room
from bot.probes.formats.bonds import Bond, Port
from bot.probes.formats.kernel_table import own_table
from bot.probes.gpu import Gpu, GpuReading
from bot.probes.interrupts import HotCore
from bot.probes.kernel_limits import KernelLimitsReading, Limit, TcpMemory
from bot.probes.memory_errors import MemoryController, MemoryErrorsReading
from bot.probes.throttling import ThrottledGroup, ThrottlingReading
from tests.unit.causes import builders as b

counts = st.sampled_from([0, 1, 3, 17, 900, 1_000, 20_000, 68_000, 70_000])
shares = st.sampled_from([0.0, 5.0, 60.0, 95.0])
ages = st.none() | st.sampled_from(
    [timedelta(seconds=20), timedelta(minutes=3), timedelta(minutes=7), timedelta(minutes=40), timedelta(hours=20),
     timedelta(days=4), timedelta(days=90)]
)  # fmt: skip
names = st.sampled_from(
    ["ecs.service", "kubelet.service", "x.service", "sshd.service", "a.scope", "$(touch pwned).service"]
)
maybe_counts = st.none() | counts
enabled = st.sampled_from(["enabled", "disabled", "static", "generated", "masked", ""])
places = st.sampled_from(
    ["system.slice", "system.slice/ecs.service", "system.slice/kubelet.service", "system.slice/$(touch pwned).service",
     "kubepods.slice/kubepods-burstable.slice", "system.slice/docker-1.scope", "x.service", "", "/"]
)  # fmt: skip
usec = st.none() | st.sampled_from([0, 5, 86_400_000_000, 10**12])


def units() -> st.SearchStrategy[Any]:
    unit = st.builds(
        b.unit,
        names,
        maybe_counts,
        maybe_counts,
        active=st.sampled_from(["active", "activating", "failed", "inactive"]),
        sub=st.sampled_from(["running", "auto-restart", "failed"]),
        enabled=enabled,
        started_usec=usec,
        state_changed_usec=usec,
        restarts_logged=counts,
        protected=st.booleans(),
        restarts_logged_over=st.none() | st.sampled_from([timedelta(0), timedelta(hours=1)]),
    )
    return st.lists(unit, max_size=3).map(lambda some: b.units(*some))


def containers() -> st.SearchStrategy[Any]:
    one = st.builds(
        b.container,
        st.sampled_from("bcd"),
        st.sampled_from([1, 50, 900_000]),
        st.sampled_from([b.AGENT_IMAGE, "jobs/x:1", "datadog/agent:7", ""]),
    )
    looks = st.lists(one, max_size=2)
    exits = st.dictionaries(st.sampled_from([b.AGENT_IMAGE, "jobs/x:1"]), counts, max_size=2)
    return st.builds(
        lambda first, later, ended, over: b.containers(*first, later=later, exits_by_image=ended, exits_over=over),
        looks,
        st.none() | looks,
        exits,
        st.sampled_from([None, timedelta(0), timedelta(minutes=10)]),
    )


GPU_LINES = [
    f"NVRM: Xid (PCI:0000:3b:00): {code}, pid=41, name=python3, {words}"
    for code, words in (
        (79, "GPU has fallen off the bus."), (31, "Ch 00000008"), (63, "Row Remapper"), (48, "DBE"),
        (154, "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"),
    )
]  # fmt: skip


def logs() -> st.SearchStrategy[Any]:
    event = st.builds(
        b.event,
        st.sampled_from(sorted(own_table().kinds)),
        ago=ages,
        queue=st.none() | st.just(5),
        core=st.none() | st.just(39),
        process=st.sampled_from(["", "kubelet:1", "python"]),
        napi_scheduled=st.none() | st.booleans(),
    )
    told = st.builds(
        b.event,
        st.just("gpu-error"),
        st.sampled_from(GPU_LINES),
        ages,
        device=st.just("0000:3b:00"),
    )
    return st.lists(st.one_of(event, told), max_size=4).map(lambda some: b.log(*some))


def cores() -> st.SearchStrategy[Any]:
    hot = st.fixed_dictionaries(dict.fromkeys(("usr", "sys", "soft", "steal", "iowait", "irq"), shares))
    return st.builds(
        b.cpu,
        st.dictionaries(st.sampled_from([0, 3, 39]), hot, max_size=3),
        st.sampled_from([1, 4]),
        st.sampled_from([0, 1, 2, 5]),
        st.sampled_from([0, 1, 3, 9]),
    )


def working() -> st.SearchStrategy[Any]:
    one = st.builds(
        b.process,
        st.sampled_from(["kubelet", "python", "systemd-oomd"]),
        st.sampled_from([0.0, 0.3, 4.6]),
        on=st.sampled_from([(), (39,), (0, 3)]),
    )
    return st.lists(one, max_size=3).map(lambda some: b.processes(*some, waiting=["python"] * len(some)))


def memories() -> st.SearchStrategy[Any]:
    amount = st.sampled_from([0, 1024, b.GIB, 60 * b.GIB])
    rises = st.dictionaries(st.sampled_from(["allocstall_normal", "pgscan_direct", "compact_stall"]), counts)
    pressure = st.dictionaries(st.sampled_from(["memory full", "io full"]), shares)
    return st.builds(b.memory, amount, amount, amount, amount, rises=rises, pressure=pressure)


def leaking() -> st.SearchStrategy[Any]:
    below = st.dictionaries(places, counts, max_size=3)
    return below.map(lambda found: b.cgroups(68_440, dying_below=found, dying_below_later=found))


WHEN = datetime(2026, 11, 21, tzinfo=UTC)
percents = st.sampled_from([0.0, 0.4, 3.0, 12.0, 60.0, 100.0])
answered = st.none() | st.booleans()


def gpus() -> st.SearchStrategy[Any]:
    gpu = st.builds(
        Gpu, st.just("0000:3b:00.0"), st.sampled_from(["nvidia", "vfio-pci", ""]), answered, maybe_counts, answered,
        answered, st.sampled_from(["", "Node Reboot Required", "Reset"]), st.booleans(),
    )  # fmt: skip
    return st.builds(GpuReading, st.lists(gpu, max_size=2).map(tuple), st.sampled_from(["answered", "stalled", ""]))


def essential() -> st.SearchStrategy[Any]:
    unit = st.builds(
        EssentialUnit, st.sampled_from(["kubelet.service", "containerd.service", "systemd-networkd.service"]),
        st.sampled_from(["kubelet", "runtime", "network"]), enabled,
        active=st.sampled_from(["active", "inactive", "failed"]),
        active_later=st.sampled_from([None, "active", "inactive", "failed"]), condition_met=st.booleans(),
        changed_usec=usec,
    )  # fmt: skip
    healthz = st.sampled_from([(), ("ok", "ok"), ("timeout", "timeout"), ("500", "ok"), ("", "")])
    return st.builds(
        EssentialUnitsReading, st.booleans(), st.lists(unit, max_size=2, unique_by=lambda u: u.name).map(tuple), healthz
    )


def filesystems() -> st.SearchStrategy[Any]:
    options = st.sampled_from([("rw",), ("ro",), ("rw", "shutdown"), ("ro", "emergency_ro")])
    mount = st.builds(Mount, st.just("/"), st.just("nvme0n1p1"), st.just("ext4"), options, st.sampled_from(["", "rw"]))
    room = st.builds(Room, st.just("/"), percents, st.none() | percents)
    rooms = st.lists(room, min_size=1, max_size=2).map(tuple)
    return st.builds(FilesystemsReading, st.lists(mount, max_size=1).map(tuple), rooms, st.booleans())


def certificates() -> st.SearchStrategy[Any]:
    days = st.sampled_from([-400, -30, -1, 1, 30, 400])
    made = st.builds(
        lambda began, ends: Certificate("/served", WHEN + timedelta(began), WHEN + timedelta(ends)), days, days
    )
    return st.lists(made, max_size=1).map(lambda some: CertificatesReading(WHEN, True, tuple(some)))


def disks() -> st.SearchStrategy[Any]:
    disk = st.builds(b.disk, st.sampled_from([0, 400]), st.sampled_from([0, 12]), st.sampled_from(["nvme0n1", "dm-0"]))
    return st.builds(b.storage, disk, hung=st.sampled_from([None, 0, 2]))


_ports = st.lists(
    st.builds(Port, st.sampled_from(["eth0", "eth1"]), st.booleans(), st.booleans(), st.booleans()), min_size=1
)
REPLIES: dict[str, st.SearchStrategy[Any]] = {
    "host": st.builds(
        b.host, st.sampled_from(["5.4.0", "6.1.0-18", "odd"]), st.sampled_from([0.0, 0.01, 11.25, 300.0])
    ),
    "cpu": cores(),
    "cgroups": st.builds(
        b.cgroups,
        counts,
        maybe_counts,
        st.sampled_from(["v1", "v2", "hybrid"]),
        st.sampled_from([0, 240, 70_000]),
        alive_is_at_least=st.booleans(),
        dying_below=st.dictionaries(places, counts, max_size=3),
        dying_below_later=st.dictionaries(places, counts, max_size=3),
    ),
    "units": units(),
    "containers": containers(),
    "agents": st.lists(
        st.builds(
            b.agent, used=st.none() | st.booleans(), log_exits=counts, active=st.sampled_from(["active", "failed"])
        ),
        max_size=1,
    ).map(lambda some: b.agents(*some)),
    "nic": st.builds(
        b.nic,
        st.dictionaries(st.sampled_from(["suspected_poll_starvation", "bad_tx_req_id"]), counts),
        st.none() | st.dictionaries(st.sampled_from(["suspected_poll_starvation", "pps_allowance_exceeded"]), counts),
        bonds=st.none() | st.builds(Bond, st.just("bond0"), st.just("bond"), ports=_ports.map(tuple)),
    ),
    "kernel_log": logs(),
    "processes": working(),
    "interrupts": st.builds(
        b.interrupts,
        st.none() | st.dictionaries(st.integers(0, 3), st.dictionaries(st.sampled_from([3, 39]), counts)),
        seconds_between=st.sampled_from([None, 0.0, 5.0]),
        hot=st.none() | st.builds(HotCore, st.just(3), counts, counts).map(lambda core: (core,)),
    ),
    "softirq": st.builds(b.softirq, counts, counts, st.sampled_from([0, 3])),
    "reclaim": memories(),
    "throttling": st.builds(
        lambda periods, hit, capped: ThrottlingReading(
            (ThrottledGroup("/p", periods, min(periods, hit), timedelta(seconds=1)),), 1, capped
        ),
        counts,
        counts,
        st.booleans(),
    ),
    "conntrack": st.builds(ConntrackReading, st.booleans(), counts, counts),
    "gpu": gpus(),
    "essential_units": essential(),
    "filesystems": filesystems(),
    "kernel_limits": st.builds(
        KernelLimitsReading,
        st.builds(Limit, st.just("threads"), counts, counts).map(lambda limit: (limit,)),
        maybe_counts,
        maybe_counts,
        tcp=st.none() | st.builds(TcpMemory, counts, counts, counts, counts),
    ),
    "clock": st.builds(
        ClockReading,
        st.sampled_from(["chrony", ""]),
        answered,
        st.sampled_from([None, 0.0, 0.4, 180.0]),
        st.sampled_from(["tsc", "hpet"]),
        heard_at=st.sampled_from([None, WHEN, WHEN - timedelta(days=1)]),
        alone=st.booleans(),
    ),
    "memory_errors": st.builds(
        lambda lost, corrected, gone: MemoryErrorsReading((MemoryController("mc0", lost, corrected, 9_000),), gone),
        counts,
        counts,
        maybe_counts,
    ),
    "storage": disks(),
    "certificates": certificates(),
    "dns": st.lists(st.sampled_from(["NOERROR", "SERVFAIL"]), max_size=3).map(
        lambda codes: DnsReading((NameServer("10.0.0.2", tuple(codes)),))
    ),
    "ebs": st.builds(Volume, st.just("nvme1n1"), percents, percents, percents, percents).map(
        lambda v: EbsReading((v,))
    ),
}


# Of any other probe that says what a healthy node answers: whatever its reading's type allows.
REPLIES |= {n: st.from_type(probe.reading) for n, probe in READ.items() if probe.example and n not in REPLIES}


def made(probes: Iterable[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Return nodes of which these readings are as they may be; what is not named is well."""
    return st.fixed_dictionaries({probe: st.just(b.unread(probe)) | REPLIES[probe] for probe in probes})


PROBES = tuple(REPLIES)
nodes = made(PROBES)


@st.composite
def _mostly_well(draw: st.DrawFn) -> dict[str, Any]:
    sick = draw(st.lists(st.sampled_from(PROBES), max_size=4, unique=True))
    gone = draw(st.lists(st.sampled_from(PROBES), max_size=1))
    well = {"conntrack": ConntrackReading(True, 900, 262_144)}
    return well | {probe: draw(REPLIES[probe]) for probe in sick} | {probe: b.unread(probe) for probe in gone}


# A node in good health but for a few readings, so that most verdicts are one; what is not named is well.
mostly_well = _mostly_well()
LEAKING = st.fixed_dictionaries(
    {
        "host": st.just(b.host()), "cgroups": leaking(), "units": units(), "containers": containers(),
        "agents": REPLIES["agents"], "kernel_log": logs(), "reclaim": memories(), "cpu": st.just(b.held()),
        "processes": working(),
    }
)  # fmt: skip


_SECONDS = st.integers(5, 4_000).map(lambda seconds: timedelta(seconds=seconds))


def _lines(*kinds: str, newest: st.SearchStrategy[Any] = _SECONDS, most: int = 4) -> st.SearchStrategy[Any]:
    text = st.sampled_from(["", "cgroup: mkdir failed: no space left on device"])
    line = st.builds(b.event, st.sampled_from(kinds), text, st.none() | newest, core=st.sampled_from([None, 3, 39]))
    return st.lists(line, max_size=most)


_STALLS = ("soft-lockup", "hard-lockup", "rcu-stall")
_WALK, _REFUSED = "stack-memcg-walk", "cgroup-exhausted"
_starved = st.sampled_from([(), b.starved(), b.starved(timedelta(hours=5)), b.starved(None)])
_held = st.just(b.held()) | st.just(b.held(core=3)) | cores() | st.just(b.unread("cpu"))
_kernels = st.builds(b.host, st.sampled_from(["4.4.0-210", "5.4.0-1084-aws", "6.1.0-18"]), st.just(b.DAYS))
_stolen = st.builds(lambda steal: b.cpu({3: {"sys": 95.0}} | {core: {"steal": steal} for core in (0, 1, 2, 4)}), shares)

# A proven leaker beside every harm that may be its doing, or may only look so.
_LEAKER = st.fixed_dictionaries(
    {
        "host": _kernels,
        "cgroups": st.builds(
            b.cgroups,
            st.sampled_from([1_100, 14_000, 14_300, 68_440]),
            st.none() | st.sampled_from([1_000, 14_000, 40_000, 68_500]),
            st.sampled_from(["v1", "v2"]),
            st.sampled_from([240, 5_000, 15_000, 64_000]),
        ),
        "units": st.sampled_from([1_100, 14_200, 68_000]).map(
            lambda starts: b.units(b.between_tries("x.service", starts))
        ),
        "kernel_log": st.builds(lambda some, more: b.log(*some, *more), _lines(*_STALLS, _WALK, _REFUSED), _starved),
        "cpu": _held,
        "processes": st.just(b.processes(b.process())) | working(),
        "reclaim": memories() | st.just(b.memory_gone()),
    }
)
# Cores that are stuck, were, or only seem to have been.
_STALLED = st.fixed_dictionaries(
    {
        "kernel_log": _lines(*_STALLS, newest=st.integers(5, 900).map(lambda seconds: timedelta(seconds=seconds))).map(
            lambda some: b.log(*some)
        ),
        "cpu": _held | _stolen,
    }
)
# Live cgroups, of containers that run or of nobody.
_CROWDED = st.fixed_dictionaries(
    {
        "host": _kernels,
        "cgroups": st.builds(b.cgroups, st.just(17), alive=st.sampled_from([5_000, 12_400, 15_000, 64_000])),
        "containers": st.sampled_from([0, 2_000]).map(
            lambda many: b.containers(*(b.container(f"{at:04x}", 900_000, "app:1") for at in range(many)))
        ),
        "kernel_log": _lines(_WALK, _REFUSED, most=2).map(lambda some: b.log(*some)),
        "cpu": _held,
    }
)
_ON_GPUS = st.fixed_dictionaries({"gpu": gpus(), "kernel_log": logs()})

# Where reboots are decided.
HARMED = st.one_of(_LEAKER, _STALLED, _CROWDED, _ON_GPUS)
