"""Kernel log lines of NVIDIA's driver about GPUs: Xid, SXid, and a GPU that is gone from the bus.

Source: `playbooks/tables/xid.toml`, which says what its columns are; a site's codes are added to ours.
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass

from bot.domain.builtin_playbooks import SiteRows, builtin_rows
from bot.probes.formats.kernel_line import KernelEvent

FALLEN_OFF = 79
UNIFIED_MEMORY = 0  # ours: its line has no code
RECOVERY_ACTION = 154  # names the recovery action, and outranks every table


class XidKind(enum.Enum):
    """What a code means for the GPU."""

    FAULT = "fault"
    REPEATS = "repeats"  # corrected or contained: a fault when it repeats on the same GPU
    APPLICATION = "application"  # the program's own error, as far as NVIDIA says
    OPEN = "open"  # disputed, or not in this table


@dataclass(frozen=True, slots=True)
class XidMeaning:
    """NVIDIA's name of a code, and the immediate action of its catalog."""

    kind: XidKind
    name: str
    action: str


@functools.cache
def own_meanings() -> Mapping[str, XidMeaning]:
    """Return our rows: by a code's digits, and by the names of what has none.

    Raises: OSError or ValueError when our table cannot be read.
    """
    return {
        name: XidMeaning(XidKind(row["kind"]), row["name"], row["action"]) for name, row in builtin_rows("xid").items()
    }


MEANINGS_OF_SITES: SiteRows[tuple[str, XidMeaning]] = SiteRows()  # each with its code


def _meaning(code: int, is_fatal: bool) -> XidMeaning:
    """Our row comes first, then the driver's own word, then a site's row."""
    ours, key = own_meanings(), str(code)
    if key in ours or is_fatal:
        return ours.get(key, ours["unlisted-fatal"])
    return dict(MEANINGS_OF_SITES).get(key, ours["unlisted"])


_UVM = re.compile(r"NVRM: nvGpuOpsReportFatalError: ")
_SAYS_FATAL = re.compile(r"(?<![\w-])Fatal\b")

_XID = re.compile(r"NVRM: Xid \((?:PCI:)?(?P<bus>[0-9A-Fa-f:.]{4,20})[^)]*\): (?P<code>[0-9]{1,4})\b(?P<rest>.*)")
_SXID = re.compile(
    r"nvidia-nvswitch[0-9]+: SXid \((?:PCI:)?(?P<bus>[0-9A-Fa-f:.]{4,20})[^)]*\): (?P<code>[0-9]{1,6}),? "
    r"(?P<grave>Fatal|Non-fatal)"
)
_CAUSED_BY = re.compile(r"[Cc]aused by (?:a )?previous Xid (?P<code>[0-9]{1,4})")
_GONE = re.compile(r"NVRM: .*fallen off the bus")
_ACTION = re.compile(
    r"recovery action changed from 0x[0-9a-fA-F]+ \([^)]{1,60}\) to 0x[0-9a-fA-F]+ \((?P<to>[^)]{1,60})\)"
)


@dataclass(frozen=True, slots=True)
class Xid:
    """A line: which GPU (`bus`, empty if it names none) or switch, which code, and what that means.

    Where a line says that it is caused by a previous code, that code is the fault.
    Shape: `recovery` is the action named by an Xid 154, empty for every other code.
    """

    event: KernelEvent
    bus: str
    code: int
    meaning: XidMeaning
    is_switch: bool = False
    recovery: str = ""

    @property
    def says(self) -> str:
        """The code with its name; the name alone of what has no code."""
        if self.code == UNIFIED_MEMORY:
            return self.meaning.name
        return f"{'SXid' if self.is_switch else 'Xid'} {self.code} ({self.meaning.name})"


def xid(event: KernelEvent) -> Xid | None:
    """Return the GPU event of a kernel log line; None if it has none."""
    if found := _XID.search(event.text):
        cause = _CAUSED_BY.search(found["rest"])
        code = int((cause or found)["code"])
        action = _ACTION.search(found["rest"])
        recovery = action["to"].strip() if action and code == RECOVERY_ACTION else ""
        meaning = _meaning(code, is_fatal=_SAYS_FATAL.search(found["rest"]) is not None)
        return Xid(event, bus_id(found["bus"]), code, meaning, recovery=recovery)
    if found := _SXID.search(event.text):
        meaning = own_meanings()["switch-fatal" if found["grave"] == "Fatal" else "switch"]
        return Xid(event, bus_id(found["bus"]), int(found["code"]), meaning, is_switch=True)
    if _UVM.search(event.text):
        return Xid(event, "", UNIFIED_MEMORY, own_meanings()["unified-memory"])
    if _GONE.search(event.text):
        return Xid(event, bus_id(event.device) if event.device else "", FALLEN_OFF, own_meanings()[str(FALLEN_OFF)])
    return None


def bus_id(text: str) -> str:
    """Return a PCI address in sysfs form, from any program's form.

    Example:
    >>> bus_id("00000000:3B:00.0"), bus_id("0000:3b:00"), bus_id("3b:00.0")
    ('0000:3b:00.0', '0000:3b:00.0', '0000:3b:00.0')
    """
    parts = text.lower().rstrip(":").split(":")
    domain, bus, place = (["0", *parts] if len(parts) == 2 else parts[-3:]) if len(parts) > 1 else ("0", *parts, "00")
    domain = domain.lstrip("0").rjust(4, "0")
    return f"{domain}:{bus}:{place if '.' in place else place + '.0'}"
