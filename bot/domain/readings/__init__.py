"""The typed answers to the house's own probes: one file a probe, and this visible table of them."""

from __future__ import annotations

from bot.domain.readings.agents import AgentsReading
from bot.domain.readings.cgroups import CgroupsReading
from bot.domain.readings.conntrack import ConntrackReading
from bot.domain.readings.containers import ContainersReading
from bot.domain.readings.cpu import CpuReading
from bot.domain.readings.host import HostReading
from bot.domain.readings.interrupts import InterruptsReading
from bot.domain.readings.kernel_log import KernelLogReading
from bot.domain.readings.nic import NicReading
from bot.domain.readings.processes import ProcessesReading
from bot.domain.readings.reclaim import ReclaimReading
from bot.domain.readings.softirq import SoftirqReading
from bot.domain.readings.throttling import ThrottlingReading
from bot.domain.readings.units import UnitsReading

READINGS = {
    kind.probe: kind
    for kind in (
        AgentsReading,
        CgroupsReading,
        ConntrackReading,
        ContainersReading,
        CpuReading,
        HostReading,
        InterruptsReading,
        KernelLogReading,
        NicReading,
        ProcessesReading,
        ReclaimReading,
        SoftirqReading,
        ThrottlingReading,
        UnitsReading,
    )
}
