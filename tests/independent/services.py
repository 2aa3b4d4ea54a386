"""Cases of units that are off or die again and again, and of agents that nobody needs."""

from __future__ import annotations

from typing import Any

from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kinds import amazon2, database, edge, google, gpu_node, metal, small
from tests.independent.label import Label, near, sick
from tests.independent.machine import KUBELET, Machine

_UNIT = "essential-unit-stopped"
_OFF: dict[str, Any] = {"ActiveState": "inactive", "SubState": "dead"}
_FAILED: dict[str, Any] = {"ActiveState": "failed", "SubState": "failed", "Result": "exit-code"}
ESSENTIAL: list[Label] = [
    sick(
        _UNIT,
        "the kubelet was stopped yesterday",
        Machine()
        .essential(KUBELET, changed_ago=25 * HOUR, **_OFF)
        .health("000 7", "000 7")
        .agent(KUBELET, active="inactive", sub="dead"),
        "enabled and off",
        "start",
    ),
    sick(
        _UNIT,
        "containerd failed, and the kubelet says so",
        google()
        .failed("containerd.service", "containerd container runtime")
        .essential("containerd.service", changed_ago=8 * MINUTE, **_FAILED)
        .health("500 0", "500 0"),
        "",
        "start",
    ),
    sick(
        _UNIT,
        "a K3s agent failed at the edge",
        edge()
        .failed("k3s-agent.service", "Lightweight Kubernetes")
        .essential("k3s-agent.service", changed_ago=3 * DAY, **_FAILED)
        .health("000 7", "000 7"),
        "",
        "start",
    ),
    sick(
        _UNIT, "the kubelet runs and does not answer its own check", Machine().health("000 28", "000 28"), "both looks"
    ),
    sick(
        _UNIT,
        "CRI-O is off on a RHEL worker",
        Machine(kernel="5.14.0-427.13.1.el9_4.x86_64", system="Red Hat Enterprise Linux CoreOS 416.94").essential(
            "crio.service", changed_ago=2 * HOUR, **_OFF
        ),
        "",
        "start",
    ),
    sick(
        _UNIT,
        "docker failed, and its socket with it",
        amazon2()
        .failed("docker.service")
        .essential("docker.service", changed_ago=HOUR, TriggeredBy="docker.socket", **_FAILED)
        .essential("docker.socket", **_FAILED),
        "",
        "start",
    ),
    near(
        _UNIT,
        "docker waits behind its socket",
        Machine(kubernetes=False)
        .essential("docker.service", TriggeredBy="docker.socket", **_OFF)
        .essential("docker.socket", SubState="listening"),
    ),
    near(
        _UNIT,
        "somebody masked the kubelet to work on the node",
        Machine()
        .essential(KUBELET, changed_ago=HOUR, UnitFileState="masked", LoadState="masked", **_OFF)
        .health("000 7", "000 7")
        .agent(KUBELET, "masked", "inactive", "dead"),
        "by hand",
    ),
    near(
        _UNIT,
        "the node has not joined its cluster yet",
        small(up=6 * MINUTE)
        .essential(KUBELET, changed_ago=5 * MINUTE, ConditionResult="no", **_OFF)
        .health("000 7", "000 7")
        .agent(KUBELET, active="inactive", sub="dead"),
        "its condition is not met",
    ),
    near(
        _UNIT,
        "another network manager is off",
        metal().essential("NetworkManager.service", UnitFileState="disabled", **_OFF),
    ),
    near(
        _UNIT,
        "a kubelet that was just started again",
        Machine().essential(
            KUBELET,
            {"ActiveState": "active", "SubState": "running"},
            changed_ago=2,
            ActiveState="activating",
            SubState="start",
        ),
    ),
    near(
        _UNIT,
        "the kubelet's check is switched off",
        gpu_node().health("000 7", "000 7"),
        "nobody listens there by configuration",
    ),
    near(_UNIT, "one slow answer", Machine().health("000 28", "200 0"), "the second look is fine"),
]

