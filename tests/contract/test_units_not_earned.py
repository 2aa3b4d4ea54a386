"""Whole nodes on which a unit looks guilty and is not, each near a sibling that is: none is offered to be stopped."""

from __future__ import annotations

import pytest

from tests.contract.asked import LEAK, LOOP, Asked, check, uncounted
from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kinds import amazon2, database, google, guest, small
from tests.independent.machine import Machine


def restarted(machine: Machine, name: str, ran: float, before: int, after: int, **told: object) -> Machine:
    """Let a service that ran so long be started again between the two looks."""
    up = machine.facts.up
    later = {"NRestarts": after, "ExecMainStartTimestampMonotonic": int((up + 2) * 1e6)}
    return machine.service(name, later, NRestarts=before, started_ago=ran, **told)


def scheduled(machine: Machine, name: str, newest: float, every: float, count: int) -> Machine:
    """Let the journal hold that many restarts of a service."""
    machine.facts.restarts += [
        (newest + every * n, f"systemd[1]: {name}: Scheduled restart job, restart counter is at {count - n}.")
        for n in reversed(range(count))
    ]
    return machine


def up_again(name: str, failures: int) -> Machine:
    """Let a service have failed that often, a try each ten seconds, and run since fifty minutes."""
    machine = database().service(name, Restart="on-failure", NRestarts=failures, started_ago=50 * MINUTE)
    machine.facts.restarts += [
        (
            50 * MINUTE + 10 * n + 5 - second,
            f"systemd[1]: {name}: Failed with result 'exit-code'."
            if not second
            else f"systemd[1]: {name}: Scheduled restart job, restart counter is at {failures - n}.",
        )
        for n in reversed(range(min(failures, 60)))
        for second in (0, 4)
    ]
    return machine


def requires(machine: Machine, name: str, **by: str) -> Machine:
    machine.loops(name, 8_000, 11)
    for units in (machine.facts.units, machine.facts.units_later):
        units[name] = units[name] | by
    return machine


def alone(name: str) -> Machine:
    return database().loops(name, 8_000, 11)


def node_exporter(later: bool, exits: int = 1) -> Machine:
    image = "prom/node-exporter:v1.8.2"
    rows = [f"{n * 64}|{image}|exporter|2026-11-21 12:1{at} +0000 UTC|Up" for n, at in (("a", "0:00"), ("b", "4:05"))]
    machine = Machine(kubernetes=False).service("node_exporter.service", Restart="always", started_ago=9 * DAY - 60)
    return machine.agent("node_exporter.service").docker([rows[0]], [rows[later]], {image: exits})


def agent_upgraded() -> Machine:
    """ecs-init starts a new agent when the old one exits with 42 (ecs-init/engine/engine.go): the unit runs on."""
    image = "amazon/amazon-ecs-agent:latest"
    row = f"{'c' * 64}|{image}|ecs-agent|2026-11-21 12:13:46 +0000 UTC|Up 19 seconds"
    machine = Machine(kubernetes=False, up=11 * HOUR).cgroups(300, 1_100).ecs(None)
    machine.service("ecs.service", Restart="on-failure", started_ago=11 * HOUR - 60).agent("ecs.service")
    return machine.docker([row], [row], {image: 1})


def poller(dying: int) -> Machine:
    machine = Machine(kubernetes=False).service(
        "inventory-poll.service",
        Restart="always",
        RestartUSec="1min",
        NRestarts=12_000,
        ActiveState="activating",
        SubState="auto-restart",
        ExecMainCode=1,
        started_ago=20,
    )
    return machine.cgroups(200, dying)


