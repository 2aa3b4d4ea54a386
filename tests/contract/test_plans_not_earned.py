"""Whole nodes that look as if something had to be stopped, started or rebooted, and it must not be."""

from __future__ import annotations

from typing import Any

import pytest

from bot.domain.action import KEEPS
from tests.contract.asked import LEAK, LOOP, STOPPED, Asked, check, uncounted
from tests.contract.test_reboots_not_earned import walk
from tests.contract.test_units_not_earned import scheduled
from tests.contract.test_verdicts_once_wrong import CORE, harmed
from tests.independent.cgroups import ecs_loops, starves
from tests.independent.facts import DAY
from tests.independent.kinds import amazon2, database, founding, gpu_node, small
from tests.independent.machine import KUBELET, Machine

CURE = "disable mask drain reboot uncordon"
LIVE, GPU, FILES = "too-many-live-cgroups", "gpu-fault", "filesystem-read-only"
STILL: dict[str, Any] = {"ActiveState": "inactive", "SubState": "dead"}


def runs(machine: Machine, name: str, later: dict[str, object] | None = None, **told: Any) -> Machine:
    """Let a service run at both looks that was started as often as the dying cgroups of the founding node need."""
    shown = {"Restart": "always", "RestartUSec": "10s", "NRestarts": 68_300, "started_ago": 6} | told
    return machine.service(name, later, **shown)


def again(machine: Machine, restarts: int) -> dict[str, object]:
    """What the second look sees of a service that was started between the looks."""
    return {"NRestarts": restarts, "ExecMainStartTimestampMonotonic": int((machine.facts.up + 2) * 1e6)}


def host(**more: Any) -> Machine:
    """A host of containers without a kubelet, on a kernel where the walk is slow."""
    return Machine(kernel="5.4.0-1084-aws", v1=True, kubernetes=False, up=11 * DAY, **more)


def timers_job(machine: Machine, later: dict[str, object] | None = None, **told: Any) -> Machine:
    shown = {"Restart": "no", "TriggeredBy": "report.timer", "UnitFileState": "static", "started_ago": 40} | told
    return machine.service("report.service", later, **shown)


def run_by_cron() -> Machine:
    machine = harmed(host()).agent("datadog-agent.service", "enabled", "inactive", "dead")
    rows = [
        [f"{n * 64}|datadog/agent:7|check|2026-11-21 12:13:5{at} +0000 UTC|Up 9 seconds"] for at, n in enumerate("ab")
    ]
    return machine.docker(rows[0], rows[1], {"datadog/agent:7": 10})


def clock_set_back() -> Machine:
    machine = harmed(host()).agent("ecs.service").ecs(None)
    machine.service("ecs.service", Restart="on-failure", started_ago=11 * DAY - 60)
    row = "c" * 64 + "|amazon/amazon-ecs-agent:latest|ecs-agent|2026-11-23 12:13:46 +0000 UTC|Up 9 days"
    return machine.docker([row], [row])


def between(**by: str) -> Machine:
    """Let a unit loop that stands below another one, which the kubelet needs."""
    machine = Machine().loops("node-settings.service", 8_000, 11).service("node-net.service", RequiredBy=KUBELET)
    for units in (machine.facts.units, machine.facts.units_later):
        units["node-settings.service"] = units["node-settings.service"] | by
    return machine


def rarely() -> Machine:
    machine = database(up=300 * DAY).loops("api.service", 26, 9)
    machine.facts.restarts = machine.facts.restarts[-2:]
    return machine


def held_by_tar() -> Machine:
    machine = ecs_loops(starves(founding().cgroups(240, 68_440), CORE, 900, 5400, 12), 68_300, 11.2)
    machine.facts.processes.clear()
    return machine.core(CORE, sys=99).process("tar", sys=445, core=CORE, pid=812, state="R")


