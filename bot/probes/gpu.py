"""NVIDIA's GPUs: which are on the PCI bus, which answer, and the state of their memory.

Defined in: Linux, Documentation/ABI/testing/sysfs-bus-pci; nvidia-smi(1) (--query-gpu, --query-remapped-rows, -q).

A faulty GPU can block nvidia-smi in the kernel, where it cannot be killed: so it runs in its own lane, and only if
sysfs shows a GPU.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import ClassVar

from bot.domain.command import Command, Outputs
from bot.domain.errors import CannotRead
from bot.domain.probe import Probe
from bot.domain.safe_text import one_line
from bot.probes.formats.fragment import END, fragment, is_whole
from bot.probes.formats.gpu_events import bus_id
from bot.probes.formats.sections import sections


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU on the bus. Missing values are None or empty.

    Shape: `answers` False: nvidia-smi answered for other GPUs, or named this GPU as out of reach; None: it was not
    asked, or another driver is in use. `recovery` is the *GPU Recovery Action*, or `Reset` if nvidia-smi demands a
    reset.
    """

    bus: str
    driver: str = ""
    answers: bool | None = None
    uncorrected: int | None = None
    remap_pending: bool | None = None
    remap_failed: bool | None = None
    recovery: str = ""
    settings: Mapping[str, str | float] = field(default_factory=dict)  # its clocks, what slows it down, its firmware
    replace: bool = False  # SRAM Threshold Exceeded: NVIDIA's criterion for a replacement
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GpuUser:
    """A process on GPUs. `name` is its comm, empty if it had ended; `age` in seconds, None with it."""

    pid: int
    name: str
    age: float | None
    buses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GpuReading:
    """The GPUs of a node; an empty bus is an answer. `smi` is the outcome of nvidia-smi.

    Shape: `users` is None where a GPU did not tell which processes use it.
    """

    probe: ClassVar[str] = "gpu"

    gpus: tuple[Gpu, ...]
    smi: str = ""  # "answered", "absent", "stalled", "failed", or empty without a GPU
    users: tuple[GpuUser, ...] | None = None

    @property
    def count(self) -> int:
        """How many GPUs are on the bus."""
        return len(self.gpus)

    @property
    def silent_count(self) -> int:
        """How many do not answer."""
        return sum(gpu.answers is False for gpu in self.gpus)

    @property
    def remap_failed_count(self) -> int:
        """How many could not replace a bad row of their memory."""
        return sum(gpu.remap_failed is True for gpu in self.gpus)


_NONE = "no gpu"
# 10de is NVIDIA; class 0300 is a display controller, 0302 a controller without a display. Others are bridges and audio.
_NVIDIA = fragment("""
    n=; { for f in /sys/bus/pci/devices/*/vendor; do
        read -r v <"$f" && [ "$v" = 0x10de ] && n="$n ${f%/vendor}"; done; } 2>/dev/null;
""")
_BUS = fragment(f"""
    {_NVIDIA}
    for d in $n; do c=; read -r c <$d/class;
        case $c in 0x0300*|0x0302*) l=$(readlink $d/driver); echo "${{d##*/}} $c ${{l##*/}}";; esac; done;
    echo '{END}'
""")
# Since driver 535 throttle reasons are called event reasons, and the limit of power the current one.
_SETTINGS = (
    "^ +((HW|SW) .*(Slowdown|Power Cap)|Product Name|VBIOS Version|Persistence Mode|(Current )?Power Limit|SM) +:|"
    "^ +(Max )?Clocks$"
)
_SMI = fragment(f"""
    {_NVIDIA}
    [ -n "$n" ] || {{ echo '{_NONE}'; exit; }};
    command -v nvidia-smi >/dev/null || {{ echo absent; exit; }};
    echo '==> /gpus <==';
    nvidia-smi --query-gpu=pci.bus_id,ecc.errors.uncorrected.volatile.total --format=csv,noheader,nounits 2>&1;
    echo "status $?";
    echo '==> /rows <==';
    nvidia-smi --query-remapped-rows=gpu_bus_id,remapped_rows.pending,remapped_rows.failure --format=csv,noheader 2>&1;
    echo '==> /actions <==';
    q=$(nvidia-smi -q 2>&1 |
        grep -aE '^GPU [0-9A-Fa-f]+:|GPU Recovery Action|SRAM Threshold Exceeded|^ +Process(es| ID) +:|{_SETTINGS}');
    printf '%s\\n' "$q" '==> /processes <==';
    read -r up idle < /proc/uptime; echo "up $up"; set -f; a=; b=;
    for w in $q; do
        case $a$b$w in ID:*[!0-9]*) ;; ID:*) [ -r /proc/$w/stat ] && read -r s < /proc/$w/stat && echo "$s";; esac;
        a=$b; b=$w; done;
    echo '{END}'
""")

