"""nic: counters by name across drivers and versions, where a name that is absent is not zero."""

import pytest

from bot.domain.errors import CannotRead
from bot.probes.nic import ALLOWANCE_COUNTERS, COUNTERS, END, MISSED_COUNTERS, Nic, NicReading, parse
from tests.readings.node_tools import AWKS, Way, every_awk, filtered
from tests.readings.recorded import CAPTURES, once, recorded, twice
from tests.unit.probes.ena_counters import GLOBAL_2_11, GLOBAL_IN_TREE, ethtool_s

RECORDED = CAPTURES / "nic"


def thinned(text: str, driver: str = "ena", awk: Way = AWKS[0]) -> str:
    """What the node sends of this."""
    return filtered(COUNTERS, text, awk, d=driver)


def look(counters: str, driver: str = "ena", name: str = "eth0", origin: str = "ethtool -S") -> str:
    return f"==> {name} <==\ndriver: {driver}\nversion: 2.11.0g\n-- {origin} --\n{counters}{END}\n"


def one(reading: NicReading) -> Nic:
    (nic,) = reading.nics
    return nic


def test_starvation_resets_rise_between_the_looks() -> None:
    reading = parse(recorded(RECORDED / "synthetic--ena-2.11-starved.out"))
    nic = one(reading)
    assert (nic.name, nic.driver, nic.version, nic.bus) == ("eth0", "ena", "2.11.0g", "0000:20:03.0")
    assert (nic.total("total_resets"), nic.rise("total_resets"), nic.rise("suspected_poll_starvation")) == (42, 1, 1)
    assert (nic.rise("missing_tx_cmpl"), nic.total("device_request_reset")) == (0, None)  # the latter since 2.12.0
    assert nic.lines["suspected_poll_starvation"] == "suspected_poll_starvation: 40"
    assert (reading.resets, reading.allowance_exceeded_rise, reading.seconds_between) == (42, 0, 4.7)


def test_queue_counters_restart_at_a_reset_and_never_fall() -> None:
    nic = one(parse(recorded(RECORDED / "synthetic--ena-2.11-starved.out")))
    assert (nic.counters["queue_5_tx_missed_tx"], nic.counters["missed_tx"], nic.rise("missed_tx")) == (129, 129, 0)
    assert (nic.counters["queue_stop"], nic.counters_later["queue_stop"], nic.rise("queue_stop")) == (11, 1, 0)


def test_driver_that_does_not_count_resets_cannot_tell_them() -> None:
    reading = parse(recorded(RECORDED / "synthetic--ena-in-tree-beside-no-ethtool.out"))
    ena, other = reading.nics
    assert (ena.version, ena.total("total_resets"), ena.total("suspected_poll_starvation")) == (
        "5.15.0-1051-aws",
        None,
        None,
    )
    assert (reading.resets, reading.allowance_exceeded_rise) == (None, 0)
    assert (other.driver, other.version, other.origin, other.total("rx_dropped")) == (
        "ixgbevf",
        "",
        "/sys/class/net",
        12,
    )
    assert other.total("tx_timeout") is None


def test_recorded_virtual_machine() -> None:
    reading = parse(recorded(RECORDED / "debian-12--virtio.out"))
    nic = one(reading)
    assert (nic.name, nic.driver, nic.version, nic.bus) == ("eth0", "virtio_net", "1.0.0", "0000:00:03.0")
    assert nic.total("tx_tx_timeouts") == 0
    assert (reading.ena, reading.resets, reading.allowance_exceeded_rise) == ((), None, None)


def test_no_interface_with_a_device_is_an_answer() -> None:
    assert parse(twice("look", END, END)).nics == ()


