"""Cases of cores and the network: interrupts, packets, the instance's limits, stolen time and quotas."""

from __future__ import annotations

from tests.independent.kinds import database, edge, google, gpu_node, metal, small
from tests.independent.label import Label, near, sick
from tests.independent.machine import Machine

_IRQ = "irq-affinity"
AFFINITY: list[Label] = [
    sick(
        _IRQ,
        "eight queues on core 0, which is full",
        Machine()
        .no_irqbalance()
        .served(dict.fromkeys(range(8), 0), dict.fromkeys(range(8), 60_000))
        .core(0, soft=93, sys=5, irq=2)
        .packets(0, 1_900_000, 8_200, 41_000),
    ),
    sick(
        _IRQ,
        "sixteen queues on core 5 of a large host",
        metal()
        .no_irqbalance()
        .served(dict.fromkeys(range(16), 5), dict.fromkeys(range(16), 45_000))
        .core(5, soft=84, irq=15)
        .packets(5, 3_400_000, 0, 88_000),
    ),
    sick(
        _IRQ,
        "four queues on core 1 of four",
        edge()
        .no_irqbalance()
        .served(dict.fromkeys(range(4), 1), dict.fromkeys(range(4), 30_000))
        .core(1, soft=97, irq=2)
        .packets(1, 600_000, 900, 9_000),
    ),
    near(
        _IRQ,
        "spread, one core somewhat busier",
        Machine().core(3, soft=30, usr=20).served({n: n for n in range(8)}, {3: 22_000}),
    ),
    near(
        _IRQ,
        "all queues on core 0 and hardly any traffic",
        small().no_irqbalance().served(dict.fromkeys(range(2), 0), dict.fromkeys(range(2), 300)),
        "idle",
    ),
    near(
        _IRQ,
        "a card with one queue",
        google(cores=2).served({0: 0}, {0: 9_000}).core(0, soft=22, usr=20),
        "nothing to spread, and room left",
    ),
    near(
        _IRQ,
        "pinned by hand to four cores, each half idle",
        metal().no_irqbalance().served({n: n % 4 for n in range(16)}, dict.fromkeys(range(16), 9000)),
    ),
    near(_IRQ, "irqbalance is off and the driver spread them itself", gpu_node().no_irqbalance()),
]

_STORM = "softirq-storm"


def storm(machine: Machine, cores: range, soft: float, processed: int, dropped: int, squeezed: int) -> Machine:
    for core in cores:
        machine.core(core, soft=soft, sys=100 - soft - 1).packets(core, processed, dropped, squeezed)
    return machine


STORMS: list[Label] = [
    sick(
        _STORM,
        "half of the cores drown in packets and drop",
        storm(Machine(), range(8), 95, 2_400_000, 30_000, 60_000).served(
            {n: n for n in range(8)}, dict.fromkeys(range(8), 80000)
        ),
    ),
    sick(
        _STORM,
        "all cores of an edge board",
        storm(edge(), range(4), 92, 700_000, 4_000, 22_000).served(
            {n: n for n in range(4)}, dict.fromkeys(range(4), 50000)
        ),
    ),
    sick(
        _STORM,
        "thirty-two of sixty-four cores, backlog full",
        storm(metal(), range(32), 97, 3_000_000, 90_000, 120_000).served(
            {n: n for n in range(32)}, dict.fromkeys(range(32), 70000)
        ),
    ),
    near(
        _STORM,
        "one core at 85 % and nothing is lost",
        storm(Machine(), range(3, 4), 85, 900_000, 0, 0),
        "work, and no drop",
    ),
    near(_STORM, "a load balancer at two thirds", storm(google(), range(8), 62, 500_000, 0, 12)),
    near(_STORM, "a few squeezes", Machine().packets(2, 80_000, 0, 14)),
    near(_STORM, "a handful of drops on an idle host", metal().packets(9, 30_000, 2, 0)),
    near(_STORM, "cores busy with programs", gpu_node().all_cores(usr=97, sys=2)),
]

