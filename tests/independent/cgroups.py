"""What cases have in common: cores that are held, queues that starve, an agent that loops."""

from __future__ import annotations

from tests.independent.machine import Machine

_STARVED = (
    (
        "ena 0000:20:03.0 eth0: TX q {q} is paused for too long (threshold 5000000). "
        "Time since last napi 66{n}1000 usec. napi scheduled: 1"
    ),
    "ena 0000:20:03.0 eth0: napi handler hasn't been called for a long time but is scheduled",
    "ena 0000:20:03.0: Device reset completed successfully, Driver info: Elastic Network Adapter (ENA) v2.11.0g",
)


def starves(machine: Machine, queue: int, newest: float, every: float, count: int) -> Machine:
    """Let the card reset because the core of a queue was held."""
    for at, line in enumerate(_STARVED):
        machine.log_every(newest - at / 1000, every, count, line.replace("{q}", str(queue)))
    return machine.nic(total_resets=(count, count), suspected_poll_starvation=(count, count))


def holds(machine: Machine, name: str, core: int, realtime: bool = False, kernel: bool = False) -> Machine:
    """Let one program have a core for the whole window: in the kernel, or in its own code before all others."""
    usr, sys = (492, 3) if realtime else (3, 470)
    machine.core(core, usr=usr / 5, sys=sys / 5)
    return machine.process(
        name, usr=usr, sys=sys, core=core, pid=6021, threads=30, policy=int(realtime), state="R", kernel=kernel,
        working=[(core, usr // 16, sys // 16)],
    )  # fmt: skip


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


def dockers(machine: Machine, count: int) -> Machine:
    """Let docker have so many containers."""
    row = "{n:064x}|registry.example/shop:{n}|shop-{n}|2026-11-12 12:00:00 +0000 UTC|Up 9 days"
    return machine.docker([row.format(n=n) for n in range(count)])


def spread(machine: Machine, cores: int, rise: int) -> Machine:
    """Let each of so many cores serve a queue of its own, and be interrupted as often."""
    return machine.served({core: core for core in range(cores)}, dict.fromkeys(range(cores), rise))
