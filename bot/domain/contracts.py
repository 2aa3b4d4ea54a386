"""What a room needs of another, as protocols of a few methods."""

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

if TYPE_CHECKING:  # ledger types, which a check without a ledger need not load
    from bot.domain.action import Plan
    from bot.domain.claim import Claim, DecisionRecord, Doubts, Hold, ProposalRecord
    from bot.domain.entry import Append, Entry, Event, Head
    from bot.domain.events import IncidentEvent, StepStarted
    from bot.domain.house_events import NodeReleased, WishRefused
    from bot.domain.incident import Changes, Incident, IncidentSummary
    from bot.domain.post import CardPosts, CardRecord, DuePost, MessageRef, Post, StoredPost


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

    async def call(self, cluster: str, call: Call, limit: timedelta) -> Answered:
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


class Ledger(Protocol):
    """The append-only record that incidents are folded from, and the lock against two decisions at once.

    Raises: every method raises LedgerUnavailable when the database does not answer.
    """

    async def append(self, stream: str, expected_seq: int | None, event: Event, by: str) -> Entry:
        """Append an event as entry `expected_seq + 1`, with its secrets removed, and return that entry.

        `expected_seq` None means the end of the stream, whatever its length; only `house` allows that. The end of an
        incident writes its head into `house` in the same transaction. A mark that says nothing new is not written
        again.

        Raises: Conflict when the stream has another length by now; ImpossibleEvent when the event cannot come next;
        StaleRequest when it would release an earlier pull of the brake than the present pull.
        """

    async def append_all(
        self, stream: str, expected_seq: int, events: Sequence[IncidentEvent], by: str
    ) -> tuple[Entry, ...]:
        """Append several events of an incident in one transaction: all of them, or none.

        Raises: what `append` does.
        """

    async def append_together(self, appends: Sequence[Append]) -> tuple[Entry, ...]:
        """Append to several incidents in one transaction, in the order given: all of it, or nothing.

        Raises: what `append` does.
        """

    async def read(self, stream: str) -> tuple[Entry, ...]:
        """Return the stream's entries in order; empty if there is no such stream."""

    async def mutes(self) -> tuple[Entry, ...]:
        """Return every entry that muted or unmuted a cause, oldest first."""

    async def doubts(self) -> Doubts:
        """Return which causes offer no plans, as the record stands."""

    async def incident(self, stream: str) -> Incident | None:
        """Return the incident folded from a stream's entries, None if there is no such stream.

        Entries that were folded before are not folded again: only new entries cost time.

        Raises: ImpossibleEvent when the entries do not form an incident; UnreadableEntry when an entry cannot be read.
        """

    async def head(self, stream: str) -> Head:
        """Return where the stream ends."""

    async def incidents(
        self, only_open: bool = False, node: str | None = None, since: datetime | None = None
    ) -> tuple[IncidentSummary, ...]:
        """Return a summary of each incident, of all nodes or of one, newest first; of ended ones, of news `since`."""

    async def nodes(self, group: str) -> frozenset[str]:
        """Return the nodes of a group's incidents."""

    async def policy(self) -> Entry | None:
        """Return the latest entry of `house` that noted a policy."""

    async def changed(self, since: int | None = None) -> Changes:
        """Return the incidents that have new entries since that change; for None, all open incidents."""

    async def together(self, card: str) -> tuple[str, ...]:
        """Return the ids of the incidents that share a card (`IncidentSummary.card`), oldest first."""

    async def group(self, card: str) -> tuple[tuple[Incident, ...], Mapping[str, str]]:
        """Return those incidents as they were at one moment, and by id why others among them cannot be read."""

    async def card(self, card: str, part: str, of_incident: bool = False) -> CardRecord:
        """Return all that a card is drawn from, in one read; `part` is the part whose content is among it.

        Shape: with `of_incident`, `card` is the id of an incident on it.
        """


