"""Base images: the system and its usual services."""

from __future__ import annotations

from bot.demo.machine.state import Process, System, Thread, Unit

UBUNTU_20 = System(
    kernel="5.4.0-1084-aws",
    build="#91~18.04.1-Ubuntu SMP Sun Aug 14 01:24:43 UTC 2022",
    os_id="ubuntu",
    os_version="20.04",
    pretty="Ubuntu 20.04.6 LTS",
    systemd=245,
    sysstat="12.2.0",
    cgroups="v1",
)
UBUNTU_22 = System(
    kernel="5.15.0-1052-aws",
    build="#57-Ubuntu SMP Mon Dec 11 20:10:05 UTC 2023",
    os_id="ubuntu",
    os_version="22.04",
    pretty="Ubuntu 22.04.4 LTS",
    systemd=249,
    sysstat="12.5.2",
    cgroups="v2",
)
UBUNTU_24 = System(
    kernel="6.8.0-1021-aws",
    build="#23-Ubuntu SMP Mon Dec  9 23:59:34 UTC 2024",
    os_id="ubuntu",
    os_version="24.04",
    pretty="Ubuntu 24.04.1 LTS",
    systemd=255,
    sysstat="12.6.1",
    cgroups="v2",
)
AMAZON_2 = System(
    kernel="5.10.230-223.885.amzn2.x86_64",
    build="#1 SMP Tue Dec 3 14:36:00 UTC 2024",
    os_id="amzn",
    os_version="2",
    pretty="Amazon Linux 2",
    systemd=219,
    sysstat="",  # 10.1.5, which knows no JSON
    cgroups="v1",
)
AMAZON_2023 = System(
    kernel="6.1.127-135.201.amzn2023.x86_64",
    build="#1 SMP PREEMPT_DYNAMIC Tue Jan 28 23:37:47 UTC 2025",
    os_id="amzn",
    os_version="2023",
    pretty="Amazon Linux 2023.6.20250123",
    systemd=252,
    sysstat="12.5.6",
    cgroups="v2",
)
DEBIAN_12 = System(
    kernel="6.1.0-28-cloud-amd64",
    build="#1 SMP PREEMPT_DYNAMIC Debian 6.1.119-1 (2024-11-22)",
    os_id="debian",
    os_version="12",
    pretty="Debian GNU/Linux 12 (bookworm)",
    systemd=252,
    sysstat="12.6.1",
    cgroups="v2",
)

_USUAL = (
    Unit("systemd-journald.service", "Journal Service", "static", pid=310, restart="always", wanted_by=()),
    Unit("systemd-udevd.service", "Rule-based Manager for Device Events and Files", "static", pid=352, wanted_by=()),
    Unit("systemd-networkd.service", "Network Configuration", pid=611, restart="on-failure"),
    Unit("systemd-resolved.service", "Network Name Resolution", pid=613, restart="always"),
    Unit("systemd-logind.service", "Login Service", "static", pid=702, restart="always"),
    Unit("dbus.service", "D-Bus System Message Bus", "static", pid=690, wanted_by=(), triggered_by=("dbus.socket",)),
    Unit("chrony.service", "chrony, an NTP client/server", pid=715, program="chronyd"),
    Unit("cron.service", "Regular background program processing daemon", pid=720, program="cron"),
    Unit("rsyslog.service", "System Logging Service", pid=731, program="rsyslogd"),
    Unit(
        "ssh.service",
        "OpenBSD Secure Shell server",
        pid=812,
        aliases=("sshd.service",),
        restart="on-failure",
        program="sshd",
    ),
    Unit("getty@tty1.service", "Getty on tty1", pid=840, restart="always", wanted_by=("getty.target",)),
)
_IRQBALANCE = Unit("irqbalance.service", "irqbalance daemon", pid=718, program="irqbalance")
_SSM = {
    "ubuntu": Unit(
        "snap.amazon-ssm-agent.amazon-ssm-agent.service",
        "Service for snap application amazon-ssm-agent",
        pid=744,
        restart="always",
        program="amazon-ssm-agent",
    ),
    "amzn": Unit(
        "amazon-ssm-agent.service",
        "amazon-ssm-agent",
        pid=744,
        restart="on-failure",
        restart_usec=900_000_000,
        program="amazon-ssm-agent",
    ),
}

CONTAINERD = Unit("containerd.service", "containerd container runtime", pid=905, restart="always", program="containerd")
DOCKER = Unit(
    "docker.service",
    "Docker Application Container Engine",
    pid=1103,
    restart="always",
    triggered_by=("docker.socket",),
    program="dockerd",
)
KUBELET = Unit(
    "kubelet.service",
    "kubelet: The Kubernetes Node Agent",
    pid=2114,
    restart="always",
    restart_usec=10_000_000,
    program="kubelet",
)
# The Amazon ECS agent: aws/amazon-ecs-agent, ecs-init/engine/engine.go (exit codes, back-off), packaging/*/ecs.service.
ECS = Unit(
    "ecs.service",
    "Amazon Elastic Container Service - container agent",
    restart="on-failure",
    restart_usec=10_000_000,
    pid=2960,
    program="amazon-ecs-init",
    part_of=("docker.service",),
)


def usual_units(system: System, *more: Unit, irqbalance: bool = True) -> tuple[Unit, ...]:
    """Return an image's services and the given ones, in systemctl's order."""
    found = [*_USUAL, *more]
    if irqbalance:
        found.append(_IRQBALANCE)
    if system.os_id in _SSM:
        found.append(_SSM[system.os_id])
    return tuple(sorted(found, key=lambda unit: unit.name))


def kubelet(*threads: Thread) -> Process:
    """Return kubelet's process, with these busy threads besides its usual thread."""
    return Process(2114, "kubelet", (Thread(2, 0.8, 0.4), *threads), since=31.0)
