"""What cases have in common: cores that are held, queues that starve, an agent that loops, processes killed, bonds."""

from __future__ import annotations

from typing import Any

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


_POD = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod7c1.slice"
_RESET = (
    (
        "ena 0000:00:05.0 eth0: TX q 3 is paused for too long (threshold 5000000). "
        "Time since last napi 6120000 usec. napi scheduled: 1"
    ),
    "ena 0000:00:05.0 eth0: napi handler hasn't been called for a long time but is scheduled",
    "ena 0000:00:05.0: Device reset completed successfully, Driver info: Elastic Network Adapter (ENA) v2.13.2g",
)


def died(machine: Machine, ago: float) -> Machine:
    """Let the whole machine run out of memory, and the kernel kill one process."""
    begun = "java invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0"
    where = (
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,"
        "task_memcg=/system.slice,task=java,pid=4211,uid=1000"
    )
    ended = "Out of memory: Killed process 4211 (java) total-vm:18874368kB, anon-rss:14680064kB, file-rss:0kB, UID:1000"
    return machine.log((ago + 1, begun), (ago, where), (ago - 0.001, ended)).vmstat(oom_kill=(1, 1))


def kills(
    machine: Machine, newest: float, every: float, count: int, name: str = "python3", group: str = _POD
) -> Machine:
    """Let processes of a cgroup be killed at its limit, one after the other."""
    where = (
        f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-1,mems_allowed=0,oom_memcg={group},"
        f"task_memcg={group}/cri-1,task={name},pid=7{{n}}1,uid=0"
    )
    ended = f"Memory cgroup out of memory: Killed process 7{{n}}1 ({name}) total-vm:9000kB, anon-rss:8000kB, UID:0"
    machine.log_every(newest, every, count, where).log_every(newest - 0.001, every, count, ended)
    return machine.vmstat(oom_kill=(count, count))


def reset(machine: Machine, ago: float) -> Machine:
    """Let the card be reset once because its driver got no core."""
    machine.log(*((ago - n / 100, line) for n, line in enumerate(_RESET)))
    return machine.nic(total_resets=(1, 1), suspected_poll_starvation=(1, 1))


def image(machine: Machine, *more: str) -> Machine:
    """Let an image start chronyd, sshd and more at boot, and show no known agent."""
    machine.facts.agents = {}
    wanted = ("multi-user.target.wants/chronyd.service", "multi-user.target.wants/sshd.service")
    return machine.boot_units(*wanted, *more)


def four_gpus(machine: Machine, **said: Any) -> Machine:
    """Put GPUs on the buses 1b, 43, 9b and d1."""
    return machine.gpus("0000:1b:00.0", "0000:43:00.0", "0000:9b:00.0", "0000:d1:00.0", **said)


def eight_gpus(machine: Machine, **said: Any) -> Machine:
    """Put GPUs on the buses 10 to 40 and 90 to c0."""
    return machine.gpus(*(f"0000:{bus}0:00.0" for bus in "12349abc"), **said)


def bonded(machine: Machine, ports: str, later: str = "", **more: Any) -> Machine:
    """Give it a bond, at both looks: each port's name, state and how often it failed, `eno1 up 0, eno2 down 1`.

    Shape: a port is `off` where nobody wants it, and `lost` where it has no carrier and nobody watches. `groups` are
    the ports' aggregators, a digit each.
    """
    return machine.bond(_bond(ports, **more), _bond(later, **more) if later else None)


def _bond(ports: str, name: str = "bond0", groups: str = "", flags: str = "0x1403", polls: int = 100) -> str:
    told = [(port, state, int(failures)) for port, state, failures in (each.split() for each in ports.split(", "))]
    mode = "IEEE 802.3ad Dynamic link aggregation" if groups else "fault-tolerance (active-backup)"
    whole = "up" if any(state == "up" for _, state, _ in told) else "down"
    text = f"-- bond {name} flags {flags} --\nBonding Mode: {mode}\nMII Status: {whole}\n"
    text += f"MII Polling Interval (ms): {polls}\n"
    for at, (port, state, failures) in enumerate(told):
        text += f"Slave Interface: {port}\nMII Status: {'up' if state in ('up', 'lost') else 'down'}\n"
        text += f"Link Failure Count: {failures}\n" + (f"Aggregator ID: {groups[at]}\n" if groups else "")
    for port, state, failures in told:
        carrier = {"up": "1", "off": "?"}.get(state, "0")
        seen = f"flags {'0x1802' if state == 'off' else '0x1803'} carrier {carrier}"
        text += f"port {port} {seen} ups {failures + (state in ('up', 'lost'))}\n"
    return text
