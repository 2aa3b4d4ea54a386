"""The ledger: entries are appended to streams, chained by hashes, and never changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeAlias

from sqlalchemy import Connection

from bot.domain.action import Plan
from bot.domain.alert import BOT
from bot.domain.claim import Claim, DecisionRecord, Doubts, Hold, ProposalRecord, no_doubts
from bot.domain.contracts import Clock
from bot.domain.entry import (
    ANCHORED,
    HOUSE_EVENTS,
    WAVES,
    Append,
    Entry,
    Event,
    Head,
    OwnEvent,
    instant_of,
    instant_text,
    is_author,
    is_stream,
    is_wave,
    kind_of,
)
from bot.domain.errors import Conflict, ImpossibleEvent, StaleRequest, WaveHeld
from bot.domain.events import IncidentEvent, PlanProposed, StepStarted, Triaged
from bot.domain.house_events import (
    HOUSE,
    BrakePulled,
    BrakeReleased,
    EntryAnchored,
    IncidentEnded,
    NodeReleased,
    WishRefused,
)
from bot.domain.incident import Changes, Incident, IncidentSummary
from bot.domain.post import CardRecord
from bot.ledger import holds
from bot.ledger.database import Database, Store, on_thread, reads, writes
from bot.ledger.entries import (
    MUTES,
    HouseEntries,
    append_entry,
    head_of,
    last_policy,
    pull_of,
    read_stream,
)
from bot.ledger.incidents import (
    MOST_KEPT,
    IncidentCache,
    card_of,
    changes,
    incident_ids_of_card,
    mark_changed,
    nodes_of_group,
    read_summaries,
    write_incident_row,
)
from bot.ledger.machines import names_of_machines, note_machine
from bot.ledger.outbox import posts_of
from bot.ledger.refusals import count_refusal

# Raises Refused for a step that may not begin now; of the connection, the incident, whether nothing of its plan has
# begun, and the time.
Holder: TypeAlias = Callable[[Connection, Incident, bool, datetime], object]
NO_HOLDERS: Mapping[str, Holder] = {}
Doubter: TypeAlias = Callable[[Connection], Doubts]  # says of the record, as it stands, which causes offer no plans


class Ledger(Store):
    """The append-only record that incidents are folded from, and the lock against two decisions at once.

    It also keeps the limits across incidents: who acts on which node, how many at once, and the brake.

    Shape: `time` replaces the database's clock in tests; `most_kept` is how many incidents are kept folded. `holders`
    are what may hold a step, by the extra's name; `doubters` are what may doubt a cause.

    Raises: every method raises LedgerUnavailable when the database does not answer.
    """

    def __init__(
        self,
        database: Database,
        time: Clock | None = None,
        most_kept: int = MOST_KEPT,
        holders: Mapping[str, Holder] = NO_HOLDERS,
        doubters: Sequence[Doubter] = (),
    ) -> None:
        super().__init__(database, time)
        self._holders = holders
        self._doubters = doubters
        self._folds = IncidentCache(most_kept)
        self._mutes = HouseEntries(MUTES)

    @writes
    def append(self, connection: Connection, stream: str, expected_seq: int | None, event: Event, by: str) -> Entry:
        """Append an event as entry `expected_seq + 1`, with its secrets removed, and return that entry.

        `expected_seq` None means the end of the stream, whatever its length; only `house` allows that. The end of an
        incident writes its head into `house` in the same transaction. A request that has pulled the brake already gets
        its entry, and the brake is not pulled again.

        Raises: Conflict when the stream has another length by now; ImpossibleEvent when the event cannot come next;
        StaleRequest when it would release an earlier pull of the brake than the present pull.
        """
        _check_names(stream, by)
        belongs = (stream == HOUSE) == isinstance(event, HOUSE_EVENTS) and not isinstance(event, OwnEvent)
        if not belongs or is_wave(stream) or (stream != HOUSE and expected_seq is None):
            raise ImpossibleEvent(f"{kind_of(event)} does not belong into the stream {stream} so.")
        if stream == HOUSE:
            if isinstance(event, BrakePulled) and event.request and (pulled := pull_of(connection, event.request)):
                return pulled
            if isinstance(event, BrakeReleased) and event.pull:
                _check_present_pull(holds.brake(connection), event.pull)
            return self._append_event(connection, HOUSE, expected_seq, event, by)
        return self._append_to_incident(connection, stream, expected_seq, (event,), by)[-1]

    @on_thread
    def append_all(self, stream: str, expected_seq: int, events: Sequence[IncidentEvent], by: str) -> tuple[Entry, ...]:
        """Append several events of an incident in one transaction: all of them, or none.

        Raises: what `append` does.
        """
        return self.append_together.now((Append(stream, expected_seq, tuple(events), by),))

    @writes
    def append_together(self, connection: Connection, appends: Sequence[Append]) -> tuple[Entry, ...]:
        """Append to several incidents in one transaction, in the order given: all of it, or nothing.

        Raises: what `append` does.
        """
        for each in appends:
            _check_names(each.stream, each.by)
            if each.stream == HOUSE or is_wave(each.stream) or not each.events:
                raise ImpossibleEvent(f"{len(each.events)} events do not belong into the stream {each.stream} so.")
        added = [
            self._append_to_incident(connection, each.stream, each.expected_seq, each.events, each.by)
            for each in appends
        ]
        return tuple(entry for entries in added for entry in entries)

    @writes
    def begin(
        self, connection: Connection, stream: str, expected_seq: int, event: StepStarted, by: str, claim: Claim
    ) -> Entry:
        """Append the beginning of a step and take its node, in one transaction that checks every limit and the brake.

        A further attempt of a step that has begun keeps its node, whatever the limits say now.

        Raises: what `append` does; ApprovalExpired, Braked, QuietHours, WaveHeld, NodeBusy, BudgetSpent, AlreadyTried,
        or what a holder raises, when it may not begin now.
        """
        at = self.stamp(connection)
        holds.check_open(connection, claim, instant_of(at))
        # Its first attempt counts in the budgets already; after a release it has to ask again.
        incident = self._folds.find(connection, stream)
        if incident is not None and incident.wave and WAVES not in self._holders:
            raise WaveHeld(f"Waves are left out here, so nothing of {incident.wave} begins.")
        if incident is not None:  # asked here, whoever approved the incident
            for check_may_begin in self._holders.values():
                check_may_begin(connection, incident, not incident.has_begun, instant_of(at))
        is_new = event.attempt == 1 or not holds.holds_its_node(connection, stream)
        check = holds.check_may_begin if is_new else holds.check_may_repeat
        check(connection, stream, claim, instant_of(at))
        entry = self._append_to_incident(connection, stream, expected_seq, (event,), by)[-1]
        holds.record_hold(connection, stream, event.number, claim, instant_text(entry.at))
        return entry

    @reads
    def check_claim_in_time(self, connection: Connection, claim: Claim) -> None:
        """Raises: ApprovalExpired for a claim that is too old by the ledger's clock, or whose age is not known."""
        holds.check_claim_in_time(claim, self.instant(connection))

    @reads
    def current_hold(self, connection: Connection, node: str, machine_id: str = "") -> Hold | None:
        """Return the hold on the node, or on the same machine under another name."""
        return holds.hold_on(connection, node, machine_id, self.instant(connection))

    @writes
    def release_node(
        self, connection: Connection, hold: Hold, event: NodeReleased, by: str, end: Append | None = None
    ) -> Entry:
        """Release the node of an incident that cannot go on, and record that; `end` ends the incident with it.

        Raises: Conflict when another incident holds the node by now, or its runner was active; with `end` also what
        `append` does.
        """
        _check_names(hold.incident, by)
        now = holds.hold_on(connection, hold.node, "", self.instant(connection))
        if now is None or now.incident != hold.incident or now.silent_for < hold.silent_for:
            raise Conflict(f"{hold.node} is now held by another incident.", "Look at it again.")
        if end is not None:  # which releases its node
            self._append_to_incident(connection, end.stream, end.expected_seq, end.events, end.by)
        else:
            holds.release(connection, hold.incident)
            mark_changed(connection, hold.incident)
        return self._append_event(connection, HOUSE, None, event, by)

    @writes
    def record_refusal(self, connection: Connection, event: WishRefused, by: str) -> None:
        """Record a refusal; repeated refusals of a person are recorded once an hour, and the rest are counted."""
        _check_names(HOUSE, by)
        written = count_refusal(connection, event, by, self.instant(connection))
        if written is not None:
            self._append_event(connection, HOUSE, None, written, by)

    @reads
    def machines(self, connection: Connection) -> Mapping[str, tuple[str, ...]]:
        """Return the names of each machine that has several, by machine-id."""
        return names_of_machines(connection)

    @writes
    def beat(self, connection: Connection, incident: str, runner: str) -> None:
        """Say that the runner is alive and at work on the incident."""
        holds.beat(connection, incident, runner, self.stamp(connection))

    @reads
    def brake_pull(self, connection: Connection) -> Entry | None:
        """Return the entry that pulled the brake, None while it is off."""
        return holds.brake(connection)

    @reads
    def pull_for_request(self, connection: Connection, request: str) -> Entry | None:
        """Return the entry by which that request pulled the brake, if it is among the last hundred; otherwise None."""
        return pull_of(connection, request)

    @reads
    def last_try(self, connection: Connection, plan: Plan, machine_id: str, within: timedelta) -> str | None:
        """Return the last incident that began this plan within that time, on its node or on that machine."""
        return _last_try(connection, plan, machine_id, self.instant(connection) - within)

    @reads
    def decision_record(self, connection: Connection, stream: str, within: timedelta) -> DecisionRecord | None:
        """Return an incident with all that a decision about it depends on, in one read; None without such a stream.

        Shape: `within` as for `last_try`.

        Raises: what `incident` does.
        """
        incident = self._folds.find(connection, stream)
        if incident is None:
            return None
        pulled, doubts = holds.brake(connection), self._doubts(connection)
        if incident.proposal is None:
            return DecisionRecord(incident, pulled, doubts)
        plan, machine_id = incident.proposal.plan, incident.proposal.binds.get("machine_id", "")
        now = self.instant(connection)
        held = holds.hold_on(connection, incident.node, machine_id, now)
        return DecisionRecord(incident, pulled, doubts, held, _last_try(connection, plan, machine_id, now - within))

    @reads
    def proposal_record(
        self, connection: Connection, plan: Plan, machine_id: str, group: str, within: timedelta
    ) -> ProposalRecord:
        """Return what it depends on whether a plan is offered, in one read; `within` as for `last_try`."""
        since = self.instant(connection) - within
        return ProposalRecord(
            _last_try(connection, plan, machine_id, since),
            names_of_machines(connection, machine_id).get(machine_id, ()) if machine_id else (),
            nodes_of_group(connection, group) if group else frozenset(),
            self._doubts(connection),
        )

    @reads
    def read(self, connection: Connection, stream: str) -> tuple[Entry, ...]:
        """Return the stream's entries in order; empty if there is no such stream."""
        return read_stream(connection, stream)

    @reads
    def mutes(self, connection: Connection) -> tuple[Entry, ...]:
        """Return every entry that muted or unmuted a cause, oldest first."""
        return self._mutes.read(connection)

    @reads
    def doubts(self, connection: Connection) -> Doubts:
        """Return which causes offer no plans, as the record stands."""
        return self._doubts(connection)

    @reads
    def incident(self, connection: Connection, stream: str) -> Incident | None:
        """Return the incident folded from a stream's entries, None if there is no such stream.

        Entries that were folded before are not folded again: only new entries cost time.

        Raises: ImpossibleEvent when the entries do not form an incident; UnreadableEntry when an entry cannot be read.
        """
        return self._folds.find(connection, stream)

    @reads
    def head(self, connection: Connection, stream: str) -> Head:
        """Return where the stream ends."""
        return head_of(connection, stream)[0]

    @reads
    def incidents(
        self, connection: Connection, only_open: bool = False, node: str | None = None, since: datetime | None = None
    ) -> tuple[IncidentSummary, ...]:
        """Return a summary of each incident, of all nodes or of one, newest first; of ended ones, of news `since`."""
        return read_summaries(connection, only_open, node, since)

    @reads
    def nodes(self, connection: Connection, group: str) -> frozenset[str]:
        """Return the nodes of a group's incidents."""
        return nodes_of_group(connection, group)

    @reads
    def policy(self, connection: Connection) -> Entry | None:
        """Return the latest entry of `house` that noted a policy."""
        return last_policy(connection)

    @reads
    def changed(self, connection: Connection, since: int | None = None) -> Changes:
        """Return the incidents that have new entries since that change; for None, all open incidents."""
        return changes(connection, since)

    @reads
    def incident_ids_of_card(self, connection: Connection, card: str) -> tuple[str, ...]:
        """Return the ids of the incidents that share a card (`IncidentSummary.card`), oldest first."""
        return incident_ids_of_card(connection, card)

    @reads
    def group(self, connection: Connection, card: str) -> tuple[tuple[Incident, ...], Mapping[str, str]]:
        """Return those incidents as they were at one moment, and by id why others among them cannot be read."""
        return self._folds.readable(connection, incident_ids_of_card(connection, card))

    @reads
    def card(self, connection: Connection, card: str, part: str, of_incident: bool = False) -> CardRecord:
        """Return all that a card is drawn from, in one read; `part` is the part whose content is among it.

        Shape: with `of_incident`, `card` is the id of an incident on it.
        """
        name = card_of(connection, card) if of_incident else card
        return CardRecord(
            name,
            *self._folds.readable(connection, incident_ids_of_card(connection, name)),
            posts_of(connection, name, part),
            head_of(connection, HOUSE)[0],
            holds.brake(connection),
            self._doubts(connection),
        )

    @reads
    def earlier(
        self, connection: Connection, incident: Incident, cause: str, machine_id: str, within: timedelta, most: int
    ) -> tuple[tuple[Incident, ...], Mapping[str, str]]:
        """Return what the node had before, in one read; by id also why others among it cannot be read.

        Shape: incidents opened within that time before this one, also under the machine's other names, oldest first:
        the last `most` of them, and none where none of them had that cause.
        """
        found: dict[str, IncidentSummary] = {}
        others = names_of_machines(connection, machine_id).get(machine_id, ()) if machine_id else ()
        for node in dict.fromkeys((incident.node, *others)):
            for line in read_summaries(connection, only_open=False, node=node):
                if line.id != incident.id and timedelta(0) <= incident.opened_at - line.opened_at <= within:
                    found[line.id] = line
        if all(line.cause != cause for line in found.values()):
            return (), {}
        in_order = sorted(found.values(), key=lambda line: (line.opened_at, line.id))
        return self._folds.readable(connection, [line.id for line in in_order[-most:]])

    @reads
    def begun_incidents(
        self, connection: Connection, incident: Incident, cause: str, machine_id: str, within: timedelta
    ) -> tuple[tuple[Incident, ...], Mapping[str, str]]:
        """Return other incidents with that cause in which a plan was begun within that time before this one, in one
        read, oldest first; by id also why others among them cannot be read.

        Shape: on the incident's node, under the machine's other names, and on that machine.
        """
        others = names_of_machines(connection, machine_id).get(machine_id, ()) if machine_id else ()
        names, since = (incident.node, *others), incident.opened_at - within
        found = holds.begun_incidents(connection, cause, names, machine_id, since)
        return self._folds.readable(connection, [name for name in found if name != incident.id])

    def _doubts(self, connection: Connection) -> Doubts:
        if not self._doubters:
            return no_doubts
        found = [doubter(connection) for doubter in self._doubters]
        return lambda policy, cause: next(filter(None, (doubts(policy, cause) for doubts in found)), "")

    def _append_to_incident(
        self, connection: Connection, stream: str, expected_seq: int | None, events: Sequence[Event], by: str
    ) -> tuple[Entry, ...]:
        now = self.stamp(connection)  # of all of it: however long it takes, no note is later than its entry
        entries = [append_entry(connection, stream, expected_seq, events[0], by, now)]
        entries += [append_entry(connection, stream, None, event, by, now) for event in events[1:]]
        # Folded as it will be read, without secrets. If that fails the transaction is rolled back.
        incident = self._folds.find(connection, stream)
        if incident is None:
            raise ImpossibleEvent(f"{stream} has no entries after an append.")
        write_incident_row(connection, incident)
        mark_changed(connection, stream)
        for event in events:
            if isinstance(event, Triaged | PlanProposed):  # they know the node's machine-id
                note_machine(connection, event)
        for entry in entries:
            if entry.kind in ANCHORED:
                anchor = EntryAnchored(stream, entry.kind, entry.seq, entry.hash)
                append_entry(connection, HOUSE, None, anchor, BOT, now)
        if incident.ended:
            holds.release(connection, incident.id)
            ended = IncidentEnded(incident.id, incident.state.value, entries[-1].seq, entries[-1].hash)
            append_entry(connection, HOUSE, None, ended, BOT, now)
        return tuple(entries)

    def _append_event(
        self, connection: Connection, stream: str, expected_seq: int | None, event: Event, by: str
    ) -> Entry:
        return append_entry(connection, stream, expected_seq, event, by, self.stamp(connection))


def _last_try(connection: Connection, plan: Plan, machine_id: str, since: datetime) -> str | None:
    claim = Claim(plan.node, plan.remedy, "", machine_id=machine_id, cure=plan.cure)
    return holds.last_try(connection, claim, since)


def _check_present_pull(pulled: Entry | None, pull: int) -> None:
    if pulled is None or pulled.seq != pull:
        raise StaleRequest(f"Pull #{pull} is not the present pull of the brake.")


def _check_names(stream: str, by: str) -> None:
    if not is_stream(stream):
        raise ValueError(f"{stream!r} cannot name a stream")
    if not is_author(by):
        raise ValueError(f"{by!r} cannot be the author of an entry")
