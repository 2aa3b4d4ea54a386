"""Which cores handle the network devices' interrupts, and which report heat: /proc/interrupts twice, filtered there.

Defined in: Linux, Documentation/filesystems/proc.rst and core-api/irq/irq-affinity.rst; names are each driver's own;
arch/x86/kernel/cpu/mce/therm_throt.c (thermal_throttle: how often a core's thermal interrupt told of throttling).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from string import digits
from typing import ClassVar

from bot.domain.command import Command, Outputs, SampleTimes
from bot.domain.errors import CannotRead
from bot.domain.probe import Probe
from bot.domain.safe_text import one_line
from bot.probes.formats.core_list import MOST_CORES, core_list
from bot.probes.formats.counter import counter_increase, counts


@dataclass(frozen=True, slots=True)
class InterruptLine:
    """An interrupt of a network device.

    Shape: `rises` maps core -> interrupts inside the window, for cores where it rose; `cores` is where it may be
    delivered (effective affinity), empty if unknown; `queue` is the queue it serves.
    """

    irq: str
    name: str
    rises: Mapping[int, int] = field(default_factory=dict)
    cores: tuple[int, ...] = ()
    queue: int | None = None
    raw: str = ""


@dataclass(frozen=True, slots=True)
class Placement:
    """The core that most network interrupts landed on in the window.

    Shape: `bound` if no queue of the cards that interrupted it may interrupt another core.
    """

    core: int
    share_percent: float
    per_second: float
    queues: tuple[InterruptLine, ...]  # queues whose interrupts rose on it
    bound: bool = False

    def crowds(self, share_percent: float, per_second: float) -> bool:
        """True when several queues share the core with many interrupts that could be spread over others.

        A core full of packet work polls its queues with their interrupts off (NAPI): the busier, the fewer interrupts.
        So if every queue of its cards is bound to it, the number of interrupts says nothing.
        """
        is_much = self.share_percent >= share_percent and (self.per_second >= per_second or self.bound)
        return is_much and len(self.queues) > 1


@dataclass(frozen=True, slots=True)
class HotCore:
    """A core that was throttled for heat, its own or its package's: how often within the window, and since boot."""

    core: int
    rise: int
    total: int
    line: str = ""


@dataclass(frozen=True, slots=True)
class InterruptsReading:
    """The network devices' interrupts; an empty list is an answer.

    Shape: `hot` holds the cores that were throttled for heat since boot; None if that is not counted, as on machines of
    AMD and Arm, and on virtual ones.
    """

    probe: ClassVar[str] = "interrupts"

    lines: tuple[InterruptLine, ...]
    seconds_between: float | None = None
    irqbalance_runs: bool | None = None
    hot: tuple[HotCore, ...] | None = None

    @property
    def hottest_first(self) -> tuple[HotCore, ...] | None:
        """The cores that were throttled for heat, the most often throttled first."""
        return None if self.hot is None else tuple(sorted(self.hot, key=lambda core: (-core.rise, core.core)))

    @property
    def throttled_cores(self) -> int | None:
        """How many cores were throttled for heat within the window; None if that is not counted."""
        return None if self.hot is None else sum(1 for core in self.hot if core.rise)

    @property
    def by_core(self) -> Mapping[int, int]:
        """Network interrupts inside the window, by core."""
        total: dict[int, int] = {}
        for line in self.lines:
            for core, rise in line.rises.items():
                total[core] = total.get(core, 0) + rise
        return total

    @property
    def total_rise(self) -> int:
        """Network interrupts inside the window."""
        return sum(self.by_core.values())

    @property
    def busiest_core_share_percent(self) -> float:
        """The busiest core's share of the network interrupts; 0 when there were none."""
        return 100 * max(self.by_core.values(), default=0) / self.total_rise if self.total_rise else 0.0

    @property
    def placement(self) -> Placement | None:
        """Where most landed; None without network interrupts, or if the time between the looks is not known."""
        if not self.total_rise or not self.seconds_between:
            return None
        core, rise = max(self.by_core.items(), key=lambda pair: (pair[1], -pair[0]))
        lines = tuple(line for line in self.lines if line.rises.get(core))
        cards = {_card_of(line) for line in lines}
        queues = (line for line in self.lines if line.queue is not None and _card_of(line) in cards)
        bound = all(line.cores == (core,) for line in queues)
        return Placement(core, self.busiest_core_share_percent, rise / self.seconds_between, lines, bound)

    def queues_on(self, core: int) -> tuple[InterruptLine, ...]:
        """Return the interrupts that this core serves."""
        return tuple(line for line in self.lines if core in line.cores or (not line.cores and core in line.rises))


