"""Simulated nodes say what real ones say: in the format of their kernel, systemd and driver, and one story."""

import asyncio
import json

import pytest

from bot.demo.fleet_leaks import AUTO_RESTART, HIDDEN, STOPPED
from bot.demo.fleet_other_faults import FAST_LEAK, QUIET_ZOMBIES
from bot.demo.machine import cpu, kernel_log, network, proc_files, systemd
from bot.demo.machine.answers import tool
from bot.demo.machine.command import Answer, Asked
from bot.demo.machine.state import Nic, State, Unit
from bot.probes import PROBES
from tests.known import known, known_as
from tests.unit.demo.machine.moments import moment

NOW = moment(AUTO_RESTART)


def printed(state: State, probe: str, name: str, after: float = 0.0, way: int = 0) -> str:
    """What a node prints for a command of a probe."""
    command = next(one for one in PROBES[probe].commands if one.name == name)
    argv = (command.argv, *command.alternatives)[way]
    answers = known(tool(argv))
    said = answers(Asked(argv, state, lambda: moment(state, after)))
    assert isinstance(said, str | Answer)
    return said if isinstance(said, str) else said.stdout.decode()


# --- cgroups, files


def test_founding_node_counts_68680_memory_cgroups_of_which_240_live() -> None:
    rows = [line.split("\t") for line in (proc_files.read("/proc/cgroups", AUTO_RESTART, NOW) or "").splitlines()]
    assert rows[0] == ["#subsys_name", "hierarchy", "num_cgroups", "enabled"]
    counts = {name: (int(hierarchy), int(count)) for name, hierarchy, count, _ in rows[1:]}
    assert counts["memory"][1] == 68_680
    assert counts["pids"][1] == counts["cpu"][1] == AUTO_RESTART.cgroups.alive == 240
    assert all(hierarchy for hierarchy, _ in counts.values())


def test_cgroup_v2_counts_the_dying_ones_at_its_root() -> None:
    assert "nr_dying_descendants 70012\n" in printed(QUIET_ZOMBIES, "cgroups", "look")
    assert "nr_dying_descendants" not in printed(AUTO_RESTART, "cgroups", "look")


def test_softnet_has_the_columns_of_its_kernel() -> None:
    path = "/proc/net/softnet_stat"
    old = (proc_files.read(path, AUTO_RESTART, NOW) or "").splitlines()
    new = (proc_files.read(path, QUIET_ZOMBIES, moment(QUIET_ZOMBIES)) or "").splitlines()
    newest = (proc_files.read(path, FAST_LEAK, moment(FAST_LEAK)) or "").splitlines()
    assert [{len(row.split()) for row in rows} for rows in (old, new, newest)] == [{11}, {13}, {15}]
    assert [int(row.split()[12], 16) for row in new] == list(range(16))


def test_tail_prints_headings_and_complains_about_what_it_cannot_open() -> None:
    text, complaints = proc_files.tail(
        ("/proc/uptime", "/d", "/proc/sys/kernel/printk", "/proc/uptime"), AUTO_RESTART, NOW
    )
    uptime = f"==> /proc/uptime <==\n{NOW.uptime:.2f} {NOW.uptime * 67.2:.2f}\n"
    assert text == f"{uptime}\n==> /proc/sys/kernel/printk <==\n4\t4\t1\t7\n\n{uptime}"
    assert complaints == "tail: cannot open '/d' for reading: No such file or directory\n"


# --- CPU


def sampled(state: State, seconds: int) -> list[dict[str, dict[str, float]]]:
    """mpstat's seconds, each core by its name."""

    async def run() -> str:
        asked = Asked(("mpstat", "-o", "JSON", "1", str(seconds)), state, lambda: moment(state))
        answer = cpu.mpstat(asked)
        assert not isinstance(answer, Answer)
        return await answer

    host = json.loads(asyncio.run(run()))["sysstat"]["hosts"][0]
    assert list(host) == ["nodename", "sysname", "release", "machine", "number-of-cpus", "date", "statistics"]
    assert [sample["timestamp"] for sample in host["statistics"]] == [f"10:00:0{at}" for at in range(1, seconds + 1)]
    return [{row["cpu"]: row for row in sample["cpu-load"]} for sample in host["statistics"]]


def test_core_39_is_held_in_the_kernel_while_the_machine_looks_idle() -> None:
    for rows in sampled(AUTO_RESTART, 2):
        assert [*rows] == ["all", *map(str, range(96))]
        keys = ["cpu", "usr", "nice", "sys", "iowait", "irq", "soft", "steal", "guest", "gnice", "idle"]
        assert all(list(row) == keys for row in rows.values())
        assert all(99 < sum(row[key] for key in keys[1:]) < 101 for row in rows.values())
        assert rows["39"]["sys"] > 50
        assert rows["all"]["sys"] < 3


