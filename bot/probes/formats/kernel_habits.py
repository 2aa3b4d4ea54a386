"""What healthy kernels call an error again and again: who asked was refused, or what failed serves no work.

Defined in: Linux, the files that each row names; each row has its node in tests/contract/levels/ordinary.txt.
Patterns are read by awk and by Python alike, at the start of a line's text: no braces, no slash, no look-ahead.
"""

from __future__ import annotations

import re

HABITS = (
    # Who asked was refused, and nothing failed.
    ".*[ =]-512( |$)",  # include/linux/errno.h, ERESTARTSYS: who asked was ended, or will ask again
    "kvm[a-z_]*( \\[[0-9]+\\])?: ",  # arch/x86/kvm: a guest reads what its processor lacks; KVM is not there at all
    "[A-Za-z0-9_-]+: (Unknown parameter|Bad value for|[Uu]nrecognized mount option)",  # fs/fs_context.c
    "cgroup1: ",  # kernel/cgroup/cgroup-v1.c: mounts that containers try
    "overlayfs: (unrecognized mount option|failed to resolve|missing |[a-z]+dir is in-use)",  # fs/overlayfs
    "EXT[234]-fs [^ ]+ VFS: Can't find|SQUASHFS error: Can't find|FAT-fs [^ ]+ (bogus|invalid media)",  # no such format
    "nvme[0-9]+: .*\\(sct 0x[01] ",  # drivers/nvme/host/core.c: a tool's command that a volume does not have
    "hv_storvsc [^ ]+ tag#[0-9]+ cmd ",  # drivers/scsi/storvsc_drv.c: reads and writes are heard elsewhere
    "[a-z_: ]*error, dev .*:\\((DISCARD|WRITE_ZEROES|SECURE_ERASE)",  # block/blk-core.c: hints that a disk may refuse
    "sd [0-9:]+ .*(Asking for cache data|Assuming drive cache|No Caching mode|Incomplete mode)|ses [0-9:]+ ",  # scans
    "device-mapper: (ioctl|table): |device-mapper: thin: Deletion of thin",  # drivers/md/dm-ioctl.c
    "IPVS: ",  # net/netfilter/ipvs: a service without a backend
    "(x_tables|ip6?_tables|ip_set|ebtables|nft_compat|xt_[A-Za-z0-9]+): ",  # a rule that was refused
    "SELinux: |netlink: |audit: (kauditd|rate limit|backlog limit|printk limit|error in)",  # kernel/audit.c
    "Loading of |PKCS|[A-Za-z0-9_-]+: (version magic|disagrees about version|module is already)",  # kernel/module
    # fs/cifs: what the server does not offer
    "CIFS:? VFS: .*(smb2_get_dfs_refer|Autodisabling|No writable handle|get interface list|auth_key.response)",
    "NVRM: .*NV_ERR_NO_MEMORY",  # NVIDIA's driver: a program asked for more memory than a GPU has
    "bnxt_en .*hwrm req_type 0x|mlx5_core .*status bad parameter",  # a collector asks a card for what it lacks
    "[a-z0-9]+ [^ ]+ VF [0-9]+ failed opcode|i40e .*AQ_RC_ENOSPC",  # a guest asks for what it may not, or for too much
    "cma: ",  # mm/cma.c: the caller takes other memory
    "UBSAN: ",  # lib/ubsan.c: a slip in the kernel's own text, once for each place
    "x86.PAT: ",  # arch/x86/mm/pat: two drivers map the same memory in different ways
    # What serves no work: screens, sound, keyboards, radio, sensors, and the board's own management.
    "(usb|hub|hid[a-z-]*|input|[xeou]hci[a-z_-]*|cdc_[a-z]+|rndis_host|uvcvideo|ftdi_sio|thunderbolt) ",
    "(i915|nouveau|ast|mgag200|qxl|vmwgfx|virtio_gpu|hyperv_drm|bochs[a-z-]*|cirrus|vboxvideo|snd[a-z_]*) |EDID",
    "\\[drm(\\]|:(drm|intel|qxl|vmw|ast|mgag200)_)",
    "Bluetooth: |(ieee80211|iwlwifi|ath1?[0-9]k[a-z_]*|brcmfmac|rtw[a-z0-9_]*|mt7[0-9]+[a-z]*) ",
    "(ipmi_[a-z]+|hpilo|dcdbas|mei[a-z_]*|tpm[a-z_]*|rtc[a-z_-]*|power_meter|i2c[a-z_-]*|i801_smbus) ",
    "nvidia-gpu .*i2c timeout",
    "ACPI (Error|BIOS Error|Exception)",  # drivers/acpi/acpica: a collector asks a sensor that the firmware lost
    "serial8250: ",  # drivers/tty/serial/8250
    "([a-z_]+: |Buffer )*I.O error,? (on )?dev(ice)? (fd|sr|loop)[0-9]",  # no medium, or a file that was taken away
    # Frightening words, and no harm.
    "(do_IRQ|__common_interrupt): |Dazed and confused|Do you have a strange power",  # arch/x86/kernel
    "watchdog: watchdog[0-9]+: |[A-Za-z0-9_]+: Unexpected close, not stopping",  # drivers/watchdog: its daemon ended
    "hpet[0-9]*: [Ll]ost ",  # arch/x86/kernel/hpet.c: a guest's clock of old, which nothing else reads
    "nfsd: peername failed",  # net/sunrpc/svcsock.c: who called has hung up
    "pcieport .*can.t find device of ID",  # drivers/pci/pcie/aer.c: of a corrected error
    "unregister_netdevice: waiting",  # net/core/dev.c: those that last are heard elsewhere
    # Heard elsewhere, each with its own count.
    ".*\\[Hardware Error\\]|EDAC ",
    "pcieport .*(severity=Corrected|status.mask=|  \\[ ?[0-9]+\\] )",  # drivers/pci/pcie/aer.c before 5.8
)
_HABIT = re.compile("|".join(HABITS))


def is_habit(says: str) -> bool:
    """True for the text of a line that healthy kernels write too.

    Example:
    >>> is_habit("kvm [4118]: vcpu0, guest rIP: 0x1 ignored rdmsr: 0x1a2"), is_habit("md: super_written gets error=-5")
    (True, False)
    """
    return _HABIT.match(says) is not None
