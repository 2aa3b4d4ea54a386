"""Kernel log lines of NVIDIA's driver about GPUs: Xid, SXid, and a GPU that is gone from the bus.

Defined in: https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html (names and immediate actions),
https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide (SXid, fatal or not).
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

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


_FAULT, _REPEATS, _APPLICATION, _OPEN = XidKind.FAULT, XidKind.REPEATS, XidKind.APPLICATION, XidKind.OPEN
MEANINGS: dict[int, XidMeaning] = {
    13: XidMeaning(_APPLICATION, "graphics engine exception", "restart the application"),
    31: XidMeaning(_APPLICATION, "GPU memory page fault", "restart the application"),
    32: XidMeaning(_APPLICATION, "invalid push buffer stream", "restart the application"),
    43: XidMeaning(_APPLICATION, "GPU stopped processing", "nothing: the application is at fault"),
    45: XidMeaning(_APPLICATION, "preemptive cleanup, due to previous errors", "nothing: look at the error before it"),
    46: XidMeaning(_FAULT, "GPU stopped processing", "reset the GPU"),
    48: XidMeaning(_FAULT, "double-bit ECC error", "reset the GPU"),
    62: XidMeaning(_FAULT, "internal micro-controller halt", "reset the GPU"),
    63: XidMeaning(_REPEATS, "row remapped or page retired", "nothing; a pending remap takes effect at a GPU reset"),
    64: XidMeaning(_FAULT, "row remapping or page retirement failed", "reset the GPU; replace it if it repeats"),
    68: XidMeaning(_OPEN, "video decoder exception", "contested: see NVIDIA's catalog"),
    69: XidMeaning(_APPLICATION, "graphics engine class error", "restart the application"),
    74: XidMeaning(_FAULT, "NVLink error", "look at the link; reset the GPU or reboot"),
    79: XidMeaning(_FAULT, "GPU has fallen off the bus", "restart the machine with a power cycle; replace on a repeat"),
    92: XidMeaning(_REPEATS, "high rate of single-bit ECC errors", "nothing; watch whether it repeats"),
    94: XidMeaning(_REPEATS, "contained memory error", "restart the application; reset the GPU when convenient"),
    95: XidMeaning(_FAULT, "uncontained memory error", "reset the GPU"),
    109: XidMeaning(_OPEN, "context switch timeout", "contested: see NVIDIA's catalog"),
    110: XidMeaning(_FAULT, "security fault", "reset the GPU"),
    119: XidMeaning(_FAULT, "GSP RPC timeout", "reset the GPU"),
    120: XidMeaning(_FAULT, "GSP error", "reset the GPU"),
    136: XidMeaning(_FAULT, "link training failed", "reset the GPU; look at the link"),
    140: XidMeaning(_FAULT, "unrecovered ECC error", "reset the GPU"),
    143: XidMeaning(_FAULT, "GPU initialisation failed", "reset the GPU"),
}
# The driver's module for memory that GPUs and programs share, of all GPUs at once: until it is loaded anew.
_UVM = re.compile(r"NVRM: nvGpuOpsReportFatalError: ")
_UVM_BROKE = XidMeaning(
    _FAULT, "fatal error of unified memory", "reboot, or load nvidia_uvm anew once no program uses a GPU"
)
_UNKNOWN = XidMeaning(_OPEN, "not in our table", "see NVIDIA's catalog")
# NVLink of Blackwell has seven codes (144 to 150) with subcodes, each `Fatal` or `Nonfatal` by the driver's own word.
_FATAL = XidMeaning(_FAULT, "fatal by the driver's own word", "reset the GPU, or what NVIDIA's catalog asks for")
_SAYS_FATAL = re.compile(r"(?<![\w-])Fatal\b")

_XID = re.compile(r"NVRM: Xid \((?:PCI:)?(?P<bus>[0-9A-Fa-f:.]{4,20})[^)]*\): (?P<code>[0-9]{1,4})\b(?P<rest>.*)")
_SXID = re.compile(
    r"nvidia-nvswitch[0-9]+: SXid \((?:PCI:)?(?P<bus>[0-9A-Fa-f:.]{4,20})[^)]*\): (?P<code>[0-9]{1,6}),? "
    r"(?P<grave>Fatal|Non-fatal)"
)
_GONE = re.compile(r"NVRM: .*fallen off the bus")
_ACTION = re.compile(
    r"recovery action changed from 0x[0-9a-fA-F]+ \([^)]{1,60}\) to 0x[0-9a-fA-F]+ \((?P<to>[^)]{1,60})\)"
)


@dataclass(frozen=True, slots=True)
class Xid:
    """A line: which GPU (`bus`, empty if it names none) or switch, which code, and what that means.

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
        code = int(found["code"])
        action = _ACTION.search(found["rest"])
        recovery = action["to"].strip() if action and code == RECOVERY_ACTION else ""
        unknown = _FATAL if _SAYS_FATAL.search(found["rest"]) else _UNKNOWN
        return Xid(event, bus_id(found["bus"]), code, MEANINGS.get(code, unknown), recovery=recovery)
    if found := _SXID.search(event.text):
        fatal = found["grave"] == "Fatal"
        meaning = XidMeaning(
            _FAULT if fatal else _REPEATS,
            "fatal NVSwitch error" if fatal else "NVSwitch error that is not fatal",
            "reset the GPUs and the switch: reboot the machine" if fatal else "nothing; watch whether it repeats",
        )
        return Xid(event, bus_id(found["bus"]), int(found["code"]), meaning, is_switch=True)
    if _UVM.search(event.text):
        return Xid(event, "", UNIFIED_MEMORY, _UVM_BROKE)
    if _GONE.search(event.text):
        return Xid(event, bus_id(event.device) if event.device else "", FALLEN_OFF, MEANINGS[FALLEN_OFF])
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
