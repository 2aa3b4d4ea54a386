"""Kernel log lines of drivers about their devices: volumes, disks and adapters, links, and whatever fails repeatedly.

Defined in: Linux, drivers/md, drivers/scsi (storvsc_drv.c, qla2xxx, megaraid, mpt3sas, libata), drivers/nvme/host,
drivers/mmc, drivers/block/drbd, fs/ext4, fs/btrfs, fs/ceph, mm/page_io.c, drivers/net/ethernet,
drivers/net/hyperv/netvsc_drv.c, drivers/pci/pcie/aer.c, kernel/irq/spurious.c, drivers/iommu, and the sources of
OpenZFS and Lustre. A driver's line has the form of dev_printk: the driver, the device, and what it says.
"""

from __future__ import annotations

from bot.probes.formats.kernel_line import KernelEventKind as Kind

_IN = r"(?P<device>[^\s:)]{1,40})"
_MAPPED_SAYS = "Checksum failed|INTEGRITY AEAD ERROR|(?:data|metadata) block [0-9]+ is corrupted"
_HELD = "resetting controller due to|failed to connect socket|Reconnecting in [0-9]+ seconds|starting error recovery"
_ADAPTER_SAYS = "Abort command issued|ISP System Error|RISC paused|Adapter aborted all outstanding I/O"
# Without a colon between driver and device; a network driver adds the interface once that has a name.
_ON_BUS = r"(?!pcieport )[a-z][a-z0-9_]{1,15} [0-9a-f:.]{7,12}"  # a slot whose disk was taken away has no link either
_CARD = rf"{_ON_BUS}(?: (?P<device>[^\s:]{{1,15}}))?"
_LINK_DOWN = r"(?:Copper )?[Ll]ink (?:is )?[Dd]own"
# Not of what serves no work: display, sound, the management engine, USB, keyboards, radio, zones of heat, a container's
# interfaces.
# ENA, EFA, NVMe and NVIDIA's GPUs have wordings of their own.
_NO_WORK = (
    r"ast|mgag200|i915|nouveau|snd_\w+|mei\w*|[xeou]hci\w*|iwlwifi|ena|efa|nvidia|infiniband|ipmi_\w+|i2c\w*|usb\w*|"
    r"hid\S*|input|tpm\w*|thunderbolt|device|process|sr|fd|loop|nvme|thermal|vmwgfx|qxl|bochs\S*|virtio_gpu|hyperv_drm"
)
# A device's name has a figure. That is asked first: else a name of many figures is tried at each of them, line by line.
_NAME = r"(?=[A-Za-z._:-]{0,40}[0-9])[A-Za-z0-9._:-]{1,80}?"
_DEVICE = (
    rf"(?P<device>(?!(?:{_NO_WORK}) )[a-z][a-z0-9_-]{{1,24}} {_NAME})"
    r"(?: [^\s:]{1,20})?: "
)
_GIVEN_UP = (
    r"AER: Uncorrect(?:ed|able) \(Fatal\)|(?:AER: )?device recovery failed|controller lockup detected|"
    r"controller is offline|(?<!will be )permanently disabled|heartbeat failed|GPU reset.{0,20} failed|"
    r"GPU recovery failed|firmware (?:has )?(?:halted|crashed|died)|uncorrectable hardware error|device is dead|"
    r"link lost|surprise (?:removal|down)|firmware internal error|(?<!non)(?<!non[ -])fatal (?:error|fw|firmware)|"
    r"fw fatal|unrecoverable|"
    r"unresponsive|is now (?:offline|degraded|failed)|exceeds maximum allowed|/(?:crit|fatal|dead)\)"
)
# Corrected errors of PCIe are no harm (drivers/pci/pcie/aer.c: a line, the status, and each bit by its name), and what
# a driver could not have at its start was missing before.
_FAILED = (
    r"(?! *\[ ?[0-9]{1,2}\] )(?!.{0,200}(?:[Cc]orrected|\b[Cc]orrectable\b|error status/mask|irmware load|"
    r"failed to assign|can't assign|no space for)).{0,200}"
    r"(?:[Tt]imed ?-?out|[Tt]imeout|TIMEOUT|\b[Ff]ail(?:ed|ure|s)?\b|\b[Hh](?:ang|ung|angs)\b|[Ss]tuck|not respond|"
    r"[Nn]o (?:\S{1,20} )?response|did(?: not|n't) (?:complete|respond)|\b[Ff]atal\b|\b[Ee]rror\b|\*ERROR\*|"
    r"\b[Ff]ault\b|[Ll]ockup|\b[Nn]ever\b|[Uu]nable to|[Gg]iving up|[Ww]ithdr|[Ii]nconsisten|[Uu]nexpected|"
    r"\b[Ll]ost\b|not a head|"
    r"has been idle|High temperature|reset occurred|\b(?:is|index|table|queue|pool) full\b|"
    r"(?:limit|\bmax\w*) (?:is |was )?(?:reached|exceeded)|\b[Tt]oo many\b|[Nn]ot enough (?:memory|space|room)|"
    r"\b[Cc]an(?:not|'t)\b|\b[Ff]ailing\b)"
)
_SUBSYSTEM = (
    r"(?P<device>(?:CIFS|LustreError|LNetError|libceph|GFS2|dlm|o2net|bcache|drbd|block drbd|NFSv?4?)\b[^ ]{0,40})"
)
# One word and a colon: a part of the kernel, or an interface, speaks for itself. Not those that speak of others:
# programs that crashed or were refused, packets and peers; not a trace's lines; and not what serves no work, or has
# wordings of its own.
_OF_OTHERS = (
    r"traps|audit|SELinux|AppArmor|TCP|UDP\w*|ICMP\w*|IPv[46]?|nf_\w+|BPF|bpf\w*|trace_\w+|module|overlayfs|tmpfs|kvm\w*|"
    r"ACPI|NVRM|nvidia\S*|wireguard|floppy|cdrom|(?:sr|fd|loop|usb|wlan)[0-9]+|Bluetooth|cfg80211|psmouse|i8042|"
    r"CPU|[ER]IP|NIP|Code|Workqueue"
)
_OF_A_PROGRAM = (
    r"potentially unexpected|module verification|version magic|disagrees about|Unknown (?:symbol|parameter)|"
    r".{0,40}BUG: "
)
_SPEAKER = rf"(?P<device>(?!(?:{_OF_OTHERS}|{_NO_WORK}): )[A-Za-z_][A-Za-z0-9_.:-]{{1,30}}): (?!{_OF_A_PROGRAM})"

