"""The rights that a login needs on a node, as sudoers lines: exact commands, no wildcard.

Format: sudoers(5). A command's arguments are compared as one text, so each character that sudoers gives a meaning to
is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from bot.domain.batch import root_ways
from bot.domain.errors import UsageError
from bot.domain.probe import Probe
from bot.domain.safe_text import one_line

_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}\Z")
_MEANINGFUL = re.compile(r"([\\,:=#!*?\[\]\"'()])")
TIMEOUT = "/usr/bin/timeout"


def reading_lines(user: str, probes: Iterable[Probe]) -> str:
    """Return one line for each command that may be repeated as root, after a line that says what they are.

    Raises: UsageError when `user` cannot be a login's name.
    """
    if not _USER.match(user):
        raise UsageError(f"{one_line(user, 40)!r} is not a login name.", "Use lower-case letters, digits, - and _.")
    commands = sorted(
        {(probe.name, argv[3:]) for probe in probes for command in probe.commands for argv in root_ways(command)}
    )
    lines = [f"# Reading only: what {user} may run as root, exactly as written. Check with: visudo -cf FILE"]
    for probe, argv in commands:
        arguments = _MEANINGFUL.sub(r"\\\1", " ".join(argv))
        lines.append(f"{user} ALL=(root) NOPASSWD: {TIMEOUT} {arguments}  # {probe}")
    return "\n".join(lines) + "\n"
