"""The named faults: a pure file for each cause, and this table of all causes."""

from __future__ import annotations

from bot.causes.bond_degraded import CAUSE as BOND_DEGRADED
from bot.causes.certificate_expiry import CAUSE as CERTIFICATE_EXPIRY
from bot.causes.cfs_throttling import CAUSE as CFS_THROTTLING
from bot.causes.clock_unsynced import CAUSE as CLOCK_UNSYNCED
from bot.causes.conntrack_full import CAUSE as CONNTRACK_FULL
from bot.causes.cpu_steal import CAUSE as CPU_STEAL
from bot.causes.crash_looping_unit import CAUSE as CRASH_LOOPING_UNIT
from bot.causes.disk_full import CAUSE as DISK_FULL
from bot.causes.dns_failing import CAUSE as DNS_FAILING
from bot.causes.ebs_throttled import CAUSE as EBS_THROTTLED
from bot.causes.essential_unit_stopped import CAUSE as ESSENTIAL_UNIT_STOPPED
from bot.causes.failed_units import CAUSE as FAILED_UNITS
from bot.causes.filesystem_read_only import CAUSE as FILESYSTEM_READ_ONLY
from bot.causes.gpu_fault import CAUSE as GPU_FAULT
from bot.causes.instance_allowance_exceeded import CAUSE as INSTANCE_ALLOWANCE_EXCEEDED
from bot.causes.io_stall import CAUSE as IO_STALL
from bot.causes.irq_affinity import CAUSE as IRQ_AFFINITY
from bot.causes.leaked_memory_cgroups import CAUSE as LEAKED_MEMORY_CGROUPS
from bot.causes.lockup import CAUSE as LOCKUP
from bot.causes.memory_errors import CAUSE as MEMORY_ERRORS
from bot.causes.memory_reclaim import CAUSE as MEMORY_RECLAIM
from bot.causes.neighbour_overflow import CAUSE as NEIGHBOUR_OVERFLOW
from bot.causes.nic_device_fault import CAUSE as NIC_DEVICE_FAULT
from bot.causes.oom_kills import CAUSE as OOM_KILLS
from bot.causes.page_allocation_failing import CAUSE as PAGE_ALLOCATION_FAILING
from bot.causes.pid_or_fd_exhaustion import CAUSE as PID_OR_FD_EXHAUSTION
from bot.causes.serial_console_printk import CAUSE as SERIAL_CONSOLE_PRINTK
from bot.causes.softirq_storm import CAUSE as SOFTIRQ_STORM
from bot.causes.tcp_memory_exhausted import CAUSE as TCP_MEMORY_EXHAUSTED
from bot.causes.thermal_throttling import CAUSE as THERMAL_THROTTLING
from bot.causes.too_many_live_cgroups import CAUSE as TOO_MANY_LIVE_CGROUPS
from bot.causes.unused_agent_enabled import CAUSE as UNUSED_AGENT_ENABLED

CAUSES = {
    cause.name: cause
    for cause in (
        LEAKED_MEMORY_CGROUPS,
        TOO_MANY_LIVE_CGROUPS,
        CRASH_LOOPING_UNIT,
        ESSENTIAL_UNIT_STOPPED,
        FILESYSTEM_READ_ONLY,
        DISK_FULL,
        OOM_KILLS,
        SERIAL_CONSOLE_PRINTK,
        PID_OR_FD_EXHAUSTION,
        NEIGHBOUR_OVERFLOW,
        CLOCK_UNSYNCED,
        UNUSED_AGENT_ENABLED,
        FAILED_UNITS,
        IRQ_AFFINITY,
        SOFTIRQ_STORM,
        INSTANCE_ALLOWANCE_EXCEEDED,
        CPU_STEAL,
        THERMAL_THROTTLING,
        CFS_THROTTLING,
        MEMORY_RECLAIM,
        PAGE_ALLOCATION_FAILING,
        CONNTRACK_FULL,
        TCP_MEMORY_EXHAUSTED,
        LOCKUP,
        BOND_DEGRADED,
        EBS_THROTTLED,
        IO_STALL,
        NIC_DEVICE_FAULT,
        MEMORY_ERRORS,
        DNS_FAILING,
        CERTIFICATE_EXPIRY,
        GPU_FAULT,
    )
}
