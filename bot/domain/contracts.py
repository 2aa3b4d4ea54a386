"""What one room needs of another, as protocols of one or two verbs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, TypeAlias

from bot.domain.batch import Batch
from bot.domain.command import Completed
from bot.domain.node import Node
from bot.domain.probe import Unread
from bot.domain.verdict import Verdict


class Transport(Protocol):
    """The way a batch reaches a node."""

    def read(self, node: Node, batch: Batch, deadline: timedelta) -> AsyncGenerator[Completed, None]:
        """Run the batch on the node over one connection and yield each run as it ends.

        Ends early, without error, when the deadline passes after the node began to answer: what is missing is unread.

        Raises: Unreachable when nobody could talk to the node; MissingFile when a key or known_hosts file is missing.
        """
        ...


Clock: TypeAlias = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class ReadingStarted:
    """A node is being read: how many probes were asked, and for how long it will be watched."""

    node: str
    probes: tuple[str, ...]
    window: timedelta


@dataclass(frozen=True, slots=True)
class ProbeAnswered:
    """One probe of one node has all its outputs; `unread` says why there is no reading, where there is none."""

    node: str
    probe: str
    unread: Unread | None = None


@dataclass(frozen=True, slots=True)
class Concluded:
    """A node has its verdict."""

    verdict: Verdict


Progress: TypeAlias = ReadingStarted | ProbeAnswered | Concluded
Listener: TypeAlias = Callable[[Progress], None]
