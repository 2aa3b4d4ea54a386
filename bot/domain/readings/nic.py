"""Network interfaces, their drivers and their drivers' counters, looked at twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

# Counters that rise by one with each device reset, by what made the driver reset.
ENA_RESET_COUNTERS = (
    "suspected_poll_starvation", "os_netdev_wd", "missing_tx_cmpl", "tx_timeout", "wd_expired", "admin_q_pause",
    "admin_to", "missing_admin_interrupt", "missing_intr", "missing_first_intr", "bad_tx_req_id", "bad_rx_req_id",
    "bad_rx_desc_num", "rx_desc_malformed", "tx_desc_malformed", "invalid_state", "device_request_reset",
)  # fmt: skip
ALLOWANCE_COUNTERS = (
    "bw_in_allowance_exceeded", "bw_out_allowance_exceeded", "pps_allowance_exceeded",
    "conntrack_allowance_exceeded", "linklocal_allowance_exceeded",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Nic:
    """One interface. Counters are cumulative since the driver was loaded; a name that is absent is not zero.

    Shape: a counter of each queue stands under its own name (`queue_5_tx_missed_tx`) where it is not zero, and as the
    sum over the queues under its bare name (`missed_tx`). `origin` says which counters a name can be found among.
    """

    name: str
    driver: str
    version: str = ""
    bus: str = ""
    counters: Mapping[str, int] = field(default_factory=dict)
    counters_later: Mapping[str, int] = field(default_factory=dict)
    lines: Mapping[str, str] = field(default_factory=dict)  # counter -> its line, second look where there is one
    origin: str = "ethtool -S"  # or "/sys/class/net", which every driver has and which knows no resets

    @property
    def is_ena(self) -> bool:
        """True for Amazon's Elastic Network Adapter."""
        return self.driver == "ena"

    def total(self, counter: str) -> int | None:
        """The newest value, None when this driver has no such counter."""
        return self.counters_later.get(counter, self.counters.get(counter))

    def rise(self, counter: str) -> int | None:
        """How far it rose inside the window (never below zero: counters restart), None when it cannot be told."""
        if counter not in self.counters or counter not in self.counters_later:
            return None
        return max(0, self.counters_later[counter] - self.counters[counter])


@dataclass(frozen=True, slots=True)
class NicReading:
    """Every interface with a device behind it; none at all is an answer."""

    probe: ClassVar[str] = "nic"

    nics: tuple[Nic, ...]
    seconds_between: float | None = None

    @property
    def ena(self) -> tuple[Nic, ...]:
        """The ENA interfaces."""
        return tuple(nic for nic in self.nics if nic.is_ena)

    @property
    def resets(self) -> int | None:
        """Device resets since the driver was loaded, over all ENA interfaces; None where no driver counts them."""
        totals = [total for nic in self.ena if (total := nic.total("total_resets")) is not None]
        return sum(totals) if totals else None

    @property
    def resets_rise(self) -> int | None:
        """Device resets inside the window, over all ENA interfaces; None where no driver counts them."""
        rises = [rise for nic in self.ena if (rise := nic.rise("total_resets")) is not None]
        return sum(rises) if rises else None

    @property
    def allowance_exceeded_rise(self) -> int | None:
        """How far the instance's allowance counters rose in the window; None where there are none."""
        rises = [rise for nic in self.ena for name in ALLOWANCE_COUNTERS if (rise := nic.rise(name)) is not None]
        return sum(rises) if rises else None