_ALLOWED = "instance-allowance-exceeded"
ALLOWANCES: list[Label] = [
    sick(
        _ALLOWED,
        "packets per second above the instance's own",
        Machine(product="c6i.large", cores=2, memory_gib=4).nic(pps_allowance_exceeded=(90_112, 131_220)),
    ),
    sick(_ALLOWED, "bandwidth in, all through the window", database().nic(bw_in_allowance_exceeded=(1_000, 24_800))),
    sick(_ALLOWED, "connections above what is tracked", Machine().nic(conntrack_allowance_exceeded=(77, 3_110))),
    sick(_ALLOWED, "the resolver is asked too often", gpu_node().nic(linklocal_allowance_exceeded=(4_000, 21_400))),
    near(
        _ALLOWED,
        "a million since boot, none now",
        Machine().nic(bw_out_allowance_exceeded=(1_200_331, 1_200_331), pps_allowance_exceeded=(52_000, 52_000)),
    ),
    near(_ALLOWED, "one packet was shaped", database().nic(bw_in_allowance_exceeded=(8_811, 8_812))),
    near(_ALLOWED, "another cloud's card", google()),
    near(_ALLOWED, "no counter ever moved", small()),
    near(
        _ALLOWED,
        "a gauge that falls",
        Machine().nic(conntrack_allowance_available=(136_812, 131_001)),
        "still a hundred thousand left",
    ),
]

_STEAL = "cpu-steal"


def stolen(machine: Machine, cores: range, steal: float) -> Machine:
    for core in cores:
        machine.core(core, steal=steal, usr=(100 - steal) * 0.9, sys=(100 - steal) * 0.1)
    return machine


STEAL: list[Label] = [
    sick(_STEAL, "a burstable instance without credits", stolen(small(), range(2), 78)),
    sick(_STEAL, "four of ninety-six cores lose almost half", stolen(gpu_node(), range(40, 44), 45)),
    sick(_STEAL, "a crowded host takes a third", stolen(google(), range(8), 33)),
    near(_STEAL, "two percent", stolen(small(), range(2), 2)),
    near(
        _STEAL,
        "one second of one core",
        Machine().core(6, {"steal": 40, "usr": 50}, {"usr": 30}, {"usr": 31}, {"usr": 28}, {"usr": 30}),
    ),
    near(_STEAL, "bare metal", metal().all_cores(usr=90, sys=8)),
    near(_STEAL, "a busy guest that gets what it asks for", Machine(cores=4).all_cores(usr=95, sys=4)),
    near(_STEAL, "a shade on every core", stolen(google(), range(8), 0.6)),
]

_QUOTA = "cfs-throttling"
_POD = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{}.slice"
QUOTAS: list[Label] = [
    sick(_QUOTA, "a pod stands still for most of the window", Machine().quota(_POD.format("7c1"), 50, 48, 3_900_000)),
    sick(_QUOTA, "a service with half a core", database().quota("/system.slice/exporter.service", 49, 44, 2_100_000)),
    sick(
        _QUOTA,
        "on v1, two pods",
        Machine(kernel="5.4.0-1084-aws", v1=True)
        .quota("/kubepods/burstable/pod1", 50, 50, 4_400_000)
        .quota("/kubepods/burstable/pod2", 50, 39, 1_800_000),
    ),
    near(_QUOTA, "thirty milliseconds", Machine().quota(_POD.format("7c1"), 50, 1, 30_000)),
    near(_QUOTA, "a start-up burst", google().quota(_POD.format("a"), 50, 4, 110_000)),
    near(_QUOTA, "a quota that is never reached", gpu_node().quota(_POD.format("b"), 50, 0, 0)),
    near(_QUOTA, "no quota anywhere", metal()),
    near(
        _QUOTA,
        "a pod that ran in three periods, once late",
        edge().quota(_POD.format("c"), 3, 1, 12_000),
        "three periods prove nothing",
    ),
]
