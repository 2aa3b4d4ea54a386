"""The network of a simulated node, by core: interrupts, soft interrupts, backlog.

Defined in: Linux, Documentation/filesystems/proc.rst and net/core/net-procfs.c.
"""

from __future__ import annotations

from bot.demo.machine.state import Content, Moment, Nic, State

_IRQ_BASE = 27
_PACKETS_AN_INTERRUPT = 4  # interrupts are moderated


def files(state: State) -> dict[str, Content]:
    """Return the files about the network."""
    found: dict[str, Content] = {
        "/proc/interrupts": lambda now: interrupts(state, now),
        "/proc/softirqs": lambda now: softirqs(state, now),
        "/proc/net/softnet_stat": lambda now: softnet(state, now),
    }
    for irq, nic, queue in _irqs(state):
        core = nic.core_of(queue, state.load.cores) if queue >= 0 else 0
        found[f"/proc/irq/{irq}/smp_affinity_list"] = f"{core}\n"
        found[f"/proc/irq/{irq}/effective_affinity_list"] = f"{core}\n"
    for nic in state.nics:
        here = f"/sys/class/net/{nic.name}"
        found[f"{here}/operstate"] = "up\n"
        found[f"{here}/device/driver/module/version"] = f"{nic.version}\n"
        found[f"{here}/device/uevent"] = f"DRIVER={nic.driver}\nPCI_SLOT_NAME={nic.bus}\n"
        found[f"{here}/statistics/rx_packets"] = _rx_packets(nic)
    found["/sys/class/net/lo/operstate"] = "unknown\n"
    return found


def _rx_packets(nic: Nic) -> Content:
    return lambda now: f"{int(nic.packets * now.uptime)}\n"


def _irqs(state: State) -> list[tuple[int, Nic, int]]:
    """Interrupt, device and queue of every network interrupt; queue -1 is the management interrupt."""
    found = []
    irq = _IRQ_BASE
    for nic in state.nics:
        for queue in (-1, *range(nic.queues)):
            found.append((irq, nic, queue))
            irq += 1
    return found


def msi_irqs(state: State) -> dict[str, list[int]]:
    """Return the interrupts of each network device."""
    found: dict[str, list[int]] = {}
    for irq, nic, _ in _irqs(state):
        found.setdefault(nic.name, []).append(irq)
    return found


def packets_a_queue(nic: Nic) -> float:
    """Return the packets a second that each queue receives."""
    return nic.packets / max(1, nic.queues)


def interrupts(state: State, now: Moment) -> str:
    """Return /proc/interrupts."""
    cores = range(state.load.cores)
    rows = [(" 0", [41] + [0] * (len(cores) - 1), "IO-APIC    2-edge      timer")]
    rows.append((" 4", [0] * (len(cores) - 1) + [912], "IO-APIC    4-edge      ttyS0"))
    for irq, nic, queue in _irqs(state):
        counts = [0] * len(cores)
        ena = nic.driver == "ena"
        if queue < 0:
            counts[0] = int(now.uptime / 60)
            label = f"ena-mgmnt@pci:{nic.bus}" if ena else f"{nic.name}-config"
        else:
            counts[nic.core_of(queue, len(cores))] = int(now.uptime * packets_a_queue(nic) / _PACKETS_AN_INTERRUPT)
            label = f"{nic.name}-Tx-Rx-{queue}"
        rows.append((f"{irq:>2}", counts, f"PCI-MSI {80000 + irq}-edge      {label}"))
    text = "    " + "".join(f" {'CPU' + str(core):>10}" for core in cores) + "\n"
    text += "".join(
        f"{name:>3}:{''.join(f' {count:>10}' for count in counts)}   {label}\n" for name, counts, label in rows
    )
    for name, rate, label in (
        ("NMI", 0, "Non-maskable interrupts"),
        ("LOC", 250, "Local timer interrupts"),
        ("RES", 90, "Rescheduling interrupts"),
        ("CAL", 40, "Function call interrupts"),
        ("TLB", 25, "TLB shootdowns"),
    ):
        text += f"{name}:" + "".join(f" {int(now.uptime * rate):>10}" for _ in cores) + f"   {label}\n"
    return text + "ERR:          0\nMIS:          0\n"


def _received(state: State, now: Moment) -> list[int]:
    """Packets that each core has taken from the network since boot."""
    packets = [0.0] * state.load.cores
    for nic in state.nics:
        for queue in range(nic.queues):
            packets[nic.core_of(queue, state.load.cores)] += packets_a_queue(nic) * now.uptime
    return [int(count) for count in packets]


def softirqs(state: State, now: Moment) -> str:
    """Return /proc/softirqs."""
    received = _received(state, now)
    rates = {"HI": 0.0, "TIMER": 110.0, "NET_TX": 0.4, "NET_RX": 0.0, "BLOCK": 6.0, "IRQ_POLL": 0.0, "TASKLET": 0.1}
    rates |= {"SCHED": 70.0, "HRTIMER": 0.0, "RCU": 90.0}
    text = "                    " + "".join(f"{'CPU' + str(core):<11}" for core in range(state.load.cores)) + "\n"
    for name, rate in rates.items():
        counts = received if name == "NET_RX" else [int(rate * now.uptime)] * state.load.cores
        text += f"{name + ':':>12}" + "".join(f" {count:>10}" for count in counts) + "\n"
    return text


def softnet(state: State, now: Moment) -> str:
    """Return /proc/net/softnet_stat: 11 columns, 13 since Linux 5.14, 15 in recent kernels; counters of 32 bits."""
    since = state.system.kernel_version
    width = 15 if since >= (6, 8) else 13 if since >= (5, 14) else 11
    dropped = sum(nic.dropped for nic in state.nics)
    squeezed = sum(nic.squeezed for nic in state.nics)
    received = _received(state, now)
    busiest = max(received)
    rows = []
    for core, packets in enumerate(received):
        row = [0] * width
        hot = 2 * packets >= busiest > 0
        row[:3] = packets, int(dropped * now.uptime) if hot else 0, int(squeezed * now.uptime) if hot else 0
        if width > 12:
            row[12] = core
        rows.append(" ".join(f"{value % 2**32:08x}" for value in row) + "\n")
    return "".join(rows)