def networks(stopped: str, active: str) -> Machine:
    machine = Machine()
    machine.facts.essential.clear()
    machine.facts.essential_later.clear()
    machine.essential(KUBELET).essential("containerd.service").essential(active)
    return machine.essential(stopped, changed_ago=9 * DAY - 60, **STILL)


XID = "NVRM: Xid (PCI:0000:3b:00): {}, pid=41, name=python3, {}"
FELL = XID.format(79, "GPU has fallen off the bus.")


def one_gpu_silent(ago: float, line: str) -> Machine:
    machine = gpu_node(up=30 * DAY).gpus("0000:3b:00.0", "0000:af:00.0", listed=("0000:af:00.0",))
    return machine.log((ago, line))


POLLER = "inventory-poll.service"
LEAKERS = [
    # systemd.service(5): Restart=always is also how a poller is written, and a start resets Result to success.
    Asked("a poller runs at both looks", runs(harmed(founding()), POLLER), "critical", LEAK),
    Asked(
        "a poller that is started on success", runs(harmed(founding()), POLLER, Restart="on-success"), "critical", LEAK
    ),
    Asked(
        "a poller was started between the looks",
        runs(harmed(founding()), POLLER, again(founding(), 68_301)),
        "critical",
        LEAK,
    ),
    Asked("a poller, and no harm", runs(database().cgroups(240, 68_440), POLLER), "degraded", f"{LEAK} {LOOP}"),
    Asked(
        "what is started only on failure, caught running",
        runs(harmed(founding()), "push.service", Restart="on-failure"),
        "critical",
        LEAK,
        CURE,
    ),
    Asked(
        "what is always started again, and fails",
        harmed(founding()).loops("push.service", 68_300, 11.2, Restart="always"),
        "critical",
        LEAK,
        CURE,
    ),
    Asked(
        "a timer's job runs at both looks",
        timers_job(database(), ActiveState="activating", SubState="start").cgroups(
            200, 30_000, 30_004, {"system.slice/report.service": (29_800, 29_804)}
        ),
        "degraded",
        LEAK,
    ),
    Asked(
        "a timer's job leaves hundreds as one looks",
        timers_job(database()).cgroups(200, 30_000, 30_204, {"system.slice/report.service": (29_800, 30_004)}),
        "degraded",
        LEAK,
    ),
    Asked(
        "a timer's job under a systemd that counts no restarts",
        uncounted(timers_job(harmed(amazon2()), again(amazon2(), 0), Restart="on-failure"), "report.service"),
        "critical",
        LEAK,
    ),
    # crontab(5): what cron runs each minute is no unit's, though an agent's package brought a unit with that image.
    Asked("cron runs the image of an agent whose unit never ran", run_by_cron(), "critical", LEAK),
    Asked("the clock was set back, and the agent's container seems new", clock_set_back(), "critical", LEAK),
    # systemd-run(1): such a unit has no file, and lies above what a mask would write (systemd.unit(5), load path).
    Asked(
        "somebody's own run leaks",
        harmed(founding()).loops("run-r3f9.service", 68_300, 11.2, UnitFileState="transient"),
        "critical",
        LEAK,
    ),
    # Only `systemctl start` by hand sets NRestarts back (org.freedesktop.systemd1(5)).
    Asked(
        "somebody started it anew as one looked",
        runs(harmed(founding()), "push.service", again(founding(), 0), Restart="on-failure"),
        "critical",
        LEAK,
    ),
    Asked("another program holds the core that serves the card", held_by_tar(), "critical degraded", LEAK, "disable"),
    Asked(
        "a kernel on which the walk is short",
        ecs_loops(harmed(founding(kernel="5.15.0-1052-aws")), 68_300, 11.2),
        "degraded critical",
        LEAK,
        "disable",
    ),
    Asked(
        "cgroup v2, whose files walk nothing",
        ecs_loops(harmed(Machine(kernel="5.4.0-1084-aws", cores=96, memory_gib=1152)), 68_300, 11.2),
        "degraded critical",
        LEAK,
        "disable",
    ),
]

