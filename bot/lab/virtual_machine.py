"""Nodes with their own kernel: QEMU with software emulation, a process per node, without root or network devices.

KVM is not used: even where /dev/kvm opens, Debian's kernel may hang in it without any message.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from bot.domain.errors import UsageError
from bot.lab import tools
from bot.lab.image_store import Image
from bot.lab.node import LabNode
from bot.lab.process import Process

ADDRESS = "127.0.0.1"
_V1 = "systemd.unified_cgroup_hierarchy=0 systemd.legacy_systemd_cgroup_controller=1"
_TRIES = 5  # a free port may be taken before QEMU binds it


@dataclass(frozen=True, slots=True)
class Hardware:
    """Memory and cores of a virtual machine."""

    memory_mib: int = 1024
    cpus: int = 2


def start(name: str, folder: Path, image: Image, cgroups: str, hardware: Hardware) -> LabNode:
    """Start a node and return at once; `await_banner` waits until it is up.

    Raises: UsageError when QEMU does not start.
    """
    needed = tools.need(tools.FOR_QEMU)
    folder.mkdir(parents=True)
    disk = folder / "disk.qcow2"
    subprocess.run(
        [needed["qemu-img"], "create", "-q", "-f", "qcow2", "-F", "raw", "-b", str(image.disk), str(disk)],
        check=True,
        capture_output=True,
    )
    output = folder / "qemu.out"
    for _ in range(_TRIES):
        port = _free_port()
        with output.open("wb") as out:
            process = subprocess.Popen(
                _argv(needed["qemu-system-x86_64"], name, folder, disk, image, port, cgroups, hardware),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # keeps Ctrl-C from reaching it
            )
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.5)  # QEMU ends at once if the port is taken
            if process.returncode is None:
                (folder / "known_hosts").write_text(f"[{ADDRESS}]:{port} {image.host_key}\n", encoding="ascii")
                qemu = Process.of(process.pid)
                node = LabNode(name, cgroups, ADDRESS, port, qemu, folder, image.key("root"))
                node.save()  # from here on `down` can stop it
                process.returncode = 0  # it outlives this program, so this object must not wait for it
                return node
        except BaseException:
            process.kill()
            process.wait()
            raise
        if "Could not set up host forwarding" not in output.read_text(errors="replace"):
            break
    raise UsageError(f"QEMU did not start {name}: {output.read_text(errors='replace').strip()[-600:]}")


def _argv(
    qemu: str, name: str, folder: Path, disk: Path, image: Image, port: int, cgroups: str, hardware: Hardware
) -> list[str]:
    # Under emulation the kernel would distrust the TSC and use a slow clock source, which is a fault of its own. And
    # when this machine is busy, it would distrust its timer or report a core as locked up.
    words = "no_timer_check clocksource=tsc tsc=reliable "
    words += "sysctl.kernel.watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=120 "
    words += f"root=/dev/vda rw console=ttyS0 quiet net.ifnames=0 mitigations=off panic=1 systemd.hostname={name}"
    options = (
        ("-name", name),
        ("-M", "q35"),
        ("-accel", "tcg,thread=multi"),
        ("-cpu", "max"),
        ("-smp", str(hardware.cpus)),
        ("-m", str(hardware.memory_mib)),
        ("-display", "none"),
        ("-serial", f"file:{folder / 'console.log'}"),
        ("-kernel", str(image.kernel)),
        ("-initrd", str(image.initrd)),
        ("-append", f"{words} {_V1}" if cgroups == "v1" else words),
        ("-drive", f"id=d0,file={disk},format=qcow2,if=none,cache=unsafe"),
        ("-device", "virtio-blk-pci,drive=d0"),
        # restrict: the node cannot reach this machine's network. The only way in is from loopback.
        ("-netdev", f"user,id=n0,restrict=on,hostfwd=tcp:{ADDRESS}:{port}-:22"),
        ("-device", "virtio-net-pci,netdev=n0"),
        # Two more network cards joined by a virtual cable: eth1 sends to eth2, with real interrupts.
        ("-netdev", "hubport,id=n1,hubid=1"),
        ("-device", "virtio-net-pci,netdev=n1"),
        ("-netdev", "hubport,id=n2,hubid=1"),
        ("-device", "virtio-net-pci,netdev=n2,rx_queue_size=1024"),
        ("-object", "rng-random,id=r0,filename=/dev/urandom"),
        ("-device", "virtio-rng-pci,rng=r0"),
    )
    return [qemu, "-nodefaults", "-no-user-config", *itertools.chain.from_iterable(options)]


def _free_port() -> int:
    with socket.socket() as free:
        free.bind((ADDRESS, 0))
        port: int = free.getsockname()[1]
        return port


def await_banner(node: LabNode, within_seconds: float) -> float:
    """Wait until the node's sshd sends its banner, and return how long that took.

    The emulated network accepts connections long before the node is up, so only a banner counts. While the emulator
    waits for a CPU of this machine the node cannot boot, so that time does not count either.

    Raises: UsageError, with the end of the console log, when it does not come up.
    """
    began, starved = time.monotonic(), node.process.starved_seconds
    while time.monotonic() - began - (node.process.starved_seconds - starved) < within_seconds:
        if not node.process.runs:
            raise UsageError(f"{node.name} stopped while it booted.", _end_of(node.console))
        if speaks_ssh(node.address, node.port) and node.process.runs:
            return time.monotonic() - began
        time.sleep(0.1)  # noqa: TID251 - nothing reports the end of a boot
    raise UsageError(f"{node.name} did not come up within {within_seconds:g} s.", _end_of(node.console))


def speaks_ssh(address: str, port: int) -> bool:
    """Return whether an SSH server sends its banner."""
    try:
        with socket.create_connection((address, port), 1) as connection:
            connection.settimeout(1.5)
            return connection.recv(8).startswith(b"SSH-")
    except OSError:
        return False


def _end_of(console: Path) -> str:
    text = console.read_text(errors="replace") if console.exists() else ""
    return text[-800:].strip() or "Its console log is empty."
