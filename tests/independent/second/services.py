"""More cases of units that are off or die again and again, and of agents that nobody needs."""

from __future__ import annotations

from typing import Any

from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kinds import arm, azure, database, edge, google, guest, rancher, rocky8
from tests.independent.label import Label, near, sick
from tests.independent.machine import Machine
from tests.independent.services import disk_image, on_image

_UNIT = "essential-unit-stopped"
_OFF: dict[str, Any] = {"ActiveState": "inactive", "SubState": "dead"}
ESSENTIAL: list[Label] = [
    sick(
        _UNIT,
        "the RKE2 agent was stopped an hour ago and never started again",
        rancher()
        .essential("rke2-agent.service", changed_ago=HOUR, **_OFF)
        .health("000 7", "000 7")
        .agent("rke2-agent.service", active="inactive", sub="dead"),
        "enabled and off",
        "start",
    ),
    near(
        _UNIT,
        "docker is installed and disabled, for containerd does the work",
        azure().essential("docker.service", UnitFileState="disabled", **_OFF),
    ),
    near(
        _UNIT,
        "the kubelet's check failed once and is well again",
        arm().health("500 0", "200 0"),
    ),
    near(
        _UNIT,
        "the classic network script has done its work",
        guest().essential("networking.service", SubState="exited"),
        "active (exited) is its state",
    ),
    near(
        _UNIT,
        "containerd was restarted by an update just now",
        google().essential(
            "containerd.service",
            {"ActiveState": "active", "SubState": "running"},
            changed_ago=3,
            ActiveState="deactivating",
            SubState="stop-sigterm",
        ),
        "it runs at the second look",
    ),
]

_LOOP = "crash-looping-unit"
LOOPS: list[Label] = [
    sick(
        _LOOP,
        "a log shipper whose program is missing",
        Machine(kernel="5.15.0-1052-aws", system="Ubuntu 20.04.6 LTS", systemd="systemd 245 (245.4-4ubuntu3.24)")
        .loops("promtail.service", 5_100, 15.2, status=203, again="15s")
        .agent("promtail.service", "enabled", "activating", "auto-restart"),
        "status 203",
        "disable",
        "mask",
    ),
    sick(
        _LOOP,
        "a shop's API dies of a segmentation fault every half minute",
        guest().loops("checkout-api.service", 96, 35, status=11, again="30s", ExecMainCode=2, Result="signal"),
        "killed by a signal",
        "disable",
        "mask",
    ),
    near(
        _LOOP,
        "three tries at boot until the network was there",
        rocky8().service("sssd-proxy.service", Restart="on-failure", NRestarts=3, started_ago=159 * DAY),
        "steady ever since",
    ),
    near(
        _LOOP,
        "a nightly job failed and is not tried again",
        database().failed("pg-backup.service", "nightly backup"),
        "failed once; nothing loops",
        "failed-units",
    ),
    near(
        _LOOP,
        "deployments restart a service forty times a month",
        google(up=30 * DAY).service("web.service", Restart="always", NRestarts=0, started_ago=3 * HOUR),
        "started by hand each time",
    ),
    near(
        _LOOP,
        "a container that has been up for nine days after a bad start",
        Machine(kubernetes=False).docker(
            [f"{'c' * 64}|registry.example/db:7|db|2026-11-12 12:10:00 +0000 UTC|Up 9 days"]
        ),
    ),
    near(
        _LOOP,
        "the watchdog of a service bit once, forty minutes ago",
        edge().service("sensor-hub.service", Restart="on-watchdog", NRestarts=1, started_ago=40 * MINUTE),
        "once",
    ),
]

_AGENT = "unused-agent-enabled"
_WANTS = "multi-user.target.wants/"
AGENTS: list[Label] = [
    on_image(
        sick(
            _AGENT,
            "ECS enabled on an image that nodeadm will turn into a Kubernetes node",
            disk_image(f"{_WANTS}ecs.service", "kubelet /usr/bin/nodeadm", "kubelet kubelet.service"),
        )
    ),
    on_image(
        sick(
            _AGENT,
            "the founding image: ECS comes enabled, kubeadm's kubelet beside it",
            disk_image(
                f"{_WANTS}ecs.service",
                f"{_WANTS}docker.service",
                f"{_WANTS}kubelet.service",
                "kubelet kubelet.service",
                "kubelet /usr/bin/kubelet",
                "kubelet /etc/kubernetes/kubelet.conf",
            ),
        )
    ),
    on_image(
        sick(
            _AGENT,
            "ECS is wanted by cloud-init's target, beside a kubelet in /opt",
            disk_image("cloud-init.target.wants/ecs.service", "kubelet /opt/bin/kubelet"),
        ),
    ),
    on_image(
        near(
            _AGENT,
            "an EKS image as AWS ships it",
            disk_image(
                f"{_WANTS}containerd.service",
                f"{_WANTS}amazon-ssm-agent.service",
                "nodeadm-config.service.wants/network-online.target",
                "kubelet /usr/bin/nodeadm",
                "kubelet kubelet.service",
            ),
        )
    ),
    on_image(
        near(
            _AGENT,
            "a K3s image with the exporter that scrapes it",
            disk_image(
                f"{_WANTS}k3s.service",
                f"{_WANTS}node_exporter.service",
                "kubelet k3s.service",
                "kubelet /usr/local/bin/k3s",
            ),
            "a node is measured on purpose",
        )
    ),
    on_image(
        near(
            _AGENT,
            "an ECS image for GPUs",
            disk_image(
                f"{_WANTS}ecs.service",
                f"{_WANTS}docker.service",
                f"{_WANTS}nvidia-persistenced.service",
                "ECS_CLUSTER=training",
            ).ecs("training"),
        )
    ),
    on_image(
        near(
            _AGENT,
            "a database image with Datadog",
            disk_image(f"{_WANTS}postgresql.service", f"{_WANTS}datadog-agent.service"),
            "no kubelet, and an agent that somebody pays for",
        )
    ),
    on_image(
        near(
            _AGENT,
            "a bastion: login, time and nothing else",
            disk_image(f"{_WANTS}cron.service", "sockets.target.wants/ssh.socket"),
        )
    ),
]
