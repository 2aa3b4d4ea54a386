"""What `ethtool -S` prints for an ENA device: synthetic, from the name tables of the driver's versions.

Defined in: amzn/amzn-drivers, kernel/linux/ena/ena_ethtool.c; Linux, drivers/net/ethernet/amazon/ena/ena_ethtool.c.
"""

from collections.abc import Mapping

ALLOWANCES = (
    "bw_in_allowance_exceeded", "bw_out_allowance_exceeded", "pps_allowance_exceeded",
    "conntrack_allowance_exceeded", "linklocal_allowance_exceeded",
)  # fmt: skip
GLOBAL_2_11 = (
    "total_resets", "reset_fail", "tx_timeout", "wd_expired", "admin_q_pause", "bad_tx_req_id", "bad_rx_req_id",
    "bad_rx_desc_num", "missing_intr", "suspected_poll_starvation", "missing_tx_cmpl", "rx_desc_malformed",
    "tx_desc_malformed", "invalid_state", "os_netdev_wd", "missing_admin_interrupt", "admin_to", "suspend", "resume",
    "interface_down", "interface_up", *ALLOWANCES, "conntrack_allowance_available", "ena_srd_mode", "ena_srd_tx_pkts",
    "ena_srd_eligible_tx_pkts", "ena_srd_rx_pkts", "ena_srd_resource_utilization",
)  # fmt: skip
GLOBAL_IN_TREE = (
    "tx_timeout", "suspend", "resume", "wd_expired", "interface_up", "interface_down", "admin_q_pause", *ALLOWANCES,
)  # fmt: skip
TX_2_11 = (
    "cnt", "bytes", "queue_stop", "queue_wakeup", "dma_mapping_err", "linearize", "linearize_failed", "napi_comp",
    "tx_poll", "doorbells", "prepare_ctx_err", "bad_req_id", "llq_buffer_copy", "missed_tx", "unmask_interrupt",
)  # fmt: skip
RX_2_11 = (
    "cnt", "bytes", "rx_copybreak_pkt", "csum_good", "refil_partial", "csum_bad", "page_alloc_fail", "skb_alloc_fail",
    "dma_mapping_err", "bad_desc_num", "bad_req_id", "empty_rx_ring", "csum_unchecked", "lpc_warm_up", "lpc_full",
    "lpc_wrong_numa",
)  # fmt: skip
ADMIN = ("aborted_cmd", "submitted_cmd", "completed_cmd", "out_of_space", "no_completion")


def ethtool_s(
    names: tuple[str, ...], queues: int, values: Mapping[str, int], *, admin_last: bool = True, tx: str = "tx"
) -> str:
    """Return the whole output; what `values` does not name is busy where it counts traffic, else zero."""
    per_queue = [f"queue_{queue}_{tx}_{name}" for queue in range(queues) for name in TX_2_11]
    per_queue += [f"queue_{queue}_rx_{name}" for queue in range(queues) for name in RX_2_11]
    admin = [f"ena_admin_q_{name}" for name in ADMIN]
    every = [*names, *((*per_queue, *admin) if admin_last else (*admin, *per_queue))]
    busy = ("cnt", "bytes", "doorbells", "tx_poll", "napi_comp", "csum_good", "unmask_interrupt")
    lines = [f"     {name}: {values.get(name, 123456789 if name.endswith(busy) else 0)}" for name in every]
    return "\n".join(["NIC statistics:", *lines, ""])
