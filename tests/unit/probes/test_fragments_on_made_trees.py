"""Fragments on trees of files that this machine does not have: cgroup v2 with pods, ENA on 192 cores."""

import shutil
import subprocess
from pathlib import Path

import pytest

from bot.domain.command import Command, Outputs
from bot.probes import interrupts, throttling
from bot.probes.interrupts import InterruptsReading
from bot.probes.throttling import ThrottlingReading
from tests.known import known_as
from tests.readings.node_tools import printed_by
from tests.readings.recorded import run

pytestmark = pytest.mark.skipif(shutil.which("awk") is None, reason="awk is not installed")


def ask(command: Command, *places: tuple[str, Path]) -> str:
    """Run a command's fragment as it is, but for where the kernel's trees are."""
    words = list(command.argv)
    for place, made in places:
        words = [word.replace(place, str(made)) for word in words]
    return printed_by(words)


@pytest.fixture
def cgroups(tmp_path: Path) -> Path:
    (tmp_path / "probe" / "a").mkdir(parents=True)
    if (tmp_path / "probe").stat().st_nlink != 3:
        pytest.skip("this file system does not count subdirectories in its hard links, as cgroupfs does")
    return tmp_path


def group(
    root: Path, path: str, quota: str = "max 100000", periods: int = 0, throttled: int = 0, usec: int = 0
) -> None:
    folder = root / path
    folder.mkdir(parents=True)
    (folder / "cpu.max").write_text(quota + "\n")
    stat = f"usage_usec 5\nuser_usec 3\nsystem_usec 2\nnr_periods {periods}\nnr_throttled {throttled}\n"
    (folder / "cpu.stat").write_text(stat + f"throttled_usec {usec}\nnr_bursts 0\nburst_usec 0\n")


POD = "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice"


def read_throttling(root: Path, change: str = "") -> ThrottlingReading:
    (command,) = throttling.PROBE.commands
    runs = []
    for look in (0, 1):
        runs.append(run("cpu.stat", ask(command, ("/sys/fs/cgroup", root)), look, 1000.0 + look))
        if look == 0 and change:
            stat = root / change / "cpu.stat"
            stat.write_text(stat.read_text().replace(" 100\n", " 150\n").replace(" 40\n", " 90\n"))
    return known_as(throttling.PROBE.read(Outputs(*runs)), ThrottlingReading)


def test_pods_containers_and_services_of_cgroup_v2_are_found(cgroups: Path) -> None:
    (cgroups / "cgroup.controllers").write_text("cpu memory\n")
    group(cgroups, POD)
    group(cgroups, f"{POD}/cri-containerd-aa.scope", "20000 100000", 100, 40, 777)
    group(cgroups, "kubepods.slice/kubepods-pod2.slice/cri-containerd-bb.scope", "20000 100000", 100, 40)
    group(cgroups, "system.slice/a b $(touch pwned).service", "50000 100000", 10)
    group(cgroups, "user.slice/user-0.slice", "50000 100000", 10)
    reading = read_throttling(cgroups, f"{POD}/cri-containerd-aa.scope")
    (held,) = reading.groups
    assert (held.path, held.periods, held.throttled) == (f"/{POD}/cri-containerd-aa.scope", 50, 50)
    assert reading.groups_seen == 4
    assert not reading.capped


def test_cgroup_v1_is_read_where_its_cpu_controller_is(cgroups: Path) -> None:
    docker = cgroups / "cpu,cpuacct" / "docker"
    for name, quota in (("9c1e", "20000"), ("77aa", "-1")):
        (docker / name).mkdir(parents=True)
        (docker / name / "cpu.cfs_quota_us").write_text(f"{quota}\n")
        (docker / name / "cpu.stat").write_text("nr_periods 100\nnr_throttled 40\nthrottled_time 5\n")
    reading = read_throttling(cgroups, "cpu,cpuacct/docker/9c1e")
    assert [held.path for held in reading.groups] == ["/docker/9c1e"]
    assert reading.groups_seen == 2


def test_a_directory_with_too_many_children_is_not_even_listed(cgroups: Path) -> None:
    (cgroups / "cgroup.controllers").write_text("cpu memory\n")
    group(cgroups, "docker/1", "20000 100000", 100)
    for number in range(throttling.MOST_SUBDIRECTORIES + 1):
        (cgroups / "system.slice" / f"run-{number}.scope").mkdir(parents=True)
    reading = read_throttling(cgroups)
    assert reading.capped
    assert reading.groups_seen == 1


