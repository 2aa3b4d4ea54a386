"""What a command on a simulated node comes to, and who can be asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Answer:
    """Output, errors and exit status of one command."""

    stdout: bytes = b""
    stderr: bytes = b""
    status: int = 0

    @classmethod
    def text(cls, stdout: str) -> Answer:
        """Return the answer of a command that printed this and ended well."""
        return cls(stdout.encode())

    @classmethod
    def error(cls, stderr: str, status: int = 1) -> Answer:
        """Return the answer of a command that failed with one line."""
        return cls(b"", stderr.encode() + b"\n", status)


class Answering(Protocol):
    """A machine as its SSH server sees it."""

    def uptime(self) -> float:
        """Return the seconds since its boot."""
        ...

    async def run(self, argv: Sequence[str]) -> Answer:
        """Run one command, for as long as the real one would take."""
        ...
