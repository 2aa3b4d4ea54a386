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


def arm(up: float = 22 * DAY, cores: int = 64, memory_gib: float = 128) -> Machine:
    """A Graviton instance with Amazon Linux 2023."""
    return Machine(
        kernel="6.1.141-155.222.amzn2023.aarch64",
        cores=cores,
        memory_gib=memory_gib,
        up=up,
        product="c7g.16xlarge",
        clocksource="arch_sys_counter",
    )


def azure(up: float = 33 * DAY, cores: int = 16) -> Machine:
    """An AKS node, Ubuntu 22.04, with the card of the host passed through."""
    return Machine(
        kernel="5.15.0-1081-azure",
        system="Ubuntu 22.04.5 LTS",
        cores=cores,
        memory_gib=64,
        up=up,
        maker="Microsoft Corporation",
        product="Virtual Machine",
        virt="microsoft",
        clocksource="hyperv_clocksource_tsc_page",
        driver="mlx5_core",
        systemd="systemd 249 (249.11-0ubuntu3.16)",
    )


def guest(up: float = 75 * DAY, cores: int = 8, memory_gib: float = 32) -> Machine:
    """A virtual machine of an OpenStack cloud, Debian 11, outside Kubernetes."""
    return Machine(
        kernel="5.10.0-33-amd64",
        system="Debian GNU/Linux 11 (bullseye)",
        cores=cores,
        memory_gib=memory_gib,
        up=up,
        kubernetes=False,
        maker="OpenStack Foundation",
        product="OpenStack Nova",
        virt="kvm",
        clocksource="kvm-clock",
        driver="virtio_net",
        systemd="systemd 247 (247.3-7+deb11u6)",
    )


def rocky8(up: float = 160 * DAY, cores: int = 48) -> Machine:
    """A login or batch host of a cluster, Rocky Linux 8 on cgroup v1."""
    return Machine(
        kernel="4.18.0-553.16.1.el8_10.x86_64",
        system="Rocky Linux 8.10 (Green Obsidian)",
        cores=cores,
        memory_gib=384,
        up=up,
        v1=True,
        kubernetes=False,
        maker="Supermicro",
        product="SYS-620P-TRT",
        virt="none",
        driver="mlx5_core",
        systemd="systemd 239 (239-82.el8_10.1)",
    )


def rancher(up: float = 50 * DAY) -> Machine:
    """An RKE2 agent on VMware, Rocky Linux 9."""
    machine = Machine(
        kernel="5.14.0-503.14.1.el9_5.x86_64",
        system="Rocky Linux 9.5 (Blue Onyx)",
        cores=12,
        memory_gib=48,
        up=up,
        kubernetes=False,
        maker="VMware, Inc.",
        product="VMware7,1",
        virt="vmware",
        driver="vmxnet3",
    )
    machine.facts.kubernetes = True
    machine.facts.health = ["200 0", "200 0"]
    machine.service("rke2-agent.service", Restart="always", RestartUSec="5s").essential("rke2-agent.service")
    return machine.agent("rke2-agent.service").pods(31)


def rhel7(cores: int = 16, memory_gib: float = 64, up: float = 90 * DAY, kubernetes: bool = False) -> Machine:
    """CentOS 7, on cgroup v1, with a systemd that does not count restarts."""
    return Machine(
        kernel="3.10.0-1160.119.1.el7.x86_64",
        system="CentOS Linux 7 (Core)",
        cores=cores,
        memory_gib=memory_gib,
        up=up,
        v1=True,
        kubernetes=kubernetes,
        systemd="systemd 219",
    )


def flatcar() -> Machine:
    """A Kubernetes node with Flatcar."""
    return Machine(
        kernel="6.6.74-flatcar", system="Flatcar Container Linux by Kinvolk 4081.2.1 (Oklo)", systemd="systemd 255"
    )


def nano(**shares: float) -> Machine:
    """The smallest EC2 instance: one core, half a GiB."""
    machine = Machine(cores=1, memory_gib=0.5, product="t3.nano", kubernetes=False)
    return machine.all_cores(**shares) if shares else machine
