"""Whole nodes whose usual plan would do harm or no good, and others for which it is due."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.asked import LEAK, LOOP, STOPPED, Asked, check
from tests.contract.test_plans_at_a_risk import leaks
from tests.contract.test_plans_not_earned import CURE, FELL
from tests.contract.test_verdicts_once_wrong import harmed
from tests.independent.cgroups import ecs_loops
from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kinds import amazon2, azure, database, gpu_node, guest, metal
from tests.independent.machine import KUBELET, Machine

GPU, LOCK = "gpu-fault", "lockup"
ILL = "degraded critical"
STILL: dict[str, Any] = {"ActiveState": "inactive", "SubState": "dead"}
UNCHECKED = "<5>EXT4-fs ({}): error count since last fsck: 7"


def sles(kernel: str, **more: Any) -> Machine:
    return Machine(kernel=kernel, system="SUSE Linux Enterprise Server 15", **more)


def graviton() -> Machine:
    machine = Machine(
        kernel="6.1.141-155.222.amzn2023.aarch64",
        cores=64,
        memory_gib=128,
        product="c7g.metal",
        clocksource="arch_sys_counter",
        virt="none",
    )
    stuck = "<0>watchdog: BUG: soft lockup - CPU#41 stuck for 26s! [kworker/u128:3:4411]"
    return machine.log_every(6, 28, 30, stuck).core(41, sys=100)


def h100() -> Machine:
    eight = tuple(f"000{n}:00:00.0" for n in range(1, 9))
    machine = azure(cores=96).gpus(*eight, listed=eight[1:])
    return machine.log((10 * MINUTE, "NVRM: Xid (PCI:0001:00:00): 79, GPU has fallen off the bus."))


def starves_rcu() -> Machine:
    """A thread of SCHED_FIFO, which comes back with its program (Documentation/RCU/stallwarn.rst)."""
    machine = metal().core(7, usr=100).log_every(30, 180, 12, "rcu: INFO: rcu_preempt self-detected stall on CPU")
    return machine.process("rtengine", usr=500, core=7, pid=7110, policy=1, state="R", working=((7, 500, 0),))


ASKS = "NVRM: Xid (PCI:0001:00:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"

WRONG = [
    Asked("an H100 of Azure fell off", h100(), "critical", GPU, "cordon", says="power cycle"),
    *(
        Asked(f"what others stand on, {name}", machine.loops(f"{name}.service", 8_000, 11), ILL, LOOP)
        for name, machine in (
            ("weka-agent", gpu_node()),
            ("kube-proxy", Machine()),
            ("ovs-vswitchd", guest()),
            ("patroni", database()),
        )
    ),
    Asked(
        "the leaking node's root has errors that nobody has mended",
        leaks().mount("nvme0n1p1 ext4 rw,relatime /").log_every(5 * HOUR, DAY, 8, UNCHECKED.format("nvme0n1p1")),
        "critical",
        LEAK,
        "disable mask",
    ),
    Asked(
        "a service loops as no name can be resolved",
        database().loops("sync.service", 400, 11).dns(("10.0.0.2", ""), ("10.0.0.3", "")),
        ILL,
        "dns-failing",
    ),
    Asked(
        "a service loops as its GPU is gone",
        gpu_node()
        .gpus("0000:3b:00.0", "0000:af:00.0", listed=("0000:af:00.0",))
        .log((600, FELL))
        .loops("vllm.service", 50, 11),
        "critical",
        GPU,
        "cordon drain reboot uncordon",
    ),
    Asked(
        "a service loops as the clock is wrong",
        database()
        .loops("sync.service", 400, 11)
        .clock("chronyd", "Leap status     : Not synchronised", "System time     : 912.41 seconds slow of NTP time"),
        ILL,
        f"clock-unsynced {LOOP}",
    ),
    Asked("a realtime thread starves RCU", starves_rcu(), ILL, f"{LOCK} irq-affinity -"),
]
RIGHT = [
    Asked(
        "an agent leaks on a SLES",
        ecs_loops(harmed(sles("5.3.18-150300.59.164-default", v1=True, cores=96, memory_gib=1152)), 68_300, 11.2),
        "critical",
        LEAK,
        CURE,
        needs="reboot",
    ),
    Asked(
        "the errors that nobody has mended are on a disk of data",
        leaks().mount("nvme1n1 ext4 rw,relatime /data").log_every(5 * HOUR, DAY, 8, UNCHECKED.format("nvme1n1")),
        "critical",
        LEAK,
        CURE,
        needs="reboot",
    ),
    Asked("an H100 of Azure asks for a reboot", h100().log((599, ASKS)), "critical", GPU, CURE, needs="reboot"),
    Asked("a core of a Graviton is stuck", graviton(), "critical", LOCK, CURE, needs="reboot"),
    Asked(
        "a service of a SLES loops",
        sles("5.14.21-150500.55.44-default", kubernetes=False).loops("acme-sync.service", 5_000, 12),
        "degraded",
        LOOP,
        "disable mask",
        needs="disable",
    ),
    Asked(
        "the kubelet of an Amazon Linux 2 is off",
        amazon2().essential(KUBELET, changed_ago=30 * MINUTE, **STILL).health("000 7", "000 7"),
        "critical",
        STOPPED,
        "start",
        needs="start",
    ),
]


@pytest.mark.parametrize("asked", [*WRONG, *RIGHT], ids=lambda asked: str(asked.title))
def test_plan_is_offered_only_where_it_helps(asked: Asked) -> None:
    check(asked)
