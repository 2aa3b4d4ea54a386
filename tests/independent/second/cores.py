"""More cases of cores: interrupts, packets, stolen time and quotas."""

from __future__ import annotations

from tests.independent.facts import DAY
from tests.independent.kinds import arm, azure, database, edge, google, gpu_node, guest, metal, rancher, rocky8, small
from tests.independent.label import Label, near, sick
from tests.independent.machine import Machine
from tests.independent.traffic import stolen, storm

_IRQ = "irq-affinity"
AFFINITY: list[Label] = [
    sick(
        _IRQ,
        "eight queues stayed on core 2 when irqbalance died",
        azure()
        .no_irqbalance()
        .served(dict.fromkeys(range(8), 2), dict.fromkeys(range(8), 70_000))
        .core(2, soft=90, irq=3, sys=6)
        .packets(2, 2_100_000, 4_100, 52_000),
    ),
    sick(
        _IRQ,
        "both queues of a small guest on its second core",
        guest(cores=2, memory_gib=4)
        .no_irqbalance()
        .served(dict.fromkeys(range(2), 1), dict.fromkeys(range(2), 110_000))
        .core(1, soft=96, sys=3)
        .packets(1, 1_200_000, 2_600, 30_000),
    ),
    sick(
        _IRQ,
        "sixteen queues on core 8 of a Graviton, by a script that meant well",
        arm()
        .no_irqbalance()
        .served(dict.fromkeys(range(16), 8), dict.fromkeys(range(16), 38_000))
        .core(8, soft=94, irq=4, sys=2)
        .packets(8, 2_800_000, 12_000, 71_000),
    ),
    near(
        _IRQ,
        "eight queues on two cores, each not half busy",
        Machine()
        .no_irqbalance()
        .served({n: n % 2 for n in range(8)}, dict.fromkeys(range(8), 9_000))
        .core(0, soft=38, usr=10)
        .core(1, soft=41, usr=8),
        "room for as much again",
    ),
    near(
        _IRQ,
        "one flow keeps one of eight queues busy",
        metal().served({n: n for n in range(8)}, {3: 90_000}).core(3, soft=55, usr=10).packets(3, 900_000),
        "spread; a single flow stays on its queue",
    ),
    near(
        _IRQ,
        "core 0 belongs to a program, and the card's queues on it are idle",
        small()
        .no_irqbalance()
        .served(dict.fromkeys(range(2), 0), dict.fromkeys(range(2), 150))
        .core(0, usr=98, sys=2)
        .process("ffmpeg", usr=440, sys=6, core=0, pid=7011, state="R"),
        "user time, not interrupts",
    ),
    near(
        _IRQ,
        "four queues on core 0 at a third",
        guest()
        .no_irqbalance()
        .served(dict.fromkeys(range(4), 0), dict.fromkeys(range(4), 12_000))
        .core(0, soft=33, usr=12)
        .packets(0, 400_000),
        "nothing lost and two thirds idle",
    ),
    near(
        _IRQ,
        "two queues on two cores and no irqbalance",
        rancher().no_irqbalance().served({0: 0, 1: 1}, {0: 21_000, 1: 20_500}),
        "there is nothing left to spread",
    ),
]

_STORM = "softirq-storm"


def _burst(machine: Machine) -> Machine:
    for core in range(machine.facts.cores):
        machine.core(core, {"usr": 12}, {"soft": 92, "sys": 6}, {"usr": 13}, {"usr": 11}, {"usr": 12})
    return machine


