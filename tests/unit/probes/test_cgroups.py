"""cgroups: living and dying memory cgroups, on every arrangement of hierarchies, and never a zero for an unread."""

from pathlib import Path

import pytest

from bot.domain.command import Outputs
from bot.domain.errors import CannotRead
from bot.probes.cgroups import PROBE, CgroupsReading, parse
from bot.probes.formats.cgroup_look import END, unescaped
from tests.readings.node_tools import printed
from tests.readings.recorded import once, run, twice

MOUNTS = """32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
"""
UNIFIED = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
ROWS = "#subsys_name\thierarchy\tnum_cgroups\tenabled\npids\t8\t250\t1\nmemory\t4\t68680\t1\nnet_cls\t0\t1\t1\n"
WALKED = "directories 240 in /sys/fs/cgroup/memory"
V2_STAT = "nr_descendants 114\nnr_dying_descendants 9000"


def v1(rows: str = ROWS, walked: str = WALKED, mounts: str = MOUNTS, namespace: str = "cgroup:[4026531835]") -> str:
    text = f"filesystem tmpfs\nnamespace {namespace}\n==> /proc/self/mountinfo <==\n{mounts}"
    text += f"==> /proc/cgroups <==\n{rows}"
    return text + (f"==> /walk <==\n{walked}\n" if walked else "") + END


def v2(
    stat: str = V2_STAT,
    controllers: str = "cpuset cpu io memory pids",
    filesystem: str = "cgroup2fs",
    path: str = "/sys/fs/cgroup",
    more: str = "",
) -> str:
    text = f"filesystem {filesystem}\nnamespace cgroup:[4026531835]\n==> /proc/self/mountinfo <==\n"
    text += f"30 23 0:26 / {path} rw - cgroup2 cgroup2 rw\n==> {path}/cgroup.controllers <==\n{controllers}\n"
    return text + f"\n==> {path}/cgroup.stat <==\n{stat}\n{more}{END}"


def read(text: str) -> CgroupsReading:
    return parse(once("look", text))


def test_v1_dying_are_counted_less_directories() -> None:
    reading = read(v1())
    assert (reading.mode, reading.dying, reading.alive) == ("v1", 68_440, 240)
    assert (reading.alive_is_at_least, reading.dying_is_known) == (False, True)
    assert reading.siblings == {"pids": 250}  # net_cls is on no hierarchy
    assert reading.source == ("memory\t4\t68680\t1", WALKED)


def test_v1_beside_a_unified_tree_is_hybrid() -> None:
    assert read(v1(mounts=MOUNTS + UNIFIED)).mode == "hybrid"


def test_v1_joined_with_another_controller_and_mounted_elsewhere() -> None:
    mounts = "35 31 0:32 / /mnt/with\\040blank rw - cgroup none rw,cpu,memory\n"
    rows = "cpu\t4\t300\t1\nmemory\t4\t300\t1\npids\t8\t90\t1\n"
    reading = read(v1(rows, "directories 100 in /mnt/with blank", mounts))
    assert (reading.dying, reading.alive) == (200, 100)
    assert reading.siblings == {"pids": 90}  # cpu shares the hierarchy and counts the same
    assert unescaped("/mnt/with\\040blank") == "/mnt/with blank"


def test_more_directories_than_counted_is_none_dying() -> None:
    assert read(v1(ROWS.replace("68680", "239"))).dying == 0


def test_walk_that_was_stopped_is_replaced_by_what_other_controllers_count() -> None:
    reading = read(v1(ROWS.replace("pids\t8\t250", "pids\t8\t31000"), "directories at least 10000 in /sys/fs/cgroup"))
    assert (reading.alive, reading.dying, reading.alive_is_at_least) == (31_000, 37_680, True)
    assert reading.counter == "num_cgroups of memory less the most that another controller has"


def test_walk_that_was_stopped_with_nothing_to_compare_does_not_call_the_living_dying() -> None:
    reading = read(v1(walked="directories at least 10000 in /sys/fs/cgroup/memory"))
    assert (reading.alive, reading.dying, reading.dying_is_known) == (10_000, 0, False)


def test_directories_of_a_container_are_not_the_machines() -> None:
    reading = read(v1(walked="directories 9 in /sys/fs/cgroup/memory", namespace="cgroup:[4026532250]"))
    assert (reading.alive, reading.dying, reading.alive_is_at_least) == (250, 68_430, True)
    part = MOUNTS.replace("0:32 / /sys", "0:32 /docker/0a1b /sys")
    assert read(v1(mounts=part, walked="directories 9 in /sys/fs/cgroup/memory")).alive == 250
    alone = ROWS.replace("pids\t8\t250\t1\n", "")
    with pytest.raises(CannotRead, match="cannot be seen from here"):
        read(v1(alone, namespace="cgroup:[4026532250]"))


def test_v1_that_is_not_mounted_is_judged_by_other_controllers() -> None:
    assert read(v1(mounts=UNIFIED, walked="")).dying == 68_430
    with pytest.raises(CannotRead, match="cannot be seen from here"):
        read(v1(ROWS.replace("pids\t8\t250\t1\n", ""), "", UNIFIED))