LOOPS = [
    # systemd.unit(5): Requires=, BindsTo= and PropagatesStopTo= are followed unit after unit.
    *(
        Asked(f"the kubelet needs what the unit's {by} needs", between(**{by: "node-net.service"}), "degraded", LOOP)
        for by in ("RequiredBy", "BoundBy", "RequisiteOf", "ConsistsOf")
    ),
    Asked("the kubelet stops with it", between(PropagatesStopTo=KUBELET), "degraded", LOOP),
    # systemd.unit(5), Upholds=: whoever upholds it starts it again, unless it is masked.
    Asked(
        "another unit upholds it",
        database().loops("push.service", 8_000, 11, UpheldBy="keeper.service"),
        "degraded",
        LOOP,
        "mask",
    ),
    *(
        Asked(f"a store of data, {name}", database().loops(f"{name}.service", 8_000, 11), "degraded", LOOP)
        for name in (
            *("postgresql@15-main", "mysqld", "mongod", "redis-server", "kafka", "vault"),
            *("cassandra", "elasticsearch", "rabbitmq-server", "consul", "minio", "zookeeper"),
        )
    ),
    # podman-systemd.unit(5): a quadlet's unit is generated.
    Asked(
        "a quadlet's store of data",
        database().loops("postgres.service", 8_000, 11, UnitFileState="generated"),
        "degraded",
        LOOP,
    ),
    *(
        # INSTALL_K3S_NAME=prod makes k3s-prod; kOps has protokube; cron and supervisord run the node's own work.
        Asked(f"a node stands on {name}", database().loops(f"{name}.service", 8_000, 11), "degraded critical", LOOP)
        for name in ("k3s-prod", "kubelet-wrapper", "protokube", "ModemManager", "tinc@core", "slapd", "crond")
    ),
    Asked(
        "a name that only resembles one",
        database().loops(r"docker\x2dproxy.service", 8_000, 11),
        "degraded",
        LOOP,
        "disable",
    ),
    Asked(
        "somebody's own run loops",
        database().loops("run-u18.service", 300, 10, UnitFileState="transient"),
        "degraded",
        LOOP,
    ),
    Asked("its database fails over", Machine().loops("api.service", 4, 10), "degraded", LOOP),
    Asked("twenty-six crashes in three hundred days, two of them now", rarely(), "degraded", LOOP),
    Asked("what it needs is not up yet after a boot", small(up=180).loops("app.service", 60, 2), "degraded", LOOP),
    Asked(
        "it was mended three minutes ago",
        scheduled(
            database().service("push.service", Restart="on-failure", started_ago=170), "push.service", 180, 11, 300
        ),
        "healthy",
    ),
    Asked(
        "somebody starts it by hand as one looks",
        runs(database(), "push.service", again(database(), 0), Restart="on-failure", NRestarts=700),
        "healthy degraded",
        f"- {LOOP}",
        sure=False,
    ),
]