def test_mpstat_that_is_missing_or_knows_no_json_refuses() -> None:
    asked = ((STOPPED, ("mpstat", "-o", "JSON", "1", "1"), 127), (AUTO_RESTART, ("mpstat", "1", "1"), 1))
    for state, argv, status in asked:
        refused = known_as(cpu.mpstat(Asked(argv, state, lambda: NOW)), Answer)
        assert (refused.status, refused.stdout) == (status, b"")


def test_stat_of_a_process_has_52_fields_and_moves() -> None:
    kubelet = next(one for one in AUTO_RESTART.processes if one.comm == "kubelet")
    first, later = (cpu.stat(kubelet, moment(AUTO_RESTART, after)) for after in (0, 5))
    assert len(first.split()) == 52
    assert 450 < int(later.split()[14]) - int(first.split()[14]) < 500


# --- the network card


def counted(version: str) -> set[str]:
    return set(network.counters(Nic(version=version, queues=1), NOW))


def test_counters_follow_the_drivers_version() -> None:
    founding = counted("2.11.0g")
    assert {"total_resets", "suspected_poll_starvation", "missing_admin_interrupt"} <= founding
    assert not {"device_request_reset", "missing_first_intr"} & founding
    assert {"device_request_reset", "missing_first_intr"} <= counted("2.13.2g")
    in_tree = counted("6.1.0-28-cloud-amd64")
    assert "bw_in_allowance_exceeded" in in_tree
    assert not {"total_resets", "suspected_poll_starvation"} & in_tree


def test_reset_counters_and_log_lines_agree() -> None:
    nic = AUTO_RESTART.nics[0]
    resets = len(nic.reset_times(NOW.uptime))
    counters = network.counters(nic, NOW)
    log = [text for _, _, text in kernel_log.entries(AUTO_RESTART, NOW)]
    assert (
        counters["total_resets"] == counters["suspected_poll_starvation"] == counters["interface_down"] == resets > 50
    )
    assert counters["interface_up"] == resets + 1
    assert sum("Device reset completed successfully" in text for text in log) == resets


def test_look_names_driver_version_and_bus() -> None:
    text = printed(AUTO_RESTART, "nic", "look")
    assert text.startswith("==> eth0 <==\ndriver: ena\ndriver: ena\nversion: 2.11.0g\nbus-info: 0000:20:03.0\n")


# --- containers


def containers(after: float) -> list[list[str]]:
    return [row.split("|") for row in printed(HIDDEN, "containers", "docker", after, way=1).splitlines()[:-1]]


def agents(after: float) -> list[list[str]]:
    return [row for row in containers(after) if row[2] == "ecs-agent"]


def test_agents_container_is_another_one_every_13_seconds() -> None:
    assert len({agents(after)[0][0] for after in (0.0, 13.2, 26.4)}) == 3
    assert all(len(agents(after)) == 1 for after in range(14))


def test_exits_of_ten_minutes_are_counted() -> None:
    *lines, _ = printed(HIDDEN, "containers", "exits", way=1).splitlines()
    assert set(lines) == {"amazon/amazon-ecs-agent:latest|1"}
    assert len(lines) in (45, 46)


def test_pods_stay_the_same_and_the_socket_is_roots() -> None:
    pods = [{row[0] for row in containers(after) if "k8s_" in row[2]} for after in (0.0, 60.0)]
    assert pods[0] == pods[1]
    assert len(pods[0]) == 10
    assert printed(HIDDEN, "containers", "docker", way=0) == ""


# --- systemd


def ecs(state: State) -> Unit:
    return known(state.unit("ecs.service"))


def told(state: State, after: float = 0.0) -> dict[str, str]:
    return systemd.properties(state, ecs(state), moment(state, after))


def test_stopped_unit_is_failed_with_exit_status_5_and_old_systemd_counts_no_restarts() -> None:
    one = told(STOPPED)
    shown = (one["ActiveState"], one["Result"], one["ExecMainCode"], one["ExecMainStatus"])
    assert shown == ("failed", "exit-code", "1", "5")
    assert "NRestarts" not in one


def test_journal_counts_as_the_unit_does() -> None:
    lines = systemd.restarts(AUTO_RESTART, NOW, NOW.uptime - 3600)
    assert len(lines) == pytest.approx(3600 / 11.2, abs=1)
    count = told(AUTO_RESTART)["NRestarts"]
    assert lines[-1][1] == f"ecs.service: Scheduled restart job, restart counter is at {count}."


def test_show_prints_systemds_order_and_an_empty_line_between_units() -> None:
    blocks = systemd.show(AUTO_RESTART, NOW, ["SubState", "Id", "NRestarts"], AUTO_RESTART.units).split("\n\n")
    assert len(blocks) == len(AUTO_RESTART.units)
    assert [line.partition("=")[0] for line in blocks[0].splitlines()] == ["NRestarts", "Id", "SubState"]
