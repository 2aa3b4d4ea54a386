"""What starts at boot, read by the real fragment from made trees, in every shell that is here."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from bot.domain.probe import Unread
from bot.probes.boot_units import PROBE, BootUnitsReading
from tests.known import known_as
from tests.readings.node_tools import Way, every_shell
from tests.readings.recorded import once


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An image of a node of Kubernetes, as a package manager leaves it."""
    for folder in ("etc/systemd/system/multi-user.target.wants", "usr/lib/systemd/system", "usr/bin"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "lib").symlink_to("usr/lib")
    package(tmp_path, "kubelet.service")
    (tmp_path / "usr/bin/kubelet").write_text("#!")
    return tmp_path


def package(root: Path, unit: str) -> None:
    (root / "usr/lib/systemd/system" / unit).write_text("[Service]\n")


def enable(root: Path, unit: str, target: str = "multi-user.target.wants", where: str = "etc") -> None:
    folder = root / ("etc" if where == "etc" else "usr/lib") / "systemd/system" / target
    folder.mkdir(exist_ok=True)
    (folder / unit).symlink_to(f"/usr/lib/systemd/system/{unit}")


def mask(root: Path, unit: str) -> None:
    (root / "etc/systemd/system" / unit).symlink_to("/dev/null")


def ask(root: Path, shell: Way, within: Path | None = None) -> subprocess.CompletedProcess[str]:
    text = PROBE.commands[0].argv[2]
    assert text.startswith("r=; ")
    return subprocess.run(
        [*shell, "-c", text.replace("r=; ", f"r={root}; ", 1)],
        cwd=within,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def read(root: Path, shell: Way) -> BootUnitsReading:
    done = ask(root, shell)
    assert (done.returncode, done.stderr) == (0, "")
    return known_as(PROBE.read(once("files", done.stdout)), BootUnitsReading)


@every_shell
def test_founding_image_is_read(root: Path, shell: Way) -> None:
    package(root, "ecs.service")
    enable(root, "ecs.service")
    (root / "etc/ecs").mkdir()
    (root / "etc/ecs/ecs.config").write_text("ECS_ENGINE_AUTH_DATA=secret\n# ECS_CLUSTER=no\n")
    reading = read(root, shell)
    assert [(unit.name, unit.wanted_in, unit.by_vendor) for unit in reading.enabled] == [
        ("ecs.service", "multi-user.target.wants", False)
    ]
    assert reading.kubelet == ("kubelet.service", "/usr/bin/kubelet")
    assert (reading.ecs_cluster, reading.ecs_config_readable) == ("", True)
    assert "secret" not in ask(root, shell).stdout


@every_shell
def test_what_starts_nothing_is_left_out(root: Path, shell: Way) -> None:
    for unit in ("ecs.service", "getty@.service", "emptied.service"):
        package(root, unit)
    enable(root, "ecs.service")
    mask(root, "ecs.service")
    enable(root, "emptied.service")
    (root / "etc/systemd/system/emptied.service").write_text("")  # masks as well
    enable(root, "removed.service")  # its package is gone
    assert read(root, shell).enabled == ()


@every_shell
def test_instances_requirements_and_own_files_are_found(root: Path, shell: Way) -> None:
    package(root, "getty@.service")
    enable(root, "getty@tty1.service", "getty.target.wants")
    package(root, "a.socket")
    enable(root, "a.socket", "sockets.target.requires")
    (root / "etc/systemd/system/own.service").write_text("[Service]\n")
    enable(root, "own.service")
    names = {unit.name for unit in read(root, shell).enabled}
    assert names == {"getty@tty1.service", "a.socket", "own.service"}


@every_shell
def test_of_what_packages_link_only_known_agents_are_told(root: Path, shell: Way) -> None:
    for unit in ("ecs.service", "systemd-journald.service"):
        package(root, unit)
        enable(root, unit, "sysinit.target.wants", "vendor")
    (agent,) = read(root, shell).enabled
    assert (agent.name, agent.by_vendor) == ("ecs.service", True)


@every_shell
@pytest.mark.parametrize(("line", "cluster"), [("ECS_CLUSTER=batch", "batch"), ('  ECS_CLUSTER="b"', "b")])
def test_cluster_is_read(root: Path, shell: Way, line: str, cluster: str) -> None:
    (root / "etc/ecs").mkdir()
    (root / "etc/ecs/ecs.config").write_text(f"{line}\n")
    assert read(root, shell).ecs_cluster == cluster


@every_shell
def test_masked_kubelet_without_files_shows_no_node_of_kubernetes(root: Path, shell: Way) -> None:
    (root / "usr/bin/kubelet").unlink()
    mask(root, "kubelet.service")
    assert read(root, shell).kubelet == ()


@every_shell
def test_disk_without_systemd_is_an_answer(tmp_path: Path, shell: Way) -> None:
    assert read(tmp_path, shell) == BootUnitsReading(systemd=False)


@every_shell
def test_hostile_file_name_makes_it_unread(root: Path, shell: Way) -> None:
    package(root, "a b\n-- end --.service")
    enable(root, "a b\n-- end --.service")
    assert isinstance(PROBE.read(once("files", ask(root, shell).stdout)), Unread)


@pytest.mark.skipif(os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root reads every folder")
@every_shell
def test_folder_that_cannot_be_read_is_no_empty_one(root: Path, shell: Way) -> None:
    folder = root / "etc/systemd/system/multi-user.target.wants"
    folder.chmod(0)
    nobody: Way = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups") if os.geteuid() == 0 else ()
    root.chmod(0o755)
    done = ask(Path(), (*nobody, *shell), root)  # from within: pytest's own folders are closed to others
    folder.chmod(0o755)
    assert done.returncode == 1
    assert "not readable" in done.stderr