OTHERS = [
    *(
        # Each job, machine or container of theirs has cgroups of its own, and comes back after a reboot.
        Asked(
            f"fifteen thousand live ones beside {name}",
            walk(host().cgroups(15_000, 60).service(f"{name}.service"), 600),
            "critical",
            LIVE,
        )
        for name in ("slurmd", "incus", "libvirtd", "nomad", "podman", "condor", "systemd-nspawn@ci1", "lxc@web")
    ),
    Asked(
        "fifteen thousand live ones, and nobody's",
        walk(host().cgroups(15_000, 60).service("crond.service"), 600),
        "critical",
        LIVE,
        CURE,
    ),
    # nvidia-smi drain takes a GPU off the list; a bit error of weeks ago was over with the reset after it.
    Asked("a GPU was taken out for a test", one_gpu_silent(20 * DAY, XID.format(48, "DBE")), "critical", GPU, "cordon"),
    Asked(
        "a GPU fell off weeks ago and is silent still",
        one_gpu_silent(20 * DAY, FELL),
        "critical",
        GPU,
        "cordon",
        says="power cycle",
    ),
    Asked("a GPU fell off and answers again", gpu_node().gpus("0000:3b:00.0").log((300, FELL)), "degraded", GPU),
    # fs/btrfs/disk-io.c, open_ctree.
    Asked(
        "btrfs was repaired and mounted anew",
        database()
        .log((20 * DAY, "BTRFS info (device sdb1: state E): forced readonly"))
        .log((2 * DAY, "BTRFS info (device sdb1): first mount of filesystem 6a1e0c2e-7a51-4d0b"))
        .mount("sdb1 btrfs rw,relatime /srv/data"),
        "healthy",
    ),
    Asked(
        "btrfs forced readonly, and not mounted since",
        database()
        .log((20 * DAY, "BTRFS info (device sdb1: state E): forced readonly"))
        .mount("sdb1 btrfs rw,relatime /srv/data"),
        "critical",
        FILES,
    ),
    # Two that manage the same interfaces: to start the second may take the way in away.
    *(
        Asked(f"{off} is off and {on} makes the network", networks(off, on), "degraded", STOPPED)
        for off, on in (
            ("NetworkManager.service", "systemd-networkd.service"),
            ("systemd-networkd.service", "NetworkManager.service"),
        )
    ),
    Asked(
        "a kubelet's adapter for docker where there is no kubelet",
        Machine(kubernetes=False)
        .essential("docker.service")
        .essential("cri-docker.service", changed_ago=8 * DAY, **STILL),
        "degraded",
        STOPPED,
    ),
    # Facility 0 is the kernel's own; what a program writes to /dev/kmsg names its writer first.
    Asked(
        "programs speak of lockups and of GPUs",
        gpu_node()
        .gpus("0000:3b:00.0")
        .log(*((ago, "backup[811]: watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [x:1]") for ago in (400, 60)))
        .log((50, f"python3[812]: {FELL}")),
        "healthy",
    ),
]
EARNED = [asked for asked in (*LEAKERS, *OTHERS) if "reboot" in asked.plan]


@pytest.mark.parametrize("asked", [*LEAKERS, *LOOPS, *OTHERS], ids=lambda asked: str(asked.title))
def test_no_plan_is_offered_that_is_not_earned(asked: Asked) -> None:
    check(asked)


@pytest.mark.parametrize("asked", EARNED, ids=lambda asked: str(asked.title))
def test_reboot_is_offered_where_it_is_earned(asked: Asked) -> None:
    verdict = check(asked)
    assert verdict.plan is not None
    assert "reboot" in [step.action for step in verdict.plan.steps]


def test_what_a_reboot_takes_from_others_is_told_with_it() -> None:
    def kept(*services: str, pods: tuple[str, ...] = ()) -> list[tuple[str, str]]:
        machine = ecs_loops(harmed(founding()), 68_300, 11.2)
        for name in services:
            machine.service(name)
        if pods:
            machine.pods(3, *((image, image, "CONTAINER_RUNNING", 0, DAY) for image in pods))
        plan = check(Asked("a leak", machine, "critical", LEAK, CURE)).plan
        assert plan is not None
        assert plan.ends is not None
        return [(end.what, end.kind) for end in plan.ends.rows if end.kind in (KEEPS, "jobs")]

    quiet = ("crond.service", "qemu-guest-agent.service")
    assert kept(*quiet, pods=("registry.example/app:1", "rayproject/ray-ml:2.9")) == []
    assert kept("slurmd.service", "etcd.service", "ceph-osd@3.service") == [
        ("etcd.service", KEEPS),
        ("ceph-osd@3.service", KEEPS),
        ("slurmd.service", "jobs"),
    ]
    pods = kept(
        pods=("registry.k8s.io/etcd:3.5.9-0", "registry.k8s.io/kube-apiserver@sha256:1", "bitnami/postgresql:15")
    )
    assert pods == [("etcd", KEEPS), ("kube-apiserver", KEEPS), ("postgresql", KEEPS)]
