"""More cases of cores that stand still, of what only sounds like it, and of a console that is too slow."""

from __future__ import annotations

from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kernel import OOM_KILLS, died, in_pod, kills
from tests.independent.kinds import amazon2, arm, azure, database, edge, google, guest, metal, rocky8, small
from tests.independent.label import Label, corrected, near, sick
from tests.independent.machine import Machine
from tests.independent.stalls import SERIAL, reset

_LOCK = "lockup"
LOCKUPS: list[Label] = [
    sick(
        _LOCK,
        "a core does not even take interrupts any more",
        database().log_every(18, 75, 3, "NMI watchdog: Watchdog detected hard LOCKUP on cpu 14").core(14, sys=100),
        "three times in three minutes",
        "reboot",
    ),
    sick(
        _LOCK,
        "stalls of one core in the words of an old kernel",
        amazon2()
        .log_every(6, 63, 5, "INFO: rcu_sched self-detected stall on CPU")
        .log_every(5.9, 63, 5, " 7-....: (14999 ticks this GP) idle=c3e/140000000000001/0 softirq=771/771 fqs=7400")
        .core(7, sys=100)
        .process("kworker/7:2", sys=448, core=7, pid=771, kernel=True, state="R"),
        "the newest six seconds ago, and the core is held",
        "reboot",
    ),
    near(
        _LOCK,
        "an RCU stall six days ago",
        arm().log((6 * DAY, "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:")),
    ),
    near(
        _LOCK,
        "a virtual machine was moved to another host two days ago",
        guest().log(
            *(
                (2 * DAY - core / 1e4, f"watchdog: BUG: soft lockup - CPU#{core} stuck for 31s! [swapper/{core}:0]")
                for core in range(8)
            )
        ),
        "all cores in one instant, long ago",
    ),
    near(
        _LOCK,
        "an expedited stall while it booted",
        edge(up=12 * DAY).log(
            (
                12 * DAY - 27,
                "rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 0-... } 6 jiffies s: 85 root: 0x1/.",
            )
        ),
        "six jiffies, twelve days ago",
    ),
    near(
        _LOCK,
        "the watchdog says that it watches",
        rocky8().log((160 * DAY - 1, "NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.")),
    ),
    near(
        _LOCK,
        "a worker took its time",
        Machine(kernel="6.8.0-1021-aws", system="Ubuntu 24.04.1 LTS").log_every(
            300,
            900,
            4,
            "workqueue: drain_vmap_area_work hogged CPU for >10000us {n} times, consider switching to WQ_UNBOUND",
        ),
        "ten milliseconds",
    ),
    near(
        _LOCK,
        "realtime tasks were held back once",
        metal().log((3 * HOUR, "sched: RT throttling activated")),
        "another thing",
    ),
    near(
        _LOCK,
        "the profiler was told to sample less",
        azure().log_every(
            600,
            900,
            3,
            "perf: interrupt took too long (25{n}3 > 2500), lowering kernel.perf_event_max_sample_rate to 79000",
        ),
        "nanoseconds",
    ),
    near(
        _LOCK,
        "compilers keep a host busy in the kernel",
        guest().all_cores(usr=62, sys=36),
        "work",
    ),
]

_CONSOLE = "serial-console-printk"
_DUMPED = "netfilter-in: IN=eth0 OUT= MAC=0a:1b:2c SRC=203.0.113.{n} DST=10.0.0.7 LEN=60 PROTO=TCP SPT=4{n} DPT=22 SYN"
_OLD_KILL = "Memory cgroup out of memory: Kill process 7{n}1 (ruby) score 1200 or sacrifice child"
_STARVED = ("nic-device-fault",)
CONSOLE: list[Label] = [
    sick(
        _CONSOLE,
        "a small machine ran out of memory and its card starved half a minute later",
        reset(died(small(memory_gib=2).consoles(SERIAL, 7), 90), 60),
        also=(OOM_KILLS,),
    ),
    corrected(
        sick(
            _CONSOLE,
            "every dropped packet was logged to the serial line, then the card reset",
            reset(Machine(cores=4, kubernetes=False).consoles(SERIAL, 8).log_every(46, 0.003, 4_000, _DUMPED), 44),
            "four thousand lines in 12 s, of which the line prints ninety a second",
        ),
        "the recording had 700 lines in 35 s, which 115,200 baud print in a fifth of the time: no harm in them",
    ),
    sick(
        _CONSOLE,
        "kills in one cgroup of an old kernel, each with its dump",
        reset(
            kills(amazon2(cores=4).consoles(SERIAL, 7), 75, 4, 8, (_OLD_KILL, "Killed process 7{n}1 (ruby)")),
            60,
        ),
        also=(OOM_KILLS,),
    ),
    near(
        _CONSOLE,
        "the only console is the hypervisor's own",
        reset(died(arm().consoles("hvc0                 -W- (EC p  )  229:0", 7), 200), 180),
        "not a serial line",
        OOM_KILLS,
        *_STARVED,
    ),
    near(
        _CONSOLE,
        "the card reset before anything was dumped",
        reset(died(Machine().consoles(SERIAL, 7), 190), 420),
        "the dump came four minutes later",
        OOM_KILLS,
        *_STARVED,
    ),
    near(
        _CONSOLE,
        "fifty minutes lie between the dump and the reset",
        reset(died(Machine(cores=32).consoles(SERIAL, 7), 55 * MINUTE), 5 * MINUTE),
        "not within minutes",
        OOM_KILLS,
        *_STARVED,
    ),
    near(
        _CONSOLE,
        "the serial line is registered and switched off",
        reset(
            died(
                Machine().consoles(
                    "tty0                 -WU (EC  p  )    4:1\nttyS0                -W- (    p a)    4:64", 7
                ),
                150,
            ),
            120,
        ),
        "without E it prints nothing",
        OOM_KILLS,
        *_STARVED,
    ),
    near(
        _CONSOLE,
        "many kills on a host whose serial line is on, and the card is well",
        kills(google().consoles(SERIAL, 7), 30, 20, 12, in_pod(name="node")),
        "no reset",
        OOM_KILLS,
    ),
]
