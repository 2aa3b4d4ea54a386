"""The streams as an audit reads them, entry by entry: their chains, and what follows from their entries."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from bot.domain.entry import (
    ANCHORED,
    HOUSE_EVENTS,
    OF_HOUSE,
    OF_WAVES,
    Entry,
    Event,
    OwnEvent,
    instant_of,
    instant_text,
    is_wave,
)
from bot.domain.errors import ImpossibleEvent, UnreadableEntry
from bot.domain.events import StepStarted, Triaged
from bot.domain.fold import fold, fold_entry
from bot.domain.house_events import (
    HOUSE,
    OLDER_AT_ONCE,
    EntryAnchored,
    IncidentEnded,
    IncidentsPruned,
    NodeReleased,
    OlderNoted,
)
from bot.domain.incident import Incident
from bot.ledger.audit_faults import AuditTables
from bot.ledger.chain import APART, Broken, Chain
from bot.ledger.entries import NONE_OLDER
from bot.ledger.incidents import line_of
from bot.ledger.machines import MACHINE_ID
from bot.ledger.pruning import SHORTEST

_NAMES_CASE: Mapping[str, str] = {Triaged.__name__: "case", StepStarted.__name__: "kept"}  # the field, by the kind
_GREATEST = 2**62  # of the numbers of entries
_NUMBER = re.compile(r"[0-9]{1,18}")


class StreamFollower(Protocol):
    """Follows an extra's own streams, each of which has a row in a table."""

    def after(self, before: Any, entry: Entry, /) -> Any:
        """Return what stands after the entry; `before` is None for the first.

        Raises: ImpossibleEvent when the entry cannot come next; UnreadableEntry.
        """
        ...

    def row(self, found: Any, /) -> Mapping[str, Any]:
        """Return the row that what was found has to have."""
        ...


class AuditedStream:
    """Reads the entries of an incident or of a wave one by one, and keeps none of them.

    Shape: `house` has to note its first entry, and each whose kind is anchored, except those that it lists as older
    than its notes. `needs_notes` is False where `house` is broken. Of a wave, without a follower, only chain and notes
    are checked.
    """

    def __init__(
        self, stream: str, tables: AuditTables, needs_notes: bool, follower: StreamFollower | None = None
    ) -> None:
        self.chain = Chain(stream)
        self.unread = list[Broken]()  # from where on this program cannot say what the rest of it means
        self.is_wave = is_wave(stream)
        self._stream = stream
        self._tables = tables
        self._needs_notes = needs_notes
        self._follower = follower
        self._incident: Incident | None = None
        self._wave: Any = None
        self._begun: Entry | None = None  # the first step
        self._invalid = list[Broken]()  # the entry that cannot come next
        self._goes_on = True  # while every entry so far could be read and followed

    def read(self, row: Sequence[Any]) -> None:
        """Read the next row."""
        entry, is_right = self.chain.follow(row)
        seq, is_whole = self.chain.head.seq, not self.chain.broken
        is_due = self._needs_notes and is_whole and (seq == 1 or row[4] in ANCHORED)
        self._tables.add(
            "entry",
            self._stream,
            seq,
            row[2] if entry is not None else None,
            row[6] if is_right else None,
            row[4] if is_due else None,
            _named_case(entry) if entry is not None else None,
        )
        self._goes_on = self._goes_on and is_whole
        if self._goes_on and entry is not None:
            self._fold(entry)

    def end(self) -> None:
        """Note its end, and the rows that follow from it."""
        head, is_ended = self.chain.head, None
        if self._goes_on and self._incident is not None:
            is_ended = self._incident.ended
            self._derive_rows(self._incident)
        elif self._goes_on and self._wave is not None and self._follower is not None:
            row = as_json(self._follower.row(self._wave))
            says = "the table of waves differs from its entries"
            self._tables.add("derived", self._stream, "waves", row, None, head.seq, says, None)
        self._tables.add("chain", self._stream, head.seq, head.hash, self.is_wave, is_ended)

    @property
    def broken(self) -> list[Broken]:
        """What is wrong with it alone."""
        return [*self.chain.broken, *self._invalid]

    @property
    def is_stepped_over(self) -> bool:
        """True where what follows from its entries is not known here, because its extra is left out."""
        return self.is_wave and self._follower is None

    def _fold(self, entry: Entry) -> None:
        try:
            if self.is_wave:
                if self._follower is not None:
                    self._wave = self._follower.after(self._wave, entry)
                elif not isinstance(entry.event, OwnEvent) or entry.kind not in OF_WAVES:
                    raise ImpossibleEvent(f"{entry.kind} is not an entry of a wave.")
                return
            self._incident = fold((entry,)) if self._incident is None else fold_entry(self._incident, entry)
            if self._begun is None and entry.kind == StepStarted.__name__:
                self._begun = entry
        except ImpossibleEvent as no:
            self._goes_on = False
            what = "wave" if self.is_wave else "incident"
            self._invalid.append(Broken(self._stream, entry.seq, f"is not a valid {what}: {no.sentence}"))
        except UnreadableEntry as no:
            self._goes_on = False  # intact, but written by a newer program
            self.unread.append(Broken(self._stream, entry.seq, f"was not followed from here on: {no.sentence}"))

    def _derive_rows(self, incident: Incident) -> None:
        """Note what the tables have to say: a line; from its first step on an attempt, and until its end a hold."""
        line, says = as_json(line_of(incident)), "the list of incidents differs from its entries"
        self._tables.add("derived", self._stream, "incidents", line, None, incident.seq, says, None)
        node, proposed, begun = incident.node, incident.proposal, self._begun
        if begun is None or proposed is None:
            return
        machine = proposed.binds.get(MACHINE_ID, "")
        attempt = as_json([node, proposed.plan.remedy, machine, proposed.plan.cure])
        at, says = instant_text(begun.at), "began its plan, and the table attempts says otherwise"
        self._tables.add("derived", self._stream, "attempts", attempt, at, begun.seq, says, begun.seq)
        started = [step.number for step in incident.steps if step.started is not None]
        if started and not incident.ended:
            hold, says = as_json([node, started[-1], machine]), f"acts on {node}, step {started[-1]}"
            says += ", and the table holds says otherwise"
            self._tables.add("derived", self._stream, "holds", hold, None, incident.seq, says, begun.seq)