_ON_BUS = re.compile(r"([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) 0x[0-9a-f]{6} ?(\S{0,40})")
_ROW = re.compile(r"([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]), *(.{1,60})")
# Drivers since 550 name the GPU by its number first: `GPU2: 0000:9B:00.0: Unknown Error`.
_LOST = re.compile(r"[Uu]nable to determine the device handle for (?:gpu|GPU) ?(?:[0-9]{1,3}: )?(\S{4,20}?)[:.]? ")
_HEAD = re.compile(r"GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])")
_USED_BY = re.compile(r"\s+Process(es| ID)\s*:\s*(\S.{0,60})")
_STAT = re.compile(r"([0-9]{1,9}) \((.*)\) [A-Za-z] ([-0-9 ]+)", re.ASCII)
_BORN = 18  # the field of the time of its start, counted from that after the state
_HZ = 100  # USER_HZ of every architecture that has such GPUs
_SAID = re.compile(r"\s+(GPU Recovery Action|SRAM Threshold Exceeded)\s*:\s*(\S.{0,60})")
_SETTING = re.compile(r"\s+((?:HW|SW) .{1,30}(?:Slowdown|Cap)|[A-Z][A-Za-z ]{1,30}?)\s+:\s+(\S.{0,60})", re.ASCII)
_NEEDS_RESET, _IS_LOST, _UNKNOWN_ERROR = "requires reset", "[GPU is lost]", "[Unknown Error]"
_NO_DEVICES = "No devices were found"


def parse(outputs: Outputs) -> GpuReading:
    """Read the bus, and what nvidia-smi says about each GPU on it.

    Unread when: the list of the bus is cut, or has a malformed row. A silent nvidia-smi is part of the reading.
    """
    lines = outputs.text("bus").rstrip("\n").split("\n")
    if lines[-1] != END:
        raise CannotRead("gpu: the list of the bus is cut short")
    rows = [(line, _ON_BUS.fullmatch(line.rstrip())) for line in lines[:-1] if line.strip()]
    for line, row in rows:
        if row is None:
            raise CannotRead(f"gpu: a row of the bus is malformed ({one_line(line, 60)})")
    on_bus = [(row.group(1), row.group(2), one_line(line)) for line, row in rows if row is not None]
    if not on_bus:
        return GpuReading(())
    smi, text = _smi(outputs)
    if smi != "answered":
        return GpuReading(tuple(Gpu(bus_id(bus), driver, lines=(line,)) for bus, driver, line in on_bus), smi)
    answers = _GpuAnswers(text)
    gpus = tuple(answers.gpu(bus_id(bus), driver, line) for bus, driver, line in on_bus)
    return GpuReading(gpus, smi, answers.users([gpu.bus for gpu in gpus if gpu.driver == "nvidia"]))


def _smi(outputs: Outputs) -> tuple[str, str]:
    run = outputs.get("smi")
    if run is None or run.exit_status is None or run.exit_status in (124, 137):
        return "stalled", ""
    if run.stdout.strip() in ("absent", _NONE):
        return "absent", ""
    whole = is_whole(run.stdout) and not run.cut
    is_complete = "status 0" in run.stdout or _NO_DEVICES in run.stdout or _LOST.search(run.stdout) is not None
    return ("answered", run.stdout) if whole and is_complete else ("failed", "")


