"""The files of simulated nodes say what real kernels say, in their format and by their version."""

from dataclasses import replace

from bot.demo.fleet_leaks import AUTO_RESTART
from bot.demo.fleet_other_faults import FAST_LEAK, QUIET_ZOMBIES
from bot.demo.images import UBUNTU_24
from bot.demo.machine import network, proc_files, processes
from bot.demo.machine.files import UNREADABLE, Files
from tests.unit.demo.machine.moments import moment


def test_founding_node_counts_68680_memory_cgroups_of_which_240_live() -> None:
    text = proc_files.proc_cgroups(AUTO_RESTART, moment(AUTO_RESTART))
    rows = [line.split("\t") for line in text.splitlines()]
    assert rows[0] == ["#subsys_name", "hierarchy", "num_cgroups", "enabled"]
    counts = {name: (int(hierarchy), int(count)) for name, hierarchy, count, _ in rows[1:]}
    assert counts["memory"][1] == 68_680
    assert counts["pids"][1] == counts["cpu"][1] == AUTO_RESTART.cgroups.alive == 240
    assert all(hierarchy for hierarchy, _ in counts.values())


def test_leak_moves_with_the_clock() -> None:
    dying = [AUTO_RESTART.cgroups.dying_at(AUTO_RESTART.uptime + after) for after in (0, 11.2, 112)]
    assert [count - dying[0] for count in dying] == [0, 1, 10]
    fast = [FAST_LEAK.cgroups.dying_at(FAST_LEAK.uptime + after) for after in (0, 5)]
    assert fast[1] - fast[0] >= 8


def test_cgroup_v2_counts_dying_ones_by_controller_since_6_12() -> None:
    now = moment(QUIET_ZOMBIES)
    assert "nr_dying_descendants 70012\n" in proc_files.cgroup_stat(QUIET_ZOMBIES, now)
    assert "nr_dying_subsys" not in proc_files.cgroup_stat(QUIET_ZOMBIES, now)
    newer = replace(QUIET_ZOMBIES, system=replace(UBUNTU_24, kernel="6.12.9-aws"))
    assert "nr_dying_subsys_memory 70012\n" in proc_files.cgroup_stat(newer, now)
    assert "memory\t" not in proc_files.proc_cgroups(newer, now)


def test_hybrid_tree_tells_nothing_of_memory() -> None:
    hybrid = replace(AUTO_RESTART, system=replace(AUTO_RESTART.system, cgroups="hybrid"))
    assert proc_files.cgroup_stat(hybrid, moment(hybrid)) == "nr_descendants 0\nnr_dying_descendants 0\n"


def test_softnet_has_the_columns_of_its_kernel() -> None:
    old = network.softnet(AUTO_RESTART, moment(AUTO_RESTART)).splitlines()
    new = network.softnet(QUIET_ZOMBIES, moment(QUIET_ZOMBIES)).splitlines()
    assert {len(row.split()) for row in old} == {11}
    assert {len(row.split()) for row in new} == {13}
    assert [int(row.split()[12], 16) for row in new] == list(range(16))


def test_starved_queue_is_served_by_the_held_core() -> None:
    rows = network.interrupts(AUTO_RESTART, moment(AUTO_RESTART)).splitlines()
    counts = next(row for row in rows if row.endswith("eth0-Tx-Rx-5")).split()[1:97]
    assert [core for core, count in enumerate(counts) if int(count)] == [39]


def test_stat_of_a_process_has_52_fields_and_moves() -> None:
    kubelet = next(one for one in AUTO_RESTART.processes if one.comm == "kubelet")
    first, later = (processes.stat(kubelet, 2114, kubelet.threads, moment(AUTO_RESTART, after)) for after in (0, 5))
    assert len(first.split()) == 52
    assert 450 < int(later.split()[14]) - int(first.split()[14]) < 500


def test_tail_prints_headings_and_complains_about_what_it_cannot_open() -> None:
    files = Files({"/a": "1\n", "/b": lambda now: f"{now.uptime:g}\n", "/c": UNREADABLE})
    printed, complaints = files.tail(("/a", "/b", "/c", "/d"), moment(replace(AUTO_RESTART, uptime=7)))
    assert printed == "==> /a <==\n1\n\n==> /b <==\n7\n"
    assert complaints == (
        "tail: cannot open '/c' for reading: Permission denied\n"
        "tail: cannot open '/d' for reading: No such file or directory\n"
    )


def test_boot_id_changes_with_the_boot_and_the_node() -> None:
    boots = [replace(AUTO_RESTART, generation=number) for number in (0, 1)] + [QUIET_ZOMBIES]
    assert len({str(proc_files.files(state)["/proc/sys/kernel/random/boot_id"]) for state in boots}) == 3
