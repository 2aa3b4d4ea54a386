"""What others stand on is never offered to be stopped, by whatever name a distribution ships it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.known_agents import KNOWN_AGENTS
from bot.domain.protected import KUBELET_UNITS, is_essential, is_protected, units

NEVER = [
    "dnsmasq", "unbound", "named", "haproxy", "cloudflared", "corosync", "libvirtd", "gitlab-runner",
    "actions.runner.acme-web.builder-3", "k3s-agent", "k3s", "rke2-server", "rke2-agent", "k0sworker",
    "k0scontroller", "snap.microk8s.daemon-kubelite", "snap.kubelet-eks.daemon", "kubelite", "kubelet",
    "containerd", "docker", "crio", "cri-docker", "podman", "etcd", "ssh", "sshd", "NetworkManager",
    "systemd-networkd", "systemd-resolved", "wicked", "dhcpcd", "tailscaled", "openvpn", "frr", "bird",
    "keepalived", "nftables", "firewalld", "sssd", "nslcd", "winbind", "teleport", "amazon-ssm-agent",
    "google-guest-agent", "waagent", "walinuxagent", "chrony", "chronyd", "ntpd", "systemd-timesyncd", "multipathd",
    "iscsid", "lvm2-monitor", "nfs-server", "rpcbind", "zfs-mount", "mdmonitor", "glusterd", "ceph-osd@3",
    "wg-quick@wg0", "openvpn-client@office", "slurmd", "munge", "nomad", "ray", "nvidia-persistenced",
    "nvidia-fabricmanager", "nvidia-imex",
]  # fmt: skip


def test_unit_that_others_stand_on_is_protected() -> None:
    assert [name for name in NEVER if not is_protected([f"{name}.service"])] == []
    assert [name for name in NEVER if not is_protected(["other.service", f"{name}.service"])] == [], (
        "an alias is enough"
    )


@pytest.mark.parametrize("name", ["docker.socket", "sshd.socket", "home.mount", "multi-user.target", "user.slice"])
def test_other_types_of_units_are_protected(name: str) -> None:
    assert is_protected([name])


@pytest.mark.parametrize(
    "name", ["ecs.service", "dockerish.service", "nginx.service", "myray.service", "certbot.timer"]
)
def test_ordinary_unit_is_not(name: str) -> None:
    assert not is_protected([name])


def test_agents_that_base_images_bring_may_be_stopped_but_for_those_that_run_work_or_let_us_in() -> None:
    kept = {agent.name for agent in KNOWN_AGENTS if is_protected(agent.units)}
    assert kept == {"amazon-ssm-agent", "consul", "nomad"}


def test_whatever_is_essential_is_protected() -> None:
    assert set(units("essential")) <= set(units("protected"))
    assert all(is_essential((unit,)) and is_protected((unit,)) for unit in KUBELET_UNITS)


@given(st.sampled_from(NEVER), st.sampled_from(["service", "socket"]), st.booleans())
def test_neither_type_instance_nor_case_hides_a_protected_unit(name: str, kind: str, upper: bool) -> None:
    unit = f"{name}.{kind}" if "@" in name else f"{name}@0.{kind}"
    assert is_protected([unit])
    assert is_protected([f"{name.upper() if upper else name}.{kind}"])
