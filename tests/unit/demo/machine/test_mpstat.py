"""mpstat's JSON and tables have the shape of the real ones, and follow sysstat's version."""

import json
from dataclasses import replace

from bot.demo.fleet_leaks import AUTO_RESTART
from bot.demo.machine import mpstat
from bot.demo.machine.state import State
from tests.unit.demo.machine.moments import moment


def rendered(state: State, as_json: bool, seconds: int = 5) -> str:
    report = mpstat.Report(state, moment(state), as_json)
    for _ in range(seconds):
        report.add_second()
    return report.text()


def test_json_has_the_keys_and_types_of_sysstat_12() -> None:
    host = json.loads(rendered(AUTO_RESTART, True))["sysstat"]["hosts"][0]
    assert list(host) == ["nodename", "sysname", "release", "machine", "number-of-cpus", "date", "statistics"]
    assert [sample["timestamp"] for sample in host["statistics"]] == [f"10:00:0{second}" for second in range(1, 6)]
    rows = host["statistics"][0]["cpu-load"]
    assert [row["cpu"] for row in rows] == ["all", *map(str, range(96))]
    keys = ["cpu", "usr", "nice", "sys", "iowait", "irq", "soft", "steal", "guest", "gnice", "idle"]
    assert all(list(row) == keys for row in rows)
    assert all(99 < sum(row[key] for key in keys[1:]) < 101 for row in rows)


def test_one_row_a_core_stands_on_one_line_as_sysstat_prints_it() -> None:
    line = next(line for line in rendered(AUTO_RESTART, True).splitlines() if '"cpu": "39"' in line)
    assert line.startswith('\t\t\t\t\t\t{"cpu": "39", "usr": ')
    assert line.endswith("},")


def test_core_39_is_held_in_the_kernel_while_the_machine_looks_idle() -> None:
    for sample in json.loads(rendered(AUTO_RESTART, True))["sysstat"]["hosts"][0]["statistics"][:2]:
        rows = {row["cpu"]: row for row in sample["cpu-load"]}
        assert rows["39"]["sys"] > 50
        assert rows["all"]["sys"] < 3


def test_aggregate_was_named_minus_one_in_json_once() -> None:
    old = replace(AUTO_RESTART, system=replace(AUTO_RESTART.system, sysstat="11.6.1"))
    assert json.loads(rendered(old, True))["sysstat"]["hosts"][0]["statistics"][0]["cpu-load"][0]["cpu"] == "-1"


def test_table_has_a_header_a_sample_and_averages_at_the_end() -> None:
    lines = rendered(AUTO_RESTART, False, 2).splitlines()
    header = "     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle"
    assert lines[0] == "Linux 5.4.0-1084-aws (ray-gpu-1a-0417) \t11/21/26 \t_x86_64_\t(96 CPU)"
    assert [line for line in lines if "%usr" in line] == [f"{clock}{header}" for clock in ("10:00:00", "10:00:01")] + [
        f"Average:{header}"
    ]
    assert lines[3].startswith("10:00:01     all ")
    assert len(lines) == 1 + 3 * (2 + 97)


def test_missing_and_old_mpstat_refuse_as_the_real_ones_do() -> None:
    without = replace(AUTO_RESTART, system=replace(AUTO_RESTART.system, sysstat=""))
    old = replace(AUTO_RESTART, system=replace(AUTO_RESTART.system, sysstat="10.1.5"))
    missing, no_json = mpstat.error(without, False), mpstat.error(old, True)
    assert missing is not None
    assert no_json is not None
    assert (missing.status, no_json.status, no_json.stdout) == (127, 1, b"")
    assert mpstat.error(old, False) is None
