"""hardware: the fragment on a made tree of files, and answers that are cut or hostile."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.domain.probe import Snapshot
from bot.extras.fleet.facts import figures_of
from bot.probes.hardware import PROBE, HardwareReading, Link, parse
from tests.readings.node_tools import Way, every_shell, printed
from tests.readings.recorded import once

FILES = {
    "/sys/bus/pci/devices/0000:17:00.0/class": "0x020000",
    "/sys/bus/pci/devices/0000:17:00.0/current_link_width": "8",
    "/sys/bus/pci/devices/0000:17:00.0/max_link_width": "16",
    "/sys/bus/pci/devices/0000:17:00.0/current_link_speed": "16.0 GT/s PCIe",
    "/sys/bus/pci/devices/0000:17:00.0/max_link_speed": "16.0 GT/s PCIe",
    "/sys/bus/pci/devices/0000:18:00.0/class": "0x060400",  # a bridge
    "/sys/bus/pci/devices/0000:18:00.0/max_link_width": "16",
    "/sys/bus/pci/devices/0000:17:00.1/class": "0x020000",  # a virtual function
    "/sys/bus/pci/devices/0000:17:00.1/max_link_width": "16",
    "/sys/bus/pci/devices/0000:17:00.1/physfn": "",
    "/sys/bus/pci/devices/0000:00:05.0/class": "0x020000",  # a virtual machine's: it has no link
    "/sys/bus/pci/devices/0000:00:05.0/current_link_width": "0",
    "/sys/bus/pci/devices/0000:00:05.0/max_link_width": "0",
    "/proc/sys/vm/swappiness": "10",
    "/proc/sys/net/core/somaxconn": "4096",
    "/proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    "/sys/devices/system/cpu/cpu0/microcode/version": "0x5003801",
    "/sys/devices/system/edac/mc/mc0/dimm3/size": "32768",
    "/sys/devices/system/node/node1/meminfo": "Node 1 MemTotal:       32614872 kB\nNode 1 MemFree: 7 kB",
    "/sys/class/net/eth0/device/net/eth0/mtu": "9001",
    "/sys/class/nvme/nvme0/firmware_rev": "GPK74A5Q",
    "/sys/module/nvidia/version": "570.86.15",
    "/proc/cmdline": "BOOT_IMAGE=/vmlinuz ro console=tty0 console=ttyS0 mitigations=off token=hunter2hunter2 -- --x",
}


def look(root: Path, shell: Way = ("sh",)) -> HardwareReading:
    """Run the fragment as it is, but for where the files are."""
    for path, text in FILES.items():
        (file := root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    driver = root / "sys/bus/pci/drivers/mlx5_core"
    driver.mkdir(parents=True)
    (root / "sys/bus/pci/devices/0000:17:00.0/driver").symlink_to(driver)
    (command,) = PROBE.commands
    script = re.sub(r"(?<![\w}])/(?=sys/|proc/)", f"{root}/", command.argv[2])
    return parse(once("look", printed(script, shell).replace(str(root), "")))


@every_shell
def test_links_settings_memory_and_versions_are_read(tmp_path: Path, shell: Way) -> None:
    reading = look(tmp_path, shell)
    assert [(each.name, each.width, each.most_width, each.speed, each.most_speed) for each in reading.links] == [
        ("mlx5_core 0000:17:00.0", 8, 16, 16.0, 16.0)
    ]
    assert ("current_width: 8" in reading.links[0].lines, reading.narrow_links) == (True, 1)
    assert reading.settings == {
        "vm.swappiness": "10",
        "net.core.somaxconn": 4096.0,
        "net.ipv4.tcp_rmem": "4096 131072 6291456",
        "transparent huge pages": "madvise",
        "microcode": "0x5003801",
        "memory module mc0/dimm3 (MB)": 32768.0,
        "memory of node1 (kB)": 32614872.0,
        "MTU of eth0": "9001",
        "firmware_rev of nvme0": "GPK74A5Q",
        "version of nvidia": "570.86.15",
        "boot option ro": "set",
        "boot option console": "tty0 ttyS0",
        "boot option mitigations": "off",
        "boot option token": "[redacted]",
    }
    assert reading.lines["vm.swappiness"] == "/proc/sys/vm/swappiness:10"


def test_secret_among_the_boot_options_is_no_fact(tmp_path: Path) -> None:
    reading = look(tmp_path)
    facts = figures_of(Snapshot("n", datetime(2026, 11, 1, tzinfo=UTC), timedelta(), {"hardware": reading}))
    assert facts["hardware.settings[boot option mitigations]"] == "off"
    assert facts["hardware.links[mlx5_core 0000:17:00.0].width"] == 8.0
    assert "hunter2" not in f"{facts}{reading.lines}"


def test_answer_that_is_cut_is_unread() -> None:
    assert "cut short" in PROBE.read(once("look", "/proc/sys/vm/swappiness:10\n")).reason


@pytest.mark.parametrize(
    "line",
    [
        "/sys/bus/pci/devices/0000:17:00.0/current_link_width:63",
        "/sys/bus/pci/devices/0000:17:00.0/max_link_width:Unknown",
        "/etc/shadow:root",
        "driver",
        "cmdline \x1b[31m",
        "::::",
        "/proc/sys/vm/swappiness:",
    ],
)
def test_what_means_nothing_adds_nothing(line: str) -> None:
    assert parse(once("look", f"{line}\n-- end --\n")) == HardwareReading()


def test_example_is_what_a_node_with_a_disk_prints() -> None:
    reading = parse(once("look", PROBE.example["look"]))
    assert [type(each) for each in reading.links] == [Link]
    assert reading.settings["vm.swappiness"] == "60"