def _card_of(line: InterruptLine) -> str:
    """Name what the queues of a card share: "eth0-Tx-Rx-" of eth0-Tx-Rx-3."""
    name, at, device = line.name.partition("@")
    return f"{name.rstrip(digits)}{at}{device}"


# Names that show a row to be a network device's even if sysfs does not: ENA, Intel, Broadcom, vmxnet3, Mellanox,
# virtio. An extended regular expression that works in Python and awk.
_NAMES = r"([Tt]x-?[Rr]x|rxtx)-[0-9]|mlx5_(comp|async)[0-9]|ena-mgmnt@|virtio[0-9]+-(input|output)\.[0-9]"

_HEADER = re.compile(r"CPU[0-9]{1,5}(?: CPU[0-9]{1,5})*", re.ASCII)
_ROW = re.compile(r"([0-9]{1,6}): (.*)", re.ASCII)
_HEAT = re.compile(r"heat ([0-9]{1,5}) ([0-9]{1,18}) ([0-9]{1,18})", re.ASCII)
_QUEUE = re.compile(
    r"(?:^|[-_.])(?:tx-?rx|rxtx|rx|tx|fp|input|output|comp|ntfy-bl(?:oc)?k|q)[-.]?([0-9]{1,4})(?![0-9a-z])"
)


@dataclass(slots=True)
class _Look:
    """A look: interrupts by number, and the devices they belong to."""

    rows: dict[str, tuple[dict[int, int], str, str]] = field(default_factory=dict)  # counts by core, name, raw
    devices: dict[str, frozenset[str]] = field(default_factory=dict)
    cores: dict[str, tuple[int, ...]] = field(default_factory=dict)
    heat: dict[int, tuple[int, int]] | None = None  # events of the core and of its package, by core


def parse(outputs: Outputs) -> InterruptsReading:
    """Read both looks. Interrupts that a device requested again within the window are counted from zero.

    Unread when: the table has no header, or a row is malformed.
    """
    before, after = _parse_sample(outputs.text("interrupts", 0)), _parse_sample(outputs.text("interrupts", 1))
    lines = []
    for irq, (now, name, raw) in sorted(after.rows.items(), key=lambda row: int(row[0])):
        if not _is_network(irq, name, after.devices):
            continue
        earlier, earlier_name, _ = before.rows.get(irq, ({}, name, ""))
        then = earlier if earlier_name == name else {}
        moved = {core: then.get(core, 0) for core in now if now[core] != then.get(core, 0)}
        rises = {core: rise for core, count in moved.items() if (rise := _risen(count, now[core]))}
        lines.append(InterruptLine(irq, name, rises, after.cores.get(irq, ()), queue_of(name), raw))
    runs = {"yes": True, "no": False}.get((outputs.text_or_none("irqbalance") or "").strip())
    return InterruptsReading(tuple(lines), outputs.seconds_between("interrupts"), runs, _hot(before, after))


def _hot(before: _Look, after: _Look) -> tuple[HotCore, ...] | None:
    if before.heat is None or after.heat is None:
        return None
    found = []
    for core, now in sorted(after.heat.items()):
        then = before.heat.get(core, (0, 0))
        rises = [max(0, later - first) for first, later in zip(then, now, strict=True)]
        line = f"cpu{core} core_throttle_count {then[0]} then {now[0]}, package_throttle_count {then[1]} then {now[1]}"
        found.append(HotCore(core, max(rises), max(now), line))
    return tuple(found)


def queue_of(name: str) -> int | None:
    """Return the queue that an interrupt of this name serves, None if it serves no queue.

    Example:
    >>> [queue_of(name) for name in ("eth0-Tx-Rx-5", "ena-mgmnt@pci:0000:00:05.0", "mlx5_comp12@pci:0000:07:00.0")]
    [5, None, 12]
    """
    found = _QUEUE.search(name.partition("@")[0].lower())
    return int(found.group(1)) if found else None


def _parse_sample(text: str) -> _Look:
    look = _Look()
    header: list[int] | None = None
    for line in text.split("\n"):
        words = line.split()
        flat = " ".join(words)
        if header is None and _HEADER.fullmatch(flat):
            header = [int(word.removeprefix("CPU")) for word in words]
        elif words[:1] == ["net"] and header is None and len(words) > 1:
            look.devices[words[1]] = frozenset(words[2:])
        elif words[:1] == ["cores"] and len(words) == 3:
            look.cores[words[1]] = core_list(words[2])
        elif words[:1] == ["heat"]:
            look.heat = look.heat or {}
            if heat := _HEAT.fullmatch(flat):
                look.heat[int(heat[1])] = (int(heat[2]), int(heat[3]))
        elif row := _ROW.fullmatch(flat):
            irq, rest = row.group(1), row.group(2).split()
            if header is None:
                break
            taken = counts(rest[: len(header)])
            if taken is None or len(taken) < len(header) or irq in look.rows:
                raise CannotRead(f"interrupts: a row of /proc/interrupts is malformed ({one_line(flat, 60)})")
            look.rows[irq] = (dict(zip(header, taken, strict=True)), _name(rest[len(header) :]), flat)
    if not header or len(set(header)) != len(header) or max(header) >= MOST_CORES:
        raise CannotRead("interrupts: /proc/interrupts has no header that names the cores")
    return look


