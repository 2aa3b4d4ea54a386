"""Driver and counters of a simulated network interface, as ethtool prints them.

Defined in: ethtool(8); ENA's counters by driver version in amzn-drivers, kernel/linux/ena/ena_ethtool.c.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from bot.demo.machine.command import Answer
from bot.demo.machine.network import packets_a_queue
from bot.demo.machine.state import Moment, Nic, State

_ENA_GLOBAL = ("tx_timeout", "suspend", "resume", "wd_expired", "interface_up", "interface_down", "admin_q_pause")
_ENA_SINCE: tuple[tuple[tuple[int, ...], tuple[str, ...]], ...] = (
    (
        (2, 2, 10),
        (
            "bw_in_allowance_exceeded",
            "bw_out_allowance_exceeded",
            "pps_allowance_exceeded",
            "conntrack_allowance_exceeded",
            "linklocal_allowance_exceeded",
        ),
    ),
    ((2, 8, 1), ("conntrack_allowance_available",)),
    ((2, 8, 0), ("reset_fail",)),
    (
        (2, 10, 0),
        (
            "total_resets",
            "bad_tx_req_id",
            "bad_rx_req_id",
            "bad_rx_desc_num",
            "missing_intr",
            "suspected_poll_starvation",
            "missing_tx_cmpl",
            "rx_desc_malformed",
            "tx_desc_malformed",
            "invalid_state",
            "os_netdev_wd",
        ),
    ),
    ((2, 11, 0), ("missing_admin_interrupt", "admin_to")),
    ((2, 12, 0), ("device_request_reset",)),
    ((2, 13, 0), ("missing_first_intr",)),
    (
        (2, 8, 0),
        (
            "ena_srd_mode",
            "ena_srd_tx_pkts",
            "ena_srd_eligible_tx_pkts",
            "ena_srd_rx_pkts",
            "ena_srd_resource_utilization",
        ),
    ),
)
_TX = (
    "cnt",
    "bytes",
    "queue_stop",
    "queue_wakeup",
    "dma_mapping_err",
    "linearize",
    "linearize_failed",
    "napi_comp",
    "tx_poll",
    "doorbells",
    "prepare_ctx_err",
    "bad_req_id",
    "llq_buffer_copy",
    "missed_tx",
    "unmask_interrupt",
)
_RX = (
    "cnt",
    "bytes",
    "rx_copybreak_pkt",
    "csum_good",
    "refil_partial",
    "csum_bad",
    "page_alloc_fail",
    "skb_alloc_fail",
    "dma_mapping_err",
    "bad_desc_num",
    "bad_req_id",
    "empty_rx_ring",
    "csum_unchecked",
)
_VIRTIO = ("rx_queue_0_packets", "rx_queue_0_drops", "tx_queue_0_packets", "tx_queue_0_tx_timeouts")
_ADMIN = ("aborted_cmd", "submitted_cmd", "completed_cmd", "out_of_space", "no_completion")


def counters(nic: Nic, now: Moment) -> dict[str, int]:
    """Return an interface's counters in its driver's order."""
    if nic.driver != "ena":
        return {name: _value(nic, name, now) for name in _VIRTIO}
    # The in-tree driver shows the kernel's release as its version. Of the newer counters it has only the allowances.
    version = tuple(int(part) for part in nic.version.removesuffix("g").split(".")) if nic.version.endswith("g") else ()
    found = {name: _value(nic, name, now) for name in _ENA_GLOBAL}
    allowances = _ENA_SINCE[0][1]
    for since, names in _ENA_SINCE:
        if version >= since or names is allowances:
            found |= {name: _value(nic, name, now) for name in names}
    resets = len(nic.resets.times(now.uptime)) if nic.resets else 0
    found["interface_up"] += 1 + resets
    found["interface_down"] += resets
    for name in ("total_resets", "suspected_poll_starvation", "tx_timeout"):
        if name in found:
            found[name] += resets
    packets = int(packets_a_queue(nic) * now.uptime)
    grow = {"cnt": packets, "bytes": packets * 900, "napi_comp": packets // 3}
    for counter, name in _queue_counters(nic.queues):
        found[counter] = grow.get(name, 0)
    if nic.resets is not None and nic.resets.queue < nic.queues:
        found[f"queue_{nic.resets.queue}_tx_missed_tx"] = resets * 7
    commands = int(now.uptime / 60)
    found |= {f"ena_admin_q_{name}": commands if "_cmd" in name and name != "aborted_cmd" else 0 for name in _ADMIN}
    return found


@functools.lru_cache(maxsize=64)
def _queue_counters(queues: int) -> tuple[tuple[str, str], ...]:
    """The counters of all queues, in the driver's order, each with its name without the queue."""
    sides = (("tx", _TX), ("rx", _RX))
    return tuple((f"queue_{q}_{side}_{name}", name) for q in range(queues) for side, own in sides for name in own)


def _value(nic: Nic, name: str, now: Moment) -> int:
    return nic.counters.get(name, 0) + int(nic.rates.get(name, 0.0) * now.uptime)


_QUEUE_ERRORS = frozenset(
    {
        "queue_stop",
        "missed_tx",
        "dma_mapping_err",
        "linearize_failed",
        "prepare_ctx_err",
        "bad_req_id",
        "bad_desc_num",
        "page_alloc_fail",
        "skb_alloc_fail",
        "empty_rx_ring",
        "refil_partial",
    }
)


def look(nic: Nic, now: Moment) -> str:
    """Return an interface's driver, its device counters, and the sums of its queues' error counters."""
    text = (
        f"==> {nic.name} <==\ndriver: {nic.driver}\ndriver: {nic.driver}\nversion: {nic.version}\nbus-info: {nic.bus}\n"
    )
    text += "-- ethtool -S --\n"
    sums: dict[str, int] = {}
    for name, value in counters(nic, now).items():
        kind = _kind(name) if nic.driver == "ena" else name
        if kind == name:
            text += f"     {name}: {value}\n"
        elif kind in _QUEUE_ERRORS:
            sums[kind] = sums.get(kind, 0) + value
            text += f"     {name}: {value}\n" if value else ""
    return text + "".join(f"queue_*_{name}: {value}\n" for name, value in sums.items())


@functools.lru_cache(maxsize=4_096)
def _kind(counter: str) -> str:
    """The name of a counter without its queue; the same names come again with every look."""
    return re.sub(r"queue_\d+_[rt]x_", "", counter)


def ethtool(state: State, now: Moment, argv: Sequence[str]) -> Answer:
    """Answer `ethtool -i NIC` and `ethtool -S NIC`."""
    words = [word for word in argv[1:] if not word.startswith("-")]
    nic = next((nic for nic in state.nics if words and nic.name == words[0]), None)
    if nic is None:
        return Answer.error(
            "Cannot get driver information: No such device" if words else "ethtool: bad command line", 71
        )
    if "-i" in argv:
        return Answer.text(
            f"driver: {nic.driver}\nversion: {nic.version}\nfirmware-version: \nexpansion-rom-version: \n"
            f"bus-info: {nic.bus}\nsupports-statistics: yes\nsupports-test: no\nsupports-eeprom-access: no\n"
            "supports-register-dump: no\nsupports-priv-flags: no\n"
        )
    if "-S" in argv:
        return Answer.text("NIC statistics:\n" + "".join(f"     {k}: {v}\n" for k, v in counters(nic, now).items()))
    return Answer.error("ethtool: bad command line argument(s)", 1)
