"""softirq: rises by core, whatever the layout of softnet_stat."""

import pytest

from bot.domain.errors import CannotRead
from bot.probes.softirq import SoftirqReading, parse
from tests.readings.recorded import twice


def answer(net_rx: str, softnet: str, online: str = "0-1", header: str = "CPU0 CPU1") -> str:
    return (
        f"==> /proc/softirqs <==\n        {header}\n  TIMER: 7 7\n  NET_RX: {net_rx}\n\n"
        f"==> /proc/net/softnet_stat <==\n{softnet}\n\n==> /sys/devices/system/cpu/online <==\n{online}\n"
    )


def row(processed: int, dropped: int = 0, squeezed: int = 0, columns: int = 11, core: int = 0) -> str:
    words = [processed, dropped, squeezed] + [0] * (columns - 3)
    if columns > 12:
        words[12] = core
    return " ".join(f"{word:08x}" for word in words)


def read(first: str, later: str) -> SoftirqReading:
    return parse(twice("softirqs", first, later))


@pytest.mark.parametrize("columns", [9, 10, 11, 12, 13, 15])
def test_every_layout_tells_processed_dropped_and_squeezed_by_core(columns: int) -> None:
    first = answer("0 0", row(10, 1, 2, columns, 0) + "\n" + row(20, 0, 0, columns, 1))
    later = answer("5 0", row(15, 4, 3, columns, 0) + "\n" + row(20, 0, 0, columns, 1))
    reading = read(first, later)
    assert [(c.core, c.processed, c.dropped, c.time_squeeze) for c in reading.softnet] == [(0, 5, 3, 1), (1, 0, 0, 0)]
    assert (reading.dropped_rise, reading.time_squeeze_rise, reading.processed_rise) == (3, 1, 5)
    assert reading.rises["NET_RX"] == {0: 5}


def test_rows_skip_offline_cores_in_old_layouts() -> None:
    text = answer("0 0", row(1) + "\n" + row(2), online="0,3")
    assert [core.core for core in read(text, text).softnet] == [0, 3]


def test_rows_name_their_core_in_new_layouts() -> None:
    text = answer("0 0", row(1, columns=13, core=2) + "\n" + row(2, columns=13, core=7), online="0-7")
    assert [core.core for core in read(text, text).softnet] == [2, 7]


def test_counters_wrap_at_32_bits() -> None:
    first, later = answer("4294967290 0", row(0xFFFFFFFE)), answer("4 0", row(3))
    reading = read(first.replace("0-1", "0"), later.replace("0-1", "0"))
    assert reading.rises["NET_RX"] == {0: 10}
    assert reading.softnet[0].processed == 5


@pytest.mark.parametrize(
    ("first", "later", "because"),
    [
        (answer("9 0", row(1) + "\n" + row(2)), answer("8 0", row(1) + "\n" + row(2)), "NET_RX went back"),
        (answer("0 0", row(9) + "\n" + row(2)), answer("0 0", row(8) + "\n" + row(2)), "core 0 went back"),
        (answer("0 0", row(9)), answer("0 0", row(9)), "assigned to cores"),
        (answer("0 0", row(9), online=""), answer("0 0", row(9), online=""), "assigned to cores"),
        (answer("0 0", row(9), online="0-x"), answer("0 0", row(9)), "list of cores is malformed"),
        (answer("0 0", row(9, columns=8)), answer("0 0", row(9)), "malformed"),
        (answer("0 0", row(9) + "\n" + row(9, columns=13)), answer("0 0", row(9)), "malformed"),
        (answer("0 0", "0000000g " + row(1, columns=10)), answer("0 0", row(9)), "malformed"),
        (answer("0", row(9)), answer("0", row(9)), "malformed"),
        (answer("0 -1", row(9)), answer("0 0", row(9)), "malformed"),
        (answer("0 0", row(9), header="CPU0 CPU0"), answer("0 0", row(9)), "could not be read"),
        (answer("0 0", row(9)).replace("NET_RX", "NET_QX"), answer("0 0", row(9)), "no row NET_RX"),
        (answer("0 0", "").split("==> /proc/net")[0], answer("0 0", row(9)), "softnet_stat could not be read"),
    ],
)
def test_what_cannot_be_right_is_refused_with_its_reason(first: str, later: str, because: str) -> None:
    with pytest.raises(CannotRead, match=because):
        read(first, later)
