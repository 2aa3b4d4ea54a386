"""Recordings of softnet_stat, softirqs, interrupts, vmstat, meminfo, pressure and cpu.stat."""

import re
from collections.abc import Callable
from typing import Any

from bot.domain.command import Outputs
from bot.probes.interrupts import InterruptsReading
from bot.probes.reclaim import ReclaimReading
from bot.probes.softirq import SoftirqReading
from bot.probes.throttling import ThrottlingReading
from tests.contract.corpus import Refused, Row, from_zero
from tests.readings.recorded import twice

# softnet_stat: core -> (processed, dropped, time_squeeze)
SOFTNET: dict[str, Any] = {
    "aws-5.4-11cols.txt": {0: (0x47F2, 0, 0), 1: (0xDB31, 0, 0)},
    "insights-rhel-softnet_stat.txt": {
        0: (0x8E78, 0x12, 1), 1: (0x40EE, 0xFF, 2), 2: (0x1608C, 0, 3), 3: (0x372F, 1, 4)
    },
    "insights-rhel-softnet_stat_2.txt": {0: (0x8E78, 1, 0x11), 1: (0x40EE, 0xEE, 0xF003ECA7)},
    "insights-rhel-softnet_stat_4.txt": {0: (0x6DCAD223, 0, 1)},
    "insights-rhel-softnet_stats_doc.txt": {
        0: (0x358FE3, 0x6283, 0), 1: (0x953D1A, 0x446, 0), 2: (0x2600138, 0x4BC7, 0), 3: (0x2883C47, 0x7E2E, 0),
        4: (0x1A35C9D, 0x2DB94, 1),
    },
    "local-softnet_stat-6.18": {0: (0x14704, 0, 1), 1: (0x1B8A3, 0, 0)},
    "node_exporter-softnet_stat": {
        0: (0x49279, 0, 1), 1: (0xDFB82, 0x29, 0xA), 2: (0x551C3F, 0, 0x55), 3: (0x2F8339, 0, 0x32)
    },
}  # fmt: skip

# /proc/softirqs: NET_RX by core
SOFTIRQS: dict[str, Any] = {
    "jc-softirqs": {0: 61, 1: 128016},
    "local-softirqs-6.18": {0: 86747, 1: 96733},
    "node_exporter-softirqs": {0: 43066, 1: 104508},
    "procfs-softirqs": {0: 55919, 1: 28694},
}

# /proc/interrupts where the device is called …: interrupt -> counts by core
INTERRUPTS: dict[str, tuple[str, Any]] = {
    "insights-interrupts-int_invalid_1.txt": ("eth0", Refused("no header")),
    "insights-interrupts-int_multi.txt": (
        "enp0s25",
        {"29": {0: 974462, 1: 273360, 2: 84814, 3: 115282, 4: 66423, 5: 72322, 6: 48783, 7: 56791}},
    ),
    "jc-interrupts": ("ens33", {"19": {1: 126705}}),
    "local-interrupts-6.18": ("eth0", {"38": {1: 14748}, "39": {0: 9929}}),
    "node_exporter-interrupts": ("eth0", {}),
}

# /proc/vmstat: allocstall, pgscan_direct, pgscan_kswapd over all zones
VMSTAT: dict[str, Any] = {
    "local-vmstat-6.18": (0, 0, 0),
    "node_exporter-vmstat": (83165, 67 + 6796, 107656 + 358784),
    "telegraf-vmStatFileFull": (81496, 12256 + 31501600, 4480608 + 287857984),
    "telegraf-vmStatFileInvalid": Refused("malformed (thp_split abcd)"),
}

# /proc/meminfo: MemTotal, MemAvailable, Percpu + SUnreclaim
MEMINFO: dict[str, Any] = {
    "jc-meminfo": (3997272, 3386876, 107520 + 99880),
    "node_exporter-meminfo": (3742148, None, 54160),
}

# /proc/pressure/*: (some avg10, full avg10, full total); None where the kernel prints no such line
PRESSURE: dict[str, Any] = {
    "local-pressure-cpu-6.18": (11.75, 0.0, 0),
    "local-pressure-io-6.18": (0.0, 0.0, 6596197),
    "local-pressure-memory-6.18": (0.0, 0.0, 0),
    "node_exporter-pressure-cpu": (0.0, 0.0, 0),
    "node_exporter-pressure-io": (0.18, 0.18, 159229614),
    "procfs-pressure-cpu": (0.1, None, None),
    "procfs-pressure-io": (0.1, 0.2, 25),
    "procfs-pressure-memory": (0.1, 0.2, 25),
    "telegraf-pressure-cpu": Refused("malformed"),  # invented: 300 percent
    "telegraf-pressure-io": Refused("malformed"),  # invented: 300 percent
    "telegraf-pressure-memory": Refused("malformed"),  # invented: 300 percent
}

