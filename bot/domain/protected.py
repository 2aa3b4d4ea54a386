"""Units that no plan may ever stop, disable or mask: without them the node, or our way in, is gone."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable

PROTECTED_PATTERNS = (
    "kubelet.service", "containerd.service", "docker.service", "docker.socket", "crio.service", "snap.kubelet*",
    "nodeadm-*", "sshd.service", "ssh.service", "ssh.socket", "sshd.socket", "sshd@*", "ssh@*",
    "amazon-ssm-agent.service", "snap.amazon-ssm-agent.*", "systemd-*", "NetworkManager*", "network.service",
    "networking.service", "ifup@*", "dbus*", "polkit*", "cloud-init*", "cloud-config*", "cloud-final*", "chrony*",
    "chronyd*", "ntp.service", "ntpd.service", "ntpsec.service", "nvidia-*", "efa*", "lvm2-*", "multipathd*",
    "iscsid*", "*.mount", "*.automount", "*.swap", "*.target", "*.slice", "*.scope", "*.device", "user@*",
    "getty@*", "serial-getty@*", "irqbalance*", "auditd*", "falco*", "init.scope",
)  # fmt: skip


def is_protected(names: Iterable[str]) -> bool:
    """True when any of a unit's names (its Id and every alias) is on the list.

    Example:
    >>> is_protected(["kubelet.service"]), is_protected(["ecs.service"])
    (True, False)
    """
    return any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in PROTECTED_PATTERNS)
