"""reclaim: counters as rises, memory in KiB, and pressure where there is some."""

import pytest

from bot.domain.errors import CannotRead
from bot.probes.reclaim import ReclaimReading, parse
from tests.readings.recorded import twice

MEMINFO = "MemTotal:  4000 kB\nMemAvailable:  300 kB\nActive(anon): 7 kB\n"
MEMINFO += "Percpu: 500 kB\nSUnreclaim: 700 kB\nHugePages_Total: 9\n"
PRESSURE = "some avg10=1.00 avg60=2.00 avg300=3.00 total=15\nfull avg10=4.00 avg60=5.00 avg300=6.00 total=25\n"


def answer(vmstat: str, meminfo: str = MEMINFO, pressure: str = "") -> str:
    text = f"==> /proc/vmstat <==\n{vmstat}\n\n==> /proc/meminfo <==\n{meminfo}"
    return text + (f"\n==> /proc/pressure/memory <==\n{pressure}" if pressure else "")


def read(first: str, later: str | None = None) -> ReclaimReading:
    return parse(twice("memory", first, first if later is None else later, 4.7))


def test_rises_add_up_over_zones_and_absent_counters_are_none() -> None:
    first = answer("allocstall_normal 5\nallocstall_movable 10\npgscan_direct 100")
    later = answer("allocstall_normal 7\nallocstall_movable 11\npgscan_direct 4100")
    reading = read(first, later)
    assert (reading.allocstall_rise, reading.pgscan_direct_rise, reading.pgscan_kswapd_rise) == (3, 4000, None)
    assert (reading.lines["pgscan_direct"], reading.seconds_between) == ("pgscan_direct 4100", 4.7)


def test_what_the_kernel_holds_is_told_in_kib_and_huge_pages_are_not_kib() -> None:
    reading = read(answer("a 1"))
    assert (reading.kernel_held_kib, reading.kernel_held_percent, reading.mem_available_percent) == (1200, 30.0, 7.5)
    assert "HugePages_Total" not in reading.meminfo_kib
    assert read(answer("a 1", MEMINFO.replace(" 300 ", " 4001 "))).mem_available_percent is None  # more than there is


def test_without_pressure_files_it_is_still_a_reading() -> None:
    reading = read(answer("a 1"))
    assert (reading.pressure, reading.memory_full_avg10, reading.io_full_avg10) == ({}, None, None)


def test_pressure_is_the_second_looks() -> None:
    reading = read(answer("a 1", pressure=PRESSURE.replace("4.00", "9.00")), answer("a 1", pressure=PRESSURE))
    assert reading.memory_full_avg10 == 4.0
    assert reading.pressure["memory some"].total_usec == 15


@pytest.mark.parametrize(
    ("text", "because"),
    [
        (answer("thp_split abcd"), "vmstat is malformed"),
        (answer("a -1"), "vmstat is malformed"),
        (answer("a"), "vmstat is malformed"),
        (answer("a 1").replace("vmstat", "other"), "vmstat could not be read"),
        (answer("a 1", meminfo="MemFree: 7 kB\n"), "no MemTotal"),
        (answer("a 1", meminfo="MemTotal: lots kB\n"), "meminfo is malformed"),
        (answer("a 1", pressure="some avg10=101.00 avg60=0.00 avg300=0.00 total=1\n"), "pressure/ is malformed"),
        (answer("a 1", pressure="some avg10=nan avg60=0.00 avg300=0.00 total=1\n"), "pressure/ is malformed"),
    ],
)
def test_what_cannot_be_right_is_refused_with_its_reason(text: str, because: str) -> None:
    with pytest.raises(CannotRead, match=because):
        read(text)


def test_kernels_before_4_8_count_by_zone() -> None:
    first = answer("pgscan_direct_dma32 5\npgscan_direct_normal 10\npgscan_direct_throttle 0\npgscan_kswapd_normal 1")
    later = answer("pgscan_direct_dma32 7\npgscan_direct_normal 30\npgscan_direct_throttle 9\npgscan_kswapd_normal 4")
    reading = read(first, later)
    assert (reading.pgscan_direct_rise, reading.pgscan_kswapd_rise) == (22, 3)
