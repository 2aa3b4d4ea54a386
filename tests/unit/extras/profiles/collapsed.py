"""What stackcollapse-perf.pl would print, by its own expressions, line by line and without any cleverness.

An oracle for texts that are made up; the recordings' expected results were printed by the program itself.
"""

from __future__ import annotations

import re
from collections import Counter

_EVENT = re.compile(r"^(\S.+?)\s+(\d+)/*(\d+)*\s+", re.ASCII)
_ALONE = re.compile(r":\s*(\d+)*\s+(\S+):\s*$", re.ASCII)
_FRAME = re.compile(r"^\s*(\w+)\s*(.+) \((.*)\)", re.ASCII)


def collapsed(text: str) -> Counter[str]:
    """Return each folded stack with the sum of its periods."""
    counts: Counter[str] = Counter()
    first_event = ""
    name = ""
    period = 1
    stack: list[str] = []
    for line in text.split("\n")[:-1]:
        if line.startswith("#"):
            continue
        if not line:
            if name:
                counts[";".join([name, *stack])] += period
            name, stack = "", []
        elif begun := _EVENT.match(line):
            said = _ALONE.search(line)
            if said and first_event and said[2] != first_event:
                continue
            first_event = first_event or (said[2] if said else "")
            period = int(said[1] or 0) or 1 if said else 1
            name = begun[1].replace(" ", "_")
        elif (frame := _FRAME.match(line)) and name:
            stack[:0] = _functions(frame[2], frame[3], name)
    return counts


def _functions(raw: str, module: str, name: str) -> list[str]:
    raw = re.sub(r"\+0x[\da-f]+$", "", raw)
    if raw.startswith("("):
        return []
    found: list[str] = []
    parts = raw.split("->")
    while parts and not parts[-1]:
        parts.pop()
    for part in parts:
        if part == "[unknown]":
            part = "[unknown]" if module == "[unknown]" else f"[{module.rpartition('/')[2]}]"
        part = part.replace(";", ":")
        if not re.search(r"\.\(.*\)\.", part):
            part = re.sub(r"\((?!anonymous namespace\)).*", "", part, count=1)
        part = part.replace('"', "").replace("'", "")
        if name.startswith("java") and "/" in part:
            part = part.removeprefix("L")
        found.append(part + "_[i]" if found and "_[i]" not in part else part)
    return found