class ActingLedger(Ledger, Protocol):
    """A ledger that also keeps the limits across incidents: who acts on which node, how many at once, and the brake."""

    async def begin(self, stream: str, expected_seq: int, event: StepStarted, by: str, claim: Claim) -> Entry:
        """Append the beginning of a step and take its node, in one transaction that checks every limit and the brake.

        A further attempt of a step that has begun keeps its node, whatever the limits say now.

        Raises: what `append` does; Braked, ApprovalExpired, NodeBusy, BudgetSpent or AlreadyTried when it may not begin
        now.
        """

    async def is_in_time(self, claim: Claim) -> None:
        """Raises: ApprovalExpired for a claim that is too old by the ledger's clock, or whose age is not known."""

    async def hold(self, node: str, machine_id: str = "") -> Hold | None:
        """Return the hold on the node, or on the same machine under another name."""

    async def free(self, hold: Hold, event: NodeReleased, by: str, end: Append | None = None) -> Entry:
        """Release the node of an incident that cannot go on, and record that; `end` ends the incident with it.

        Raises: Conflict when another incident holds the node by now, or its runner was active; with `end` also what
        `append` does.
        """

    async def machines(self) -> Mapping[str, tuple[str, ...]]:
        """Return the names of each machine that has several, by machine-id."""

    async def earlier(
        self, incident: Incident, cause: str, machine_id: str, within: timedelta, most: int
    ) -> tuple[tuple[Incident, ...], Mapping[str, str]]:
        """Return what the node had before, in one read; by id also why others among it cannot be read.

        Shape: incidents opened within that time before this one, also under the machine's other names, oldest first:
        the last `most` of them, and none where none of them had that cause.
        """

    async def begun_for(
        self, incident: Incident, cause: str, machine_id: str, within: timedelta
    ) -> tuple[tuple[Incident, ...], Mapping[str, str]]:
        """Return other incidents with that cause in which a plan was begun within that time before this one, in one
        read, oldest first; by id also why others among them cannot be read.

        Shape: on the incident's node, under the machine's other names, and on that machine.
        """

    async def record_refusal(self, event: WishRefused, by: str) -> None:
        """Record a refusal; repeated refusals of a person are recorded once an hour, and the rest are counted."""

    async def beat(self, incident: str, runner: str) -> None:
        """Say that the runner is alive and at work on the incident."""

    async def brake_pull(self) -> Entry | None:
        """Return the entry that pulled the brake, None while it is off."""

    async def pulled_by(self, request: str) -> Entry | None:
        """Return the entry by which that request pulled the brake, if it is among the last hundred; otherwise None."""

    async def decision_record(self, stream: str, within: timedelta) -> DecisionRecord | None:
        """Return an incident with all that a decision about it depends on, in one read; None without such a stream.

        Shape: `within` as for `last_try`.

        Raises: what `incident` does.
        """

    async def proposal_record(self, plan: Plan, machine_id: str, group: str, within: timedelta) -> ProposalRecord:
        """Return what it depends on whether a plan is offered, in one read; `within` as for `last_try`."""

    async def last_try(self, plan: Plan, machine_id: str, within: timedelta) -> str | None:
        """Return the last incident that began this plan within that time, on its node or on that machine."""


class Leases(Protocol):
    """Which of the programs that share a ledger handles which groups of incidents; time is the database's.

    Each instance belongs to a single runner, whose name it was made with. Leases only avoid double work; the ledger
    itself makes sure that nothing is done twice.

    Raises: every method raises LedgerUnavailable when the database does not answer.
    """

    async def beat(self) -> None:
        """Say that this runner is alive, and working on the nodes it holds."""

    async def take(self, group: str, by_force: bool = False) -> bool:
        """Take a group's lease; False while another live runner has it, unless `by_force`."""

    async def claim(self) -> tuple[str, ...]:
        """Take the lease of every open group that no live runner has, and return those groups."""

    async def mine(self) -> frozenset[str]:
        """Return the groups whose lease this runner has."""

    async def let_go(self, groups: Iterable[str]) -> None:
        """Release the leases of these groups, except groups whose posts are still waiting."""

    async def leave(self) -> None:
        """Release every lease at once, for the other runners."""


@dataclass(frozen=True, slots=True)
class AdvanceLater:
    """Advance the incident again after that time; `because` says what it waits for."""

    after: timedelta = timedelta(0)
    because: str = ""


class Outbox(Protocol):
    """The posts that have not been delivered yet; they survive a restart.

    Raises: every method raises LedgerUnavailable when the database does not answer.
    """

    async def keep(self, post: Post) -> StoredPost:
        """Store a post to be sent; it replaces an earlier post of the same incident and part."""

    async def due(self, now: datetime) -> tuple[DuePost, ...]:
        """Return what is to be sent now, in the order it was stored; no other program gets these posts for a while."""

    async def taken(self, post_id: str, channel: str, ts: str) -> None:
        """Say that a post was delivered to that message."""

    async def failed(self, post_id: str, retry_at: datetime, error: str) -> bool:
        """Say that a post was not delivered, and when to try again; False where a later one has taken its place."""

    async def dropped(self, post_id: str, error: str) -> None:
        """Say that a post cannot be delivered; a later post of the same part is tried again."""

    async def turn(self, channel: str, apart: timedelta) -> timedelta:
        """Reserve the channel's next slot, `apart` from all others; return how long it is until then."""

    async def place(self, incident: str, part: str) -> MessageRef | None:
        """Return the message of a part, once any version of it was delivered."""

    async def standing(self, incident: str, part: str) -> Mapping[str, Any] | None:
        """Return the content of a part that was delivered last, if no later version of it waits."""

    async def card(self, incident: str, part: str) -> CardPosts:
        """Return the messages of all its parts, and what stands in this part, in one read."""

    async def waiting(self) -> int:
        """Return how many posts are not delivered yet."""
