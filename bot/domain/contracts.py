"""What one room needs of another, as protocols of one or two verbs.

Longer than 300 lines: protocols only, and no logic; who looks for one finds it here.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from bot.domain.batch import Batch
from bot.domain.call import Answered, Call
from bot.domain.command import Completed
from bot.domain.node import Node
from bot.domain.probe import Unread
from bot.domain.verdict import Verdict

if TYPE_CHECKING:  # words of the record, which a check that keeps none need not load
    from bot.domain.action import Plan
    from bot.domain.claim import Claim, Hold
    from bot.domain.entry import Entry, Event, Head
    from bot.domain.events import IncidentEvent, StepStarted
    from bot.domain.house_events import NodeReleased, WishRefused
    from bot.domain.incident import Changes, Incident, IncidentSummary
    from bot.domain.post import DuePost, MessageRef, Post


class Transport(Protocol):
    """The way a batch reaches a node."""

    def read(self, node: Node, batch: Batch, deadline: timedelta) -> AsyncGenerator[Completed, None]:
        """Run the batch on the node over one connection and yield each run as it ends.

        Ends early, without error, when the deadline passes after the node began to answer: what is missing is unread.

        Raises: Unreachable when nobody could talk to the node; StoodStill, also after answers, when this program itself
        stood still; MissingFile when a key or known_hosts file is missing.
        """
        ...


class ActingTransport(Transport, Protocol):
    """A way that also says whom it reached, and sends nothing to anybody else."""

    def read(
        self, node: Node, batch: Batch, deadline: timedelta, host_key: str | None = None
    ) -> AsyncGenerator[Completed, None]:
        """Do as `Transport.read`, but only where this very connection shows the host key of that fingerprint.

        Raises: HostKeyRejected when it shows another: then nothing was sent.
        """
        ...

    def host_key(self, node: Node) -> str:
        """Return the fingerprint of the host key that the node showed last; empty where none was seen."""
        ...


class ClusterApi(Protocol):
    """The APIs of the Kubernetes clusters that are configured."""

    async def call(self, cluster: str, call: Call, limit: timedelta) -> Answered:
        """Send one call, once, and return the answer, whatever its status.

        Raises: UnknownCluster when no cluster of that name is configured; ConnectionLost when there was no answer: the
        call may have arrived or not.
        """
        ...

    async def close(self) -> None:
        """Hang up."""
        ...


Clock: TypeAlias = Callable[[], datetime]
Sleep: TypeAlias = Callable[[float], Awaitable[None]]
Fresh: TypeAlias = Callable[[], str]  # a name or a secret that nobody has had before
TakesBytes: TypeAlias = Callable[[bytes], None]  # whoever is handed a stream piece by piece
Seconds: TypeAlias = Callable[[], float]  # a clock that only goes forward, such as time.monotonic


class Log(Protocol):
    """Takes the lines of a log."""

    def __call__(self, event: str, **fields: Any) -> None:
        """Write one line."""
        ...


class NodeDirectory(Protocol):
    """The nodes that may be reached."""

    def find(self, name: str, /) -> Node:
        """Return the node of exactly that name. Raises: InventoryError when there is none."""
        ...


@dataclass(frozen=True, slots=True)
class ReadingWaits:
    """A node's reading waits for its turn, and why."""

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
    """One probe of one node has all its outputs; `unread` says why there is no reading, where there is none."""

    node: str
    probe: str
    unread: Unread | None = None


@dataclass(frozen=True, slots=True)
class Concluded:
    """A node has its verdict."""

    verdict: Verdict


Progress: TypeAlias = ReadingWaits | ReadingStarted | ProbeAnswered | Concluded
Listener: TypeAlias = Callable[[Progress], None]


class Ledger(Protocol):
    """The append-only record that incidents are folded from, and the lock against two deciding at once.

    Raises: every verb raises LedgerUnavailable when the database cannot be asked.
    """

    async def append(self, stream: str, expected_seq: int | None, event: Event, by: str) -> Entry:
        """Append an event as entry `expected_seq + 1`, with its secrets taken out, and return what now stands there.

        `expected_seq` None means wherever the stream ends; only the house may be appended to so. The end of an incident
        writes its head into the house in the same transaction. A mark that says nothing new is not written again.

        Raises: Conflict when the stream has another length by now; ImpossibleEvent when the event cannot come next;
        StaleRequest when it would release another pull of the brake than the one that is on.
        """
        ...

    async def append_all(
        self, stream: str, expected_seq: int, events: Sequence[IncidentEvent], by: str
    ) -> tuple[Entry, ...]:
        """Append several events of one incident in one transaction: all of them, or none.

        Raises: what `append` does.
        """
        ...

    async def read(self, stream: str) -> tuple[Entry, ...]:
        """Return the stream's entries in order; none where there is no such stream."""
        ...

    async def mutes(self) -> tuple[Entry, ...]:
        """Return every entry by which a cause was muted or unmuted, the oldest first."""
        ...

    async def marks(self) -> tuple[Entry, ...]:
        """Return every entry that says whether a verdict was right, or that a cause was looked at, the oldest first."""
        ...

    async def captures(self) -> tuple[Entry, ...]:
        """Return every entry of rolling captures, the oldest first."""
        ...

    async def incident(self, stream: str) -> Incident | None:
        """Return the incident that a stream's entries tell of, None where there is no such stream.

        What was folded before is not folded again: it costs what came since.

        Raises: ImpossibleEvent when the entries tell of none; UnreadableEntry when one of them cannot be read here.
        """
        ...

    async def head(self, stream: str) -> Head:
        """Return where the stream ends."""
        ...

    async def open_streams(self) -> tuple[str, ...]:
        """Return the ids of all incidents that have not ended, the oldest first."""
        ...

    async def incidents(self, only_open: bool = False, node: str | None = None) -> tuple[IncidentSummary, ...]:
        """Return one line an incident, of all nodes or of one, the newest first."""
        ...

    async def nodes(self, group: str) -> frozenset[str]:
        """Return the nodes of a group's incidents."""
        ...

    async def policy(self) -> Entry | None:
        """Return the entry of the house that noted a policy last."""
        ...

    async def changed(self, since: int | None = None) -> Changes:
        """Return the incidents that went on after that change, all that are open for None; nothing else is read."""
        ...

    async def together(self, card: str) -> tuple[str, ...]:
        """Return the ids of the incidents that are shown together (`IncidentSummary.card`), the oldest first."""
        ...


