"""Periods in which the kernel logged more than a serial line can print, summed on the node.

Defined here: the node prints a line for each, `-- burst SECONDS LINES BYTES` and the last line of the period.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta

from bot.domain.safe_text import redacted_line

SECONDS = 10  # of a period
LEAST_BYTES = 115_200  # what 115,200 baud can print in ten seconds, at ten bits a byte


@dataclass(frozen=True, slots=True)
class LogBurst:
    """A period of ten seconds. `text` is its last line; the card's own dump at a reset is not counted."""

    since_boot: timedelta
    line_count: int
    size_bytes: int
    text: str

    def apart(self, moment: timedelta) -> timedelta:
        """Return how long before or after the period a moment is; zero within it."""
        end = self.since_boot + timedelta(seconds=SECONDS)
        return max(self.since_boot - moment, moment - end, timedelta(0))


# Parts of an awk program: for every line, where a period ends, and at the end. A line's bytes are counted without the
# journal's host name. Lines without a time since boot, and those of the first minute, do not count.
PERIOD = f"b = int(substr($0, 2, 13) / {SECONDS})"
COUNT = 'if (b > 5 && !index($0, " ena ")) { v++; q += length($0) - head; z = $0 }'
UNCOUNT = "if (v) { v--; q -= length(last) }"  # the last line
SUM = 'if (v) { vs[y] += v; qs[y] += q; zs[y] = z; v = q = 0 } head = index($0, " kernel: ");'
TELL = f'{SUM} for (b in qs) if (qs[b] >= {LEAST_BYTES}) print "-- burst " b * {SECONDS} " " vs[b] " " qs[b] " " zs[b]'
_TOLD = re.compile(r"-- burst ([0-9]{2,10}) ([0-9]{1,8}) ([0-9]{1,10}) (.*)")


def log_burst(line: str) -> LogBurst | None:
    """Return the burst in a line of the node's answer, None for other lines."""
    found = _TOLD.fullmatch(line)
    if found is None:
        return None
    at, lines, size, text = found.groups()
    return LogBurst(timedelta(seconds=int(at)), int(lines), int(size), redacted_line(text, 300))
