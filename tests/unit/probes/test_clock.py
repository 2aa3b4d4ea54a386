"""clock: who keeps the time, found among processes that end meanwhile."""

import os
import subprocess
from pathlib import Path

from bot.probes.clock import PROBE, parse
from tests.readings.recorded import once


def test_keeper_is_found_though_a_process_ends_while_it_is_looked_for(tmp_path: Path) -> None:
    (tmp_path / "comm").write_text("chronyd\n")
    (tmp_path / "current_clocksource").write_text("tsc\n")
    (tmp_path / "available_clocksource").write_text("tsc hpet\n")
    (tmp_path / "chronyc").write_text("#!/bin/sh\necho 'System time     : 179.990280117 seconds fast of NTP time'\n")
    (tmp_path / "chronyc").chmod(0o755)
    script = PROBE.commands[0].argv[2]
    script = script.replace("/proc/[0-9]*/comm", f"{tmp_path}/gone {tmp_path}/comm {tmp_path}/gone-too")
    script = script.replace("/sys/devices/system/clocksource/clocksource0", str(tmp_path))
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, timeout=60, check=True, env=path)
    reading = parse(once("look", done.stdout))
    assert (reading.keeper, reading.offset_seconds, done.stderr) == ("chrony", 179.990280117, "")
