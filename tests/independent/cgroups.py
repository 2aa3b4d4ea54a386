"""Cases of memory cgroups that were removed and not freed, and of those that live."""

from __future__ import annotations

from tests.independent.facts import DAY
from tests.independent.kinds import amazon2, database, founding, google, gpu_node, metal, small
from tests.independent.label import Label, corrected, near, sick
from tests.independent.machine import Machine

_LEAK = "leaked-memory-cgroups"
_CURE = ("disable", "mask", "drain", "cordon", "reboot", "uncordon")
_STARVED = (
    (
        "ena 0000:20:03.0 eth0: TX q {q} is paused for too long (threshold 5000000). "
        "Time since last napi 66{n}1000 usec. napi scheduled: 1"
    ),
    "ena 0000:20:03.0 eth0: napi handler hasn't been called for a long time but is scheduled",
    "ena 0000:20:03.0: Device reset completed successfully, Driver info: Elastic Network Adapter (ENA) v2.11.0g",
)
_SCOPE = "system.slice/backup-agent.service"


def starves(machine: Machine, queue: int, newest: float, every: float, count: int) -> Machine:
    """Let the card reset because the core of a queue was held."""
    for at, line in enumerate(_STARVED):
        machine.log_every(newest - at / 1000, every, count, line.replace("{q}", str(queue)))
    return machine.nic(total_resets=(count, count), suspected_poll_starvation=(count, count))


def kubelet_holds(machine: Machine, core: int) -> Machine:
    """Let the kubelet work on one core in the kernel for the whole window."""
    machine.facts.processes.clear()
    machine.process("kubelet", usr=12, sys=436, core=core, pid=2114, threads=60, state="R", working=[(core, 0, 30)])
    return machine.core(core, sys=99, usr=1)


def ecs_loops(machine: Machine, restarts: int, every: float) -> Machine:
    """Let the ECS agent fail and be started again, its containers with it."""
    machine.loops("ecs.service", restarts, every).agent("ecs.service", "enabled", "activating", "auto-restart")
    image, name = "amazon/amazon-ecs-agent:latest", "ecs-agent"
    rows = [
        [f"{n * 64}|{image}|{name}|2026-11-21 12:13:5{at} +0000 UTC|Up {9 - at} seconds"] for at, n in enumerate("ab")
    ]
    machine.docker(rows[0], rows[1], {image: int(600 / every)})
    return machine.ecs(None, exits=restarts, every=every, code=5)


