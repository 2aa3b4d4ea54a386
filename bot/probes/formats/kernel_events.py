"""Kernel log lines about lockups, stalls, memory, disks, full tables and kernel bugs, in each version's wording.

Defined in: Linux, kernel/watchdog.c, kernel/rcu/tree_stall.h, kernel/hung_task.c, mm/oom_kill.c,
net/sched/sch_generic.c, net/netfilter/nf_conntrack_core.c, block/blk-core.c, drivers/nvme/host/pci.c,
kernel/time/clocksource.c, drivers/edac/edac_mc.c, drivers/firmware/efi/cper.c, mm/memory-failure.c,
net/core/dev.c, drivers/infiniband/hw/efa/efa_com.c, drivers/net/bonding/bond_main.c,
arch/x86/kernel/cpu/mce/therm_throt.c, net/ipv4/tcp.c, mm/page_alloc.c,
fs/nfs and net/sunrpc/clnt.c, and others.
"""

from __future__ import annotations

import re

from bot.probes.formats.device_events import DEVICE_WORDINGS
from bot.probes.formats.kernel_line import KernelEvent, KernelLine
from bot.probes.formats.kernel_line import KernelEventKind as Kind

_CPU = r"(?P<core>[0-9]{1,5})"
_WHO = r"(?P<process>.{1,40}?)"
_QUEUE = r"transmit queue (?P<queue>[0-9]{1,4}) timed out"
# Not failing disks: a drive without a medium, a file behind a loop device, and a refused discard.
_DISK = r"(?P<device>(?!fd[0-9]|sr[0-9]|loop[0-9])[A-Za-z0-9_!/-]{1,40})"
_SECTOR = r"sector(?!.*:\(DISCARD\))"
_HARDWARE = r"(?P<device>\{[0-9]{1,10}\})?\[Hardware Error\]: +"
_HEAT = rf"(?:mce: )?CPU{_CPU}: (?P<device>Core|Package)"
_IN = r"(?P<device>[^\s:)]{1,40})"
_NVME_SAYS = (
    "I/O (?:tag )?[0-9]+ .*timeout(?!, completion polled)|controller is down|Device not ready|"
    "Removing after probe failure|Disabling device after reset failure|Abort status"
)
_REFUSED = (  # block/blk-core.c, blk_errors: by the medium, a lost path, or a device that is gone
    "critical (?:medium|target|nexus|space allocation)|recoverable transport|timeout|protection|device offline"
)
_SCSI_SAYS = (
    "rejecting I/O to offline device|attempting task abort!|task abort on host|timing out command, waited|"
    "uas_eh_abort_handler"
)
_EFA_SAYS = (
    "The device didn't send any completion for admin cmd|The device sent a completion but the driver didn't receive|"
    r"Wait for completion \(polling\) timeout|Admin queue is closed|Device isn't ready|"
    "Reset indication didn't turn (?:on|off)"
)

# Intel's, NVIDIA's and Broadcom's drivers: the driver, the bus, and the interface once it has a name.
_CARD = r"[a-z][a-z0-9_]{1,15} [0-9a-f:.]{7,12}(?: (?P<device>[^\s:]{1,15}))?"
# Patterns match at the start of a line: a line that only mentions such words is not an event.
_JOURNAL = r"(?P<device>\S{1,40}?)"  # the device and, after a hyphen, the journal's inode

