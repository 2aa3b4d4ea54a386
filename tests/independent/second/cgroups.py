"""More cases of memory cgroups that were removed and not freed, and of those that live."""

from __future__ import annotations

from tests.independent.cgroups import kubelet_holds, starves, walks
from tests.independent.facts import DAY
from tests.independent.kinds import arm, edge, founding, google, guest, metal, rocky8, small
from tests.independent.label import Label, near, sick
from tests.independent.machine import Machine

_LEAK, _LIVE = "leaked-memory-cgroups", "too-many-live-cgroups"
_CURE = ("disable", "mask", "drain", "cordon", "reboot", "uncordon")
_TRACES = "trace-shipper.service"
_METRICS = "registry.example/metrics-relay:3"

LEAKS: list[Label] = [
    sick(
        _LEAK,
        "a tracing agent dies every twelve seconds for eight days, on the founding kernel",
        starves(
            kubelet_holds(
                founding(up=8.2 * DAY).loops(_TRACES, 57_200, 12.3).cgroups(255, 55_100, 55_101),
                6,
            ),
            6,
            500,
            3600,
            11,
        ),
        "the unit's own starts make up the count; held core, starved queue",
        *_CURE,
    ),
    sick(
        _LEAK,
        "a container without a unit of its own is started again and again, and memory is gone",
        guest(cores=2, memory_gib=4, up=9.4 * DAY)
        .docker(
            [f"{'a' * 64}|{_METRICS}|relay|2026-11-21 12:13:50 +0000 UTC|Up 12 seconds"],
            [f"{'b' * 64}|{_METRICS}|relay|2026-11-21 12:14:05 +0000 UTC|Up 1 second"],
            {_METRICS: 40},
        )
        .cgroups(95, 52_900, 52_901, {"system.slice": (52_700, 52_701)})
        .memory(MemAvailable=160_000, MemFree=120_000, SUnreclaim=1_010_000, Percpu=230_000, Slab=1_060_000),
        "more than a GiB of 4 in what cannot be reclaimed; there is no unit to disable, so nothing is planned",
    ),
    near(
        _LEAK,
        "the count falls while it is looked at",
        Machine(kubernetes=False, up=12 * DAY).cgroups(180, 2_600, 2_150),
        "they are being freed",
    ),
    near(
        _LEAK,
        "three hundred pods on v1, and all but fifty of the cgroups live",
        founding(up=6 * DAY).pods(300).cgroups(3_350, 50),
        "the row of /proc/cgroups counts the living too",
    ),
    near(
        _LEAK,
        "the kubelet of a full node works hard, in user mode",
        arm(cores=96, memory_gib=384)
        .pods(300)
        .cgroups(4_100, 80)
        .process("kubelet", usr=420, sys=90, core=7, pid=2114, threads=70, state="R")
        .core(7, usr=70, sys=15),
        "three hundred pods cost that much",
    ),
    near(
        _LEAK,
        "twenty more in the window, as jobs end",
        Machine(kubernetes=False, up=30 * DAY).cgroups(240, 210, 230),
        "a rise of a few blames nobody",
    ),
    near(
        _LEAK,
        "a unit with twenty thousand restarts whose cgroups are freed",
        guest(up=3 * DAY).loops("log-shipper.service", 20_000, 12).cgroups(90, 160, 160, {"system.slice": (120, 120)}),
        "a loop, and no leak",
        "crash-looping-unit",
        plan=("disable", "mask"),
    ),
]

LIVE: list[Label] = [
    sick(
        _LIVE,
        "cron left thirty-eight thousand empty sessions",
        walks(metal(up=500 * DAY).cgroups(38_400, 150), 20),
        "PID 1 works on nothing else",
    ),
    sick(
        _LIVE,
        "runc left fifty-two thousand directories on v1, for eight pods",
        walks(kubelet_holds(founding(up=90 * DAY).cgroups(52_000, 30), 11), 30),
    ),
    sick(
        _LIVE,
        "eighteen thousand on a board for six pods",
        walks(edge(up=300 * DAY).cgroups(18_200, 60), 3),
    ),
    near(_LIVE, "three hundred pods of three containers", google(cores=32).pods(300).cgroups(2_150, 70)),
    near(_LIVE, "a host of seven hundred services", guest(cores=32).cgroups(1_420, 15)),
    near(_LIVE, "a login host of a cluster with many sessions", rocky8().cgroups(1_900, 80), "one each, and quiet"),
    near(
        _LIVE,
        "a hundred and twenty containers of docker",
        Machine(kubernetes=False)
        .docker(
            [f"{n:064x}|registry.example/shop:{n}|shop-{n}|2026-11-12 12:00:00 +0000 UTC|Up 9 days" for n in range(120)]
        )
        .cgroups(430, 60),
    ),
    near(
        _LIVE,
        "system containers, each with its own systemd",
        metal(cores=128).cgroups(2_900, 40),
        "fifty of them, sixty cgroups each, and nobody busy with them",
    ),
    near(_LIVE, "thirty-five on a tiny machine", small(memory_gib=1).cgroups(35, 2)),
]