# cpu.stat of one cgroup: periods, throttled periods, throttled seconds; None without a quota
CPU_STAT: dict[str, Any] = {
    "local-v1-cpu.stat-throttled.txt": (21, 21, 1.632393),
    "telegraf-cpu-cpu.stat": None,
    "telegraf-v2-cpu.stat": (3936904, 6004, 19175.137007),
}


def softirqs(table: str, softnet: str, online: str) -> str:
    return (
        f"==> /proc/softirqs <==\n{table}\n==> /proc/net/softnet_stat <==\n{softnet}\n"
        f"==> /sys/devices/system/cpu/online <==\n{online}\n"
    )


def softnet_rows(text: str) -> Outputs:
    table, online = "CPU0\nNET_RX: 0\n", f"0-{text.strip().count(chr(10))}"
    zero = re.sub(r"(?m)^(?:[0-9a-f]{8} ){3}", "00000000 " * 3, text)
    return twice("softirqs", softirqs(table, zero, online), softirqs(table, text, online))


def softirq_table(text: str) -> Outputs:
    row = "00000000 " * 11
    return twice("softirqs", softirqs(from_zero(text), row, "0"), softirqs(text, row, "0"))


def interrupts_of(device: str) -> Callable[[str], Outputs]:
    return lambda text: twice("interrupts", f"net {device}\n{from_zero(text)}", f"net {device}\n{text}")


def memory(vmstat: str = "", meminfo: str = "MemTotal: 1 kB", pressure: str = "") -> Callable[[str], Outputs]:
    def outputs(text: str) -> Outputs:
        def look(counters: str) -> str:
            files = {"vmstat": vmstat or counters, "meminfo": meminfo or text}
            files |= {f"pressure/{pressure}": text} if pressure else {}
            return "".join(f"==> /proc/{path} <==\n{lines}\n\n" for path, lines in files.items())

        return twice("memory", look(from_zero(text)), look(text))

    return outputs


def group(text: str) -> Outputs:
    def look(lines: str) -> str:
        told = [line for line in lines.split("\n") if re.match("nr_periods|nr_throttled|throttled_", line)]
        return "\n".join(("==> /docker/a <==", *told, "==> /seen <==", "1"))

    return twice("cpu.stat", look(from_zero(text)), look(text))


def of_softnet(reading: SoftirqReading) -> Any:
    return {core.core: (core.processed, core.dropped, core.time_squeeze) for core in reading.softnet}


def of_softirqs(reading: SoftirqReading) -> Any:
    return reading.rises["NET_RX"]


def of_interrupts(reading: InterruptsReading) -> Any:
    return {line.irq: line.rises for line in reading.lines}


def of_vmstat(reading: ReclaimReading) -> Any:
    return reading.allocstall_rise, reading.pgscan_direct_rise, reading.pgscan_kswapd_rise


def of_meminfo(reading: ReclaimReading) -> Any:
    return reading.mem_total_kib, reading.mem_available_kib, reading.kernel_held_kib


def of_pressure(reading: ReclaimReading) -> Any:
    some, full = (next((v for k, v in reading.pressure.items() if k.endswith(kind)), None) for kind in ("some", "full"))
    return some and some.avg10, full and full.avg10, full and full.total_usec


def of_cpu_stat(reading: ThrottlingReading) -> Any:
    held = reading.groups[0] if reading.groups else None
    return held and (held.periods, held.throttled, held.throttled_for.total_seconds())


VALID = "pgscan_direct 0"

ROWS = [
    *(Row(f"softnet/{name}", "softirq", softnet_rows, wanted, of_softnet) for name, wanted in SOFTNET.items()),
    *(Row(f"proc/{name}", "softirq", softirq_table, wanted, of_softirqs) for name, wanted in SOFTIRQS.items()),
    *(
        Row(f"proc/{name}", "interrupts", interrupts_of(device), wanted, of_interrupts)
        for name, (device, wanted) in INTERRUPTS.items()
    ),
    *(Row(f"vmstat/{name}", "reclaim", memory(), wanted, of_vmstat) for name, wanted in VMSTAT.items()),
    *(Row(f"proc/{name}", "reclaim", memory(VALID, ""), wanted, of_meminfo) for name, wanted in MEMINFO.items()),
    *(
        Row(f"psi/{name}", "reclaim", memory(VALID, pressure="io"), wanted, of_pressure)
        for name, wanted in PRESSURE.items()
    ),
    *(Row(f"cgroup/{name}", "throttling", group, wanted, of_cpu_stat) for name, wanted in CPU_STAT.items()),
]
