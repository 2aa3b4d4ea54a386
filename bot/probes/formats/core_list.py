"""Lists of cores, as the kernel writes them.

Defined in: Linux, Documentation/admin-guide/kernel-parameters.rst, "cpu lists"; printed with `%*pbl`.
"""

from __future__ import annotations

import re

from bot.domain.errors import CannotRead

MOST_CORES = 8192  # the largest NR_CPUS a kernel is built with
_PIECE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


def core_list(text: str) -> tuple[int, ...]:
    """Return the cores in rising order; an empty list is an answer.

    Raises: CannotRead when it is not such a list.

    Example:
    >>> core_list("0-2,8\\n")
    (0, 1, 2, 8)
    """
    cores: set[int] = set()
    for piece in text.strip().split(",") if text.strip() else ():
        found = _PIECE.fullmatch(piece)
        first = int(found.group(1)) if found else -1
        last = int(found.group(2) or first) if found else -1
        if not 0 <= first <= last < MOST_CORES:
            raise CannotRead("the list of cores is malformed")
        cores.update(range(first, last + 1))
    return tuple(sorted(cores))