def test_without_a_cpu_controller_there_is_no_answer(cgroups: Path) -> None:
    (command,) = throttling.PROBE.commands
    with pytest.raises(subprocess.CalledProcessError) as failed:
        ask(command, ("/sys/fs/cgroup", cgroups))
    assert "no cpu controller" in failed.value.stderr


def test_192_cores_and_64_queues_take_few_bytes(tmp_path: Path) -> None:
    device = tmp_path / "pci"
    (device / "msi_irqs").mkdir(parents=True)
    (tmp_path / "net" / "eth0").mkdir(parents=True)
    (tmp_path / "net" / "eth0" / "device").symlink_to(device)
    (tmp_path / "net" / "veth1").mkdir()
    table = " " * 12 + "".join(f"CPU{core:<8}" for core in range(192)) + "\n"
    for irq in range(100, 165):
        (device / "msi_irqs" / str(irq)).write_text("msix\n")
        (tmp_path / "irq" / str(irq)).mkdir(parents=True)
        (tmp_path / "irq" / str(irq) / "smp_affinity_list").write_text("0-191\n")
        if irq % 2:
            (tmp_path / "irq" / str(irq) / "effective_affinity_list").write_text(f"{irq - 100}\n")
        name = f"eth0-Tx-Rx-{irq - 101}" if irq > 100 else "ena-mgmnt@pci:0000:00:05.0"
        counts = "".join(f"{4000000 * (core == irq - 100):>11}" for core in range(192))
        table += f"{irq:>4}:{counts}   PCI-MSI {irq}-edge      {name}\n"
    for irq in range(300, 492):
        table += f"{irq:>4}:{'          7' * 192}   PCI-MSI {irq}-edge      nvme0q{irq - 300}\n"
    (tmp_path / "interrupts").write_text(table)
    places = (("/sys/class/net", "net"), ("/proc/interrupts", "interrupts"), ("/proc/irq", "irq"))
    text = ask(interrupts.PROBE.commands[0], *((place, tmp_path / made) for place, made in places))
    reading = interrupts.PROBE.read(Outputs(run("interrupts", text, 0, 1.0), run("interrupts", text, 1, 5.0)))
    assert isinstance(reading, InterruptsReading), reading
    assert len(text) < 40_000 < len(table) / 10
    assert [line.irq for line in reading.lines] == [str(irq) for irq in range(100, 165)]
    assert [line.queue for line in reading.lines[:3]] == [None, 0, 1]
    assert reading.lines[1].cores == (1,)
    assert reading.lines[2].cores == tuple(range(192))  # the kernel does not tell where it goes, only where it may


@pytest.mark.parametrize("counted", [True, False], ids=["counted", "not counted"])
def test_heat_of_each_core_is_read_where_the_first_core_counts_it(tmp_path: Path, counted: bool) -> None:
    (tmp_path / "interrupts").write_text(
        "            CPU0       CPU1       CPU3\n  0:   5   5   5  IO-APIC 2-edge timer\n"
    )
    for core, own, package in (("0", "0", "0"), ("1", "411", "3"), ("3", "0", "3")):
        counters = tmp_path / "cpu" / f"cpu{core}" / "thermal_throttle"
        counters.mkdir(parents=True)
        if counted:
            (counters / "core_throttle_count").write_text(f"{own}\n")
            (counters / "package_throttle_count").write_text(f"{package}\n")
    (tmp_path / "net").mkdir()
    made = (("/sys/class/net", "net"), ("/proc/interrupts", "interrupts"), ("/sys/devices/system/cpu", "cpu"))
    text = ask(interrupts.PROBE.commands[0], *((place, tmp_path / name) for place, name in made))
    later = text.replace("heat 1 411 3", "heat 1 498 3")
    reading = interrupts.PROBE.read(Outputs(run("interrupts", text, 0, 1.0), run("interrupts", later, 1, 5.0)))
    assert isinstance(reading, InterruptsReading), reading
    hot = None if reading.hot is None else [(core.core, core.rise, core.total) for core in reading.hot]
    assert hot == ([(1, 87, 498), (3, 0, 3)] if counted else None)
    assert reading.throttled_cores == (1 if counted else None)
