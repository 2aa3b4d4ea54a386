"""Nodes on this machine's own kernel, by systemd-nspawn: up in seconds, for quick tests.

They share `/proc/cgroups` with this machine (so the counts are right for one node at a time), and also its load, its
uptime and its kernel log. A reboot frees leaked cgroups because the node's memory file system is dropped, not because a
kernel starts. They need root and a writable cgroup v1 memory hierarchy.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from bot.domain.errors import UsageError
from bot.lab import tools
from bot.lab.image_store import Image
from bot.lab.node import LabNode
from bot.lab.process import Process

_BRIDGE, _NETWORK = "zlab0", "10.77.0"
_MEMORY = Path("/sys/fs/cgroup/memory")
_GROUP = _MEMORY / "zombie-lab"

# A tmpfs over /run/systemd/nspawn in a mount namespace of its own: nspawn refuses to clear its directories there when
# /run is on a disk. With --keep-unit a guest's reboot ends nspawn with 133, so it is started again.
_KEEPER = r"""
mkdir -p /run/systemd/nspawn
mount -t tmpfs tmpfs /run/systemd/nspawn
trap 'kill -TERM $child; wait $child; exit 0' TERM
while :; do
    systemd-nspawn -q -D "$1" -M "$2" -b --register=no --keep-unit --network-bridge=zlab0 --console=pipe </dev/null &
    child=$!
    wait $child
    [ $? = 133 ] || break
done
"""


def unsupported_reason() -> str:
    """Return why this machine cannot run such nodes; empty if it can."""
    if os.geteuid() != 0:
        return "systemd-nspawn nodes need root"
    if not (_MEMORY / "cgroup.procs").exists():
        return f"systemd-nspawn nodes need cgroup v1 with its memory hierarchy, and {_MEMORY} is not there"
    return ""


def start(names: Sequence[str], folder: Path, image: Image) -> tuple[LabNode, ...]:
    """Start the nodes and return at once.

    Raises: UsageError when this machine cannot run them.
    """
    if reason := unsupported_reason():
        raise UsageError(f"{reason[0].upper()}{reason[1:]}.", "Nodes with a kernel of their own: --kind qemu")
    needed = tools.need(tools.FOR_NSPAWN)
    ip = needed["ip"]
    if Path(f"/sys/class/net/{_BRIDGE}").exists():
        raise UsageError(f"Another lab uses the bridge {_BRIDGE}.", f"If none does: ip link del {_BRIDGE}")
    try:
        _run(ip, "link", "add", _BRIDGE, "type", "bridge")
        _run(ip, "addr", "add", f"{_NETWORK}.1/24", "dev", _BRIDGE)
        _run(ip, "link", "set", _BRIDGE, "up")
        return tuple(_start(name, number, folder / name, image) for number, name in enumerate(names, start=2))
    except BaseException:
        clear()
        raise


def _start(name: str, number: int, folder: Path, image: Image) -> LabNode:
    folder.mkdir(parents=True)
    layers, root, address = folder / "layers", folder / "root", f"{_NETWORK}.{number}"
    layers.mkdir()
    root.mkdir()
    _run("mount", "-t", "tmpfs", "-o", "size=512m,mode=755", "tmpfs", str(layers))
    for layer in ("upper", "work"):
        (layers / layer).mkdir()
    options = f"lowerdir={image.tree},upperdir={layers}/upper,workdir={layers}/work"
    _run("mount", "-t", "overlay", "overlay", "-o", options, str(root))
    (root / "etc/systemd/network/05-node.network").write_text(
        f"[Match]\nName=host0\n[Network]\nAddress={address}/24\nLinkLocalAddressing=no\n", encoding="ascii"
    )
    (root / "etc/hostname").write_text(f"{name}\n", encoding="ascii")
    (root / "etc/fstab").write_text("", encoding="ascii")
    _writable_memory(root)
    _GROUP.mkdir(exist_ok=True)
    with (folder / "console.log").open("wb") as console:
        # Enter the memory cgroup first, so that the node's cgroups are made below it.
        enter = f'echo $$ >{_GROUP}/cgroup.procs; exec unshare -m --propagation private sh -c "$0" keeper "$@"'
        process = subprocess.Popen(
            ["sh", "-c", enter, _KEEPER, str(root), name],
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    node = LabNode(name, "nspawn", "v1", address, 22, Process.of(process.pid), folder, image.key("root"))
    process.returncode = 0  # it outlives this program, so this object must not wait for it
    (folder / "known_hosts").write_text(f"{address} {image.host_key}\n", encoding="ascii")
    node.save()
    return node


def _writable_memory(root: Path) -> None:
    """Let the node make memory cgroups, which nspawn mounts read-only."""
    unit = "etc/systemd/system/lab-cgroups.service"
    (root / unit).write_text(
        "[Unit]\nDescription=Memory cgroups can be made\nDefaultDependencies=no\nBefore=sysinit.target\n"
        "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/mount -o remount,rw,bind /sys/fs/cgroup/memory\n",
        encoding="ascii",
    )
    wants = root / "etc/systemd/system/sysinit.target.wants"
    wants.mkdir(exist_ok=True)
    (wants / "lab-cgroups.service").symlink_to(f"/{unit}")


def clear() -> None:
    """Remove what the nodes left on this machine: processes in their cgroup, the network, the cgroup itself."""
    deadline = time.monotonic() + 10
    while (pids := _members()) and time.monotonic() < deadline:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)  # noqa: TID251 - the kernel empties a cgroup in its own time
    _run("ip", "link", "del", _BRIDGE, check=False)
    if _GROUP.is_dir():
        for group in sorted((path for path in _GROUP.rglob("*") if path.is_dir()), reverse=True):
            group.rmdir()
        _GROUP.rmdir()


def _members() -> list[int]:
    """The processes in the nodes' cgroup, which holds no others."""
    return [int(pid) for path in _GROUP.rglob("cgroup.procs") for pid in path.read_text().split()]


def _run(*argv: str, check: bool = True) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise UsageError(f"{' '.join(argv[:3])} failed: {done.stderr.strip()}")
