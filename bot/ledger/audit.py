"""The audit: recomputes every hash, and compares the streams with each other, with the tables and with noted heads.

A hash chain alone cannot show that it was cut off at its end or rewritten as a whole. `house` notes each opening, each
yes, each begun step and each end of an incident; and a head of `house` noted outside the ledger, such as on a card in
Slack, shows whether `house` itself was cut off or rewritten before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, select

from bot.domain.entry import (
    HOUSE_EVENTS,
    NOTED_DIGITS,
    OF_HOUSE,
    Entry,
    Event,
    Head,
    NotedHead,
    instant_of,
    instant_text,
    is_wave,
)
from bot.domain.errors import UnreadableEntry
from bot.domain.house_events import (
    HOUSE,
    OLDER_AT_ONCE,
    EntryAnchored,
    IncidentEnded,
    IncidentsPruned,
    NodeReleased,
    OlderNoted,
)
from bot.domain.safe_text import one_line
from bot.ledger.append_only import foreign_triggers, troubled_triggers
from bot.ledger.audited_stream import (
    APART,
    CLOCK_OR_FORGED,
    NO_FOLLOWERS,
    NOT_ITS_END,
    TABLES,
    AuditedStream,
    StreamFollower,
    contradictions,
)
from bot.ledger.case_store import stored_cases
from bot.ledger.chain import FIELDS, Broken, Chain
from bot.ledger.database import Database
from bot.ledger.entries import NONE_OLDER, database_time
from bot.ledger.incidents import LINE
from bot.ledger.mentions import UNSURE, Mention, MentionKind, Mentions
from bot.ledger.pruning import SHORTEST
from bot.ledger.tables import ATTEMPTS, ENTRIES, HOLDS, WAVES

_ROWS = 500  # read at once
_GREATEST = 2**62  # of the numbers of entries
_NUMBER = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of an audit. The record is intact when `broken` is empty.

    Shape: `unread` are streams whose chain is right, but which this program cannot follow to their end; `stepped_over`
    counts those of extras that are left out, whose chain and notes were checked, and nothing more. `gone` counts the
    entries that name what a node said, where that is no longer stored: [retention] readings removes it, or somebody.
    """

    entries: int
    incidents: int
    house: Head
    broken: tuple[Broken, ...]
    unread: tuple[Broken, ...] = ()
    stepped_over: int = 0
    gone: int = 0


@dataclass(slots=True)
class _Noted:
    """The heads that were noted elsewhere, and which of them the record contains."""

    heads: Sequence[NotedHead]
    by_seq: dict[int, list[NotedHead]] = field(default_factory=dict)
    by_digits: dict[str, list[NotedHead]] = field(default_factory=dict)
    found: set[NotedHead] = field(default_factory=set)

    def __post_init__(self) -> None:
        for head in self.heads:
            if head.seq is not None:
                self.by_seq.setdefault(head.seq, []).append(head)
            else:
                self.by_digits.setdefault(head.digits[:NOTED_DIGITS], []).append(head)

    def check_entry(self, stream: str, seq: object, digest: object) -> None:
        """Check whether an entry with a correct hash is such a head."""
        if stream == HOUSE and isinstance(seq, int):
            self._compare(self.by_seq.get(seq, ()), str(digest))
        if self.by_digits:
            self._compare(self.by_digits.get(str(digest)[:NOTED_DIGITS], ()), str(digest))

    def _compare(self, heads: Sequence[NotedHead], digest: str) -> None:
        self.found.update(head for head in heads if digest.startswith(head.digits))

    def missing(self, house: Head) -> Iterator[Broken]:
        """Yield what is wrong with each head that is not in the record."""
        for head in self.heads:
            if head in self.found:
                continue
            where = f", noted {head.where}" if head.where else ""
            if head.seq is None:
                says = f"no entry has the hash {head}{where}: the record was truncated or rewritten"
            elif head.seq > house.seq:
                says = f"ends with entry {house.seq}, before the head {head}{where}: the record was truncated"
            else:
                says = f"entry {head.seq} does not have the hash of the head {head}{where}: the record was rewritten"
            yield Broken(HOUSE, 0, says)