_AT = r"(?:RIP: [0-9a-f]+:|pc : )(?:\[<[0-9a-fx]+>\]\s{0,2})*"  # where a core is, as a trace tells
_WORDINGS: dict[Kind, tuple[str, ...]] = {
    Kind.SOFT_LOCKUP: (
        rf"(?:NMI )?(?:watchdog: )?BUG: soft lockup - CPU#{_CPU} stuck for [0-9]+s!(?: \[{_WHO}:[0-9]+\])?",
    ),
    Kind.HARD_LOCKUP: (
        rf"(?:NMI )?(?:watchdog: )?(?:CPU[0-9]+: )?Watchdog detected hard LOCKUP on cpu ?{_CPU}",
        rf"Kernel panic - not syncing: Watchdog detected hard LOCKUP on cpu ?{_CPU}",
        rf"watchdog: CPU [0-9]+ detected hard LOCKUP on other CPUs {_CPU}",
    ),
    Kind.RCU_STALL: (
        rf"(?:rcu: )?INFO: rcu_\w+ self-detected stall on CPU(?: ?\{{ ?{_CPU})?",
        rf"(?:rcu: )?INFO: rcu_\w+ detected (?:expedited )?stalls on CPUs/tasks:(?: ?\{{ ?{_CPU})?",
    ),
    Kind.HUNG_TASK: (rf"INFO: task {_WHO}:[0-9]+ blocked(?: in I/O wait)? for more than [0-9]+ seconds",),
    Kind.OOM_KILL: (rf"(?:Memory cgroup out|Out) of memory[^:]{{0,80}}: Kill(?:ed)? process [0-9]+ \({_WHO}\)",),
    Kind.OOM_LIMIT: (
        r"oom-kill:constraint=CONSTRAINT_MEMCG,.{0,400}\boom_memcg=(?P<device>[^,\s]{1,400})",
        r"oom-kill:constraint=(?P<device>CONSTRAINT_(?:MEMORY_POLICY|CPUSET)),",
        r"Task in \S{1,400} killed as a result of limit of (?P<device>\S{1,400})",
    ),
    Kind.CONNTRACK_FULL: (r"(?:(?:nf|ip)_conntrack: )+table full, dropping packet",),
    Kind.CONNTRACK_FULL_ELSEWHERE: (
        r"(?:nf_conntrack: )+table full in netns (?P<device>[0-9]{1,12}), dropping packet",
    ),
    Kind.NIC_DEVICE_ERROR: (
        rf"{_CARD}: Detected (?:Tx|Hardware) Unit Hang",
        rf"{_CARD}: .{{0,40}}device's health compromised",
    ),
    Kind.NIC_RESET_FAILED: (rf"{_CARD}: PF reset failed, ",),
    Kind.NIC_RESET: (rf"{_CARD}: Reset adapter",),
    Kind.NIC_STALLED: (rf"{_CARD}: (?:TX timeout detected, starting reset task|tx hang$)",),
    Kind.NETDEV_WATCHDOG: (
        rf"NETDEV WATCHDOG: (?P<device>[^\s(]{{1,15}}) \([^)]*\): {_QUEUE}",
        rf"(?:\S+ \S+ )?(?P<device>[^\s:]{{1,15}}): NETDEV WATCHDOG: (?:CPU: {_CPU}: )?{_QUEUE}",
    ),
    Kind.HEAT_ON: (rf"{_HEAT} temperature (?:is )?above threshold, cpu clock (?:is )?throttled",),
    Kind.HEAT_OFF: (rf"{_HEAT} temperature/speed normal",),
    Kind.TCP_MEMORY: (r"(?:TCP: )?out of memory -- consider tuning tcp_mem",),
    Kind.TCP_ORPHANS: (r"(?:TCP: )?too many (?:of )?orphaned sockets",),
    Kind.NO_PAGES: (rf"{_WHO}: page allocation failure[:.] ?order:[0-9]",),
    Kind.LINK_LOST: (
        r"(?:bonding: )?[^\s:]{1,40}: \(slave (?P<device>[^\s)]{1,40})\): link status definitely down",
        r"(?:bonding: )?[^\s:]{1,40}: link status definitely down for interface (?P<device>[^\s,]{1,40})",
    ),
    Kind.LINK_BACK: (
        r"(?:bonding: )?[^\s:]{1,40}: \(slave (?P<device>[^\s)]{1,40})\): link status definitely up",
        r"(?:bonding: )?[^\s:]{1,40}: link status definitely up for interface (?P<device>[^\s,]{1,40})",
    ),
    Kind.DISK_ERROR: (
        rf"(?:blk_update_request: |end_request: |print_req_error: )*I/O error, dev {_DISK}, {_SECTOR}",
        rf"(?:\w+: )?(?:{_REFUSED}) error, dev {_DISK}, {_SECTOR}",
        rf"Buffer I/O error on dev(?:ice)? {_DISK},",
        rf"nvme (?P<device>nvme[0-9]+): (?:{_NVME_SAYS})",
        rf"(?:EXT4-fs error|BTRFS error|BTRFS critical) \(device {_IN}",
        rf"BTRFS: error \(device (?!loop[0-9]){_IN}[^)]*\) in .*errno=-5 ",
        rf"BTRFS info \(device (?!loop[0-9]){_IN}[^)]*\): forced readonly",
        rf"EXT4-fs \({_IN}\): (?:Remounting filesystem read-only|.*I/O error)",
        rf"Aborting journal on device {_JOURNAL}\.?(?:\s|$)",
        rf"JBD2: (?:Detected IO errors|I/O error|Error -?[0-9]+)(?:.{{0,80}} (?:on|for) {_JOURNAL}\.?(?:\s|$))?",
        rf"XFS \({_IN}\): .*(?:I/O [Ee]rror|[Cc]orruption|[Ss]hut ?down|[Ss]hutting down)",
        rf"(?:sd|scsi) [0-9:]+:(?: \[(?P<device>\w{{1,20}})\])?(?: tag#[0-9]+)? (?:{_SCSI_SAYS})",
        r"(?P<device>rport-[0-9:-]{3,20}): blocked FC remote port time out",
        r"(?P<device>connection[0-9]{1,6}:[0-9]{1,3}): (?:detected conn error|ping timeout)",
        r"device-mapper: thin: (?P<device>[0-9:]{3,12}): switching pool to (?:out-of-data-space|read-only|fail)",
        r"(?P<device>ata[0-9]{1,4}\.[0-9]{1,3}): failed command: (?:READ|WRITE|FLUSH)",
        rf"md/raid[0-9]{{0,2}}:\S{{1,40}}: Disk failure on {_DISK}, disabling device",
        r"WARNING: Pool '(?P<device>[^']{1,40})' has encountered an uncorrectable I/O failure and has been suspended",
    ),
    Kind.UNCHECKED: (rf"EXT4-fs \({_IN}\): error count since last fsck: [1-9]",),
    Kind.MOUNTED: (
        rf"EXT4-fs \({_IN}\): mounted filesystem .{{0,80}}with (?:ordered|writeback|journalled) data mode",
        rf"XFS \({_IN}\): Mounting V[45] [Ff]ilesystem",
        rf"BTRFS info \(device {_IN}[^)]*\): first mount of filesystem",
    ),
    Kind.NFS_SILENT: (
        r"(?:nfs|lockd): server (?P<device>\S{1,80}) not responding",
        r"Lustre(?:Error: [0-9a-fx-]{1,20})?: (?P<device>\S{1,80}): Connection to .{1,160} was lost; in progress",
        r"ceph: (?:\[[^\]]{1,80}\]: )?(?P<device>mds[0-9]{1,4}) hung",
        r"CIFS:? VFS: (?:Server )?(?P<device>\S{1,80}) has not responded in [0-9]+ seconds",
    ),
    Kind.NFS_ANSWERS: (
        r"(?:nfs|lockd): server (?P<device>\S{1,80}) OK",
        r"Lustre: (?P<device>\S{1,80}): Connection restored to ",
        r"ceph: (?:\[[^\]]{1,80}\]: )?(?P<device>mds[0-9]{1,4}) came back",
    ),
    Kind.MEMORY_ERROR: (
        r"EDAC (?P<device>MC[0-9]{1,4}): [0-9]+ UE ",
        r"mce: Uncorrected hardware memory error in user-access",
        # drivers/edac/mce_amd.c: UECC, an error of ECC that could not be corrected.
        r"(?:mce: )?\[Hardware Error\]: CPU:[0-9]+ \([^)]{1,20}\) MC(?P<device>[0-9]{1,3})_STATUS\[[^\]]{0,80}\|UECC\|",
        r"(?:Memory failure:|MCE) 0x[0-9a-f]+: (?:recovery action for|.{1,60} page recovery:)",
    ),
    Kind.HARDWARE_ERROR: (
        r"EDAC (?P<device>MC[0-9]{1,4}): [0-9]+ CE ",
        rf"(?:mce: )?{_HARDWARE}(?:event severity: |section_type: )",
        rf"(?:mce: )?{_HARDWARE}(?:CPU [0-9]+: Machine Check|Machine check events logged)",
    ),
    # The place of the core itself, and not of who called: drivers/tty/serial/8250, amba-pl011.c, kernel/printk.
    Kind.STACK_CONSOLE: (
        rf"{_AT}(?:(?:io|mem)_serial_(?:in|out)|serial8250_|wait_for_(?:xmitr|lsr)|pl011_console_)\w*\+0x",
        rf"{_AT}console_(?:unlock|flush_all|emit_next_record)\+0x",
    ),
    Kind.KERNEL_BUG: (
        r"BUG: (?:unable to handle|kernel NULL pointer|Bad page|scheduling while atomic|KFENCE|KASAN|stack guard)",
        r"kernel BUG at ",
        r"(?:Internal error: )?Oops(?: - [^:]{1,40})?: ",
        r"Internal error: .{1,80} \[#[0-9]+\]",
        # arch/x86/kernel/traps.c and arch/s390/kernel/dumpstack.c: what it was, its code, and how many before it.
        r"[a-z][a-z ]{4,40}: [0-9a-f]{4} (?:ilc:[0-9] )?\[#[0-9]+\]",
        r"list_(?:add|del) corruption",
        r"Unable to handle kernel ",
        r"general protection fault[,:] .*\[#[0-9]+\]",
    ),
    Kind.WORKQUEUE_STALL: (r"BUG: workqueue lockup - pool cpus=(?P<core>[0-9]{1,5})\b.* stuck for [0-9]+s",),
    # With a count of 0 the wait is over, and only the kernel's check was late.
    Kind.NETDEV_HELD: (rf"unregister_netdevice: waiting for {_IN} to become free\. Usage count = (?!0\b)",),
    Kind.EFA_SILENT: (
        rf"infiniband (?P<device>efa_[0-9]{{1,4}}|rdmap\w{{1,20}}): (?:{_EFA_SAYS})",
        rf"efa (?P<device>[0-9a-f:.]{{4,20}}): (?:{_EFA_SAYS})",
    ),
    Kind.CGROUP_EXHAUSTED: (
        r"cgroup: fork rejected by pids controller in",
        r"cgroup: .*(?:[Nn]o space left on device|ENOSPC|error -28\b)",
    ),
    Kind.NEIGHBOURS_FULL: (
        r"(?:neighbour: )?(?P<device>arp_cache|ndisc_cache): neighbou?r table overflow",
        r"(?:IPv[46]: )?Neighbour table overflow",
    ),
    Kind.FILES_EXHAUSTED: (r"VFS: file-max limit [0-9]+ reached",),
    Kind.CLOCKSOURCE: (
        r"(?:clocksource: )?(?:timekeeping watchdog[^:]*: )?Marking clocksource '?(?P<device>\w{1,20})'? as unstable",
        r"Clocksource (?P<device>\w{1,20}) unstable",
        r"tsc: Marking TSC unstable due to",
    ),
    Kind.GPU_ERROR: (
        r"NVRM: Xid \((?:PCI:)?(?P<device>[0-9A-Fa-f:.]{4,20})[^)]*\): [0-9]+",
        r"NVRM: GPU (?:at )?(?:PCI:)?(?P<device>[0-9A-Fa-f:.]{4,20})\S*(?: GPU)? has fallen off the bus",
        r"NVRM: nvGpuOpsReportFatalError: uvm encountered global fatal error",
        r"NVRM: The NVIDIA GPU (?P<device>[0-9A-Fa-f:.]{4,20})\b.{0,160}fallen off the bus",
        r"nvidia-nvswitch[0-9]+: SXid \((?:PCI:)?(?P<device>[0-9A-Fa-f:.]{4,20})[^)]*\): [0-9]+",
    ),
}
_PATTERNS = tuple(
    (kind, re.compile(pattern))
    for wordings in (_WORDINGS, DEVICE_WORDINGS)  # the widest of the devices' come last
    for kind, patterns in wordings.items()
    for pattern in patterns
)

