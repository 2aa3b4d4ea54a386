"""What a reboot would cut off: the fragment, run by real shells over invented trees, and what is read of its answer."""

from pathlib import Path

import pytest

from bot.domain.command import Command, Completed, Outputs
from bot.domain.errors import CannotRead
from bot.probes.unfinished import PROBE, UnfinishedReading, parse
from tests.readings.node_tools import Way, every_shell, printed

ROOTS = ("/sys/", "/proc/", "/var/lib/dpkg", "/boot")


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def program(root: Path, pid: int, *argv: str) -> None:
    write(root, f"proc/{pid}/comm", argv[0].rpartition("/")[2][:15] + "\n")
    write(root, f"proc/{pid}/cmdline", "".join(f"{word}\0" for word in argv))


def look(root: Path, shell: Way) -> str:
    return printed_by(PROBE.commands[0], root, shell)


def printed_by(command: Command, root: Path, shell: Way) -> str:
    script = command.argv[2]
    for place in ROOTS:
        script = script.replace(place, f"{root}{place}")
    return printed(script, shell)


def read(text: str) -> UnfinishedReading:
    return parse(Outputs(Completed("unfinished", "look", 0, text)))


@every_shell
def test_shells_find_what_is_at_work(tmp_path: Path, shell: Way) -> None:
    for name, action, done in (("md0", "recover", "12 / 99"), ("md1", "idle", "none")):
        write(tmp_path, f"sys/block/{name}/md/sync_action", f"{action}\n")
        write(tmp_path, f"sys/block/{name}/md/sync_completed", f"{done}\n")
    (tmp_path / "sys/fs/btrfs/6a1e-0c").mkdir(parents=True)
    program(tmp_path, 1, "systemd")
    program(tmp_path, 300, "mdX_resync")
    program(tmp_path, 301, "/usr/sbin/nvme", "fw-download", "/dev/nvme0", "-f", "x.bin")
    program(tmp_path, 302, "/usr/sbin/nvme", "smart-log", "/dev/nvme0")
    program(tmp_path, 303, "/usr/bin/ipmitool", "-P", "geheim", "hpm", "upgrade", "bmc.img")
    program(tmp_path, 304, "/usr/bin/dpkg", "-l")
    program(tmp_path, 305, "/usr/bin/rpm", "-qa")
    program(tmp_path, 306, "/sbin/mdadm", "--monitor", "--scan")
    program(tmp_path, 307, "/usr/bin/apt-get", "upgrade")
    write(tmp_path, "boot/vmlinuz-6.1.0-28", "kernel")
    write(tmp_path, "boot/initrd.img-6.1.0-28", "")
    states = "Package: a\nStatus: install ok installed\n\nPackage: b\nStatus: install ok unpacked\n"
    write(tmp_path, "var/lib/dpkg/status", states)
    text = look(tmp_path, shell)
    assert "geheim" not in text, "arguments stay on the node"
    reading = read(text)
    assert [(each.kind, each.says) for each in reading.found] == [
        ("storage", "md0 is in recover (12 / 99 sectors)"),
        ("storage", "a RAID of LVM is rebuilt or checked"),
        ("firmware", "nvme writes firmware now"),
        ("firmware", "ipmitool writes firmware now"),
        ("packages", "apt-get installs or removes packages now"),
        ("half-done", "packages are not configured to the end: b"),
        ("boot", "/boot/initrd.img-6.1.0-28, of the newest kernel, is empty"),
    ]
    assert reading.not_read == ("what btrfs is doing (the kernel says it since 5.10)",)


@every_shell
def test_what_a_shell_may_not_read_is_said(tmp_path: Path, shell: Way) -> None:
    write(tmp_path, "proc/spl/kstat/zfs/tank/state", "ONLINE\n")
    write(tmp_path, "var/lib/dpkg/updates/0003", "x")
    reading = read(look(tmp_path, shell))
    assert [each.says for each in reading.found] == ["dpkg was interrupted, or is at work (its journal is not empty)"]
    assert set(reading.not_read) == {
        "which programs of others run (/proc is mounted with hidepid)",
        "the state of packages",
        "the next boot's kernel and initrd (/boot)",
        "what ZFS is rebuilding (zpool status)",
    }


def test_cut_answer_is_unread() -> None:
    with pytest.raises(CannotRead, match="cut short"):
        read("md md0/md/sync_action recover 1 / 2\nboot file vmlin")


def test_newest_kernel_is_found_by_its_numbers() -> None:
    files = "boot file vmlinuz-6.1.0-9\nboot file initrd.img-6.1.0-9\nboot file vmlinuz-6.1.0-28\n-- end --\n"
    assert [each.says for each in read(files).found] == ["the newest kernel, 6.1.0-28, has no initrd in /boot"]
