"""The named faults: those of Python and those of `playbooks/causes`, and this table of them all."""

from __future__ import annotations

from dataclasses import replace

from bot.causes.bond_degraded import CAUSE as BOND_DEGRADED
from bot.causes.crash_looping_unit import CAUSE as CRASH_LOOPING_UNIT
from bot.causes.declared import causes_in
from bot.causes.disk_full import CAUSE as DISK_FULL
from bot.causes.essential_unit_stopped import CAUSE as ESSENTIAL_UNIT_STOPPED
from bot.causes.failed_units import CAUSE as FAILED_UNITS
from bot.causes.filesystem_read_only import CAUSE as FILESYSTEM_READ_ONLY
from bot.causes.gpu_fault import CAUSE as GPU_FAULT
from bot.causes.io_stall import CAUSE as IO_STALL
from bot.causes.irq_affinity import CAUSE as IRQ_AFFINITY
from bot.causes.leaked_memory_cgroups import CAUSE as LEAKED_MEMORY_CGROUPS
from bot.causes.lockup import CAUSE as LOCKUP
from bot.causes.memory_errors import CAUSE as MEMORY_ERRORS
from bot.causes.nic_device_fault import CAUSE as NIC_DEVICE_FAULT
from bot.causes.oom_kills import CAUSE as OOM_KILLS
from bot.causes.queue_starved import CAUSE as QUEUE_STARVED
from bot.causes.serial_console_printk import CAUSE as SERIAL_CONSOLE_PRINTK
from bot.causes.softirq_storm import CAUSE as SOFTIRQ_STORM
from bot.causes.too_many_live_cgroups import CAUSE as TOO_MANY_LIVE_CGROUPS
from bot.causes.unused_agent_enabled import CAUSE as UNUSED_AGENT_ENABLED
from bot.domain.builtin_playbooks import builtin_playbooks

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
        UNUSED_AGENT_ENABLED,
        FAILED_UNITS,
        IRQ_AFFINITY,
        SOFTIRQ_STORM,
        QUEUE_STARVED,
        LOCKUP,
        BOND_DEGRADED,
        IO_STALL,
        NIC_DEVICE_FAULT,
        MEMORY_ERRORS,
        GPU_FAULT,
        *(replace(cause, definition="") for cause in causes_in(builtin_playbooks() / "causes")),
    )
}