_STALLED_CORE = re.compile(rf"(?:rcu: )?\s*{_CPU}-[^\s:]{{0,12}}: \(")
_ON_CORE = re.compile(rf"CPU: {_CPU} (?:UID: [0-9]+ )?PID: [0-9]+ Comm: {_WHO} (?:Kdump: .*)?(?:Tainted|Not tainted)")

# A stack frame that walks memory cgroups' statistics. A flush of rstat does not count: any busy kernel does that. `? `
# marks leftovers on the stack, which are skipped.
_FRAME = re.compile(
    r"\s*(?:RIP: [0-9a-f]+:|pc : |lr : )?(?:\[<[0-9a-fx]+>\] ?)*(?P<function>mem_cgroup_(?:node_)?nr_lru_pages|"
    r"memcg_numa_stat_show|memcg_stat_show|memory_numa_stat_show|memory_stat_show|mem_cgroup_iter|"
    r"shrink_(?:node|lruvec|zone|slab)\w*)(?:\.[a-z0-9.]{1,40})?\+0x"
)


def kernel_event(line: KernelLine) -> KernelEvent | None:
    """Return a line's event, None for a line without an event that we know."""
    for kind, pattern in _PATTERNS:
        found = pattern.match(line.says)
        if found is not None:
            said = found.groupdict()
            return KernelEvent(
                kind=kind,
                text=line.raw,
                since_boot=line.since_boot,
                device=said.get("device") or "",
                core=int(said["core"]) if said.get("core") else None,
                queue=int(said["queue"]) if said.get("queue") else None,
                process=said.get("process") or "",
            )
    return None


def stalled_core(line: KernelLine) -> int | None:
    """Return the core named in a line below an RCU stall."""
    found = _STALLED_CORE.match(line.says)
    return int(found["core"]) if found else None


def on_core(line: KernelLine) -> tuple[int, str] | None:
    """Return core and process from the first line of a call trace."""
    found = _ON_CORE.match(line.says)
    return (int(found["core"]), found["process"].strip()) if found else None


def frame(line: KernelLine) -> str | None:
    """Return the function of a call trace's frame if it belongs to a walk of memory cgroups or to reclaim."""
    found = _FRAME.match(line.says)
    return found["function"] if found else None