STORMS: list[Label] = [
    sick(
        _STORM,
        "sixteen of thirty-two cores of an Azure node, the queues spread over them",
        storm(azure(cores=32), range(16), 96, 2_600_000, 41_000, 70_000).served(
            {n: n for n in range(16)}, dict.fromkeys(range(16), 64_000)
        ),
    ),
    sick(
        _STORM,
        "all cores of a small router",
        storm(guest(cores=4, memory_gib=8), range(4), 94, 900_000, 7_400, 31_000).served(
            {n: n for n in range(4)}, dict.fromkeys(range(4), 58_000)
        ),
    ),
    sick(
        _STORM,
        "twelve of forty-eight, small packets",
        storm(rocky8(), range(12), 93, 3_900_000, 12_000, 90_000).served(
            {n: n for n in range(12)}, dict.fromkeys(range(12), 91_000)
        ),
    ),
    near(_STORM, "half of the cores at not quite half", storm(arm(), range(32), 45, 400_000, 0, 3)),
    near(
        _STORM,
        "one second in which all cores were full of packets",
        _burst(google()),
        "a burst that was worked off",
    ),
    near(_STORM, "two full cores that keep up", storm(metal(), range(2), 90, 1_400_000, 0, 0), "nothing lost or late"),
    near(
        _STORM,
        "hard interrupts, and few of them soft",
        azure().core(1, irq=35, soft=6, usr=20).core(2, irq=31, soft=5, usr=22),
    ),
    near(_STORM, "a packet capture that squeezes a little", database().packets(4, 220_000, 0, 30).core(4, soft=24)),
]

_STEAL = "cpu-steal"
STEAL: list[Label] = [
    sick(_STEAL, "an OpenStack host sold its cores twice", stolen(guest(), range(8), 26)),
    sick(_STEAL, "eight of sixteen cores lose two fifths", stolen(azure(), range(8), 40)),
    sick(
        _STEAL,
        "a small Graviton has spent its credits",
        stolen(arm(cores=2, memory_gib=4), range(2), 88),
    ),
    near(_STEAL, "four percent everywhere", stolen(guest(), range(8), 4)),
    near(_STEAL, "six percent on one of thirty-two cores", stolen(arm(cores=32), range(9, 10), 6)),
    near(
        _STEAL,
        "two seconds of one core",
        guest().core(5, {"steal": 30, "usr": 60}, {"usr": 40}, {"steal": 22, "usr": 60}, {"usr": 35}, {"usr": 41}),
    ),
    near(
        _STEAL,
        "a hypervisor whose own guests are busy",
        metal().all_cores(guest=72, sys=6, usr=4),
        "guest time is given, not taken",
    ),
    near(_STEAL, "batch work at low priority on every core", rocky8().all_cores(nice=96, sys=3)),
]

_QUOTA = "cfs-throttling"
_POD = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{}.slice"


def _each_once(machine: Machine) -> Machine:
    for name in "abcde":
        machine.quota(_POD.format(name), 50, 1, 20_000)
    return machine


QUOTAS: list[Label] = [
    sick(
        _QUOTA,
        "a queue worker stands still for half of the window",
        azure().quota(_POD.format("d1"), 50, 41, 2_600_000),
    ),
    sick(
        _QUOTA,
        "the users of a login host share two cores",
        rocky8().quota("/user.slice/user-1042.slice", 50, 46, 3_300_000),
    ),
    sick(
        _QUOTA,
        "a gateway of many threads, held for longer than the window on its cores together",
        arm().quota(_POD.format("e9"), 50, 45, 21_000_000),
    ),
    near(_QUOTA, "two of fifty periods", rancher().quota(_POD.format("2c"), 50, 2, 15_000)),
    near(
        _QUOTA,
        "five pods, each held once",
        _each_once(google()),
        "a shade on each",
    ),
    near(_QUOTA, "thousands of periods since boot, none now", gpu_node(up=90 * DAY).quota(_POD.format("f"), 50, 0, 0)),
    near(_QUOTA, "a pod with a quota that slept through the window", edge().quota(_POD.format("0a"), 0, 0, 0)),
    near(
        _QUOTA,
        "a cron job that is held for a tenth of a second",
        guest().quota("/system.slice/backup.service", 50, 3, 90_000),
    ),
]
