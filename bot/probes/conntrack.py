"""How full the connection-tracking table is.

Defined in: Linux, Documentation/networking/nf_conntrack-sysctl.rst.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from bot.domain.command import Command, Outputs
from bot.domain.errors import CannotRead
from bot.domain.probe import Probe
from bot.domain.safe_text import one_line
from bot.probes.formats.sections import sections


@dataclass(frozen=True, slots=True)
class ConntrackReading:
    """Entries and their limit; `loaded` False: the kernel tracks no connections here."""

    probe: ClassVar[str] = "conntrack"

    loaded: bool
    count: int = 0
    maximum: int = 0
    source: tuple[str, ...] = ()

    @property
    def used_percent(self) -> float:
        """How full the table is; 0 if there is none."""
        return 100 * self.count / self.maximum if self.maximum else 0.0


# Every network namespace has this file: if it is in the answer, "No such file" for the others is true.
_ALWAYS_THERE = "/proc/sys/net/core/somaxconn"
_COUNT = "/proc/sys/net/netfilter/nf_conntrack_count"
_MAXIMUM = "/proc/sys/net/netfilter/nf_conntrack_max"


def parse(outputs: Outputs) -> ConntrackReading:
    """Read the two files; if both are absent although network sysctls can be read, nothing is tracked.

    Unread when: the files exist but cannot be read, or do not hold a number.
    """
    text = outputs.text("conntrack")
    files = sections(text)
    run = outputs.get("conntrack")
    said = run.stderr if run is not None else ""
    if _COUNT not in files and _MAXIMUM not in files:
        absent = {path for path in (_COUNT, _MAXIMUM) if re.search(rf"{path}\b.*: No such file", said)}
        if _ALWAYS_THERE in files and len(absent) == 2:
            return ConntrackReading(loaded=False)
        raise CannotRead(f"conntrack: the table's size could not be read ({one_line(said, 120) or 'no reason given'})")
    if not text.endswith("\n"):
        raise CannotRead("conntrack: the answer is cut short")  # a limit that lost digits would be a full table
    count, maximum = _number_in_file(files, _COUNT), _number_in_file(files, _MAXIMUM)
    return ConntrackReading(True, count, maximum, (f"nf_conntrack_count {count}", f"nf_conntrack_max {maximum}"))


def _number_in_file(files: dict[str, tuple[str, ...]], path: str) -> int:
    lines = files.get(path, ())
    if len(lines) != 1 or not re.fullmatch(r"[0-9]{1,20}", lines[0].strip()):
        raise CannotRead(f"conntrack: {path} does not hold a number")
    return int(lines[0])


PROBE = Probe(
    name="conntrack",
    title="connection tracking table",
    commands=(Command("conntrack", ("tail", "-v", "-n", "+1", _ALWAYS_THERE, _COUNT, _MAXIMUM)),),
    parse=parse,
    reading=ConntrackReading,
)