_LOOP = "crash-looping-unit"
LOOPS: list[Label] = [
    sick(
        _LOOP,
        "a backup agent dies every eleven seconds for a day",
        database().loops("backup-agent.service", 8_412, 11),
        "",
        "disable",
        "mask",
    ),
    sick(
        _LOOP,
        "an exporter cannot bind its port",
        Machine()
        .loops("node_exporter.service", 640, 5.2, again="5s", Restart="always")
        .agent("node_exporter.service", "enabled", "activating", "auto-restart"),
        "",
        "disable",
        "mask",
    ),
    sick(
        _LOOP,
        "the kubelet cannot parse its configuration",
        Machine()
        .loops(KUBELET, 311, 10.5, Restart="always")
        .health("000 7", "000 7")
        .agent(KUBELET, "enabled", "activating", "auto-restart")
        .essential(
            KUBELET,
            {"ActiveState": "activating", "SubState": "auto-restart"},
            ActiveState="activating",
            SubState="auto-restart",
            Result="exit-code",
        ),
        "named, never stopped",
        also=(_UNIT,),
    ),
    sick(
        _LOOP,
        "a licence daemon dumps core since the last update",
        metal().loops("flexlm.service", 55, 40, status=11, again="30s", ExecMainCode=3, Result="core-dump"),
        "",
        "disable",
        "mask",
    ),
    near(
        _LOOP,
        "a poller that ends well every minute",
        metal().service(
            "inventory-poll.service",
            Restart="always",
            RestartUSec="1min",
            NRestarts=12_000,
            ActiveState="activating",
            SubState="auto-restart",
            ExecMainCode=1,
            started_ago=20,
        ),
        "it is meant to",
    ),
    near(
        _LOOP,
        "two restarts since boot",
        google().service("node-problem-detector.service", Restart="always", NRestarts=2, started_ago=4 * DAY),
    ),
    near(
        _LOOP,
        "an hourly run",
        database().service("report.service", Restart="always", NRestarts=700, started_ago=1400),
        "a schedule, not a crash",
    ),
    near(
        _LOOP,
        "many restarts long ago, steady for six days",
        Machine(up=200 * DAY).service("vector.service", Restart="always", NRestarts=340, started_ago=6 * DAY),
    ),
    near(
        _LOOP,
        "jobs of a CI host end",
        Machine(kubernetes=False).docker(
            [
                f"{n:064x}|registry.example/ci-job:{n}|job-{n}|2026-11-21 12:1{n}:00 +0000 UTC|Exited (0) 2 minutes ago"
                for n in range(4)
            ],
            exits={f"registry.example/ci-job:{n}": 1 for n in range(160)},
        ),
        "containers that end with their job",
    ),
    near(
        _LOOP,
        "log routers of tasks end, the host's own stays",
        Machine(kubernetes=False)
        .service("fluent-bit.service", Restart="always", started_ago=9 * DAY)
        .agent("fluent-bit.service")
        .docker(
            [
                "a" * 64
                + "|amazon/aws-for-fluent-bit:2.32|ecs-web-log_router-1|2026-11-21 12:13:00 +0000 UTC|Up 1 minute"
            ],
            exits={"amazon/aws-for-fluent-bit:2.32": 60},
        ),
        "FireLens side-cars end with their tasks",
    ),
]

_AGENT = "unused-agent-enabled"
_WANTS = "multi-user.target.wants/"
_GATE = "image-gate"


def on_image(label: Label) -> Label:
    return Label(label.about, label.title, label.machine, label.causes, label.why, label.plan, label.ill, _GATE)


def disk_image(*lines: str) -> Machine:
    machine = Machine(up=240, kubernetes=False).boot_units(f"{_WANTS}chronyd.service", f"{_WANTS}sshd.service", *lines)
    machine.facts.agents.clear()
    return machine


AGENTS: list[Label] = [
    on_image(
        sick(
            _AGENT,
            "ECS enabled beside a kubelet's package",
            disk_image(f"{_WANTS}ecs.service", "kubelet /usr/bin/kubelet", "kubelet /etc/eks/bootstrap.sh"),
        )
    ),
    on_image(
        sick(
            _AGENT,
            "SUSE's ECS unit beside K3s",
            disk_image(f"{_WANTS}amazon-ecs.service", "kubelet /usr/local/bin/k3s"),
        )
    ),
    on_image(
        sick(
            _AGENT,
            "ECS beside an enabled kubelet, with an empty configuration",
            disk_image(f"{_WANTS}ecs.service", f"{_WANTS}kubelet.service", "kubelet kubelet.service").ecs(None),
        )
    ),
    on_image(
        near(
            _AGENT,
            "an ECS image with its cluster",
            disk_image(f"{_WANTS}ecs.service", f"{_WANTS}docker.service", "ECS_CLUSTER=prod").ecs("prod"),
        )
    ),
    on_image(
        near(
            _AGENT,
            "ECS is there and not enabled",
            disk_image("kubelet /usr/bin/kubelet", "kubelet kubelet.service").agent(
                "ecs.service", "disabled", "inactive", "dead"
            ),
        )
    ),
    on_image(
        near(
            _AGENT,
            "a plain Kubernetes image",
            disk_image(f"{_WANTS}kubelet.service", f"{_WANTS}containerd.service", "kubelet kubelet.service"),
        )
    ),
    on_image(
        near(
            _AGENT,
            "an ECS image that joins the default cluster",
            disk_image(f"{_WANTS}ecs.service", f"{_WANTS}docker.service"),
            "no kubelet anywhere",
        )
    ),
    on_image(near(_AGENT, "an image with nothing but its own services", disk_image())),
]
