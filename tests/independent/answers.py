"""What the programs and files of a node print, in the forms of their own manuals; no form knows what is sick.

Defined in: proc(5), systemctl(1), mpstat(1), nvme-get-log(1), chronyc(1), openssl-x509(1), df(1), nvidia-smi(1), and
the kernel's Documentation/admin-guide; the real recordings in tests/captures/nodes show each of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from bot.probes.formats.kernel_filter import BEFORE, BEFORE_SECONDS, FILTER, GRAVE, LEVELS_END, WHOLE
from bot.transport.case_file import load
from tests.readings.node_tools import filtered

_RECORDED = Path(__file__).parents[1] / "captures" / "nodes" / "debian-12-v2--healthy.jsonl.gz"
SHARES = ("usr", "nice", "sys", "iowait", "irq", "soft", "steal", "guest", "gnice")


@cache
def recorded(probe: str, name: str) -> str:
    """Return what a real Debian 12 at rest printed."""
    return next(run.stdout for run in load(_RECORDED).runs if (run.probe, run.name, run.look) == (probe, name, 0))


def files(texts: Mapping[str, str]) -> str:
    """Print several files as `tail -v -n +1` does."""
    return "\n".join(f"==> {path} <==\n{text.rstrip(chr(10))}\n" for path, text in texts.items())


def kernel_log(said: Iterable[tuple[float, str]], now: float) -> str:
    """Thin a whole log out with the node's own filter, so that a line that it drops is not seen."""
    lines = [(4, at, text) if text[0] != "<" else (int(text[1]), at, text[3:]) for at, text in said]
    printed = [(level, at, f"[{at:12.6f}] node kernel: {text}") for level, at, text in lines]
    errors = [(at, line) for level, at, line in printed if level <= 3]
    grave = [line for level, _, line in printed if level <= 2]
    before = [line for at, line in errors if BEFORE_SECONDS[0] <= now - at <= BEFORE_SECONDS[1]]
    newest = [line for _, line in errors[-1000:]]
    whole = [*(line for _, _, line in printed), WHOLE, *newest, GRAVE, *grave, BEFORE, *before, LEVELS_END]
    text = "".join(f"{line}\n" for line in whole)
    return _filtered(FILTER, text, o="journal")


_filtered = cache(filtered)  # most nodes that are asked about log the same


def mpstat(release: str, cores: Sequence[Sequence[Mapping[str, float]]]) -> str:
    """Print `mpstat -P ALL -o JSON 1 5`, a core a line; `cores` holds a list of shares for each second."""
    seconds = []
    for second, all_cores in enumerate(cores):
        rows = [tuple(shares.get(name, 0.0) for name in (*SHARES, "idle")) for shares in all_cores]
        mean = tuple(sum(column) / len(rows) for column in zip(*rows, strict=True))
        load = [f'{{"cpu": "{cpu}", {_shares(row)}}}' for cpu, row in (("all", mean), *enumerate(rows))]
        seconds.append(f'{{"timestamp": "12:14:{22 + second}", "cpu-load": [\n{f",{chr(10)}".join(load)}\n]}}')
    host = {
        "nodename": "node",
        "sysname": "Linux",
        "release": release,
        "machine": "x86_64",
        "number-of-cpus": len(cores[0]),
        "date": "11/21/26",
    }
    statistics = f",{chr(10)}".join(seconds)
    return f'{{"sysstat": {{"hosts": [{json.dumps(host)[:-1]}, "statistics": [\n{statistics}\n]}}]}}}}\n'


@cache  # most cores are at rest
def _shares(row: tuple[float, ...]) -> str:
    return ", ".join(f'"{name}": {share:.2f}' for name, share in zip((*SHARES, "idle"), row, strict=True))


def stat_line(
    pid: int, name: str, state: str, core: int, threads: int = 1, kernel: bool = False, policy: int = 0
) -> str:
    """Print /proc/PID/stat."""
    flags, parent, rt = 2129984 if kernel else 4194560, 2 if kernel else 1, 50 if policy else 0
    before = (
        f"{pid} ({name}) {state} {parent} {pid} {pid} 0 -1 {flags} 1200 0 3 0 766359 7341 0 0 20 0 {threads} 0 3100"
    )
    places = " ".join(["0"] * 10)  # startstack to cnswap (proc_pid_stat(5), fields 28 to 37)
    return f"{before} 655360000 40000 18446744073709551615 1 1 {places} 17 {core} {rt} {policy} 0 0 0 0 0 0 0 0 0 0 0"


def properties(told: Mapping[str, object]) -> str:
    """Print one unit as `systemctl show` does."""
    return "".join(f"{key}={value}\n" for key, value in told.items())


