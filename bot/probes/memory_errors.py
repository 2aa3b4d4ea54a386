"""Memory errors as the kernel's EDAC drivers count them, and the pages that the kernel no longer uses.

Defined in: Linux, Documentation/ABI/testing/sysfs-devices-edac, Documentation/filesystems/proc.rst (HardwareCorrupted).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from bot.domain.command import Command, Outputs
from bot.domain.errors import CannotRead
from bot.domain.probe import Probe
from bot.domain.safe_text import one_line
from bot.probes.formats.fragment import END, fragment, whole_text


@dataclass(frozen=True, slots=True)
class MemoryController:
    """A controller's counts since its driver was loaded or the counts were reset. Units: seconds."""

    name: str  # `mc0`
    uncorrected: int
    corrected: int
    seconds: int | None = None
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryErrorsReading:
    """Each memory controller's counts; no controller means that nothing is counted, not that there are no errors.

    Units: `given_up_kib` is the uncorrectable memory that the kernel no longer uses; None: unknown.
    """

    probe: ClassVar[str] = "memory_errors"

    controllers: tuple[MemoryController, ...] = ()
    given_up_kib: int | None = None
    product: str = ""  # of the machine: EC2 names its bare metal `m5.metal`

    @property
    def uncorrected_count(self) -> int:
        """Uncorrected errors of all controllers."""
        return sum(controller.uncorrected for controller in self.controllers)

    @property
    def corrected_count(self) -> int:
        """Corrected errors of all controllers."""
        return sum(controller.corrected for controller in self.controllers)


_LOOK = fragment(f"""
    for f in /sys/devices/system/edac/mc/mc[0-9]*/ue_count /sys/devices/system/edac/mc/mc[0-9]*/ce_count
        /sys/devices/system/edac/mc/mc[0-9]*/seconds_since_reset; do
        {{ read -r n <"$f"; }} 2>/dev/null && echo "$f:$n"; done;
    grep -s '^HardwareCorrupted:' /proc/meminfo;
    p=; {{ read -r p </sys/class/dmi/id/product_name; }} 2>/dev/null; echo "product $p";
    echo '{END}'
""")
_COUNT = re.compile(r"/sys/devices/system/edac/mc/(mc[0-9]{1,4})/(\w{1,40}):([0-9]{1,19})\s*")
_GIVEN_UP = re.compile(r"HardwareCorrupted:\s+([0-9]{1,15}) kB\s*")
_PRODUCT = "product "


def parse(outputs: Outputs) -> MemoryErrorsReading:
    """Read the counts of each controller.

    Unread when: the answer is cut short, or a count is malformed or has no counterpart.
    """
    lines = whole_text(outputs, "look", "memory_errors").rstrip("\n").split("\n")
    counts: dict[str, dict[str, tuple[int, str]]] = {}
    given_up, product = None, ""
    for line in lines[:-1]:
        if line.startswith(_PRODUCT):
            product = one_line(line.removeprefix(_PRODUCT), 80)
        elif found := _GIVEN_UP.fullmatch(line):
            given_up = int(found.group(1))
        elif found := _COUNT.fullmatch(line):
            counts.setdefault(found.group(1), {})[found.group(2)] = (int(found.group(3)), one_line(line, 120))
        elif line.strip():
            raise CannotRead(f"memory_errors: a line is malformed ({one_line(line, 60)})")
    return MemoryErrorsReading(tuple(_controllers(counts)), given_up, product)


def _controllers(counts: dict[str, dict[str, tuple[int, str]]]) -> Iterable[MemoryController]:
    for name, said in sorted(counts.items()):
        if "ue_count" not in said or "ce_count" not in said:
            raise CannotRead(f"memory_errors: {name} shows only half of its counts")
        seconds = said["seconds_since_reset"][0] if "seconds_since_reset" in said else None
        lines = (said["ue_count"][1], said["ce_count"][1])
        yield MemoryController(name, said["ue_count"][0], said["ce_count"][0], seconds, lines)


PROBE = Probe(
    name="memory_errors",
    title="errors of the memory",
    commands=(Command("look", ("sh", "-c", _LOOK), output_limit_bytes=32 * 1024),),
    parse=parse,
    reading=MemoryErrorsReading,
)
