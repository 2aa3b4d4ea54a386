"""Clock, memory, disks, GPUs, certificates and neighbours of a simulated node, as its tools and files tell of them."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from datetime import timedelta

from bot.demo.machine import processes
from bot.demo.machine.command import Answer, CommandContext
from bot.demo.machine.state import Content, Moment, State

_NEIGHBOURS = (
    "entries  allocs   destroys hash_grows lookups  hits     res_failed rcv_probes_mcast rcv_probes_ucast "
    "periodic_gc_runs forced_gc_runs unresolved_discards table_fulls\n"
    "0000001c 00000a2f 00000a12 00000002 0001f2b3 0001e0aa 00000003 00000000 00000000 00002ab1 00000000 00000000 "
    "00000000\n"
)


def files(state: State) -> dict[str, Content]:
    """Return the files, each with its content or a function that computes it."""
    return {
        "/proc/consoles": "tty0                 -WU (EC  p  )    4:1\nttyS0                -W- (E   p a)    4:64\n",
        "/proc/sys/kernel/printk": "4\t4\t1\t7\n",
        "/proc/diskstats": functools.partial(diskstats, state),
        "/proc/net/stat/arp_cache": _NEIGHBOURS,
        "/proc/net/stat/ndisc_cache": _NEIGHBOURS,
        "/sys/devices/system/clocksource/clocksource0/current_clocksource": f"{state.system.clocksource}\n",
        "/sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm\n",
        "/sys/class/dmi/id/sys_vendor": "Amazon EC2\n",
        "/sys/class/dmi/id/product_name": f"{state.system.product}\n",
        "/sys/class/dmi/id/bios_vendor": "Amazon EC2\n",
    }


def clock(context: CommandContext, argv: Sequence[str]) -> Answer:
    """The clocksource, and chrony's word on the time."""
    text = "==> /source <==\ntsc\ntsc hpet acpi_pm\n==> /keeper <==\nchronyd\n==> /chrony <==\n"
    text += "System time     : 0.000012131 seconds slow of NTP time\nLeap status     : Normal\n"
    return Answer.text(f"{text}-- end --\n")


def certificates(context: CommandContext, argv: Sequence[str]) -> Answer:
    """The certificate that the kubelet serves; its files are root's alone."""
    now = context.now()
    text = f"now {int(now.at.timestamp())}\n"
    if any(unit.name == "kubelet.service" for unit in context.state.units):
        dates = (now.at + timedelta(days=days) for days in (-20, 25))
        begin, end = (f"{at:%b} {at.day:2} {at:%H:%M:%S %Y} GMT" for at in dates)
        names = f"subject=O = system:nodes, CN = system:node:{context.state.name}\nissuer=CN = kubernetes\n"
        text += f"kubelet\n==> /served <==\nnotBefore={begin}\nnotAfter={end}\n{names}"
    return Answer.text(f"{text}-- end --\n")


def name_servers(context: CommandContext, argv: Sequence[str]) -> Answer:
    """A name server, which answers."""
    return Answer.text("tool dig\nservers 10.0.0.2\nserver 10.0.0.2 NOERROR NXDOMAIN NOERROR\n-- end --\n")


def ebs_volumes(context: CommandContext, argv: Sequence[str]) -> Answer:
    """No volume that keeps counts: the simulated disks are of the instance itself."""
    return Answer.text("no volume\n")


def memory_errors(context: CommandContext, argv: Sequence[str]) -> Answer:
    """No EDAC driver, as on every virtual machine."""
    return Answer.text(f"HardwareCorrupted:     0 kB\nproduct {context.state.system.product}\n-- end --\n")


def filesystems(context: CommandContext, argv: Sequence[str]) -> Answer:
    """The mounts on block devices, fstab, and the room on each."""
    disks = context.state.disks
    text = "==> /mounts <==\n" + "".join(f"{d.device} ext4 {d.options} {d.point}\n" for d in disks)
    text += "==> /fstab <==\n" + "".join(f"LABEL={d.device} {d.point} ext4 defaults 0 1\n" for d in disks)
    text += "==> /blocks <==\nFilesystem 1024-blocks Used Available Capacity Mounted on\n"
    text += "".join(f"/dev/{d.device} {d.kib} {d.kib - d.free} {d.free} 1% {d.point}\n" for d in disks)
    text += "==> /inodes <==\nFilesystem Inodes IUsed IFree IUse% Mounted on\n"
    for d in disks:
        text += f"/dev/{d.device} {d.inodes} {d.inodes - d.free_inodes} {d.free_inodes} 1% {d.point}\n"
    kubelet = "here\n" if context.files.read("/var/lib/kubelet/config.yaml", context.now()) is not None else ""
    return Answer.text(f"{text}==> /kubelet <==\n{kubelet}==> /etc <==\next2/ext3\n-- end --\n")


def pci_gpus(context: CommandContext, argv: Sequence[str]) -> Answer:
    """The GPUs on the PCI bus, with the driver that holds each."""
    return Answer.text("".join(f"{gpu.bus} 0x030200 nvidia\n" for gpu in context.state.gpus) + "-- end --\n")


def nvidia_smi(context: CommandContext, argv: Sequence[str]) -> Answer:
    """What nvidia-smi says of each GPU: errors, rows of memory, and what it asks for."""
    gpus = context.state.gpus
    if not gpus:
        return Answer.text("no gpu\n")
    there = [(f"0000{gpu.bus.upper()}", gpu) for gpu in gpus if gpu.there]
    lost = [
        f"Unable to determine the device handle for GPU {gpu.bus.upper()}: Unknown Error\n"
        for gpu in gpus
        if not gpu.there
    ]
    listed = "".join([*(f"{bus}, 0\n" for bus, _ in there), *lost])
    rows = "".join(f"{bus}, {'Yes' if gpu.remap_pending else 'No'}, No\n" for bus, gpu in there)
    now, said = context.now(), ""
    running = {process.pid: process for process in processes.all_processes(context.state)}
    for bus, gpu in there:
        said += f"GPU {bus}\n    GPU Recovery Action               : {gpu.recovery}\n"
        pids = [pid for pid in gpu.pids if pid in running]
        said += "".join(f"        Process ID                        : {pid}\n" for pid in pids)
        said += "" if pids else "    Processes                             : None\n"
    used = [running[pid] for pid in sorted({pid for gpu in gpus for pid in gpu.pids}) if pid in running]
    ran = "".join(processes.stat(process, process.pid, process.threads, now) for process in used)
    status = f"status {255 if lost else 0}\n"
    return Answer.text(
        f"==> /gpus <==\n{listed}{status}==> /rows <==\n{rows}==> /actions <==\n{said}"
        f"==> /processes <==\nup {now.uptime:.2f}\n{ran}-- end --\n"
    )


def diskstats(state: State, now: Moment) -> str:
    """Return /proc/diskstats."""
    text = ""
    for number, disk in enumerate(state.disks):
        done, waiting = (40_000, 12) if disk.stuck else (int(now.uptime * 40), 0)
        whole = re.sub(r"p[0-9]+\Z", "", disk.device)
        reads, writes = f"{done} 12 {done * 64} {done // 2}", f"{done * 2} 31 {done * 96} {done}"
        row = f"{reads} {writes} {waiting} {done} {done * 2} 0 0 0 0 0 0"
        text += f" 259 {number * 2:7} {whole} {row}\n"
        text += f" 259 {number * 2 + 1:7} {disk.device} {row}\n" if whole != disk.device else ""
    return text