def _name(words: list[str]) -> str:
    """Return the text after a row's chip and kind: the name, or the names that share the interrupt."""
    if len(words) < 2:
        return ""
    start = len(words) - 1
    while start > 1 and words[start - 1].endswith(","):
        start -= 1
    return " ".join(words[start:])


def _is_network(irq: str, name: str, devices: dict[str, frozenset[str]]) -> bool:
    if re.search(_NAMES, name) or any(irq in irqs for irqs in devices.values()):
        return True
    return any(re.search(rf"(^|[-, ]){re.escape(device)}($|[-@:, ])", name) for device in devices)


def _risen(before: int, after: int) -> int:
    try:
        return counter_increase(before, after, "interrupts")
    except CannotRead:  # freed and requested again, as in a reset of the device: the counter began at zero
        return after


# Interrupts of a network device by sysfs (MSI: the device's own, or its parent's for virtio), or else by name. A row
# is mostly blanks and zeros: with a single blank between columns 192 cores take 0.5 kB a row. The effective affinity
# is where the interrupt goes; kernels without it know only where it may go.
_DEVICES = (
    "v=; for d in /sys/class/net/*/device; do "
    '[ -d "$d" ] || continue; n=${d%/device}; m=$d/msi_irqs; [ -d "$m" ] || m=$d/../msi_irqs; '
    'l=; for f in "$m"/*; do [ -e "$f" ] && l="$l ${f##*/}"; done; v="$v;net ${n##*/}$l"; done; export v'
)
_ROWS = (
    'BEGIN { n = split(ENVIRON["v"], l, ";"); for (i = 2; i <= n; i++) { print l[i]; k = split(l[i], w, " "); '
    "dev[w[2]]; for (j = 3; j <= k; j++) mine[w[j]] } } "
    "/^ *CPU[0-9]/ { $1 = $1; print; "
    # What a core counts of heat, if the first has such counters; most cores have nothing to tell.
    "for (i = 1; i <= NF; i++) { "
    'c = substr($i, 4); d = "/sys/devices/system/cpu/cpu" c "/thermal_throttle/"; a = b = 0; '
    'f = d "core_throttle_count"; if ((getline a < f) < 1) { if (i == 1) break; a = 0 } close(f); '
    'f = d "package_throttle_count"; if ((getline b < f) < 1) b = 0; close(f); '
    'if (i == 1) print "heat counted"; if (a + b > 0) print "heat", c, a, b } next } '
    "/^ *[0-9]+:/ { "
    'irq = substr($0, 1, index($0, ":") - 1); gsub(/ /, "", irq); '
    f"keep = (irq in mine) || $0 ~ /{_NAMES}/; "
    "if (!keep) for (name in dev) if (index($0, name)) keep = 1; "
    "if (!keep) next; "
    "$1 = $1; print; "
    'p = "/proc/irq/" irq "/"; a = ""; f = p "effective_affinity_list"; getline a < f; close(f); '
    'if (a == "") { f = p "smp_affinity_list"; getline a < f; close(f) } '
    'if (a != "") print "cores", irq, a }'
)
_IRQBALANCE = (
    "u=system.slice/irqbalance.service; cd /sys/fs/cgroup || exit; "
    'if [ -d "$u" ] || [ -d "systemd/$u" ] || [ -d "unified/$u" ]; then echo yes; '
    "elif [ -r /proc/1/comm ]; then if grep -qsx irqbalance /proc/[0-9]*/comm; then echo yes; else echo no; fi; fi"
)

PROBE = Probe(
    name="interrupts",
    title="network interrupts and the cores that take them; cores throttled for heat",
    commands=(
        Command(
            "interrupts",
            ("sh", "-c", f'{_DEVICES}; exec awk "$1" /proc/interrupts', "sh", _ROWS),
            looks=SampleTimes.TWICE,
            output_limit_bytes=512 * 1024,
        ),
        Command("irqbalance", ("sh", "-c", _IRQBALANCE)),
    ),
    parse=parse,
    reading=InterruptsReading,
)
