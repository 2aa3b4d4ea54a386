"""Cases of queues of a network card that starve on a core that somebody holds."""

from __future__ import annotations

from dataclasses import replace

from tests.independent.cgroups import ecs_loops, kubelet_holds, starves
from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kinds import amazon2, arm, database, founding, gpu_node, metal
from tests.independent.label import Label, near, sick
from tests.independent.machine import Machine

_STARVED = "queue-starved"


def holds(machine: Machine, name: str, core: int, realtime: bool = False, kernel: bool = False) -> Machine:
    """Let one program have a core for the whole window: in the kernel, or in its own code before all others."""
    usr, sys = (492, 3) if realtime else (3, 470)
    machine.core(core, usr=usr / 5, sys=sys / 5)
    return machine.process(
        name, usr=usr, sys=sys, core=core, pid=6021, threads=30, policy=int(realtime), state="R", kernel=kernel,
        working=[(core, usr // 16, sys // 16)],
    )  # fmt: skip


STARVED: list[Label] = [
    sick(
        _STARVED,
        "a database reclaims its own pages on the core of a queue",
        starves(holds(database().served({n: n for n in range(8)}), "postgres", 4), 4, 5 * MINUTE, 20 * MINUTE, 9),
    ),
    sick(
        _STARVED,
        "a scanner of viruses, half an hour ago",
        starves(holds(amazon2(), "falcon-sensor-b", 2), 2, 30 * MINUTE, 60, 1),
    ),
    sick(_STARVED, "a worker of the kernel", starves(holds(arm(), "kworker/3:1+eve", 3, kernel=True), 3, 60, 600, 40)),
    sick(
        _STARVED,
        "a realtime program of a trader",
        starves(holds(Machine(kubernetes=False), "feed-handler", 6, realtime=True), 6, 90, 240, 20),
    ),
    sick(
        _STARVED,
        "the kubelet, and no leak",
        starves(kubelet_holds(gpu_node().cgroups(240, 60), 5), 5, 600, 5400, 12),
        "nobody knows what it does there; that it holds the core is seen",
    ),
    sick(
        _STARVED,
        "a queue that was moved to a core of the jobs",
        starves(holds(Machine().served({0: 0, 1: 12}), "python3", 12), 1, 4 * MINUTE, 10 * MINUTE, 2),
    ),
    sick(
        _STARVED,
        "another holds the core beside a leak whose walk is cheap",
        starves(holds(database().cgroups(240, 400), "tar", 1), 1, 5 * MINUTE, 30 * MINUTE, 14),
    ),
    near(_STARVED, "a core is held, and its queue is served", holds(Machine(), "java", 3)),
    near(_STARVED, "a realtime program on a core without a queue", holds(metal(), "jackd", 40, realtime=True)),
    near(
        _STARVED,
        "it starved the day before yesterday",
        starves(holds(Machine(), "java", 3), 3, 2 * DAY, 600, 5).nic(suspected_poll_starvation=(5, 5)),
    ),
    near(_STARVED, "a job computes on that core", Machine().core(3, usr=100).process("train", usr=500, core=3)),
    near(_STARVED, "the counter stands still", Machine().nic(suspected_poll_starvation=(6, 6), total_resets=(6, 6))),
    replace(
        near(_STARVED, "resets this morning, and each core has time", starves(Machine(), 3, 9 * HOUR, 60, 2)), ill=True
    ),
    replace(
        near(_STARVED, "who has a core holds none that serves", starves(holds(Machine(), "java", 12), 3, 600, 900, 4)),
        ill=True,
    ),
    near(
        _STARVED,
        "packets fill the core themselves",
        Machine().no_irqbalance().served(dict.fromkeys(range(8), 3), dict.fromkeys(range(8), 60_000)).core(3, soft=97)
        .packets(3, 900_000, 9_000, 4_000),
        "",
        "irq-affinity",
    ),
    near(
        _STARVED,
        "the founding case",
        starves(kubelet_holds(ecs_loops(founding(), 68_300, 11.2).cgroups(240, 68_440), 5), 5, 900, 5400, 18),
        "the leak explains what the kubelet does there",
        "leaked-memory-cgroups",
        plan=("disable", "mask", "drain", "cordon", "reboot", "uncordon"),
    ),
    near(
        _STARVED,
        "the card hands out wrong ids while a job has a core",
        holds(Machine(), "java", 12).log_every(60, 60, 9, "ena 0000:00:05.0 eth0: Invalid req_id: 9{n}"),
        "",
        "nic-device-fault",
    ),
    near(
        _STARVED,
        "a core was stuck in the kernel, and the card with it",
        starves(Machine(), 3, 900, 600, 1).log((903, "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [java:4411]")),
        "",
        "lockup",
    ),
]  # fmt: skip
