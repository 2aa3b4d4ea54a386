"""interrupts: network rows only, each with its queue and its cores."""

import pytest

from bot.domain.errors import CannotRead
from bot.probes.interrupts import InterruptsReading, parse, queue_of
from tests.readings.recorded import CAPTURES, recorded, twice

ENA = CAPTURES / "interrupts" / "synthetic--ena-queues-on-one-core.out"


def read(first: str, later: str | None = None) -> InterruptsReading:
    return parse(twice("interrupts", first, first if later is None else later))


def test_queues_that_share_one_core_are_seen() -> None:
    reading = parse(recorded(ENA))
    assert [line.queue for line in reading.queues_on(2)] == [0, 1, 2]
    assert reading.by_core == {0: 1, 2: 400_207}
    assert reading.busiest_core_share_percent > 99.9
    assert reading.irqbalance_runs is False


@pytest.mark.parametrize(
    ("name", "queue"),
    [
        ("eth0-Tx-Rx-31", 31),
        ("ens5-Tx-Rx-0", 0),
        ("ena-mgmnt@pci:0000:00:05.0", None),
        ("virtio2-input.3", 3),
        ("virtio2-output.0", 0),
        ("virtio4-input", None),  # the random number generator's
        ("mlx5_comp12@pci:0000:07:00.0", 12),
        ("mlx5_async0@pci:0000:07:00.0", None),
        ("enp1s0f0-TxRx-7", 7),
        ("i40e-eth2-TxRx-63", 63),
        ("eth0-rxtx-2", 2),
        ("eth0-rx-1", 1),
        ("eth0-q4-tx", 4),
        ("gve-ntfy-blk9@pci:0000:00:04.0", 9),
        ("enp0s25", None),
        ("eth0", None),
    ],
)
def test_the_queue_is_told_by_the_name(name: str, queue: int | None) -> None:
    assert queue_of(name) == queue


@pytest.mark.parametrize(
    ("before", "row", "network"),
    [
        ("", "31: 1 2 PCI-MSI 1-edge eth0-Tx-Rx-0", True),
        ("", "31: 1 2 PCI-MSI 1-edge nvme0q1", False),
        ("", "31: 1 2 PCI-MSI 1-edge virtio4-input", False),
        ("", "19: 0 126705 IO-APIC 19-fasteoi ens33", False),
        ("net ens33\n", "19: 0 126705 IO-APIC 19-fasteoi ens33", True),
        ("net ens33\n", "16: 0 126705 IO-APIC 16-fasteoi vmwgfx, ens33", True),
        ("net ens3\n", "19: 0 126705 IO-APIC 19-fasteoi ens33", False),
        ("net eth0\n", "80: 0 1 xen-dyn -event eth0-q0-tx", True),
        ("net eth0 31\n", "31: 1 2 PCI-MSI 1-edge gve-ntfy-blk0@pci:0000:00:04.0", True),
        ("net eth0 31\n", "32: 1 2 PCI-MSI 1-edge efa-comp0@pci:0000:00:04.0", False),
        ("net .*\n", "32: 1 2 PCI-MSI 1-edge nvme0q1", False),
    ],
)
def test_a_row_belongs_to_the_network_by_sysfs_or_by_name(before: str, row: str, network: bool) -> None:
    assert [line.irq for line in read(f"{before}CPU0 CPU1\n{row}\n").lines] == ([row[:2]] if network else [])


def test_cores_come_from_the_header_so_that_offline_ones_shift_nothing() -> None:
    reading = read(
        "CPU0 CPU3\n31: 1 2 PCI-MSI 1-edge eth0-Tx-Rx-0\n", "CPU0 CPU3\n31: 1 9 PCI-MSI 1-edge eth0-Tx-Rx-0\n"
    )
    assert reading.by_core == {3: 7}


def test_no_network_interrupt_at_all_is_an_answer() -> None:
    reading = read("CPU0\n1: 5 IO-APIC 1-edge i8042\n")
    assert (reading.lines, reading.busiest_core_share_percent, reading.irqbalance_runs) == ((), 0.0, None)


@pytest.mark.parametrize(
    ("text", "because"),
    [
        ("31: 1 2 PCI-MSI 1-edge eth0-Tx-Rx-0\n", "no header"),
        ("CPU0 CPU0\n", "no header"),
        ("CPU0CPU1\n", "no header"),
        ("CPU0 CPU99999\n", "no header"),
        ("CPU0 CPU1\n31: 1 PCI-MSI 1-edge eth0-Tx-Rx-0\n", "malformed"),
        ("CPU0 CPU1\n31: 1 -2 PCI-MSI 1-edge eth0-Tx-Rx-0\n", "malformed"),
        ("CPU0\n31: 1 a eth0\n31: 1 a eth0\n", "malformed"),
        ("CPU0\n31: 1 a eth0\ncores 31 0-\n", "list of cores is malformed"),
    ],
)
def test_what_cannot_be_right_is_refused_with_its_reason(text: str, because: str) -> None:
    with pytest.raises(CannotRead, match=because):
        read(text)