def interrupts(cores: int, queues: Mapping[int, int], counts: Mapping[int, int], device: str) -> str:
    """Print the rows of /proc/interrupts that belong to a network device; `queues` says which core serves each."""
    first = 28
    lines = [
        f"net {device} " + " ".join(str(first + queue) for queue in queues),
        " ".join(f"CPU{core}" for core in range(cores)),
    ]
    for queue, core in queues.items():
        row = ["0"] * cores
        row[core] = str(counts[queue])
        lines += [
            f"{first + queue}: {' '.join(row)} PCI-MSI {80028 + queue}-edge {device}-Tx-Rx-{queue}",
            f"cores {first + queue} {core}",
        ]
    return "\n".join(lines) + "\n"


@cache
def softirqs(cores: int, seconds: float, softnet: tuple[tuple[int, int, int], ...]) -> str:
    """Print /proc/softirqs, softnet_stat (processed, dropped, squeezed for each core) and the cores that are online."""
    names = ("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU")
    rows = [" " * 20 + " ".join(f"CPU{core:<7}" for core in range(cores))]
    for name in names:
        counts = [
            {"TIMER": int(seconds * 100), "RCU": int(seconds * 60), "NET_RX": softnet[core][0]}.get(name, 0)
            for core in range(cores)
        ]
        rows.append(f"{name:>12}: " + " ".join(f"{count:10}" for count in counts))
    table = [
        " ".join(f"{value & 0xFFFFFFFF:08x}" for value in (*softnet[core], *[0] * 9, core, 0, 0))
        for core in range(cores)
    ]
    online = f"0-{cores - 1}" if cores > 1 else "0"
    return files(
        {
            "/proc/softirqs": "\n".join(rows),
            "/proc/net/softnet_stat": "\n".join(table),
            "/sys/devices/system/cpu/online": online,
        }
    )


def neighbours(entries: int, table_fulls: int) -> str:
    """Print /proc/net/stat/arp_cache of two cores."""
    head = (
        "entries  allocs   destroys hash_grows lookups  hits     res_failed rcv_probes_mcast rcv_probes_ucast "
        "periodic_gc_runs forced_gc_runs unresolved_discards table_fulls"
    )
    rows = [[entries, 0x2F1, 0x2E0, 4, 0x9F21, 0x8811, 12, 0, 0, 0x1F02, 3, 0, fulls] for fulls in (table_fulls, 0)]
    return "\n".join([head, *(" ".join(f"{cell:08x}" for cell in row) for row in rows)])


def ebs_page(device: str, exceeded: Mapping[str, int], queue: int) -> str:
    """Print log page 0xD0 as nvme-cli dumps it; `exceeded` holds microseconds since the volume was attached."""
    page = bytearray(96)
    page[0:4] = (0x3C23B510).to_bytes(4, "little")
    for at, value in ((8, 481_200), (16, 981_221), (24, 21_004_811_000), (32, 81_120_044_000)):
        page[at : at + 8] = value.to_bytes(8, "little")
    places = {"volume_iops": 56, "volume_throughput": 64, "instance_iops": 72, "instance_throughput": 80}
    for name, at in places.items():
        page[at : at + 8] = exceeded.get(name, 0).to_bytes(8, "little")
    page[88:96] = queue.to_bytes(8, "little")
    rows = [
        f"{at:04x}: " + " ".join(f"{byte:02x}" for byte in page[at : at + 16]) + ' "................"'
        for at in range(0, 96, 16)
    ]
    head = [f"==> /dev/{device}n1 <==", f"Device:{device}n1 log-id:208 namespace-id:0xffffffff"]
    return "\n".join([*head, "       0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f", *rows])


def df(heading: str, rows: Iterable[tuple[str, int, int, str]]) -> str:
    """Print `df -P`: device, all, free, mount point."""
    lines = [heading]
    for device, whole, free, point in rows:
        used = whole - free
        capacity = f"{-(-100 * used // whole)}%" if whole else "-"
        lines.append(f"{device} {whole} {used} {free} {capacity} {point}")
    return "\n".join(lines)


def disk_row(major: int, minor: int, name: str, reads: int, read_ms: int, writes: int, waiting: int) -> str:
    """Print one row of /proc/diskstats of Linux 5.5 or later."""
    read, written = f"{reads} 12 {reads * 44} {read_ms}", f"{writes} 31 {writes * 82} {writes * 2}"
    return f" {major:3} {minor:7} {name} {read} {written} {waiting} {reads} {reads * 2} 0 0 0 0 0 0"
