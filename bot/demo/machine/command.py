"""A command on a simulated node: where it runs, and what it answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from bot.demo.machine.state import Moment, State


@dataclass(frozen=True, slots=True)
class Answer:
    """Output, errors and exit status of a command."""

    stdout: bytes = b""
    stderr: bytes = b""
    status: int = 0

    @classmethod
    def text(cls, stdout: str) -> Answer:
        """Return the answer of a command that printed this and succeeded."""
        return cls(stdout.encode())

    @classmethod
    def error(cls, stderr: str, status: int = 1) -> Answer:
        """Return the answer of a command that failed with a line on stderr."""
        return cls(b"", stderr.encode() + b"\n", status)


class CommandRunner(Protocol):
    """A machine as its SSH server sees it."""

    def uptime(self) -> float:
        """Return the seconds since boot."""
        ...

    async def run(self, argv: Sequence[str]) -> Answer:
        """Run a command. It takes as long as the real command would."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """A command, the node's state, and its clock."""

    argv: Sequence[str]
    state: State
    clock: Callable[[], Moment]

    @property
    def now(self) -> Moment:
        """The node's time."""
        return self.clock()


Tool: TypeAlias = Callable[[Asked], Answer | str | Awaitable[str]]
