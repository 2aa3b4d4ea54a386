"""The kernel log of a simulated node, as dmesg and journalctl print it.

Defined in: dmesg(1) of util-linux, journalctl(1); ENA's lines in amzn-drivers, kernel/linux/ena/ena_netdev.c.
"""

from __future__ import annotations

from bot.demo.machine.state import Line, Moment, Nic, State


def entries(state: State, now: Moment) -> list[tuple[float, int, str]]:
    """Return every line since boot, oldest first: uptime, level, text."""
    lines = [*_boot(state), *state.log]
    for nic in state.nics:
        lines += _resets(nic, now)
    found = []
    for line in lines:
        at = line.at
        while at <= min(now.uptime, line.last):
            found.append((at, line.level, line.text))
            if not line.every:
                break
            at += line.every
    return sorted(found, key=lambda entry: entry[0])


def _boot(state: State) -> list[Line]:
    system, cores = state.system, state.load.cores
    texts = [
        (0.0, f"Linux version {system.kernel} (buildd@lcy02) (gcc version 9.4.0) {system.build}"),
        (0.0, f"Command line: BOOT_IMAGE=/boot/vmlinuz-{system.kernel} root=LABEL=root ro console=ttyS0"),
        (0.000001, f"DMI: Amazon EC2 {system.product}/, BIOS 1.0 10/16/2017"),
        (0.000002, "Hypervisor detected: KVM"),
        (0.1, f"smpboot: Allowing {cores} CPUs, 0 hotplug CPUs"),
        (0.2, f"Memory: {state.memory.total}K/{state.memory.total + 900_000}K available"),
        (0.3, "rcu: Hierarchical RCU implementation."),
        (0.9, f"smp: Brought up 1 node, {cores} CPUs"),
        (1.2, "clocksource: Switched to clocksource tsc"),
        (2.1, "nvme nvme0: pci function 0000:00:04.0"),
        (3.0, "EXT4-fs (nvme0n1p1): mounted filesystem with ordered data mode. Opts: (null)"),
        (4.1, f"systemd[1]: systemd {system.systemd} running in system mode."),
    ]
    for nic in state.nics:
        if nic.driver == "ena":
            texts.append((2.6, f"ena {nic.bus}: Elastic Network Adapter (ENA) v{nic.version}"))
            texts.append((2.7, f"ena {nic.bus}: Elastic Network Adapter (ENA) found at mem febf4000, mac addr 0a:58"))
        texts.append((5.5, f"IPv6: ADDRCONF(NETDEV_CHANGE): {nic.name}: link becomes ready"))
    return [Line(at, text) for at, text in texts]


def _resets(nic: Nic, now: Moment) -> list[Line]:
    if nic.resets is None:
        return []
    lines = []
    for number, at in enumerate(nic.resets.times(now.uptime)):
        since = 6_596_000 + (number * 37_000) % 1_400_000
        lines += [
            Line(
                at,
                f"ena {nic.bus} {nic.name}: TX q {nic.resets.queue} is paused for too long (threshold 5000000). "
                f"Time since last napi {since} usec. napi scheduled: 1",
                3,
            ),
            Line(
                at + 0.00001,
                f"ena {nic.bus} {nic.name}: napi handler hasn't been called for a long time but is scheduled",
                3,
            ),
            Line(at + 0.1, f"ena {nic.bus} {nic.name}: Trigger reset is on", 3),
            Line(
                at + 0.4,
                f"ena {nic.bus}: Device reset completed successfully, Driver info: Elastic Network Adapter (ENA) "
                f"v{nic.version}",
                3,
            ),
        ]
    return lines


def dmesg(state: State, now: Moment) -> str:
    """Return what `dmesg` prints."""
    return "".join(f"[{at:12.6f}] {text}\n" for at, _, text in entries(state, now))


def journal_pairs(state: State, now: Moment) -> list[tuple[int, int]]:
    """Return printk's stamp and the journal's of the newest lines, in microseconds: taken in 0.2 ms later."""
    newest = entries(state, now)[-200:]
    return [(round(at * 1e6), round(at * 1e6) + 200) for at, _, _ in newest]