@every_awk
def test_ninety_six_queues_become_few_lines(awk: Way) -> None:
    values = {"queue_39_tx_missed_tx": 129, "queue_3_tx_missed_tx": 2, "queue_7_rx_page_alloc_fail": 5}
    whole = ethtool_s(GLOBAL_2_11, 96, values)
    kept = thinned(whole, awk=awk)
    assert whole.count("\n") > 2900
    assert kept.count("\n") < 60
    nic = one(parse(once("look", look(kept))))
    assert (nic.total("missed_tx"), nic.total("queue_39_tx_missed_tx"), nic.total("queue_1_tx_missed_tx")) == (
        131,
        129,
        None,
    )
    assert (nic.total("page_alloc_fail"), nic.total("empty_rx_ring")) == (5, 0)
    assert set(GLOBAL_2_11) < set(nic.counters)
    assert set(ALLOWANCE_COUNTERS) < set(nic.counters)


def test_order_does_not_matter() -> None:
    values = {"tx_timeout": 3, "queue_0_tx_missed_tx": 4}
    last, first = (thinned(ethtool_s(GLOBAL_IN_TREE, 8, values, admin_last=order)) for order in (True, False))
    assert one(parse(once("look", look(last)))).counters == one(parse(once("look", look(first)))).counters


def test_queues_of_xdp_are_queues_too() -> None:
    kept = thinned(ethtool_s(GLOBAL_IN_TREE, 4, {"queue_3_xdp_tx_missed_tx": 6}, tx="xdp_tx"))
    assert one(parse(once("look", look(kept)))).total("missed_tx") == 6


@every_awk
def test_of_other_drivers_what_tells_of_trouble_is_kept(awk: Way) -> None:
    text = "NIC statistics:\n    rx_packets: 5\n    rx_errors: 0\n    tx_timeout_count: 0\n    rx_queue_0_drops: 0\n"
    text += "    rx_queue_1_drops: 9\n    rxq1: rx_drops_no_frags: 5000\n    fw version: 1.2\n    rx_missed_errors: 3\n"
    nic = one(parse(once("look", look(thinned(text, "igb", awk), "igb"))))
    assert nic.counters == {
        "rx_errors": 0,
        "tx_timeout_count": 0,
        "rx_queue_1_drops": 9,
        "rxq1: rx_drops_no_frags": 5000,
        "rx_missed_errors": 3,
    }


@pytest.mark.parametrize("name", MISSED_COUNTERS)
def test_every_count_of_missed_frames_is_kept(name: str) -> None:
    first, second = (look(thinned(f"NIC statistics:\n     {name}: {count}\n", driver="zyx")) for count in (0, 9000))
    assert parse(twice("look", first, second)).missed_rise == 9000


def test_missing_second_look_leaves_no_rises() -> None:
    nic = one(parse(twice("look", look("total_resets: 4\n"), "cut")))
    assert (nic.total("total_resets"), nic.rise("total_resets")) == (4, None)


def test_counters_of_another_origin_are_not_compared() -> None:
    first, later = look("rx_dropped: 4\n"), look("rx_dropped: 9\n", origin="/sys/class/net")
    assert one(parse(twice("look", first, later))).rise("rx_dropped") is None


@pytest.mark.parametrize(
    "bad", ["total_resets: many\n", "total_resets: -4\n", "what\n", "x: 999999999999999999999999\n"]
)
def test_malformed_counter_is_unread(bad: str) -> None:
    with pytest.raises(CannotRead, match="malformed"):
        parse(once("look", look(bad)))


def test_look_without_its_end_is_unread() -> None:
    with pytest.raises(CannotRead, match="cut short"):
        parse(once("look", look("total_resets: 4\n").removesuffix(f"{END}\n")))


def test_firmware_of_the_card_is_read_beside_its_driver() -> None:
    said = "version: 5.0\nfirmware-version: 22.31.1014 (MT_01)\nexpansion-rom-version: \nbus-info: 0:1\n"
    kept = thinned(f"{said}     rx_missed_errors: 3\n")
    assert kept.startswith(said.replace("expansion-rom-version: \n", ""))
    (nic,) = parse(once("look", f"==> eth0 <==\ndriver: mlx5_core\n{kept}{END}\n")).nics
    assert (nic.version, nic.firmware, nic.bus) == ("5.0", "22.31.1014 (MT_01)", "0:1")
