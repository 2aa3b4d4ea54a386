"""Whether a node has the resources for being recorded, judged before anything starts."""

from __future__ import annotations

from bot.domain.capture_wire import Facts

LEAST_MEMORY_KIB = 200 * 1024  # perf's buffers take 0.5 MB for each core, and reading symbols takes about 60 MB
LEAST_ROOM_KIB = 64 * 1024  # the names of a kernel with all its modules take about 15 MB
MOST_STALL_PERCENT = 40.0
MOST_LOAD_PER_CORE = 10.0


def too_starved(facts: Facts) -> str:
    """Return why the node should not be profiled now; empty where it may be. Unknown facts refuse nothing.

    Example:
    >>> too_starved(Facts({"memory": "16000000 90000"}))
    'it has 88 MB of memory left, and perf would take from that'
    """
    free = facts.number("memory", 1)
    if free is not None and free < LEAST_MEMORY_KIB:
        return f"it has {free / 1024:.0f} MB of memory left, and perf would take from that"
    stall = facts.number("stall")
    if stall is not None and stall > MOST_STALL_PERCENT:
        return f"all its tasks wait for memory {stall:.0f} % of the time"
    load, cores = facts.number("load"), facts.number("cores")
    if load is not None and cores and load > MOST_LOAD_PER_CORE * cores:
        return f"its load is {load:.0f} on {cores:.0f} cores"
    return ""


def folder_for_symbols(facts: Facts) -> str:
    """Return the folder with room for the names of kernel functions; `-` where there is none.

    Example:
    >>> folder_for_symbols(Facts(rooms={"/tmp": 10, "/dev/shm": 900_000}))
    '/dev/shm'
    """
    return next((folder for folder, free in facts.rooms.items() if free >= LEAST_ROOM_KIB), "-")