UNITS = [
    # systemd before 235 does not count restarts; a new start time alone is a deployment, or a person.
    Asked(
        "an old systemd's service was restarted by a deployment",
        uncounted(restarted(amazon2(), "app.service", 9 * DAY, 0, 0, Restart="on-failure"), "app.service"),
        "healthy",
    ),
    Asked(
        "an old systemd's service loops",
        uncounted(amazon2().loops("app.service", 300, 12), "app.service"),
        "degraded",
        LOOP,
        "disable mask",
    ),
    # systemd.service(5), Restart=: NRestarts counts each automatic restart, also the only one in a month.
    Asked(
        "a service crashed for the first time in 29 days, as one looked",
        restarted(Machine(up=30 * DAY), "api.service", 29 * DAY, 0, 1, Restart="on-failure"),
        "healthy degraded",
        f"- {LOOP}",
        sure=False,
    ),
    Asked(
        "a service that crashes every few days did so as one looked",
        restarted(database(up=200 * DAY), "etl.service", 5 * DAY, 41, 42, Restart="on-failure"),
        "healthy degraded",
        f"- {LOOP}",
        sure=False,
    ),
    Asked(
        "a worker that is killed at its memory limit every six hours",
        restarted(Machine(up=80 * DAY), "worker.service", 6 * HOUR, 300, 301, Restart="always"),
        "healthy degraded",
        f"- {LOOP}",
        sure=False,
    ),
    # syncthing's own unit: SuccessExitStatus=3 4, RestartForceExitStatus=3 4, Restart=on-failure; exit 3 is "restart".
    Asked(
        "a person asked a file synchroniser to restart",
        guest().service(
            "syncthing@ops.service",
            Restart="on-failure",
            NRestarts=4,
            ActiveState="activating",
            SubState="auto-restart",
            ExecMainCode=1,
            ExecMainStatus=3,
            started_ago=DAY,
        ),
        "healthy",
    ),
    Asked(
        "its database was away for five minutes, three quarters of an hour ago",
        scheduled(
            small(up=6 * HOUR).service("api.service", Restart="on-failure", NRestarts=25, started_ago=40 * MINUTE),
            "api.service",
            40 * MINUTE,
            10,
            25,
        ),
        "healthy",
    ),
    Asked(
        "the same, two hours ago",
        small(up=20 * HOUR).service("api.service", Restart="on-failure", NRestarts=25, started_ago=2 * HOUR),
        "healthy",
    ),
    Asked(
        "a person restarted a service that had crashed three times in its life",
        restarted(Machine(), "web.service", 8 * DAY, 3, 0, Restart="on-failure"),
        "healthy",
    ),
    Asked(
        "a timer's job, started as one looked",
        restarted(
            database(), "backup.service", HOUR, 0, 0, Restart="no", TriggeredBy="backup.timer", UnitFileState="static"
        ),
        "healthy",
    ),
    # systemd.service(5): Restart=always after a clean exit is how a poller is written; it does its work.
    Asked("a poller's good runs beside eleven hundred dying cgroups", poller(1_150), "degraded", f"{LEAK} {LOOP}"),
    # pam_systemd(8): each session is a scope below user.slice; a system service's cgroup is below system.slice.
    Asked(
        "cron's sessions left them, beside a service that loops",
        guest(up=21 * DAY)
        .loops("foo.service", 30_000, 60, again="1min")
        .cgroups(90, 30_100, 30_101, {"user.slice": (29_900, 29_901), "user.slice/user-0.slice": (29_900, 29_901)}),
        "degraded",
        f"{LEAK} {LOOP}",
    ),
    Asked(
        "pods left them, beside a service that loops",
        google(up=9 * DAY)
        .loops("foo.service", 9_000, 80, again="1min")
        .cgroups(400, 9_100, 9_101, {"kubepods.slice": (9_000, 9_001)}),
        "degraded",
        f"{LEAK} {LOOP}",
    ),
    # systemd.unit(5), Requires= and BindsTo=: if it is stopped, so is the unit that requires it.
    Asked(
        "the kubelet requires the unit that loops",
        requires(Machine(), "node-settings.service", RequiredBy="kubelet.service"),
        "degraded",
        LOOP,
    ),
    Asked(
        "the kubelet is bound to the unit that loops",
        requires(Machine(), "node-identity.service", BoundBy="kubelet.service"),
        "degraded",
        LOOP,
    ),
    Asked(
        "the runtime is part of the unit that loops",
        requires(Machine(), "runtime-cache.service", ConsistsOf="containerd.service"),
        "degraded",
        LOOP,
    ),
    Asked("the unit of a user", alone("user@1000.service"), "degraded", LOOP),
    Asked(
        "a kubelet under a name of one's own",
        requires(Machine(), "acme-node.service", Names="acme-node.service kubelet.service"),
        "critical",
        LOOP,
    ),
    # canonical/k8s-snap: its services are snap.k8s.kubelet, snap.k8s.containerd and others.
    Asked("Canonical's kubelet", alone("snap.k8s.kubelet.service"), "critical", LOOP),
    Asked("Canonical's runtime", alone("snap.k8s.containerd.service"), "critical", LOOP),
    # bottlerocket-os/bottlerocket: host containers are the only way in, and host-containerd runs them.
    Asked("Bottlerocket's way in", alone("host-containers@admin.service"), "degraded critical", LOOP),
    Asked("what runs Bottlerocket's way in", alone("host-containerd.service"), "degraded critical", LOOP),
    *(
        # Each is an agent that runs other people's jobs on this machine, by the name its own installer gives it.
        Asked(f"an agent of jobs, {name}", alone(f"{name}.service"), "degraded", LOOP)
        for name in ("vsts.agent.contoso.linux.ci01", "jenkins-agent", "teamcity-agent", "woodpecker-agent", "go-agent")
    ),
    *(
        # Okta's and Delinea's daemons let people log in over SSH.
        Asked(f"a way to log in, {name}", alone(f"{name}.service"), "degraded critical", LOOP)
        for name in ("sftd", "centrifydc")
    ),
    Asked("the ECS agent was upgraded", agent_upgraded(), "healthy degraded", f"- {LEAK}", sure=False),
    # What failed and is up again is history: the journal has lines about it, and the node works.
    Asked("a service failed four times an hour ago, and has run since", up_again("nginx.service", 4), "healthy"),
    Asked("a service failed for an hour in the morning, and has run since", up_again("nginx.service", 330), "healthy"),
    Asked(
        "a nightly job failed last night, and succeeded tonight",
        database().service(
            "backup.service", ActiveState="inactive", SubState="dead", Result="success", UnitFileState="static"
        ),
        "healthy",
    ),
    Asked("a container was deployed anew beside a steady service", node_exporter(True), "healthy"),
    Asked("a container that stays", node_exporter(False), "healthy"),
    Asked("a container that loops beside a steady service", node_exporter(True, 40), "degraded", LOOP),
]


@pytest.mark.parametrize("asked", UNITS, ids=lambda asked: str(asked.title))
def test_no_unit_is_stopped_that_did_not_earn_it(asked: Asked) -> None:
    check(asked)
