"""Kinds of machines, as fleets have them."""

from __future__ import annotations

from tests.independent.facts import DAY
from tests.independent.machine import Machine


def gpu_node(kernel: str = "5.15.0-1052-aws", up: float = 21 * DAY, product: str = "p4d.24xlarge") -> Machine:
    """Eight A100 or H100, 96 cores, Ubuntu."""
    return Machine(kernel=kernel, system="Ubuntu 22.04.4 LTS", cores=96, memory_gib=1152, up=up, product=product)


def founding(up: float = 9 * DAY, kernel: str = "5.4.0-1084-aws") -> Machine:
    """A GPU host of the founding fleet: cgroup v1, Ubuntu 20.04, systemd 245."""
    return Machine(
        kernel=kernel,
        system="Ubuntu 20.04.6 LTS",
        cores=96,
        memory_gib=1152,
        up=up,
        v1=True,
        product="p4d.24xlarge",
        systemd="systemd 245 (245.4-4ubuntu3.22)",
    )


def amazon2(up: float = 30 * DAY, cores: int = 16, memory_gib: float = 64) -> Machine:
    """Amazon Linux 2 on cgroup v1."""
    return Machine(
        kernel="4.14.336-257.562.amzn2.x86_64",
        system="Amazon Linux 2",
        cores=cores,
        memory_gib=memory_gib,
        up=up,
        v1=True,
        systemd="systemd 219",
    )


def database(cores: int = 32, up: float = 120 * DAY) -> Machine:
    """A database host outside Kubernetes, RHEL 9."""
    return Machine(
        kernel="5.14.0-427.13.1.el9_4.x86_64",
        system="Red Hat Enterprise Linux 9.4 (Plow)",
        cores=cores,
        memory_gib=256,
        up=up,
        kubernetes=False,
        product="r6i.8xlarge",
    )


def small(memory_gib: float = 4, up: float = 3 * DAY, kernel: str = "6.8.0-1021-aws") -> Machine:
    """A small virtual machine with two cores, Ubuntu 24.04."""
    return Machine(
        kernel=kernel, system="Ubuntu 24.04.1 LTS", cores=2, memory_gib=memory_gib, up=up, product="t3.medium"
    )


def metal(up: float = 60 * DAY, cores: int = 64) -> Machine:
    """A server in one's own rack, Debian 12."""
    return Machine(
        kernel="6.1.0-26-amd64",
        system="Debian GNU/Linux 12 (bookworm)",
        cores=cores,
        memory_gib=512,
        up=up,
        kubernetes=False,
        maker="Dell Inc.",
        product="PowerEdge R750",
        virt="none",
        driver="mlx5_core",
    )


def edge(up: float = 40 * DAY) -> Machine:
    """A K3s node at the edge: four cores, 8 GiB, no EC2."""
    machine = Machine(
        kernel="6.6.51+rpt-rpi-2712",
        system="Debian GNU/Linux 12 (bookworm)",
        cores=4,
        memory_gib=8,
        up=up,
        kubernetes=False,
        maker="",
        product="",
        virt="none",
        clocksource="arch_sys_counter",
        driver="macb",
    )
    machine.facts.kubernetes = True
    machine.facts.health = ["200 0", "200 0"]
    machine.service("k3s-agent.service", Restart="always", RestartUSec="5s").essential("k3s-agent.service")
    return machine.agent("k3s-agent.service").pods(6)


def google(up: float = 14 * DAY, cores: int = 8) -> Machine:
    """A GKE node with Container-Optimized OS."""
    return Machine(
        kernel="6.1.100+",
        system="Container-Optimized OS from Google",
        cores=cores,
        memory_gib=32,
        up=up,
        maker="Google",
        product="Google Compute Engine",
        virt="google",
        clocksource="kvm-clock",
        driver="gve",
    )
