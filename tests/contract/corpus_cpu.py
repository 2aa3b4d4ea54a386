"""Recordings of mpstat and of /proc/stat."""

from typing import Any

from bot.domain.command import Outputs
from bot.probes.cpu import CpuReading
from tests.contract.corpus import Refused, Row, from_zero
from tests.readings.recorded import once

SINCE_BOOT, ONE = Refused("average since boot"), Refused("single sample, which may be")

# mpstat: samples, cores in each, and of one core of one sample (sample, core, usr, nice, sys, soft, steal, guest, idle)
MPSTAT: dict[str, Any] = {
    "aws-5.4-ampm-all-only.txt": SINCE_BOOT,
    "jc-centos-7.7-mpstat-A-2-5.txt": ([1] * 5, (1, 0, 0.5, 0, 0, 0, 0, 0, 99.5)),
    "jc-centos-7.7-mpstat-A.txt": SINCE_BOOT,
    "jc-centos-7.7-mpstat.txt": SINCE_BOOT,
    "jc-ubuntu-18.04-mpstat-A.txt": SINCE_BOOT,
    "local-sysstat-12.6.1-A.txt": ([2], (0, 1, 43.88, 0, 3.06, 0, 0, 0, 53.06)),
    "local-sysstat-12.6.1-C.json": ([2, 2], (0, 1, 58.82, 0, 4.9, 0.98, 0, 0, 35.29)),
    "local-sysstat-12.6.1-C.txt": ([2, 2, 2], (2, 0, 47.42, 0, 6.19, 1.03, 0, 0, 45.36)),
    "local-sysstat-12.6.1-SIGINT.json": ([2, 2, 2], (2, 1, 69.07, 0, 5.15, 0, 0, 0, 25.77)),
    "local-sysstat-12.6.1-SIGINT.txt": ([2, 2, 2], (1, 0, 82.52, 0, 15.53, 0.97, 0, 0, 0.97)),
    "local-sysstat-12.6.1-SIGTERM-truncated.json": ([2, 2, 2], (2, 0, 91, 0, 6, 0, 0, 0, 3)),
    "local-sysstat-12.6.1-colors-always.txt": ([2], (0, 1, 90.91, 0, 4.04, 0, 0, 0, 5.05)),
    "local-sysstat-12.6.1-de_DE.json": ([2, 2], (1, 0, 84, 0, 16, 0, 0, 0, 0)),
    "local-sysstat-12.6.1-de_DE.txt": ([2, 2], (0, 0, 86.14, 0, 11.88, 0, 0.99, 0, 0.99)),
    "local-sysstat-12.6.1-dec0.txt": ([2], (0, 1, 14, 0, 3, 1, 0, 0, 82)),
    "local-sysstat-12.6.1-en_GB.txt": ([2, 2], (1, 1, 70, 0, 4, 1, 0, 0, 25)),
    "local-sysstat-12.6.1-en_US-S_TIME_FORMAT_ISO.txt": ([2], (0, 0, 74.49, 0, 3.06, 1.02, 0, 0, 21.43)),
    "local-sysstat-12.6.1-en_US.json": ONE,
    "local-sysstat-12.6.1-en_US.txt": ([2, 2], (1, 0, 89.11, 0, 9.9, 0, 0, 0, 0.99)),
    "local-sysstat-12.6.1-fr_FR.txt": ([2, 2], (1, 1, 81.82, 0, 7.07, 1.01, 0, 0, 10.10)),
    "local-sysstat-12.6.1-zh_CN.txt": ([2, 2], (1, 0, 67.35, 0, 10.2, 1.02, 0, 0, 21.43)),
    "sysstat-12.7.9-mpstat-A-JSON.json": ONE,
    # core 6 is offline in the second and third sample, core 8 comes in the third
    "sysstat-12.7.9-mpstat-A.txt": ([8, 7, 8, 9], (3, 8, 2.84, 0, 39.98, 0, 4.5, 7.88, 44.8)),
    "sysstat-12.7.9-mpstat-APN.txt": ([4], (0, 3, 0, 99.55, 0.06, 0.06, 0, 0, 0)),
    "sysstat-12.7.9-mpstat-I.txt": Refused("no table of cores"),
    "sysstat-12.7.9-mpstat-T-JSON.json": ONE,
    "sysstat-12.7.9-mpstat-U.txt": Refused("no row for a single core"),
    "sysstat-12.7.9-mpstat-dec.txt": Refused("no table of cores"),
}

# /proc/stat since boot: (usr, nice, sys, iowait, soft, steal, guest, idle) of core 1, in percent
STAT: dict[str, Any] = {
    "insights-proc_stat-proc_stat.txt": (3.25, 0.01, 2.27, 0.08, 0.2, 1.86, 0.0, 92.33),
    "jc-stat": (0.19, 0.0, 0.23, 0.01, 0.06, 0.0, 0.0, 99.51),
    "local-stat-6.18": (30.5, 0.18, 6.26, 0.45, 0.23, 0.11, 0.0, 62.26),
    "node_exporter-stat": (4.07, 0.0, 1.4, 0.05, 0.0, 0.0, 0.0, 94.47),
    "telegraf-stat-full": (),  # one core
    "telegraf-stat-invalid": (),  # a row without its figure, but none of the cores'
}


def watched(text: str) -> Outputs:
    return once("mpstat", text)


def looked_at_twice(text: str) -> Outputs:
    rows = "".join(f"{line}\n" for line in text.split("\n") if line.startswith("cpu"))
    return once("mpstat", f"uptime 1.00\n{from_zero(rows)}uptime 2.00\n{rows}")


def shares(cpu: CpuReading, sample: int, core: int, names: str) -> tuple[float, ...]:
    (found,) = [found for found in cpu.seconds[sample] if found.core == core]
    return tuple(getattr(found, f"{name}_percent") for name in names.split())


def of_mpstat(expected: Any) -> Any:
    def figures(cpu: CpuReading) -> Any:
        sample, core = expected[1][:2]
        found = shares(cpu, sample, core, "usr nice sys soft steal guest idle")
        return [len(second) for second in cpu.seconds], (sample, core, *found)

    return figures


def of_stat(cpu: CpuReading) -> Any:
    return shares(cpu, 0, 1, "usr nice sys iowait soft steal guest idle") if cpu.cores > 1 else ()


ROWS = [
    *(Row(f"mpstat/{name}", "cpu", watched, wanted, of_mpstat(wanted)) for name, wanted in MPSTAT.items()),
    *(Row(f"proc/{name}", "cpu", looked_at_twice, wanted, of_stat) for name, wanted in STAT.items()),
    *(Row(f"proc/{name}", "cpu", watched, Refused("has no uptime"), of_stat) for name in STAT),
]
