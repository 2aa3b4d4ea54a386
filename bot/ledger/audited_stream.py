"""The audit of an incident or of a wave: its chain, its fold, and what the rest of the record says about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Protocol

from bot.domain.entry import ANCHORED, OF_WAVES, WAVES, Entry, Head, OwnEvent, instant_of, instant_text, is_wave
from bot.domain.errors import ImpossibleEvent, UnreadableEntry
from bot.domain.events import PlanProposed, StepStarted, Triaged
from bot.domain.fold import fold, fold_entry
from bot.domain.house_events import HOUSE
from bot.domain.incident import Incident
from bot.ledger.chain import Broken, Chain
from bot.ledger.incidents import line_of
from bot.ledger.machines import MACHINE_ID
from bot.ledger.mentions import UNSURE, Mention, MentionKind, as_json

NOT_ITS_END = "does not end as noted in house, with entry {0}: entries were removed, added or rewritten"
TABLES: Mapping[MentionKind, str] = {"line": "incidents", "hold": "holds", "attempt": "attempts", "wave": "waves"}
CLOCK_OR_FORGED = "a clock was set back, or it is forged"
_NOTES = ("anchor", "end", "older")
_NAMES_CASE: Mapping[str, str] = {Triaged.__name__: "case", StepStarted.__name__: "kept"}  # the field, by the kind
APART = timedelta(minutes=1)  # of what a transaction writes: an older program asked for the time more than once


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


NO_FOLLOWERS: Mapping[str, StreamFollower] = {}


class AuditedStream:
    """Reads an incident's entries one by one, and stores none of them.

    Shape: `mentions` is what is said about it elsewhere. `house` has to note its first entry, and each whose kind is
    anchored, except those that it lists as older than its notes. `needs_notes` is False where `house` is broken. Of a
    wave, without a follower, only chain and notes are checked.
    """

    def __init__(
        self,
        stream: str,
        mentions: Sequence[Mention],
        needs_notes: bool,
        followers: Mapping[str, StreamFollower] = NO_FOLLOWERS,
    ) -> None:
        self.stream = stream
        self._follower = followers.get(WAVES)
        self.chain = Chain(stream)
        # The first note of an entry counts: a later one, which anybody may append, never takes its place.
        self._anchors = {mention.seq: mention.value for mention in reversed(mentions) if mention.kind in _NOTES}
        self._noted_at = {mention.seq: mention.at for mention in reversed(mentions) if mention.kind == "anchor"}
        self._end = max((mention.seq for mention in mentions if mention.kind == "end"), default=0)
        self._older = max((mention.seq for mention in mentions if mention.kind == "older"), default=0)
        self._rows = {mention.kind: mention.value for mention in mentions if mention.kind not in _NOTES}
        self._cases = {mention.value for mention in mentions if mention.kind == "case"}
        self.gone = 0  # entries that name a case which is not stored
        self._times = Counter(mention.kind for mention in mentions)
        self._needs_notes = needs_notes
        self._anchored: set[int] = set()
        self._first_step: Entry | None = None
        self._incident: Incident | None = None
        self._wave: Any = None
        self._is_rewritten = False
        self._goes_on = True  # while every entry so far could be read and followed
        self._broken = list(contradictions(stream, mentions))
        self.unread: Broken | None = None  # where this program cannot say what the rest of the stream means

    def read(self, row: Sequence[Any]) -> bool:
        """Read the next row. Return whether its hash is right."""
        entry, is_right = self.chain.follow(row)
        self._goes_on = self._goes_on and entry is not None and not self.chain.broken
        seq = self.chain.head.seq
        if seq in self._anchors:
            noted = self._anchors[seq]
            self._anchored.add(seq)
            if noted != self.chain.head.hash and is_right and not self._is_rewritten:  # reported once
                self._is_rewritten = True
                self._broken.append(Broken(self.stream, seq, "is not the entry that house noted: it was rewritten"))
        at = self._noted_at.get(seq, "").removeprefix(UNSURE)
        if at and entry is not None and instant_of(at) - entry.at > APART:
            says = f"is dated {instant_text(entry.at)}, and house noted it at {at}"
            if self._noted_at[seq].startswith(UNSURE):
                self.unread = self.unread or Broken(self.stream, seq, f"{says}: {CLOCK_OR_FORGED}")
            else:
                self._broken.append(Broken(self.stream, seq, f"{says}: it is dated back"))
        is_due = seq > self._older and (seq == 1 or row[4] in ANCHORED) and not self.chain.broken
        if self._needs_notes and is_due and seq not in self._anchors:
            self._needs_notes = False  # reported once
            says = f"the note of entry {seq} of {self.stream}, {row[4]}, is missing: it is not anchored"
            self._broken.append(Broken(HOUSE, 0, says))
        named = entry.body.get(_NAMES_CASE.get(entry.kind, "")) if entry is not None else None
        if named and isinstance(named, str):
            self.gone += named not in self._cases
        if self._goes_on and entry is not None:
            self._fold(entry)
        return is_right

    def result(self) -> tuple[Broken, ...]:
        """Return what is wrong, once all rows were read."""
        head = self.chain.head
        found = [*self.chain.broken, *self._broken]
        if self._end and head != Head(self._end, self._anchors[self._end]):
            found.append(Broken(self.stream, head.seq, NOT_ITS_END.format(self._end)))
        for seq in sorted(self._anchors.keys() - self._anchored - {self._end}):
            if seq > head.seq:
                says = f"ends before entry {seq}, which house noted: entries were removed"
                found.append(Broken(self.stream, head.seq, says))
                break
        if "pruned" in self._rows:
            found.append(Broken(self.stream, head.seq, "was pruned, as house says, and has entries all the same"))
        for kind, table in TABLES.items():  # a wave has a row in one of them, an incident in each of the others
            if self._times[kind] > ((kind == "wave") == is_wave(self.stream)):
                found.append(Broken(self.stream, head.seq, f"stands in the table {table} more often than it may"))
        if self._goes_on and self._incident is not None:
            found += self._incident_faults(self._incident)
        followed = self._follower.row(self._wave) if self._follower is not None and self._wave is not None else None
        if self._goes_on and followed is not None and self._rows.get("wave") != as_json(followed):
            found.append(Broken(self.stream, head.seq, "the table of waves differs from its entries"))
        return tuple(found)

    @property
    def is_stepped_over(self) -> bool:
        """True where what follows from its entries is not known here, because its extra is left out."""
        return is_wave(self.stream) and self._follower is None

    def _fold(self, entry: Entry) -> None:
        try:
            if is_wave(self.stream):
                if self._follower is not None:
                    self._wave = self._follower.after(self._wave, entry)
                elif not isinstance(entry.event, OwnEvent) or entry.kind not in OF_WAVES:
                    raise ImpossibleEvent(f"{entry.kind} is not an entry of a wave.")
                return
            self._incident = fold((entry,)) if self._incident is None else fold_entry(self._incident, entry)
            if self._first_step is None and entry.kind == StepStarted.__name__:
                self._first_step = entry
        except ImpossibleEvent as no:
            self._goes_on = False
            what = "wave" if is_wave(self.stream) else "incident"
            self._broken.append(Broken(self.stream, entry.seq, f"is not a valid {what}: {no.sentence}"))
        except UnreadableEntry as no:
            self._goes_on = False  # intact, but written by a newer program
            self.unread = Broken(self.stream, entry.seq, f"was not followed from here on: {no.sentence}")

    def _incident_faults(self, incident: Incident) -> Iterator[Broken]:
        if self._rows.get("line") != as_json(line_of(incident)):
            yield Broken(self.stream, incident.seq, "the list of incidents differs from its entries")
        if incident.ended and not self._end:
            yield Broken(HOUSE, 0, f"the note of the end of {self.stream}, entry {incident.seq}, is missing")
        yield from self._hold_faults(incident)
        yield from self._attempt_faults(incident)

    def _hold_faults(self, incident: Incident) -> Iterator[Broken]:
        """An incident holds its node from its first step to its end."""
        held = self._rows.get("hold")
        begun = [step.number for step in incident.steps if step.started is not None]
        due = None if incident.ended or not begun else [incident.node, begun[-1], _machine_id_of(incident)]
        if held is None and "released" in self._rows:
            return  # a person freed the node; the next step takes it again
        if held == due or (held is None and not self._is_anchored(self._first_step)):
            return
        if due is None:
            yield Broken(self.stream, incident.seq, "stands in the table holds but acts on no node")
        else:
            says = f"acts on {incident.node}, step {due[1]}, and the table holds says otherwise"
            yield Broken(self.stream, incident.seq, says)

    def _attempt_faults(self, incident: Incident) -> Iterator[Broken]:
        """An incident whose plan was begun is in the table of attempts, with node, plan and time."""
        row, first = self._rows.get("attempt"), self._first_step
        if first is None or incident.proposal is None:
            if row is not None:
                yield Broken(self.stream, incident.seq, "stands in the table attempts but began no step")
            return
        if row is None:
            if self._is_anchored(first):
                yield Broken(self.stream, first.seq, "began its plan, and is missing in the table attempts")
        elif row[:-1] != _attempt_values(incident.node, incident.proposal) or not (
            # After a release the step begins again, and counts from then.
            "released" in self._rows or _is_near_in_time(row[-1], first)
        ):
            yield Broken(self.stream, first.seq, "began its plan, and the table attempts says otherwise")

    def _is_anchored(self, entry: Entry | None) -> bool:
        """True if a present-day program wrote the entry: it wrote the tables in the same transaction."""
        return entry is not None and entry.seq in self._anchors and entry.seq > self._older


def contradictions(stream: str, mentions: Sequence[Mention]) -> Iterator[Broken]:
    """Yield the first entry that `house` notes as two different ones, which no program writes."""
    noted = dict[int, Any]()
    for mention in mentions:
        if mention.kind in _NOTES and noted.setdefault(mention.seq, mention.value) != mention.value:
            yield Broken(stream, mention.seq, "was noted in house twice, with different hashes: one is forged")
            return


def _machine_id_of(incident: Incident) -> str:
    return incident.proposal.binds.get(MACHINE_ID, "") if incident.proposal is not None else ""


def _attempt_values(node: str, proposed: PlanProposed) -> list[str]:
    """What the table of attempts says about a begun plan, without the time."""
    return [node, proposed.plan.remedy, proposed.binds.get(MACHINE_ID, ""), proposed.plan.cure]


def _is_near_in_time(text: object, entry: Entry) -> bool:
    try:
        return abs(instant_of(str(text)) - entry.at) <= APART
    except ValueError:
        return False
