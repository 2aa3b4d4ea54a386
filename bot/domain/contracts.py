"""What a room needs of another, as protocols of a few methods."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeAlias

from bot.domain.batch import Batch
from bot.domain.cluster_call import ApiAnswer, Call
from bot.domain.command import Completed
from bot.domain.node import Node
from bot.domain.probe import Unread
from bot.domain.verdict import Verdict


class Transport(Protocol):
    """How a batch reaches a node."""

    def read(self, node: Node, batch: Batch, deadline: timedelta) -> AsyncGenerator[Completed, None]:
        """Run the batch on the node over one connection and yield each run as it ends.

        Ends early, without an error, when the deadline passes after the node began to answer: the rest is unread.

        Raises: Unreachable when the node could not be talked to; StoodStill, also after answers, when this program
        itself was suspended; MissingFile when a key or known_hosts file is missing.
        """


class ActingTransport(Transport, Protocol):
    """A transport that also says which host key it met, and sends nothing to a host with another key."""

    def read(
        self, node: Node, batch: Batch, deadline: timedelta, host_key: str | None = None
    ) -> AsyncGenerator[Completed, None]:
        """Do as `Transport.read`, but only if this same connection shows the host key of that fingerprint.

        Raises: HostKeyRejected when it shows another key: then nothing was sent.
        """

    def host_key(self, node: Node) -> str:
        """Return the fingerprint of the host key that the node showed last; empty if none was seen."""


class ClusterApi(Protocol):
    """The APIs of the configured Kubernetes clusters."""

    async def call(self, cluster: str, call: Call, limit: timedelta) -> ApiAnswer:
        """Send a call, once, and return the answer, whatever its status.

        Raises: UnknownCluster when no cluster of that name is configured; ConnectionLost when there was no answer: then
        the call may have arrived or not.
        """

    async def close(self) -> None:
        """Close the connections."""


Clock: TypeAlias = Callable[[], datetime]
Sleep: TypeAlias = Callable[[float], Awaitable[None]]
Fresh: TypeAlias = Callable[[], str]  # returns a new unique name or secret
TakesBytes: TypeAlias = Callable[[bytes], None]  # receives a stream piece by piece
Seconds: TypeAlias = Callable[[], float]  # a clock that only goes forward, such as time.monotonic


class Log(Protocol):
    """Receives the lines of a log."""

    def __call__(self, event: str, **fields: Any) -> None:
        """Write a line."""


class NodeDirectory(Protocol):
    """The nodes that may be reached, by name."""

    def find(self, name: str, /) -> Node:
        """Return the node of exactly that name. Raises: InventoryError when there is none."""


@dataclass(frozen=True, slots=True)
class ReadingWaits:
    """A node is queued for reading, and why."""

    node: str
    because: str


@dataclass(frozen=True, slots=True)
class ReadingStarted:
    """A node is being read: how many probes were asked, and for how long it will be watched."""

    node: str
    probes: tuple[str, ...]
    window: timedelta


@dataclass(frozen=True, slots=True)
class ProbeAnswered:
    """A probe of a node has all its outputs; if there is no reading, `unread` says why.

    Shape: `slowness` is how many times as long as usual the answers took so far, None where that is not known.
    """

    node: str
    probe: str
    unread: Unread | None = None
    slowness: float | None = None


@dataclass(frozen=True, slots=True)
class VerdictReached:
    """A node has its verdict."""

    verdict: Verdict


Progress: TypeAlias = ReadingWaits | ReadingStarted | ProbeAnswered | VerdictReached
Listener: TypeAlias = Callable[[Progress], None]


def unheard(_: Progress) -> None:
    """The listener where nobody watches."""


@dataclass(frozen=True, slots=True)
class AdvanceLater:
    """Advance the incident again after that time; `because` says what holds it up: empty while it takes its time.

    `elsewhere`: another program at this ledger may be able to do it now.
    """

    after: timedelta = timedelta(0)
    because: str = ""
    elsewhere: bool = False
