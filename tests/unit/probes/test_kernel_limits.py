"""The kernel's limits: what is cut short leaves a count out, and never breaks the reading."""

from bot.probes.kernel_limits import PROBE, KernelLimitsReading
from tests.known import known_as
from tests.readings.recorded import once

THREADS = (
    "==> /proc/loadavg <==\n0.10 0.20 0.30 2/901 4711\n\n==> /proc/sys/kernel/pid_max <==\n32768\n\n"
    "==> /proc/sys/kernel/threads-max <==\n192730\n\n"
)


def test_table_that_is_cut_right_after_its_heading_is_not_counted() -> None:
    reading = known_as(PROBE.read(once("limits", f"{THREADS}==> /proc/net/stat/arp_cache <==\n")), KernelLimitsReading)
    assert reading.table_fulls is None
    assert (reading.limits[0].used, reading.limits[0].maximum) == (901, 32768)