LEAKS: list[Label] = [
    sick(
        _LEAK,
        "the founding case",
        starves(kubelet_holds(ecs_loops(founding(), 68_300, 11.2).cgroups(240, 68_440, 68_440), 5), 5, 900, 5400, 18),
        "count, churn, a held core and the queue that it serves",
        *_CURE,
    ),
    sick(
        _LEAK,
        "ECS on Amazon Linux 2, its unit looks steady",
        starves(kubelet_holds(amazon2(up=11 * DAY).cgroups(310, 61_000, 61_001), 3), 3, 600, 3000, 12)
        .service("ecs.service", Restart="on-failure", RestartUSec="10s", started_ago=11 * DAY - 60)
        .agent("ecs.service")
        .docker(
            ["a" * 64 + "|amazon/amazon-ecs-agent:latest|ecs-agent|2026-11-21 12:13:52 +0000 UTC|Up 9 seconds"],
            ["b" * 64 + "|amazon/amazon-ecs-agent:latest|ecs-agent|2026-11-21 12:14:04 +0000 UTC|Up 1 second"],
            {"amazon/amazon-ecs-agent:latest": 39},
        )
        .ecs(None, exits=61_200, every=15.4),
        "the agent's containers churn inside one unit",
        *_CURE,
    ),
    sick(
        _LEAK,
        "a small node has no memory left for the dead",
        small(memory_gib=4, up=5 * DAY, kernel="5.15.0-1052-aws")
        .loops("backup-agent.service", 41_000, 10.4)
        .cgroups(120, 40_900, 40_901, {"system.slice": (40_800, 40_801), _SCOPE: (40_700, 40_701)})
        .memory(MemAvailable=190_000, MemFree=150_000, SUnreclaim=700_000, Percpu=330_000, Slab=760_000),
        "1 GiB of 4 in what cannot be reclaimed, and the kernel counts them below the unit",
        *_CURE,
    ),
    sick(
        _LEAK,
        "seventy thousand dead on a quiet node",
        Machine(up=52 * DAY).cgroups(163, 70_012),
        "present, not proven: no plan",
    ),
    sick(
        _LEAK,
        "held by the walk, and nobody knows who leaks",
        starves(kubelet_holds(founding(up=20 * DAY).cgroups(260, 52_300), 7), 7, 700, 4000, 9)
        .log((702, "watchdog: BUG: soft lockup - CPU#7 stuck for 22s! [kubelet:2114]"))
        .log((701.99, "CPU: 7 PID: 2114 Comm: kubelet Not tainted 5.4.0-1084-aws #91"))
        .log((701.98, "RIP: 0010:mem_cgroup_node_nr_lru_pages+0x6a/0xa0"))
        .log((701.97, " memcg_numa_stat_show+0x16e/0x1f0")),
        "a reboot alone comes back: no leaker, no plan",
    ),
    corrected(
        near(
            _LEAK,
            "two thousand pods",
            Machine(cores=96, memory_gib=768).pods(300).cgroups(12_400, 60),
            "live ones of running pods",
        ),
        "the recording listed 250 containers, which is no node of two thousand pods; the list ends at 300",
    ),
    near(
        _LEAK,
        "an unpatched 4.19 web host after a week",
        Machine(
            kernel="4.19.0-27-cloud-amd64", system="Debian GNU/Linux 10 (buster)", v1=True, up=7 * DAY, kubernetes=False
        ).cgroups(190, 1_562),
        "such kernels grow by themselves",
    ),
    near(
        _LEAK,
        "twelve hundred on four GiB beside a looper",
        small(memory_gib=4)
        .loops("metrics-push.service", 1_150, 60, again="1min")
        .cgroups(110, 1_200, 1_200)
        .memory(Slab=300_000, SUnreclaim=150_000, Percpu=40_000),
        "30 MiB is no harm",
        "crash-looping-unit",
        _LEAK,
        plan=("disable", "mask"),
    ),
    near(
        _LEAK,
        "nginx broke twenty minutes ago and little is dead",
        Machine(up=60 * DAY).loops("nginx.service", 100, 11.9).cgroups(210, 240),
        "a loop, and no leak",
        "crash-looping-unit",
        plan=("disable", "mask"),
    ),
    near(_LEAK, "eight hundred dead on a CI host, flat", Machine(kubernetes=False, up=30 * DAY).cgroups(170, 800)),
    near(_LEAK, "four hundred and fifty on a batch node", gpu_node().cgroups(330, 450)),
    Label(
        _LEAK, "nobody answered for the cgroups", metal().without("cgroups"), why="unread is never healthy", ill=True
    ),
    corrected(
        sick(
            _LEAK,
            "eleven hundred dead and a held core",
            kubelet_holds(founding().cgroups(240, 1_100), 9),
            "a walk of 1,100 takes 0.08 s: the core has another reason, and nothing may be planned",
        ),
        "it named nothing; but 5.4 keeps some tens (fb2f2b0adb98), so that 1,100 are present, not proven",
    ),
]

_LIVE = "too-many-live-cgroups"


def walks(machine: Machine, core: int) -> Machine:
    machine.process("systemd", usr=40, sys=390, core=core, pid=1, state="R")
    return machine.core(core, sys=88, usr=9)


LIVE: list[Label] = [
    sick(
        _LIVE,
        "sixty thousand scopes that nobody removed, on v1",
        walks(kubelet_holds(amazon2(up=80 * DAY, cores=32, memory_gib=128).cgroups(61_000, 40), 4), 9),
        "live directories, few pods",
    ),
    sick(
        _LIVE,
        "forty-five thousand on v2 for eight pods",
        walks(Machine(cores=48, memory_gib=192, up=150 * DAY).cgroups(45_200, 90), 12),
    ),
    sick(
        _LIVE,
        "thirty thousand session scopes on a bastion",
        walks(Machine(cores=8, memory_gib=16, kubernetes=False, up=400 * DAY).cgroups(31_500, 20), 1),
    ),
    near(_LIVE, "a hundred and ten pods", google().pods(110).cgroups(1_310, 44)),
    near(
        _LIVE,
        "two hundred and fifty pods with many containers",
        Machine(cores=96, memory_gib=768).pods(250).cgroups(3_100, 90),
    ),
    near(_LIVE, "a database host", database().cgroups(88, 12)),
    near(_LIVE, "nine hundred on a CI node", Machine(kubernetes=False).cgroups(905, 130)),
    near(_LIVE, "a batch node with its steps", metal(cores=96).cgroups(1_150, 20)),
]
