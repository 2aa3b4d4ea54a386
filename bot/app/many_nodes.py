"""What it takes to read many nodes at once: a limit, open files, a collector that does not look at all, processes."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from bot.domain.errors import UsageError
from bot.domain.node import Node

AT_ONCE = 200  # so many nodes keep a processor busy for about a window, so more would only wait
FILES_A_NODE = 2
FILES_BESIDE = 64  # for the program itself, and for reading an inventory
MANY = 50
MOST_BESIDE = 2  # each takes as much memory as this process
FEWEST_NODES = 100  # for each: fewer are read and judged within the window anyway
PARSED_LATE = 300  # nodes at once, whose readings take more memory than what they said; of fewer that spares time
ALLOCATIONS_BETWEEN_LOOKS = 20_000  # each run visits the objects of all running nodes; Python's default is 700


async def each_node(nodes: Sequence[Node], parallel: int, work: Callable[[Node], Awaitable[None]]) -> None:
    """Do the work for every node, `parallel` at a time.

    Raises: UsageError (a missing key or known_hosts file) of any node, once all others are through.
    """
    wrong: list[UsageError] = []
    waiting = iter(nodes)

    async def worker() -> None:
        for node in waiting:
            try:
                await work(node)
            except UsageError as error:
                wrong.append(error)

    async with asyncio.TaskGroup() as group:  # as many tasks as may work at once, however many nodes wait
        for _ in range(min(parallel, len(nodes))):
            group.create_task(worker())
    if wrong:
        raise wrong[0]


def raise_file_limit(nodes: int, limits: Any = resource) -> int:
    """Return how many nodes may be read at once; raises the limit of open files as far as possible.

    Shape: `limits` are those of this process, as the module `resource` has them.
    """
    soft: int
    soft, hard = limits.getrlimit(resource.RLIMIT_NOFILE)
    needed = FILES_A_NODE * nodes + FILES_BESIDE
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        limits.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return nodes
    return max(1, (soft - FILES_BESIDE) // FILES_A_NODE)


def collect_garbage_less_often(nodes: int) -> None:
    """Exempt permanent objects from the garbage collector, if there are enough nodes to make it worthwhile."""
    if nodes >= MANY:
        gc.freeze()  # what is garbage by now stays too: to look for it would take longer than it is worth
        gc.set_threshold(ALLOCATIONS_BETWEEN_LOOKS, 10, 50)


def worker_count(nodes: int, cores: int) -> int:
    """Return how many processes should ask nodes beside this one; see `shards.py`.

    Example:
    >>> worker_count(1_000, 2), worker_count(1_000, 4), worker_count(1_000, 64), worker_count(20, 64)
    (1, 2, 2, 0)
    """
    return min(cores // 2, MOST_BESIDE, nodes // FEWEST_NODES)


def cores() -> int:
    """Return how many cores this process may run on."""
    return len(os.sched_getaffinity(0))