class ActingLedger(Ledger, Protocol):
    """A ledger that also keeps what crosses incidents: who acts on which node, how many at once, and the brake."""

    async def begin(self, stream: str, expected_seq: int, event: StepStarted, by: str, claim: Claim) -> Entry:
        """Append the beginning of a step and take its node, in one transaction with every limit and the brake.

        A further attempt of a step that has begun keeps the node it has, whatever the limits say by now.

        Raises: what `append` does; Braked, ApprovalExpired, NodeBusy, BudgetSpent or AlreadyTried when it may not begin
        now.
        """
        ...

    async def hold(self, node: str, machine_id: str = "") -> Hold | None:
        """Return who has the node to themselves, or that machine under another name."""
        ...

    async def free(self, hold: Hold, event: NodeReleased, by: str) -> Entry:
        """Release the node of an incident that cannot go on, and put that on record.

        Raises: Conflict when somebody else has the node by now, or was at work on it.
        """
        ...

    async def machines(self, machine_id: str = "") -> Mapping[str, tuple[str, ...]]:
        """Return the names of each machine that has several, by its machine-id; all of one where its id is given."""
        ...

    async def refused(self, event: WishRefused, by: str) -> None:
        """Put a refusal on record; of many alike from one person only the first of each hour, the rest is counted."""
        ...

    async def beat(self, incident: str, runner: str) -> None:
        """Say that the runner is alive and at work on the incident."""
        ...

    async def braked(self) -> Entry | None:
        """Return the entry by which the brake was pulled, None while it is off."""
        ...

    async def pulled_by(self, request: str) -> Entry | None:
        """Return the entry by which that request pulled the brake, one of the last hundred moves; None where none."""
        ...

    async def tried(self, plan: Plan, machine_id: str, within: timedelta) -> str | None:
        """Return the incident that last began to carry out a plan within that time, on its node or on that machine."""
        ...


class Leases(Protocol):
    """Which of the programs at one ledger sees to which groups of incidents; time is the database's.

    One runner's view: its name is given once, to whatever keeps this. A lease only spares double work: that nothing is
    done twice is the ledger's doing.

    Raises: every verb raises LedgerUnavailable when the database cannot be asked.
    """

    async def beat(self) -> None:
        """Say that this runner is alive, and at work on the nodes it holds."""
        ...

    async def take(self, group: str, by_force: bool = False) -> bool:
        """See to a group from now on; False while another live runner does, whom only force can take it from."""
        ...

    async def claim(self) -> tuple[str, ...]:
        """Take every group that no live runner sees to, and return those: what is open, and what the dead left."""
        ...

    async def mine(self) -> frozenset[str]:
        """Return the groups that this runner sees to."""
        ...

    async def let_go(self, groups: Iterable[str]) -> None:
        """See to these groups no longer; one of which posts are still waiting is kept."""
        ...

    async def leave(self) -> None:
        """Leave everything to the others, at once."""
        ...


@dataclass(frozen=True, slots=True)
class Again:
    """Advance it again after so long; `because` says what is waited for."""

    after: timedelta = timedelta(0)
    because: str = ""


class Outbox(Protocol):
    """The posts that were not taken yet where they are to be shown; it outlives the program.

    Raises: every verb raises LedgerUnavailable when the database cannot be asked.
    """

    async def keep(self, post: Post) -> str:
        """Keep a post to be sent, in place of any earlier one of its incident and part; return its id."""
        ...

    async def due(self, now: datetime) -> tuple[DuePost, ...]:
        """Return what is to be sent now, in the order it was kept; nobody else is handed it for a while."""
        ...

    async def taken(self, post_id: str, channel: str, ts: str) -> None:
        """Say that a post stands there now."""
        ...

    async def failed(self, post_id: str, retry_at: datetime, error: str) -> None:
        """Say that a post was not taken, and when to try again."""
        ...

    async def dropped(self, post_id: str, error: str) -> None:
        """Say that a post will never be taken; a later one of the same part is tried anew."""
        ...

    async def turn(self, channel: str, apart: timedelta) -> timedelta:
        """Take the channel's next turn, `apart` from every other program's; return how long it is until then."""
        ...

    async def place(self, incident: str, part: str) -> MessageRef | None:
        """Return where a part stands, once any version of it was taken."""
        ...

    async def standing(self, incident: str, part: str) -> Mapping[str, Any] | None:
        """Return what was taken of a part last, where no later version of it waits."""
        ...

    async def waiting(self) -> int:
        """Return how many posts are not taken yet."""
        ...
