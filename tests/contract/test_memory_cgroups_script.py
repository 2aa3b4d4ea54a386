"""The script that brings cgroup v2's dying memory cgroups to Prometheus, run on made trees by the shells of nodes."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.monitoring.exporters import OF_SCRIPT
from tests.readings.node_tools import Way, every_shell

SCRIPT = Path(__file__).parents[2] / "docs" / "memory-cgroups.sh"
OLD = "nr_descendants 240\nnr_dying_descendants 68440\n"
NEW = (
    "nr_descendants 240\nnr_subsys_cpu 12\nnr_subsys_memory 231\nnr_dying_descendants 68500\n"
    "nr_dying_subsys_cpu 9\nnr_dying_subsys_memory 68440\n"
)
HYBRID = "nr_descendants 240\nnr_subsys_perf_event 1\nnr_dying_descendants 3\n"


def make(tree: Path, stat: str | None, controllers: str | None = "cpuset cpu io memory pids") -> Path:
    tree.mkdir()
    if controllers is not None:
        (tree / "cgroup.controllers").write_text(f"{controllers}\n")
    if stat is not None:
        (tree / "cgroup.stat").write_text(stat)
    return tree


def run(shell: Way, tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    text = SCRIPT.read_text()
    assert text.count("tree=/sys/fs/cgroup\n") == 1
    text = text.replace("tree=/sys/fs/cgroup\n", f"tree={tree}\n")
    words = [*shell, "-c", text, "memory-cgroups.sh", *arguments]
    return subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)


def figures(text: str) -> dict[str, int]:
    return {name: int(value) for name, value in re.findall(r"^(node_\w+) (\d+)$", text, re.MULTILINE)}


@every_shell
@pytest.mark.parametrize(("stat", "alive"), [(OLD, 240), (NEW, 231)], ids=["before 6.12", "since 6.12"])
def test_living_and_dying_are_told(tmp_path: Path, shell: Way, stat: str, alive: int) -> None:
    done = run(shell, make(tmp_path / "cgroup", stat))
    assert (done.returncode, done.stderr) == (0, "")
    assert figures(done.stdout) == {"node_memory_cgroups_alive": alive, "node_memory_cgroups_dying": 68_440}
    assert figures(done.stdout).keys() == OF_SCRIPT.keys()
    assert {line.split()[2] for line in done.stdout.splitlines() if line.startswith("# TYPE")} == OF_SCRIPT.keys()


@every_shell
def test_file_is_written_whole_and_nothing_beside_it(tmp_path: Path, shell: Way) -> None:
    tree, folder = make(tmp_path / "cgroup", NEW), tmp_path / "a folder"
    folder.mkdir()
    done = run(shell, tree, str(folder))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [path.name for path in folder.iterdir()] == ["memory_cgroups.prom"]
    assert figures((folder / "memory_cgroups.prom").read_text())["node_memory_cgroups_dying"] == 68_440


@every_shell
@pytest.mark.parametrize(
    ("stat", "controllers"),
    [(HYBRID, "hugetlb perf_event"), (OLD, None), (OLD, ""), (None, None)],
    ids=["hybrid", "v1", "none bound", "nothing"],
)
def test_memory_on_v1_gives_no_figures_and_no_error(
    tmp_path: Path, shell: Way, stat: str | None, controllers: str | None
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "memory_cgroups.prom").write_text("node_memory_cgroups_dying 5\n")
    done = run(shell, make(tmp_path / "cgroup", stat, controllers), str(folder))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(folder.iterdir()) == []


@every_shell
@pytest.mark.parametrize(
    "stat",
    [None, "", "nr_descendants 240\n", "nr_descendants x\nnr_dying_descendants -4\n", "nr_dying_descendants $(id)\n"],
)
def test_what_cannot_be_counted_is_an_error_and_leaves_no_old_figures(
    tmp_path: Path, shell: Way, stat: str | None
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "memory_cgroups.prom").write_text("node_memory_cgroups_dying 5\n")
    done = run(shell, make(tmp_path / "cgroup", stat), str(folder))
    assert (done.returncode, done.stdout) == (1, "")
    assert "does not count cgroups" in done.stderr
    assert list(folder.iterdir()) == []


@every_shell
def test_folder_that_is_not_there_is_an_error(tmp_path: Path, shell: Way) -> None:
    assert run(shell, make(tmp_path / "cgroup", NEW), str(tmp_path / "gone")).returncode == 1