# Patterns match at the start of a line. The order of the kinds is that in which they are tried.
DEVICE_WORDINGS: dict[Kind, tuple[str, ...]] = {
    Kind.DISK_ERROR: (
        rf"nvme (?P<device>nvme[0-9]+): (?:{_HELD})",
        rf"(?:EXT4-fs|BTRFS) warning \(device {_IN}[^)]*\): (?:ext4_end_bio:[0-9]+: I/O error|csum failed)",
        r"F2FS-fs \((?P<device>[^)]{1,40})\): Stopped filesystem due to reason",
        r"UBIFS error \((?P<device>ubi[0-9:]{1,10})",
        rf"device-mapper: (?:integrity|verity|crypt): (?P<device>[^\s:]{{1,20}}(?::[0-9]{{1,4}})?): (?:{_MAPPED_SAYS})",
        r"device-mapper: thin: (?P<device>[0-9:]{3,12}): metadata operation '\w{1,60}' failed",
        r"device-mapper: cache: (?P<device>[0-9:]{3,12}): switching cache to (?:fail|read-only) mode",
        rf"EXT4-fs \({_IN}\): (?:Delayed block allocation failed|.{{0,60}}Data will be lost)",
        rf"XFS \({_IN}\): .{{0,60}}error -5\b",
        r"GFS2: fsid=(?P<device>\S{1,60}): (?:fatal: |about to withdraw|withdrawn)",
        r"device-mapper: snapshots: Invalidating snapshot",
        r"md/raid[0-9]{0,2}:(?P<device>[^\s:]{1,40}): (?:Cannot continue|.{0,40}not correctable|.{0,60}unrecoverable)",
        r"bcache: .{0,60}\b(?P<device>[a-z0-9]{2,20}): (?:IO error|too many IO errors)",
        r"(?:block|drbd \S{1,60}) (?P<device>drbd[0-9]{1,5}): (?:IO ERROR|Local IO failed|disk\( \w+ -> Failed \))",
        r"zio pool=(?P<device>\S{1,60}) vdev=\S{1,200} error=[0-9]+ type=[12]\b",
        r"(?:Read|Write)-error on swap-device \((?P<device>[0-9]{1,5}:[0-9]{1,7}):",
        r"(?P<device>mmcblk[0-9]{1,3}): (?:error -[0-9]+ transferring data|recovery failed)",
        r"(?P<device>mmc[0-9]{1,3}): Timeout waiting for hardware",
        # READ, WRITE and flushes alone: other commands are refused by design.
        r"hv_storvsc (?P<device>[0-9a-f-]{36}): tag#[0-9]+ cmd 0x(?:28|2a|88|8a|35|91) status: .{1,40} hv 0xc",
        rf"qla2xxx \[(?P<device>[0-9a-f:.]{{7,12}})\]-[0-9a-f]{{4}}:[0-9]+: (?:{_ADAPTER_SAYS})",
        r"(?P<device>mpt[23]sas_cm[0-9]{1,2}): (?:fault_state\(|sending diag reset)",
        r"megaraid_sas (?P<device>[0-9a-f:.]{7,12}): (?:FW in FAULT state|resetting fusion adapter)",
        # Its firmware's own events, with their class: how grave they are.
        r"megaraid_sas (?P<device>[0-9a-f:.]{7,12}): [0-9]+ \([^)]{1,40}/(?:CRIT|FATAL|DEAD)\)",
        r"aacraid: Host adapter reset request",
        r"(?P<device>ata[0-9]{1,4}\.[0-9]{1,3}): disable(?:d| device)$",
        r"LustreError: [0-9a-f-]{1,20}: (?P<device>\S{1,80}): This client was evicted",
    ),
    # drivers/net/ethernet/intel/ice and drivers/net/virtio_net.c.
    Kind.NIC_STALLED: (
        rf"{_CARD}: tx_timeout: VSI",
        r"virtio_net \S{1,20} (?P<device>[^\s:]{1,15}): Unexpected TXQ \([0-9]+\) queue failure",
    ),
    # The firmware does not answer: drivers/net/ethernet/mellanox/mlx5/core/cmd.c, drivers/net/ethernet/google/gve.
    Kind.NIC_ADMIN: (
        r"mlx5_core (?P<device>[0-9a-f:.]{7,16}): wait_func(?:_handle_exec_timeout)?:.{1,160} [Tt]imeout",
        r"gve (?P<device>[0-9a-f:.]{7,16}): AQ command timed out",
    ),
    Kind.NIC_LINK_DOWN: (
        rf"{_ON_BUS}: (?:\w{{2,12}}: )?(?P<device>(?!NIC|Copper|[Ll]ink)[^\s:]{{2,15}}):? (?:NIC )?{_LINK_DOWN}",
        rf"{_CARD}: (?:\w{{2,12}}: )?(?:\S{{2,15}} )?(?:NIC )?{_LINK_DOWN}",
        r"(?:\w{2,12}:|\w{2,12} [0-9a-f]{4,12}\.ethernet) (?P<device>[^\s:]{2,15}):? (?:NIC )?Link is Down",
        # The host takes the card away, and packets go the slow way.
        r"hv_netvsc \S{30,40} (?P<device>[^\s:]{1,15}): Data path switched from VF",
    ),
    Kind.DEVICE_LOST: (
        rf"(?i:{_DEVICE}.{{0,80}}?(?:{_GIVEN_UP}))",
        r"irq (?P<device>[0-9]{1,5}): nobody cared",
        r"EEH: .{0,80}(?:has been|is) permanently disabled",
    ),
    # Each counts only if it repeats.
    Kind.COMPLAINT: (
        r"\[drm:(?P<device>amdgpu\w{0,40}).{0,20}\] \*ERROR\* ",
        r"(?P<device>AMD-Vi): Completion-Wait loop timed out",
        r"(?P<device>DMAR): VT-d detected .{0,40}Time-?out",
        r"(?P<device>audit): audit_backlog=",
        r"(?P<device>tipc): Resetting link ",  # net/tipc/link.c and drivers/block/rbd.c: warnings, at a lower level
        r"qla2xxx (?P<device>\[[0-9a-f:.]{7,12}\])-[0-9a-f]{4}:[0-9]+: Dropped frame",
        r"(?P<device>nf_queue): full at ",
        r"(?P<device>Set \S{1,40}) is full, maxelem ",  # net/netfilter/ipset: what is added to it is not there
        r"nvme (?P<device>nvme[0-9]{1,4}): I/O .{1,60} timeout, completion polled",  # its interrupt was lost
        r"(?P<device>vmap allocation) for size [0-9]+ failed",
        r"(?P<device>md/raid[0-9]{0,2}:[^\s:]{1,40}): read error corrected ",  # from the other half
        r"ICMPv6: NA: (?P<device>\S{17,60}) advertised our address",  # another machine has it, too
        r"(?P<device>Out of memory) and no killable processes",  # of a cgroup: for the machine it is a panic
        r"(?P<device>mpt[23]sas_cm[0-9]{1,2}): log_info\(0x31",  # its own firmware aborted what it was asked
        r"rbd: (?P<device>rbd[0-9]{1,4}): .{1,80} result -[0-9]+",
        r"(?P<device>Route cache) is full",
        r"(?P<device>IPv6): Maximum number of routes reached",  # net/ipv6/route.c before 6.3
        r"ceph: (?:\[[^\]]{1,80}\]: )?(?P<device>mds[0-9]{1,4}) caps (?:went |still )?stale",  # fs/ceph/mds_client.c
        r"hpsa \S{1,16}: (?P<device>scsi [0-9:]{7,15}): resetting (?:physical|logical)",  # drivers/scsi/hpsa.c
        r"(?P<device>dst cache) overflow",
        r"(?P<device>[^\s:]{1,15}): received packet on \S{1,15} with own address as source",
        r"(?P<device>EEH): (?:Frozen|Recovering|This PCI device has failed)",
        r"(?:mce: )?(?P<device>CMCI) storm detected",
        r"(?:rcu: )?INFO: (?P<device>rcu_tasks\w{0,20}) detected stalls on tasks",
        r"Uhhuh\. (?P<device>NMI) received for unknown reason",
        r"(?P<device>XFS): .{1,60} possible memory allocation deadlock",
        rf"{_SUBSYSTEM} {_FAILED}",
        rf"{_DEVICE}{_FAILED}",
        rf"(?P<device>[A-Za-z0-9]{{2,12}}(?:-fs)? warning \(device [^)\s]{{1,40}}\)): {_FAILED}",
        rf"{_SPEAKER}{_FAILED}",
    ),
}
