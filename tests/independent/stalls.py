"""Cases of cores that stand still, and of a console that is too slow."""

from __future__ import annotations

from tests.independent.facts import DAY, HOUR
from tests.independent.kernel import OOM_KILLS, died, kills
from tests.independent.kinds import amazon2, database, google, metal
from tests.independent.label import Label, corrected, near, sick
from tests.independent.machine import Machine

_LOCK = "lockup"
_SOFT = "watchdog: BUG: soft lockup - CPU#{} stuck for {}s! [{}:4411]"
_PAST = "it named nothing; but a minute in which the node stood still is told as one past episode, without a plan"
LOCKUPS: list[Label] = [
    sick(
        _LOCK,
        "one core is stuck and the kernel says so again and again",
        Machine(kernel="5.10.225-213.878.amzn2.x86_64")
        .log(*((ago, _SOFT.format(11, 22 + 26 * n, "kworker/11:1")) for n, ago in enumerate((82, 56, 30, 4))))
        .core(11, sys=100)
        .process("kworker/11:1", sys=445, core=11, pid=4411, kernel=True, state="R"),
        "now, and its core is held",
        "reboot",
    ),
    sick(
        _LOCK,
        "RCU stalls of one core, the newest seconds ago",
        metal()
        .log(*((ago, "rcu: INFO: rcu_preempt self-detected stall on CPU") for ago in (183, 120, 57, 3)))
        .log(
            *(
                (
                    ago - 0.001,
                    "rcu: \t31-....: (20999 ticks this GP) idle=3a4c/1/0x4000000000000000 softirq=8812/8812 fqs=5249",
                )
                for ago in (183, 120, 57, 3)
            )
        )
        .core(31, sys=100)
        .process("mlx5_health", sys=440, core=31, pid=990, kernel=True, state="R"),
        "",
        "reboot",
    ),
    sick(
        _LOCK,
        "lockups recur every few minutes on different cores",
        database().log(
            *(
                (ago, _SOFT.format(core, 23, "khugepaged"))
                for core, ago in ((3, 1500), (9, 1180), (3, 800), (21, 410), (9, 100))
            )
        ),
        "five episodes, the last not two minutes ago",
        "reboot",
    ),
    corrected(
        sick(
            _LOCK,
            "one stall of seventy seconds, nine minutes ago",
            Machine().log(
                (600, _SOFT.format(5, 22, "java")),
                (574, _SOFT.format(5, 48, "java")),
                (560, "rcu: INFO: rcu_sched self-detected stall on CPU"),
            ),
            "one past episode: told, and no reboot for it",
        ),
        _PAST,
    ),
    corrected(
        sick(
            _LOCK,
            "a paused virtual machine wakes up",
            google().log(*((240 - core / 1e4, _SOFT.format(core, 41, "swapper/0")) for core in range(6))),
            "all cores in one instant: told, and no reboot for it",
        ),
        _PAST,
    ),
    near(_LOCK, "a lockup three days ago", metal().log((3 * DAY, _SOFT.format(2, 22, "kcompactd0")))),
    near(
        _LOCK,
        "a busy core of a program that polls",
        metal().core(4, usr=100).process("dpdk-worker", usr=445, core=4, pid=811),
    ),
    near(
        _LOCK,
        "a core in the kernel for one second",
        Machine().core(3, {"sys": 100}, {"sys": 8}, {"sys": 3}, {"sys": 5}, {"sys": 2}),
    ),
]

_CONSOLE = "serial-console-printk"
SERIAL = "ttyS0                -W- (EC  p a)    4:64\ntty0                 -WU (E   p  )    4:1"
_RESET = (
    (
        "ena 0000:00:05.0 eth0: TX q 3 is paused for too long (threshold 5000000). "
        "Time since last napi 6120000 usec. napi scheduled: 1"
    ),
    "ena 0000:00:05.0 eth0: napi handler hasn't been called for a long time but is scheduled",
    "ena 0000:00:05.0: Device reset completed successfully, Driver info: Elastic Network Adapter (ENA) v2.13.2g",
)


def reset(machine: Machine, ago: float) -> Machine:
    return machine.log(*((ago - n / 100, line) for n, line in enumerate(_RESET))).nic(
        total_resets=(1, 1), suspected_poll_starvation=(1, 1)
    )


CONSOLE: list[Label] = [
    sick(
        _CONSOLE,
        "the node ran out of memory, its dump went out at 115,200 baud, and the card starved",
        reset(died(Machine().consoles(SERIAL, 7), 190), 165),
        also=(OOM_KILLS,),
    ),
    sick(
        _CONSOLE,
        "a pod's kills are dumped one after another, then the card resets",
        reset(kills(Machine(cores=4).consoles(SERIAL, 8), 100, 3, 6), 80),
        also=(OOM_KILLS,),
    ),
    sick(
        _CONSOLE,
        "the same on an old kernel",
        reset(
            amazon2()
            .consoles(SERIAL, 7)
            .log((300, "Out of memory: Kill process 88 (ruby) score 900 or sacrifice child")),
            260,
        ),
        also=(OOM_KILLS,),
    ),
    near(
        _CONSOLE,
        "no serial line is a console",
        reset(died(Machine().consoles("tty0                 -WU (EC  p  )    4:1", 7), 190), 165),
        "out of memory, and nothing slow to print on",
        OOM_KILLS,
        "nic-device-fault",
    ),
    near(
        _CONSOLE,
        "the console is kept quiet",
        reset(died(Machine().consoles(SERIAL, 1), 190), 165),
        "nothing reached it",
        OOM_KILLS,
        "nic-device-fault",
    ),
    near(_CONSOLE, "a dump and no reset", died(Machine().consoles(SERIAL, 7), 400), "out of memory alone", OOM_KILLS),
    near(
        _CONSOLE,
        "both, hours apart and long ago",
        reset(died(Machine().consoles(SERIAL, 7), 30 * HOUR), 28 * HOUR),
        "aged, and not within minutes",
    ),
    near(_CONSOLE, "a serial console on a quiet machine", metal().consoles(SERIAL, 7)),
]
