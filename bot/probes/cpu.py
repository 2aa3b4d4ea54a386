"""Where each core spends each second: mpstat, or /proc/stat where there is no mpstat."""

from __future__ import annotations

from datetime import timedelta

from bot.domain.command import Command, Completed, Looks, Outputs
from bot.domain.probe import Probe
from bot.domain.readings.cpu import CpuReading
from bot.probes.formats.mpstat_json import mpstat_json
from bot.probes.formats.mpstat_text import mpstat_text
from bot.probes.formats.proc_stat import proc_stat

_ENDED_BY_A_SIGNAL = (124, 130, 137, 143)  # by `timeout`, or by somebody on the node


def parse(outputs: Outputs) -> CpuReading:
    """Read whichever of the three shapes was printed.

    A node too busy to let mpstat finish in time is the node worth reading: the samples that came whole are kept.

    Unread when: there is no whole sample, or a figure is not what it should be.
    """
    run = outputs.get("mpstat")
    text = run.stdout if run is not None and _ended_early(run) else outputs.text("mpstat")
    if text.lstrip().startswith("{"):
        took = run.took.total_seconds() if run is not None and run.took is not None else None
        return CpuReading(mpstat_json(text, took), "mpstat json")
    if text.lstrip().startswith(("uptime ", "cpu")):
        return CpuReading(proc_stat(text), "/proc/stat")
    return CpuReading(mpstat_text(text), "mpstat text")


def _ended_early(run: Completed) -> bool:
    return run.exit_status in _ENDED_BY_A_SIGNAL and not run.cut and bool(run.stdout.strip())


# One look a second; the uptime beside each look tells how late it came.
_LOOKS = (
    'i=0; while read -r up _ </proc/uptime; echo "uptime $up"; grep -a "^cpu" /proc/stat; '
    '[ "$i" -lt "$1" ]; do i=$((i+1)); sleep 1; done'
)

PROBE = Probe(
    name="cpu",
    title="time of every core, second by second",
    commands=(
        Command(
            "mpstat",
            ("mpstat", "-P", "ALL", "-o", "JSON", "1", "{samples}"),
            alternatives=(
                ("mpstat", "-P", "ALL", "1", "{samples}"),  # sysstat before 11.5.1
                ("sh", "-c", _LOOKS, "sh", "{samples}"),
            ),
            looks=Looks.THROUGHOUT,
            lane="cpu",
            limit=timedelta(seconds=6),  # a starved node starts it late; ended before its end it has told nothing whole
            output_limit_bytes=4 * 1024 * 1024,  # 192 cores print 30 kB a second
        ),
    ),
    parse=parse,
)
