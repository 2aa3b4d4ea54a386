"""An Elastic Network Adapter on a simulated node: its interrupts, its counters and its lines in the kernel log.

Defined in: Linux, Documentation/filesystems/proc.rst; ethtool(8); amzn-drivers, kernel/linux/ena/ena_ethtool.c
(counters by driver version) and ena_netdev.c (lines).
"""

from __future__ import annotations

from bot.demo.machine.command import Asked
from bot.demo.machine.state import Line, Moment, Nic

_IRQ_BASE = 27
_PACKETS_AN_INTERRUPT = 4  # interrupts are moderated
_ALWAYS = ("tx_timeout", "suspend", "resume", "wd_expired", "interface_up", "interface_down", "admin_q_pause")
_ALLOWANCES = tuple(f"{name}_allowance_exceeded" for name in ("bw_in", "bw_out", "pps", "conntrack", "linklocal"))
_OF_RESETS = ("total_resets", "suspected_poll_starvation")
_SINCE: tuple[tuple[tuple[int, ...], tuple[str, ...]], ...] = (
    ((2, 8, 1), ("conntrack_allowance_available",)),
    ((2, 8, 0), ("reset_fail",)),
    ((2, 10, 0), (*_OF_RESETS, "bad_tx_req_id", "bad_rx_req_id", "missing_intr", "missing_tx_cmpl", "invalid_state")),
    ((2, 11, 0), ("missing_admin_interrupt", "admin_to")),
    ((2, 12, 0), ("device_request_reset",)),
    ((2, 13, 0), ("missing_first_intr",)),
)
_OF_QUEUES = (
    *("queue_stop", "dma_mapping_err", "linearize_failed", "prepare_ctx_err", "bad_req_id", "missed_tx"),
    *("refil_partial", "page_alloc_fail", "skb_alloc_fail", "bad_desc_num", "empty_rx_ring"),
)


def counters(nic: Nic, now: Moment) -> dict[str, int]:
    """Return an interface's own counters in its driver's order.

    Shape: the in-tree driver shows the kernel's release as its version. Of the newer counters it has only the
    allowances.
    """
    version = tuple(map(int, nic.version.removesuffix("g").split("."))) if nic.version.endswith("g") else ()
    newer = (name for since, names in _SINCE if version >= since for name in names)
    found = {
        name: nic.counters.get(name, 0) + int(nic.rates.get(name, 0.0) * now.uptime)
        for name in (*_ALWAYS, *_ALLOWANCES, *newer)
    }
    resets = len(nic.reset_times(now.uptime))
    found["interface_up"] += 1
    for name in found.keys() & {*_OF_RESETS, "tx_timeout", "interface_up", "interface_down"}:
        found[name] += resets
    done = int(now.uptime / 60)
    of_admin = {"aborted_cmd": 0, "submitted_cmd": done, "completed_cmd": done, "out_of_space": 0, "no_completion": 0}
    return found | {f"ena_admin_q_{name}": value for name, value in of_admin.items()}


def nics(asked: Asked) -> str:
    """Driver, device counters, and the sums of the queues' error counters."""
    text = ""
    for nic in asked.state.nics:
        text += f"==> eth0 <==\ndriver: ena\ndriver: ena\nversion: {nic.version}\nbus-info: {nic.bus}\n"
        text += "-- ethtool -S --\n"
        text += "".join(f"     {name}: {value}\n" for name, value in counters(nic, asked.now).items())
        missed = len(nic.reset_times(asked.now.uptime)) * 7
        text += f"     queue_{nic.resets.queue}_tx_missed_tx: {missed}\n" if nic.resets and missed else ""
        text += "".join(f"queue_*_{name}: {missed if name == 'missed_tx' else 0}\n" for name in _OF_QUEUES)
    return f"{text}-- end of look --\n"


def interrupts(asked: Asked) -> str:
    """The network devices' interrupts and their rows in /proc/interrupts."""
    cores, uptime = asked.state.load.cores, asked.now.uptime
    heads, rows = "", " ".join(f"CPU{core}" for core in range(cores)) + "\n"
    for nic in asked.state.nics:
        irqs = range(_IRQ_BASE, _IRQ_BASE + nic.queues + 1)
        heads += f"net eth0 {' '.join(map(str, irqs))}\n"
        for queue, irq in enumerate(irqs, start=-1):  # -1: the management interrupt
            core, label = nic.core_of(queue, cores), f"eth0-Tx-Rx-{queue}" if queue >= 0 else f"ena-mgmnt@pci:{nic.bus}"
            rate = nic.packets / nic.queues / _PACKETS_AN_INTERRUPT if queue >= 0 else 1 / 60
            counts = " ".join(str(int(uptime * rate)) if each == core else "0" for each in range(cores))
            rows += f"{irq}: {counts} PCI-MSI {80000 + irq}-edge {label}\ncores {irq} {core}\n"
    return heads + rows


def irqbalance(asked: Asked) -> str:
    """Whether irqbalance runs."""
    return "yes\n" if any(nic.irqbalance for nic in asked.state.nics) else "no\n"


def boot_lines(nic: Nic) -> list[tuple[float, str]]:
    """Return what the driver says at boot."""
    name = "Elastic Network Adapter (ENA)"
    return [
        (2.6, f"ena {nic.bus}: {name} v{nic.version}"),
        (2.7, f"ena {nic.bus}: {name} found at mem febf4000, mac addr 0a:58"),
        (5.5, "IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready"),
    ]


def reset_lines(nic: Nic, now: Moment) -> list[Line]:
    """Return what the driver says of its resets so far."""
    lines = []
    for number, at in enumerate(nic.reset_times(now.uptime)):
        since, queue = 6_596_000 + (number * 37_000) % 1_400_000, nic.resets.queue if nic.resets else 0
        paused = f"TX q {queue} is paused for too long (threshold 5000000). Time since last napi {since} usec. "
        waits = "napi handler hasn't been called for a long time but is scheduled"
        done = f"Device reset completed successfully, Driver info: Elastic Network Adapter (ENA) v{nic.version}"
        lines += [
            Line(at, f"ena {nic.bus} eth0: {paused}napi scheduled: 1", 3),
            Line(at + 0.00001, f"ena {nic.bus} eth0: {waits}", 3),
            Line(at + 0.1, f"ena {nic.bus} eth0: Trigger reset is on", 3),
            Line(at + 0.4, f"ena {nic.bus}: {done}", 3),
        ]
    return lines
