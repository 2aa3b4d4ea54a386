"""clock: who keeps the time, found among processes that end meanwhile."""

from pathlib import Path

from bot.probes.clock import PROBE, parse
from tests.readings.node_tools import printed, tool
from tests.readings.recorded import once


def test_keeper_is_found_though_a_process_ends_while_it_is_looked_for(tmp_path: Path) -> None:
    (tmp_path / "comm").write_text("chronyd\n")
    (tmp_path / "current_clocksource").write_text("tsc\n")
    (tmp_path / "available_clocksource").write_text("tsc hpet\n")
    tool(tmp_path / "chronyc", "echo 'System time     : 179.990280117 seconds fast of NTP time'")
    script = PROBE.commands[0].argv[2]
    script = script.replace("/proc/[0-9]*/comm", f"{tmp_path}/gone {tmp_path}/comm {tmp_path}/gone-too")
    script = script.replace("/sys/devices/system/clocksource/clocksource0", str(tmp_path))
    reading = parse(once("look", printed(script, tools=tmp_path)))
    assert (reading.keeper, reading.offset_seconds) == ("chrony", 179.990280117)