def audit(
    database: Database, noted: Sequence[NotedHead] = (), followers: Mapping[str, StreamFollower] = NO_FOLLOWERS
) -> Audit:
    """Check all entries, and that the record contains these heads, which were noted outside it.

    Shape: a single pass over the entries, `house` first; its memory does not grow with the record. `followers` are of
    extras' own streams, by the extra's name.
    """
    heads, entries, incidents, stepped_over, gone, unread = _Noted(noted), 0, 0, 0, 0, list[Broken]()
    with database.reading() as connection, Mentions() as mentions:
        broken = [
            Broken("database", 0, f"the trigger {name}, which keeps entries from being changed, is missing or altered")
            for name in troubled_triggers(connection)
        ]
        broken += _damage(connection)
        unread += [
            Broken(
                "database",
                0,
                f"what {one_line(name, 60)} does: a trigger, rule or policy on the entries, and none of ours",
            )
            for name in foreign_triggers(connection)
        ]
        house = _HouseChain(_rows(connection, HOUSE), heads)
        mentions.add(house.mentions())
        mentions.add(_table_mentions(connection))
        mentions.add(_case_mentions(connection, broken))
        mentions.complete()
        broken += house.chain.broken
        unread += house.unclear(database_time(connection))
        entries += house.chain.entries
        for stream, rows in groupby(_rows(connection), key=lambda row: row[0]):
            audited = AuditedStream(str(stream), mentions.take(stream), not house.chain.broken, followers)
            for row in rows:
                if audited.read(row):
                    heads.check_entry(audited.stream, row[1], row[6])
            broken += audited.result()
            unread += [audited.unread] if audited.unread is not None else []
            entries += audited.chain.entries
            incidents += not is_wave(audited.stream)
            stepped_over += audited.is_stepped_over
            gone += audited.gone
        broken += _without_entries(mentions.left(), unread)
    broken += heads.missing(house.chain.head)
    return Audit(entries, incidents, house.chain.head, tuple(broken), tuple(unread), stepped_over, gone)


def _damage(connection: Connection) -> Iterator[Broken]:
    """Yield what SQLite finds wrong in it: who reads by an index without a row, such as the brake's, misses it."""
    if connection.dialect.name == "sqlite":
        for says in connection.exec_driver_sql("PRAGMA integrity_check(20)").scalars():
            if says != "ok":
                yield Broken("database", 0, f"is damaged: {one_line(str(says), 200)}")


class _HouseChain:
    """The stream `house`: its chain, and what it says about incidents."""

    def __init__(self, rows: Iterator[Sequence[Any]], heads: _Noted) -> None:
        self.chain = Chain(HOUSE)
        self.unread: Broken | None = None  # the first entry of which this program cannot say what it means
        self._rows = rows
        self._heads = heads
        self._may_list_older = True  # until the list of older streams has ended
        self._lists_older = False
        self._clamped_to = ""  # the time of the last entry before, about another stream
        self._last = ("", "")  # the stream that the last entry is about, and its time
        self._pruned = (0, "")  # the last entry that removes incidents, and its time

    def mentions(self) -> Iterator[Mention]:
        """Read the stream, and yield its notes about incidents."""
        for row in self._rows:
            entry, is_right = self.chain.follow(row)
            if is_right:
                self._heads.check_entry(HOUSE, row[1], row[6])
            if entry is None:
                continue
            if entry.kind != OlderNoted.__name__ and (self._lists_older or NONE_OLDER in entry.body):
                self._may_list_older = False
            try:
                event = entry.event
            except UnreadableEntry as no:
                self.unread = self.unread or Broken(HOUSE, entry.seq, no.sentence)
                self._last = ("", str(row[2]))
                continue
            at = self._noted_at(str(row[2]), event)
            if says := self._misplaced_words(entry, event):
                self.chain.broken.append(Broken(HOUSE, entry.seq, says))
                continue
            if isinstance(event, IncidentsPruned):
                self._pruned = (entry.seq, str(row[2]))
            for mention in _incident_mentions(event, at):
                if 0 <= mention.seq <= _GREATEST:
                    yield mention
                else:
                    self.chain.broken.append(
                        Broken(HOUSE, entry.seq, "notes an entry with a number that none can have")
                    )

    def unclear(self, now: str) -> list[Broken]:
        """Return what this program cannot say of it: a time that is still to come makes nothing old enough."""
        seq, at = self._pruned
        is_ahead = bool(at) and instant_of(at) - instant_of(now) > APART
        ahead = Broken(
            HOUSE, seq, f"removes incidents at {at}, which is still to come: a clock was ahead, or it is forged"
        )
        return [self.unread] if self.unread is not None else [ahead] if is_ahead else []

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

    def _noted_at(self, at: str, event: Event) -> str:
        """Return when a note was written, behind `UNSURE` where its time is only that of the entry before it.

        No entry of `house` is dated before another: once its clock is set back, the entries have the time of the last
        one before. Those about the same incident, in one transaction, have one time anyway.
        """
        about = event.incident if isinstance(event, EntryAnchored | IncidentEnded) else ""
        if not about or about != self._last[0]:
            self._clamped_to = self._last[1]
        self._last = (about, at)
        return at if at != self._clamped_to else f"{UNSURE}{at}"