def _named_case(entry: Entry) -> str | None:
    """Return the hash of what a node said, where the entry names one."""
    digest = entry.body.get(_NAMES_CASE.get(entry.kind, ""))
    return digest if digest and isinstance(digest, str) else None


class HouseStream:
    """Reads the stream `house`, and what it says about incidents."""

    def __init__(self, tables: AuditTables) -> None:
        self.chain = Chain(HOUSE)
        self._tables = tables
        self._unread: Broken | None = None  # the first entry of which this program cannot say what it means
        self._may_list_older = True  # until the list of older streams has ended
        self._lists_older = False
        self._clamped_to = ""  # the time of the last entry before, about another stream
        self._last = ("", "")  # the stream that the last entry is about, and its time
        self._pruned = (0, "")  # the last entry that removes incidents, and its time

    def read(self, row: Sequence[Any]) -> None:
        """Read the next row."""
        entry, is_right = self.chain.follow(row)
        digest = row[6] if is_right else None
        self._tables.add("entry", HOUSE, self.chain.head.seq, None, digest, None, None)
        if entry is None:
            return
        if entry.kind != OlderNoted.__name__ and (self._lists_older or NONE_OLDER in entry.body):
            self._may_list_older = False
        try:
            event = entry.event
        except UnreadableEntry as no:
            self._unread = self._unread or Broken(HOUSE, entry.seq, no.sentence)
            self._last = ("", row[2])
            return
        is_sure = self._is_time_sure(row[2], event)
        if says := self._misplaced_words(entry, event):
            self.chain.broken.append(Broken(HOUSE, entry.seq, says))
            return
        if isinstance(event, IncidentsPruned):
            self._pruned = (entry.seq, row[2])
        for stream, kind, seq, head, at in _notes(event, row[2]):
            if 0 <= seq <= _GREATEST:
                self._tables.add("noted", stream, kind, seq, head, at, is_sure)
            else:
                self.chain.broken.append(Broken(HOUSE, entry.seq, "notes an entry with a number that none can have"))

    def unclear(self, now: str) -> list[Broken]:
        """Return what this program cannot say of it: a time that is still to come makes nothing old enough."""
        seq, at = self._pruned
        is_ahead = bool(at) and instant_of(at) - instant_of(now) > APART
        ahead = Broken(
            HOUSE, seq, f"removes incidents at {at}, which is still to come: a clock was ahead, or it is forged"
        )
        return [self._unread] if self._unread is not None else [ahead] if is_ahead else []

    def _misplaced_words(self, entry: Entry, event: Event) -> str:
        """Say what no program writes there, though it could be read."""
        if not isinstance(event, HOUSE_EVENTS) and entry.kind not in OF_HOUSE:
            return f"holds {entry.kind}, which belongs to an incident"
        if isinstance(event, OlderNoted):
            says = "" if self._may_list_older else "lists older streams, after that list had ended"
            self._lists_older, self._may_list_older = True, not says and len(event.heads) >= OLDER_AT_ONCE
            return says
        if isinstance(event, IncidentsPruned) and entry.at - event.before < SHORTEST - APART:
            return f"removes incidents that ended less than {SHORTEST.days} days before"
        return ""

    def _is_time_sure(self, at: str, event: Event) -> bool:
        """Return whether a note was written when it says; False where its time is only that of the entry before it.

        No entry of `house` is dated before another: once its clock is set back, the entries have the time of the last
        one before. Those about the same incident, in one transaction, have one time anyway.
        """
        about = event.incident if isinstance(event, EntryAnchored | IncidentEnded) else ""
        if not about or about != self._last[0]:
            self._clamped_to = self._last[1]
        self._last = (about, at)
        return at != self._clamped_to


def _notes(event: Event, at: str) -> Iterator[tuple[str, str, int, str, str]]:
    """Yield what an entry of `house` says about incidents, written at that time: rows of the table `noted`."""
    if isinstance(event, EntryAnchored):
        yield event.incident, "anchor", event.seq, event.head, at
    elif isinstance(event, IncidentEnded):
        yield event.incident, "end", event.seq, event.head, at
    elif isinstance(event, NodeReleased):
        yield event.incident, "released", 0, event.node, at
    elif isinstance(event, IncidentsPruned | OlderNoted):
        kind, until = ("pruned", instant_text(event.before)) if isinstance(event, IncidentsPruned) else ("older", at)
        for stream, head in event.heads.items():
            seq, _, digest = head.partition(":")
            yield stream, kind, int(seq) if _NUMBER.fullmatch(seq) else -1, digest, until


def as_json(value: Any) -> str:
    """Return a row as a text that is equal for equal rows, whatever a forger put in its place."""
    return json.dumps(value, default=repr, sort_keys=True)