def test_v2_since_6_12_counts_memory_alone() -> None:
    stat = "nr_descendants 150\nnr_subsys_memory 140\nnr_subsys_pids 150\nnr_dying_descendants 9050\n"
    reading = read(v2(stat + "nr_dying_subsys_memory 9000\nnr_dying_subsys_pids 50"))
    assert (reading.mode, reading.dying, reading.alive) == ("v2", 9000, 140)
    assert reading.counter == "nr_dying_subsys_memory"
    assert reading.source[1] == "/sys/fs/cgroup/cgroup.stat: nr_dying_subsys_memory 9000"


def test_v2_before_6_12_counts_every_controller() -> None:
    reading = read(v2())
    assert (reading.mode, reading.dying, reading.alive, reading.counter) == ("v2", 9000, 114, "nr_dying_descendants")


def test_v2_named_by_its_magic_number_is_v2() -> None:
    assert read(v2(filesystem="UNKNOWN (0x63677270)")).mode == "v2"


def test_memory_moved_to_the_unified_tree_of_a_hybrid_node() -> None:
    rows = "==> /proc/cgroups <==\npids\t8\t90\t1\nmemory\t0\t115\t1\n"
    reading = read(v2(path="/sys/fs/cgroup/unified", filesystem="tmpfs", controllers="memory", more=rows))
    assert (reading.mode, reading.dying) == ("v2", 9000)


UNIFIED_ONE = "nr_descendants 0\nnr_subsys_perf_event 1\nnr_dying_descendants 0\nnr_dying_subsys_perf_event 0"
V2_ROWS, V1_ROWS = (f"==> /proc/cgroups <==\n{row}\t1\n" for row in ("pids\t8\t90", "memory\t4\t68680"))
NO_MEMORY = "cpuset cpu io pids"


@pytest.mark.parametrize(
    ("text", "because"),
    [
        (
            v2(UNIFIED_ONE, "perf_event hugetlb", "tmpfs", "/sys/fs/cgroup/unified", V2_ROWS),
            "neither /proc/cgroups nor",
        ),
        (v2(controllers=NO_MEMORY, more=V1_ROWS), "cannot be seen from here"),  # not mounted, and not switched off
        (v2(controllers=NO_MEMORY, more=V1_ROWS.replace("\t4\t68680", "\t0\t115")), "neither"),
        (v1(ROWS.replace("memory\t4\t68680\t1\n", "")), "neither /proc/cgroups"),
        (v1("memory\t4\t68680\n"), "cut short"),  # three columns
        (v1("memory\t4\n"), "cut short"),
        (v1("memory\t4\t686"), "cut short"),
        (v1("memory\t4\t68680\t1\npi"), "cut short"),  # in another row
        (v1("memory 4 x 1\n"), "cut short"),
        (v1().removesuffix(END), "cut short"),
        (v2("nr_descendants 114"), "cut short"),
        (v2("nr_descendants 1\nnr_subsys_memory 5\nnr_dying_descendants 3"), "cut short"),
    ],
)
def test_what_is_cut_short_or_not_seen_is_no_zero(text: str, because: str) -> None:
    with pytest.raises(CannotRead, match=because):
        read(text)


def test_memory_controller_that_is_switched_off_is_an_answer() -> None:
    off = read(v1(ROWS.replace("memory\t4\t68680\t1", "memory\t0\t1\t0"), walked=""))
    assert (off.dying, off.alive, off.counter) == (0, 0, "the memory controller is switched off")
    assert read(v2(controllers="cpuset cpu io pids")).counter == "the memory controller is switched off"


def test_growth_between_the_looks() -> None:
    reading = parse(twice("look", v1(), v1(ROWS.replace("68680", "68690")), 5.0))
    assert (reading.dying_later, reading.growth, reading.seconds_between) == (68_450, 10, 5.0)
    assert reading.growth_per_hour == 7200
    assert reading.source_later[0] == "memory\t4\t68690\t1"


@pytest.mark.parametrize("later", ["", "rubbish", v2(), v1(walked="directories at least 10000 in /sys/fs/cgroup")])
def test_second_look_of_another_kind_gives_no_growth(later: str) -> None:
    reading = parse(twice("look", v1(), later))
    assert (reading.dying, reading.dying_later, reading.growth, reading.seconds_between) == (68_440, None, None, None)


def test_first_look_that_failed_is_unread_whatever_the_second_says() -> None:
    with pytest.raises(CannotRead):
        parse(Outputs(run("look", "", 0, exit_status=124), run("look", v1(), 1)))


def test_fragment_walks_a_mounted_tree_of_any_name(tmp_path: Path) -> None:
    """The fragment itself, against directories that stand for a memory hierarchy."""
    mount = tmp_path / "with blank"
    for name in ("a/b", "a/c", "d"):
        (mount / name).mkdir(parents=True)
    mountinfo, cgroups = tmp_path / "mountinfo", tmp_path / "cgroups"
    escaped = str(mount).replace(" ", "\\040")
    mountinfo.write_text(f"35 31 0:32 / {escaped} rw - cgroup cgroup rw,memory\n")
    cgroups.write_text(ROWS)
    said = PROBE.commands[0].argv[2].replace("/proc/self/mountinfo)", f"{mountinfo})")
    said = said.replace("grep -a ' - cgroup' /proc/self/mountinfo", f"grep -a ' - cgroup' {mountinfo}")
    said = said.replace("tail -v -n +1 /proc/cgroups", f"echo '==> /proc/cgroups <=='; cat {cgroups}")
    answer = printed(said)
    assert f"directories 5 in {mount}\n" in answer
    assert answer.endswith(END + "\n")