def _incident_mentions(event: Event, at: str) -> Iterator[Mention]:
    """Yield what an entry of `house` says about incidents; `at` is when it said so, as far as that is known."""
    if isinstance(event, EntryAnchored):
        yield Mention(event.incident, "anchor", event.seq, event.head, at)
    elif isinstance(event, IncidentEnded):
        yield Mention(event.incident, "end", event.seq, event.head, at)
    elif isinstance(event, NodeReleased):
        yield Mention(event.incident, "released", 0, event.node)
    elif isinstance(event, IncidentsPruned | OlderNoted):
        kind: MentionKind = "pruned" if isinstance(event, IncidentsPruned) else "older"
        for stream, head in event.heads.items():
            seq, _, digest = head.partition(":")
            before = instant_text(event.before) if isinstance(event, IncidentsPruned) else ""
            yield Mention(stream, kind, int(seq) if _NUMBER.fullmatch(seq) else -1, digest, before)


def _rows(connection: Connection, stream: str = "") -> Iterator[Sequence[Any]]:
    """Yield the rows of `house`, or of all other streams, in order."""
    columns = [ENTRIES.c[name] for name in FIELDS]
    only = ENTRIES.c.stream == stream if stream else ENTRIES.c.stream != HOUSE
    asked = select(*columns).where(only).order_by(ENTRIES.c.stream, ENTRIES.c.seq)
    yield from connection.execute(asked.execution_options(yield_per=_ROWS))


def _table_mentions(connection: Connection) -> Iterator[Mention]:
    """Yield the rows of the tables that follow from the entries."""
    for row in connection.execute(select(*LINE).execution_options(yield_per=_ROWS)):
        yield Mention(row.id, "line", 0, dict(row._mapping))
    for row in connection.execute(select(WAVES)):
        yield Mention(row.id, "wave", 0, dict(row._mapping))
    for row in connection.execute(select(HOLDS)):
        yield Mention(row.incident, "hold", 0, [row.node, row.step, row.machine_id])
    for row in connection.execute(select(ATTEMPTS).execution_options(yield_per=_ROWS)):
        yield Mention(row.incident, "attempt", 0, [row.node, row.remedy, row.machine_id, row.cure, row.at])


def _case_mentions(connection: Connection, broken: list[Broken]) -> Iterator[Mention]:
    """Yield the stored cases; add to `broken` those that are not what their entries name."""
    for incident, digest, says in stored_cases(connection):
        if says:
            broken.append(Broken(incident, 0, f"what the node said, {digest[:16]}…, is damaged: {says}"))
        yield Mention(incident, "case", 0, digest)


def _without_entries(mentions: Iterator[Mention], unread: list[Broken]) -> Iterator[Broken]:
    """Yield what is said about incidents without entries; add to `unread` what an old clock may have done."""
    for stream, of_stream in groupby(mentions, key=lambda mention: mention.stream):
        said = tuple(of_stream)
        yield from contradictions(stream, said)
        kinds = {mention.kind: mention for mention in said}
        if "end" in kinds and "pruned" in kinds:
            for broken, is_sure in _pruning_faults(
                stream, [each for each in said if each.kind in ("anchor", "end")], said
            ):
                if is_sure:
                    yield broken
                else:
                    unread.append(broken)
        elif "end" in kinds:
            yield Broken(stream, 0, NOT_ITS_END.format(kinds["end"].seq))
        elif "anchor" in kinds or "older" in kinds:
            yield Broken(stream, 0, "was noted in house but has no entries: they were removed")
        for kind, table in TABLES.items():
            if kind in kinds:
                yield Broken(stream, 0, f"stands in the table {table} but has no entries")


def _pruning_faults(stream: str, notes: Sequence[Mention], said: Sequence[Mention]) -> Iterator[tuple[Broken, bool]]:
    """Yield why it may not have been pruned, and whether that is sure: it ends with its last note, which was before."""
    last = max(notes, key=lambda note: (note.seq, note.kind == "end"))
    for pruned in (each for each in said if each.kind == "pruned"):
        if last.kind != "end" or (last.seq, last.value) != (pruned.seq, pruned.value):
            yield Broken(stream, pruned.seq, "was pruned at another entry than the end that house noted"), True
            return
        until = instant_of(pruned.at) + APART
        late = [note for note in notes if instant_of(note.at.removeprefix(UNSURE)) > until]
        if not late:
            continue
        note = min(late, key=lambda note: (note.at.startswith(UNSURE), note.kind != "end"))
        is_sure, at = not note.at.startswith(UNSURE), note.at.removeprefix(UNSURE)
        says = f"was pruned as of {pruned.at}, and {'ended' if note.kind == 'end' else 'was noted'} at {at}"
        yield Broken(stream, pruned.seq, says if is_sure else f"{says}: {CLOCK_OR_FORGED}"), is_sure
        return
