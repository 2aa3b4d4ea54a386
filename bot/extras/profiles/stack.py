"""The frames of an event, parsed once and cached: folded as by stackcollapse-perf.pl, and whether they are idle.

Source: stackcollapse-perf.pl of github.com/brendangregg/FlameGraph with its default options; idle as in FlameScope's
app/perf/regexp.py, plus the names in newer kernels.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

FRAME = re.compile(rb"\s*(\w+)\s*(.+) \((.*)\)")
_OFFSET = re.compile(rb"\+0x[\da-f]+\Z")
_GO_METHOD = re.compile(rb"\.\(.*\)\.")
_ARGUMENTS = re.compile(rb"\((?!anonymous namespace\)).*", re.DOTALL)
IDLE = re.compile(
    rb"cpuidle|cpu_idle|cpu_bringup_and_idle|native_safe_halt|xen_hypercall_sched_op|xen_hypercall_vcpu_op"
    rb"|intel_idle|mwait|default_idle|pv_native_safe_halt"
)
UNKNOWN = b"[unknown]"
_HEX = b"0123456789abcdef"


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """The frames of an event, as counted.

    Shape: `tail` is `;outermost;...;innermost`, empty without frames; `leaf` is the innermost name. `odd_lines` were
    not frames, and are left out. `idles` means idle only if the process is the idle process.
    """

    tail: bytes
    leaf: bytes
    idles: bool
    odd_lines: int


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """The parsed line of a frame: its names, outermost first, or None if it is not a frame."""

    names: tuple[bytes, ...] | None
    idles: bool


@dataclass(frozen=True, slots=True, eq=False)
class Callers:
    """All frames of an event except the innermost, as they repeat far more often; and each stack seen with them."""

    names: tuple[bytes, ...]
    idles: bool
    odd_lines: int
    under: dict[Line, Stack] = field(default_factory=dict)


def names(line: bytes, *, is_java: bool) -> tuple[bytes, ...] | None:
    """Return the names in a frame's line, outermost first: several if functions are inlined.

    None for a line that is not a frame; empty for a line that names a process.

    Example:
    >>> names(b"ffffffff8103ce3b native_safe_halt+0x6 ([kernel.kallsyms])", is_java=False)
    (b'native_safe_halt',)
    """
    if (frame := FRAME.match(line)) is None:
        return None
    function, module = _OFFSET.sub(b"", frame[2]), frame[3]
    if function.startswith(b"("):
        return ()
    parts = function.split(b"->")
    while parts and not parts[-1]:
        parts.pop()
    found: list[bytes] = []
    for part in parts:
        name = _tidy_name(part, module, is_java=is_java)
        found.append(name + b"_[i]" if found and b"_[i]" not in name else name)
    return tuple(found)


def _tidy_name(name: bytes, module: bytes, *, is_java: bool) -> bytes:
    if name == UNKNOWN:
        name = b"[" + (module.rpartition(b"/")[2] if module != UNKNOWN else b"unknown") + b"]"
    name = name.replace(b";", b":")
    if not _GO_METHOD.search(name):
        name = _ARGUMENTS.sub(b"", name, count=1)
    name = name.translate(None, b"\"'")
    return name[1:] if is_java and name.startswith(b"L") and b"/" in name else name


class Frames:
    """Parsed frame lines, each parsed once; `held_bytes` is about the memory they take.

    `is_java`: stackcollapse-perf.pl shortens class names for processes called java.
    """

    def __init__(self, *, is_java: bool) -> None:
        self._is_java = is_java
        self._functions: dict[tuple[bytes, bytes], Line] = {}
        self.lines: dict[bytes, Line] = {b"": Line((), idles=False)}
        self.callers: dict[bytes, Callers] = {}
        self.held_bytes = 0

    def forget(self) -> None:
        """Forget all lines; if they come again, they are parsed again."""
        self._functions.clear()
        self.lines.clear()
        self.lines[b""] = Line((), idles=False)
        self.callers.clear()
        self.held_bytes = 0

    def stack(self, innermost: bytes, outer: bytes) -> Stack:
        """Return the stack of an innermost frame's line and the unparsed lines of its callers."""
        callers = self.callers.get(outer)
        if callers is None:
            callers = self.callers[outer] = self._parsed_callers(outer)
            self.held_bytes += 2 * len(outer) + 500
        line = self._line(innermost)
        found = callers.under.get(line)
        if found is None:
            whole = [*callers.names, *(line.names or ())]
            tail = b"".join([b";" + name for name in whole])
            leaf = whole[-1] if whole else UNKNOWN
            odd_lines = callers.odd_lines + (line.names is None)
            found = callers.under[line] = Stack(tail, leaf, callers.idles or line.idles, odd_lines)
            self.held_bytes += len(tail) + 300
        return found

    def _parsed_callers(self, outer: bytes) -> Callers:
        lines = [self._line(line) for line in outer.split(b"\n")] if outer else []
        odd = sum(line.names is None for line in lines)
        found = [name for line in reversed(lines) for name in line.names or ()]
        return Callers(tuple(found), any(line.idles for line in lines), odd)

    def _line(self, line: bytes) -> Line:
        found = self.lines.get(line)
        if found is None:
            short = _without_place(line)
            found = self._functions.get(short) if short else None
            if found is None:
                found = Line(names(line, is_java=self._is_java), IDLE.search(line) is not None)
                if short:
                    self._functions[short] = found
                    self.held_bytes += 2 * len(line) + 300
            self.lines[line] = found
            self.held_bytes += len(line) + 120
        return found


def _without_place(line: bytes) -> tuple[bytes, bytes] | None:
    """Return function and module of a line of the usual form; they are the same at every address and offset.

    Example:
    >>> _without_place(b"\\tffffffff8103ce3b native_safe_halt+0x6 ([kernel.kallsyms])")
    (b'native_safe_halt', b'([kernel.kallsyms])')
    """
    start, _, end = line.rpartition(b"+0x")
    offset, _, module = end.partition(b" ")
    address, _, function = start.lstrip().partition(b" ")
    if not function or not module.endswith(b")") or b" " in module or not module.startswith(b"("):
        return None
    return None if offset.strip(_HEX) or address.strip(_HEX) or function[:1] == b" " else (function, module)
