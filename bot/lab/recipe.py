"""What a node's image is made of, as a value with a name of its own: the same recipe is the same image."""

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
    "libnss-myhostname",
    "nftables",
    "e2fsprogs",
    "initramfs-tools",
    "zstd",
    "linux-perf",
    "linux-image-cloud-amd64",
)
SETUP = Path(__file__).with_name("image") / "setup.sh"

# Where each goes in the image. The network's address is the only one that the emulated network hands out.
_CONFIGURATION = {
    "etc/systemd/network/10-lab.network": (
        "[Match]\nName=eth0 host0\n[Network]\nAddress=10.0.2.15/24\nGateway=10.0.2.2\n"
        "LinkLocalAddressing=no\nIPv6AcceptRA=no\n"
    ),
    "etc/ssh/sshd_config.d/lab.conf": "UseDNS no\nPermitRootLogin prohibit-password\nMaxStartups 200:30:400\n",
    # Persistent, so that a node's own journal counts its boots.
    "etc/systemd/journald.conf.d/lab.conf": "[Journal]\nStorage=persistent\nSystemMaxUse=64M\nRateLimitBurst=0\n",
    "etc/systemd/system.conf.d/lab.conf": "[Manager]\nDefaultTimeoutStopSec=10s\n",
}
_SLIM = tuple(f"path-exclude=/usr/share/{name}/*" for name in ("man", "doc", "locale", "info"))
_INITRAMFS = "MODULES=list\nCOMPRESS=zstd\nBUSYBOX=n\n"


@dataclass(frozen=True, slots=True)
class Recipe:
    """One image: a Debian release, its packages, its files and the script that finishes it.

    Shape: `sudoers` are the lines that let the bot's login read and act; `size_mib` is the disk's size, most of it a
    hole.
    """

    sudoers: str
    suite: str = "bookworm"
    packages: tuple[str, ...] = PACKAGES
    files: tuple[tuple[str, str], ...] = tuple(_CONFIGURATION.items())
    dpkg_options: tuple[str, ...] = _SLIM
    initramfs: str = _INITRAMFS
    setup: str = ""
    size_mib: int = 1500

    @classmethod
    def of(cls, sudoers: str, suite: str = "bookworm") -> Recipe:
        """Return the house's recipe with these rights for the bot's login."""
        return cls(sudoers, suite, setup=SETUP.read_text(encoding="utf-8"))

    @property
    def digest(self) -> str:
        """The image's name: it changes with anything the image is made of.

        Example:
        >>> Recipe("").digest == Recipe("").digest, Recipe("").digest == Recipe("x").digest
        (True, False)
        """
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]