class _GpuAnswers:
    """What nvidia-smi printed, by GPU."""

    def __init__(self, text: str) -> None:
        files = sections(text)
        listed = files.get("/gpus", ())
        self._gpus = self._table(listed)
        self._rows = self._table(files.get("/rows", ()))
        lost = ((_LOST.search(f"{line} "), one_line(line)) for line in listed)
        self._lost = {bus_id(found.group(1)): line for found, line in lost if found is not None}
        # Some versions stop at a GPU that is out of reach, and do not list the others.
        self._whole = "status 0" in listed or any(_NO_DEVICES in line for line in listed)
        self._said: dict[str, dict[str, tuple[str, str]]] = {}
        self._users: dict[str, list[int] | None] = {}  # by GPU; None: it did not tell
        self._settings: dict[str, dict[str, str | float]] = {}
        self._ran = files.get("/processes", ())
        bus = clocks = ""
        for line in files.get("/actions", ()):
            if head := _HEAD.match(line):
                bus = bus_id(head.group(1))
            elif bus and (used := _USED_BY.fullmatch(line.rstrip())):
                self._use(bus, *used.groups())
            elif bus and (found := _SAID.fullmatch(line.rstrip())):
                self._said.setdefault(bus, {})[found.group(1)] = (found.group(2).strip(), one_line(line))
            elif line.strip() in ("Clocks", "Max Clocks"):
                clocks = line.strip().removesuffix("s")
            elif bus and (found := _SETTING.fullmatch(line.rstrip())):
                name, value = found.groups()
                known = self._settings.setdefault(bus, {})
                if name != "SM":
                    known[name.removeprefix("Current ")] = one_line(value, 60)
                elif clocks and (figure := re.fullmatch(r"([0-9]{1,6}) MHz", value)):
                    known[f"{clocks} (MHz)"] = float(figure.group(1))

    def _use(self, bus: str, what: str, who: str) -> None:
        users = self._users.setdefault(bus, [])
        if what == " ID" and users is not None and re.fullmatch(r"[0-9]{1,9}", who):
            users.append(int(who))
        elif who != "None":
            self._users[bus] = None

    def users(self, asked: Sequence[str]) -> tuple[GpuUser, ...] | None:
        """Return the processes on these GPUs; None where any of them did not tell, so that unread is never none."""
        pids: dict[int, list[str]] = {}
        for bus in asked:
            users = self._users.get(bus)
            if users is None:
                return None
            for pid in users:
                pids.setdefault(pid, []).append(bus)
        ups = [line.removeprefix("up ") for line in self._ran if re.fullmatch(r"up [0-9]{1,10}(\.[0-9]{1,3})?", line)]
        ran = {int(row.group(1)): row for line in self._ran if (row := _STAT.fullmatch(line.rstrip())) is not None}
        found = []
        for pid, buses in sorted(pids.items()):
            name, age = "", None
            if (row := ran.get(pid)) is not None:
                fields = row.group(3).split()
                name = one_line(row.group(2), 64)
                if ups and len(fields) > _BORN and fields[_BORN].isdigit():
                    age = max(0.0, float(ups[0]) - int(fields[_BORN]) / _HZ)
            found.append(GpuUser(pid, name, age, tuple(dict.fromkeys(buses))))
        return tuple(found)

    @staticmethod
    def _table(lines: tuple[str, ...]) -> dict[str, tuple[tuple[str, ...], str]]:
        found = ((_ROW.fullmatch(line.strip()), line) for line in lines)
        return {
            bus_id(row.group(1)): (tuple(cell.strip() for cell in row.group(2).split(",")), one_line(line))
            for row, line in found
            if row is not None
        }

    def gpu(self, bus: str, driver: str, line: str) -> Gpu:
        """Return what is known of a GPU; only a GPU bound to the nvidia driver is expected to answer."""
        cells, row = self._gpus.get(bus, ((), ""))
        remap, remap_row = self._rows.get(bus, ((), ""))
        said = self._said.get(bus, {})
        # Its address is known from before, so a lost GPU may still be listed; only its figures are missing.
        lost = bus in self._lost or _IS_LOST in cells or (self._whole and bus not in self._gpus)
        answered = bus in self._gpus and _UNKNOWN_ERROR not in cells
        needs_reset = any(_NEEDS_RESET in cell for cell in (*cells, *remap))
        action, action_row = said.get("GPU Recovery Action", ("", ""))
        threshold, threshold_row = said.get("SRAM Threshold Exceeded", ("", ""))
        return Gpu(
            bus=bus,
            driver=driver,
            answers=None if driver != "nvidia" else False if lost else True if answered else None,
            uncorrected=int(cells[0]) if cells and re.fullmatch(r"[0-9]{1,18}", cells[0]) else None,
            remap_pending=_flag(remap, 0),
            remap_failed=_flag(remap, 1),
            recovery="Reset" if needs_reset else "" if action in ("", "None", "N/A") else one_line(action, 60),
            settings=self._settings.get(bus, {}),
            replace=threshold == "Yes",
            lines=tuple(filter(None, (line, self._lost.get(bus, ""), row, remap_row, action_row, threshold_row))),
        )


def _flag(cells: tuple[str, ...], at: int) -> bool | None:
    word = cells[at].lower() if len(cells) > at else ""
    return {"yes": True, "1": True, "no": False, "0": False}.get(word)


PROBE = Probe(
    name="gpu",
    title="NVIDIA GPUs",
    commands=(
        Command("bus", ("sh", "-c", _BUS), output_limit_bytes=16 * 1024),
        Command("smi", ("sh", "-c", _SMI), lane="devices", limit=timedelta(seconds=6), output_limit_bytes=64 * 1024),
    ),
    parse=parse,
    reading=GpuReading,
)
