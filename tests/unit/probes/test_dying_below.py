"""cgroups: what is dying below each unit of cgroup v2, asked for cheaply, and names that may be anybody's."""

import shutil
from pathlib import Path

import pytest

from bot.probes.cgroups import MOST_ASKED, PROBE, CgroupsReading, parse
from bot.probes.formats.cgroup_look import END
from tests.known import known
from tests.readings.recorded import once, twice
from tests.unit.probes.test_cgroups import V2_STAT, v2
from tests.unit.probes.test_fragments_on_made_trees import ask

ROOT = "/sys/fs/cgroup"
ECS = f"{ROOT}/system.slice/ecs.service/cgroup.stat: nr_dying_descendants 8800"


def told(*lines: str, stat: str = V2_STAT) -> str:
    return v2(stat, more="\n".join(("==> /below <==", *lines, "")))


def read(*lines: str, stat: str = V2_STAT) -> CgroupsReading:
    return parse(once("look", told(*lines, stat=stat)))


def test_count_below_a_unit_is_read_with_its_line() -> None:
    reading = read(f"{ROOT}/system.slice/cgroup.stat: nr_dying_descendants 8990", ECS)
    assert reading.dying == 9000
    assert reading.dying_below == {"system.slice": 8990, "system.slice/ecs.service": 8800}
    assert reading.source_below["system.slice/ecs.service"] == ECS


def test_nothing_told_is_an_empty_mapping_and_changes_nothing_else() -> None:
    assert read() == parse(once("look", v2()))
    assert read().dying_below == {}


@pytest.mark.parametrize(
    "line",
    [
        "rubbish",
        f"{ROOT}/system.slice/ecs.service/cgroup.stat: nr_dying_descendants",
        f"{ROOT}/system.slice/ecs.service/cgroup.stat: nr_dying_descendants -5",
        f"{ROOT}/system.slice/ecs.service/cgroup.stat: nr_dying_descendants 12345678901",
        f"{ROOT}/system.slice/ecs.service/cgroup.stat: nr_descendants 8800",
        f"{ROOT}/system.slice/ecs.service/cgroup.stat: nr_dying_subsys_memory 8800",  # of another kind than the root's
        "system.slice/ecs.service/cgroup.stat: nr_dying_descendants 8800",
        ECS + " 1",
    ],
)
def test_malformed_line_is_left_out_and_the_count_stands(line: str) -> None:
    reading = read(line)
    assert (reading.dying, reading.dying_below, reading.source_below) == (9000, {}, {})


def test_odd_name_stays_one_safe_line() -> None:
    odd = "a: nr_dying_descendants 5 \x1b[31m $(touch pwned)\u202e"
    reading = read(f"{ROOT}/{odd}/cgroup.stat: nr_dying_descendants 500")
    ((path, dying),) = reading.dying_below.items()
    assert dying == 500
    assert path == r"a: nr_dying_descendants 5 \x1b[31m $(touch pwned)\u202e"


def test_second_look_gives_its_own_counts() -> None:
    reading = parse(twice("look", told(ECS), told(ECS.replace("8800", "8900"))))
    assert reading.dying_below["system.slice/ecs.service"] == 8800
    assert reading.dying_below_later["system.slice/ecs.service"] == 8900
    assert reading.source_below["system.slice/ecs.service"].endswith("8900")


# --- the fragment itself, on a tree that stands for cgroup v2


def group(root: Path, path: str, dying: int, memory: int | None = None) -> None:
    folder = root / path
    folder.mkdir(parents=True, exist_ok=True)
    more = "" if memory is None else f"nr_dying_subsys_memory {memory}\n"
    (folder / "cgroup.stat").write_text(f"nr_descendants 3\nnr_dying_descendants {dying}\n{more}")


@pytest.fixture(params=["mawk", "gawk", "busybox"])
def asked(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    """A tree, and a directory in which `awk` is this one."""
    awk = shutil.which(request.param)
    if awk is None:
        pytest.skip(f"{request.param} is not installed")
    tools, root = tmp_path / "tools", tmp_path / "tree"
    tools.mkdir()
    root.mkdir()
    (tools / "awk").symlink_to(awk)
    (root / "cgroup.controllers").write_text("cpu memory pids\n")
    return tools, root


def below(asked: tuple[Path, Path]) -> list[str] | None:
    """What the fragment tells of this tree; None where it did not look."""
    tools, root = asked
    (command,) = PROBE.commands
    said = ask(command, ("| awk", Path(f"| {tools}/awk")), (ROOT, root))
    assert said.endswith(f"{END}\n")
    _, heading, after = said.replace(f"{root}/", "").partition("==> /below <==\n")
    lines = after.splitlines()
    return lines[: next(at for at, line in enumerate(lines) if line.startswith(("==> ", END)))] if heading else None


def test_units_with_most_below_them_are_told_most_first(asked: tuple[Path, Path]) -> None:
    _, root = asked
    group(root, ".", 9000)
    group(root, "system.slice", 8990)
    group(root, "system.slice/ecs.service", 8800)
    group(root, "system.slice/ecs.service/agent", 8700)  # a third level is nobody's unit
    group(root, r"system.slice/a b\x2d$(touch pwned)'*.service", 100)
    group(root, "system.slice/quiet.service", 99)
    for name, dying in (("a", 150), ("b", 140), ("c", 130)):
        group(root, f"user.slice/{name}", dying)
    assert below(asked) == [
        "system.slice/cgroup.stat: nr_dying_descendants 8990",
        "system.slice/ecs.service/cgroup.stat: nr_dying_descendants 8800",
        "user.slice/a/cgroup.stat: nr_dying_descendants 150",
        "user.slice/b/cgroup.stat: nr_dying_descendants 140",
        "user.slice/c/cgroup.stat: nr_dying_descendants 130",
    ]
    for name in "abc":
        group(root, f"user.slice/{name}", 0)
    told = known(below(asked))
    assert told[2:] == [r"system.slice/a b\x2d$(touch pwned)'*.service/cgroup.stat: nr_dying_descendants 100"]


def test_kernel_that_counts_memory_alone_is_asked_for_that(asked: tuple[Path, Path]) -> None:
    _, root = asked
    group(root, ".", 9000, 8000)
    group(root, "system.slice", 9000, 99)
    group(root, "kubepods.slice", 0, 7900)
    assert below(asked) == ["kubepods.slice/cgroup.stat: nr_dying_subsys_memory 7900"]


def test_node_with_few_dying_is_asked_no_further(asked: tuple[Path, Path]) -> None:
    _, root = asked
    group(root, ".", 99)
    group(root, "system.slice", 5000)  # it cannot be, and so shows that it was not opened
    assert below(asked) == []


def test_tree_without_the_memory_controller_is_not_asked(asked: tuple[Path, Path]) -> None:
    _, root = asked
    (root / "cgroup.controllers").write_text("cpuset hugetlb\n")
    group(root, ".", 9000)
    assert below(asked) is None


def test_crowd_of_cgroups_is_asked_up_to_a_number(asked: tuple[Path, Path]) -> None:
    _, root = asked
    group(root, ".", 9000)
    for number in range(MOST_ASKED):
        group(root, f"{number:04}", 100 + number)
    told = known(below(asked))
    assert told[0] == f"{MOST_ASKED - 2:04}/cgroup.stat: nr_dying_descendants {98 + MOST_ASKED}"  # the root is one
    assert len(told) == 5
