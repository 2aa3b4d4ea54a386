"""The report of an incident that was carried out: what the node said before its reboot is in it, and nothing secret."""

from __future__ import annotations

import html
from dataclasses import replace
from pathlib import Path

import pytest

from bot.demo.fleet_leaks import AUTO_RESTART
from bot.demo.machine.state import Line
from tests.nodes.acting_fleet import site

pytestmark = pytest.mark.slow
SECRET = "AKIA" + "Z7Q3" * 4
HOSTILE = "<script>alert('node')</script>"


@pytest.mark.long
async def test_kernel_log_counts_and_processes_of_the_lost_boot_are_in_the_report(tmp_path: Path) -> None:
    log = (*AUTO_RESTART.log, Line(AUTO_RESTART.uptime - 5, f"app: key {SECRET} {HOSTILE}"))
    async with site(tmp_path, {"cured": (replace(AUTO_RESTART, log=log), None)}) as here:
        incident = (await here.opened("cured"))["cured"]
        done = await here.remediate(incident)
        assert done.status == 0, done
        told = await here.told(incident)
        steps = [entry["body"] for entry in told["entries"] if entry["kind"] == "StepStarted"]
        assert [bool(step["kept"]) for step in steps] == [False, True], "only the step that reboots destroys anything"
        assert steps[1]["kept_says"].startswith("kernel log, memory cgroups, processes and memory, ")
        assert "; kept: kernel log" in done.out

        made = await here.zombie("report", incident)
        assert made.out == f"report-{incident}.html\n", made.err
        page = (here.folder / made.out.strip()).read_text()
        kept = html.unescape(page.split("<h2>Kept before the reboot</h2>")[1].split("</section>")[0])
        assert "napi handler hasn't been called for a long time but is scheduled" in kept
        assert "memory\t" in kept
        assert "(kubelet)" in kept
        assert "MemAvailable" in kept
        assert HOSTILE in kept
        assert HOSTILE not in page
        assert SECRET not in page
        for words in ("68,440", "alice", "it leaks", "sudo -n systemctl reboot", "Done, and proved after"):
            assert words in page, words
        document = (await here.zombie("report", incident, "--markdown")).out
        resets = [row for row in document.splitlines() if "| nic-reset |" in row]
        assert resets, "the kernel's lines stand on the clock of the record"
        assert all("kernel log of cured" in row and "| ± " in row for row in resets)
        assert "- **Worked**: reboot: done, and proved after" in document
        assert (await here.zombie("audit", "verify")).status == 0
