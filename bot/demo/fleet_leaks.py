"""Nodes that leak memory cgroups: an unused ECS agent starts again and again, and each start leaks a cgroup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.demo.images import AMAZON_2, CONTAINERD, DOCKER, ECS, KUBELET, UBUNTU_20, kubelet, usual_units
from bot.demo.machine.load import Hold, Load, Shares
from bot.demo.machine.state import (
    DAY,
    Agent,
    Cgroups,
    Container,
    Gpu,
    Line,
    Loop,
    Memory,
    Nic,
    Process,
    Resets,
    State,
    Thread,
    Unit,
)

_GPU_MEMORY = Memory(total=1_176_000_000, available=780_000_000, percpu=11_900_000, unreclaimable=2_900_000)
_IN_KERNEL = Shares(sys=99.6, soft=0.2)
# Reading memory.stat on cgroup v1 walks every memory cgroup below, the dying ones too (mm/memcontrol.c, Linux 5.4).
_WALK = ("mem_cgroup_nr_lru_pages", "memcg_stat_show", "cgroup_seqfile_show", "kernfs_seq_show", "seq_read", "vfs_read")


def _training(cores: int) -> tuple[Process, ...]:
    """Ray workers that keep half of the cores busy."""
    return tuple(
        Process(
            40_000 + 12 * number,
            "ray::train_step",
            (Thread(number, 52.0, 0.6),),
            ppid=39_870,
            since=500_000.0 - number,
        )
        for number in range(0, cores, 2)
    )


def _dockershim_pods(number: int) -> tuple[Container, ...]:
    """Pods under dockershim: each with its pause container."""
    pods = (
        ("ray-worker", "rayproject/ray-ml:2.9.3-gpu"),
        ("aws-node", "amazon-k8s-cni:v1.12.6"),
        ("kube-proxy", "kube-proxy:v1.23.17"),
        ("nvidia-device-plugin", "nvidia/k8s-device-plugin:v0.14.1"),
        ("node-exporter", "prom/node-exporter:v1.6.1"),
    )
    found = []
    for at, (name, image) in enumerate(pods):
        kind = f"{name}-{number:04x}_ray_{number:08x}-77c5_0"
        found.append(Container("k8s.gcr.io/pause:3.5", f"k8s_POD_{kind}", created=70.0 + at))
        found.append(Container(image, f"k8s_{name}_{kind}", created=75.0 + at))
    return tuple(found)


_GPUS = tuple(Gpu(f"0000:{bus}:1{place}.0") for bus in ("10", "20", "90", "a0") for place in ("c", "d"))


def _busy_gpus(processes: Sequence[Process]) -> tuple[Gpu, ...]:
    """The GPUs with the workers that train on them."""
    workers = [process.pid for process in processes if process.comm == "ray::train_step"]
    return tuple(replace(gpu, pids=tuple(workers[at :: len(_GPUS)])) for at, gpu in enumerate(_GPUS))


def gpu_node(
    name: str,
    number: int,
    dying: int,
    loop: Loop,
    ecs: Unit,
    core: int,
    resets: Resets,
    cores: int = 96,
    product: str = "p4d.24xlarge",
) -> State:
    """A GPU node that leaks: kernel 5.4, cgroup v1, ENA 2.11.0g, a core held by kubelet."""
    queues = min(32, cores)
    of_queues = tuple(core if queue == resets.queue else (queue * 3 + 1) % cores for queue in range(queues))
    return State(
        name=name,
        system=replace(UBUNTU_20, product=product),
        load=Load(cores, Shares(usr=27.0, sys=0.9), holds=(Hold(core, _IN_KERNEL),)),
        uptime=loop.since + (dying - 17) * loop.turn + 3.0,
        cgroups=Cgroups(alive=240, dying=17, every=loop.turn, since=loop.since),
        units=usual_units(UBUNTU_20, CONTAINERD, DOCKER, KUBELET, ecs),
        docker=_dockershim_pods(number),
        agent=Agent(loop, ecs.exit_status),
        nics=(Nic(bus="0000:20:03.0", queues=queues, irq_cores=of_queues, packets=61_000.0, resets=resets),),
        processes=(*_training(cores), kubelet(Thread(core, 0.2, 95.4))),
        memory=_GPU_MEMORY,
        kernel_path=_WALK,
        conntrack=(21_400, 2_097_152),
        gpus=_busy_gpus(_training(cores)),
    )


_AUTO_RESTART_LOOP = Loop(runs=1.2, rests=10.0, since=45.0)
_HIDDEN_LOOP = Loop(runs=12.1, rests=1.1, since=45.0)

AUTO_RESTART = gpu_node(
    "ray-gpu-1a-0417",
    0x417,
    68_440,
    _AUTO_RESTART_LOOP,
    replace(ECS, loop=_AUTO_RESTART_LOOP, exit_status=5),
    core=39,
    resets=Resets(queue=5, first=41_000.0, every=5_413.0),
)
HIDDEN = gpu_node(
    "ray-gpu-1a-0533",
    0x533,
    52_110,
    _HIDDEN_LOOP,
    replace(ECS, exit_status=1, since=44.0),
    core=71,
    resets=Resets(queue=9, first=39_000.0, every=7_919.0),
)

_OTHERS_LOCKUP = "watchdog: BUG: soft lockup - CPU#14 stuck for 22s! [ray::train_step:40168]"


def _held_between_checks(node: State, core: int, hours_ago: float) -> State:
    """That node, whose core is held in bursts that no check falls into, after another program's lockup.

    The resets tell that some core was not given back, and the lockup that it may have been the other program's doing:
    so the verdict is likely, and a profile, which records for longer than a burst's pause, says whose it was.
    """
    bursts = (Hold(core, _IN_KERNEL, every=13.0, lasting=6.6, by="kubelet"),)
    return replace(
        node,
        load=replace(node.load, holds=(), bursts=bursts),
        processes=(*_training(node.load.cores), kubelet(Thread(core, 0.2, 0.4))),
        log=(Line(node.uptime - 3600 * hours_ago, _OTHERS_LOCKUP, 0),),
    )


BETWEEN_LOOKS = _held_between_checks(
    gpu_node(
        "ray-gpu-1a-0712",
        0x712,
        57_300,
        _AUTO_RESTART_LOOP,
        replace(ECS, loop=_AUTO_RESTART_LOOP, exit_status=5),
        core=52,
        resets=Resets(queue=7, first=40_000.0, every=6_113.0),
    ),
    core=52,
    hours_ago=5.0,
)

_STOPPED_AFTER = 45.0 + 31_414 * 13.2 + 12.1  # 4.8 days: the end of a run
_OLD_LOOP = Loop(runs=12.1, rests=1.1, since=45.0, until=_STOPPED_AFTER)
STOPPED = State(
    name="batch-1b-0072",
    system=replace(AMAZON_2, product="m5.4xlarge"),
    load=Load(16, Shares(usr=34.0, sys=1.4)),
    uptime=7.1 * DAY,
    cgroups=Cgroups(alive=131, dying=17, every=_OLD_LOOP.turn, since=45.0, until=_STOPPED_AFTER),
    units=usual_units(
        AMAZON_2,
        DOCKER,
        replace(
            ECS,
            active="failed",
            sub="failed",
            exit_status=5,
            since=_STOPPED_AFTER,
            ran=_STOPPED_AFTER - 44.0,
        ),
    ),
    docker=(Container("batch/featurize:2025-01", "featurize-0"),),
    agent=Agent(_OLD_LOOP, 1),
    nics=(Nic(queues=8, version="2.13.2g"),),
    memory=Memory(total=64_000_000, available=41_000_000, percpu=1_150_000, unreclaimable=780_000),
)

# The same leak on smaller nodes. Each ends differently once the bot acts on it: fleet.py gives it its fault.


def small_leak(name: str, number: int, dying: int) -> State:
    """A GPU node of 16 cores with this project's first leak; `number` distinguishes it."""
    return gpu_node(
        name,
        number,
        dying,
        _AUTO_RESTART_LOOP,
        replace(ECS, loop=_AUTO_RESTART_LOOP, exit_status=5),
        core=number % 16,
        resets=Resets(queue=3, first=39_000.0, every=6_000.0 + number),
        cores=16,
        product="g5.4xlarge",
    )


SWALLOWS_REBOOT = small_leak("ray-gpu-1b-0601", 0x601, 41_210)
ENABLED_AT_BOOT = small_leak("ray-gpu-1b-0602", 0x602, 44_870)
STAYS_DOWN = small_leak("ray-gpu-1b-0603", 0x603, 39_940)
BOOTED_BY_SOMEBODY = small_leak("ray-gpu-1b-0604", 0x604, 47_330)
IN_CLUSTER = small_leak("ray-gpu-1b-0605", 0x605, 43_150)
