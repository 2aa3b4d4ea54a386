"""The contents of a node's image, as a value. Equal recipes have equal digests, and so the same image."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

PACKAGES = (
    "systemd-sysv",
    "libpam-systemd",
    "dbus",
    "udev",
    "kmod",
    "iproute2",
    "openssh-server",
    "sysstat",
    "ethtool",
    "procps",
    "sudo",
    "nftables",
    "e2fsprogs",
    "dmsetup",
    "chrony",
    "openssl",
    "bind9-host",
    "initramfs-tools",
    "zstd",
    "linux-perf",
    "linux-image-cloud-amd64",
)
SETUP = Path(__file__).with_name("image") / "setup.sh"

# Files by their path in the image. QEMU's emulated network hands out only this address.
_CONFIGURATION = {
    "etc/systemd/network/10-lab.network": (
        "[Match]\nName=eth0 host0\n[Network]\nAddress=10.0.2.15/24\nGateway=10.0.2.2\n"
        "LinkLocalAddressing=no\nIPv6AcceptRA=no\n"
    ),
    "etc/ssh/sshd_config.d/lab.conf": "UseDNS no\nPermitRootLogin prohibit-password\nMaxStartups 200:30:400\n",
    # Persistent, so that a node's journal shows its earlier boots.
    "etc/systemd/journald.conf.d/lab.conf": "[Journal]\nStorage=persistent\nSystemMaxUse=64M\nRateLimitBurst=0\n",
    "etc/systemd/system.conf.d/lab.conf": "[Manager]\nDefaultTimeoutStopSec=10s\n",
}
_SLIM = tuple(f"path-exclude=/usr/share/{name}/*" for name in ("man", "doc", "locale", "info"))
_INITRAMFS = "MODULES=list\nCOMPRESS=zstd\nBUSYBOX=n\n"


@dataclass(frozen=True, slots=True)
class Recipe:
    """An image: a Debian release, packages, files and a set-up script.

    Shape: `sudoers` are the lines for the bot's login; `size_mib` is the size of the sparse disk.
    """

    sudoers: str
    suite: str = "bookworm"
    packages: tuple[str, ...] = PACKAGES
    files: tuple[tuple[str, str], ...] = tuple(_CONFIGURATION.items())
    dpkg_options: tuple[str, ...] = _SLIM
    initramfs: str = _INITRAMFS
    setup: str = ""
    size_mib: int = 4096  # a rolling capture needs 2 GB free; unwritten blocks take no room

    @classmethod
    def of(cls, sudoers: str, suite: str = "bookworm") -> Recipe:
        """Return the default recipe with these sudo rights for the bot's login."""
        return cls(sudoers, suite, setup=SETUP.read_text(encoding="utf-8"))

    @property
    def digest(self) -> str:
        """The image's name. It changes with any part of the recipe.

        Example:
        >>> Recipe("").digest == Recipe("").digest, Recipe("").digest == Recipe("x").digest
        (True, False)
        """
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]
