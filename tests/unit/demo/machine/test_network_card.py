"""ENA's counters and log lines are those of the driver's version, and agree with each other."""

from bot.demo.fleet_leaks import AUTO_RESTART
from bot.demo.machine import kernel_log, nic_counters
from bot.demo.machine.state import Nic, Resets
from tests.unit.demo.machine.moments import moment

NOW = moment(AUTO_RESTART)


def names(version: str) -> set[str]:
    return set(nic_counters.counters(Nic(version=version, queues=1), NOW))


def test_counters_follow_the_drivers_version() -> None:
    founding = names("2.11.0g")
    assert {"total_resets", "suspected_poll_starvation", "missing_admin_interrupt", "queue_0_tx_tx_poll"} <= founding
    assert not {"device_request_reset", "missing_first_intr"} & founding
    assert {"device_request_reset", "missing_first_intr"} <= names("2.13.2g")
    in_tree = names("6.1.0-28-cloud-amd64")
    assert "bw_in_allowance_exceeded" in in_tree
    assert not {"total_resets", "suspected_poll_starvation"} & in_tree


def test_reset_counters_and_log_lines_agree() -> None:
    nic = AUTO_RESTART.nics[0]
    assert nic.resets is not None
    resets = len(nic.resets.times(NOW.uptime))
    counters = nic_counters.counters(nic, NOW)
    log = [text for _, _, text in kernel_log.entries(AUTO_RESTART, NOW)]
    assert (
        counters["total_resets"] == counters["suspected_poll_starvation"] == counters["interface_down"] == resets > 50
    )
    assert counters["interface_up"] == resets + 1
    assert sum("Device reset completed successfully" in text for text in log) == resets


def test_log_lines_are_the_drivers_own_wording() -> None:
    text = kernel_log.dmesg(AUTO_RESTART, NOW)
    assert (
        "ena 0000:20:03.0 eth0: TX q 5 is paused for too long (threshold 5000000). "
        "Time since last napi 6596000 usec. napi scheduled: 1\n"
    ) in text
    assert "ena 0000:20:03.0 eth0: napi handler hasn't been called for a long time but is scheduled\n" in text
    assert (
        "ena 0000:20:03.0: Device reset completed successfully, Driver info: Elastic Network Adapter (ENA) v2.11.0g\n"
    ) in text


def test_lines_are_in_order_of_time_and_never_from_the_future() -> None:
    times = [at for at, _, _ in kernel_log.entries(AUTO_RESTART, NOW)]
    assert times == sorted(times)
    assert times[-1] <= NOW.uptime


def test_resets_begin_and_end_when_they_should() -> None:
    resets = Resets(queue=1, first=100.0, every=50.0, last=210.0)
    assert [resets.times(uptime) for uptime in (99.0, 100.0, 1000.0)] == [(), (100.0,), (100.0, 150.0, 200.0)]


def test_ethtool_names_driver_version_and_bus() -> None:
    answer = nic_counters.ethtool(AUTO_RESTART, NOW, ["ethtool", "-i", "eth0"]).stdout.decode()
    assert answer.startswith("driver: ena\nversion: 2.11.0g\n")
    assert "bus-info: 0000:20:03.0\n" in answer
    assert nic_counters.ethtool(AUTO_RESTART, NOW, ["ethtool", "-S", "eth7"]).status == 71
