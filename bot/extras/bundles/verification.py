"""Verifies a bundle: an incident in a file, by another person and without a database."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO

from bot.app.cases import judged_with_secrets, run_alone
from bot.app.version import program_name
from bot.domain.case import Case, read_case
from bot.domain.entry import ANCHORED, Entry, Head, NotedHead, instant_text
from bot.domain.errors import BundleError, CaseError, ImpossibleEvent, PlaybookError, UnreadableEntry
from bot.domain.events import Approved, Endorsed, PlanProposed, Triaged
from bot.domain.fold import fold, impossible_on_error, triaged_in
from bot.domain.house_events import HOUSE, EntryAnchored, IncidentEnded
from bot.domain.playbook import Playbooks
from bot.domain.safe_text import listed, one_line
from bot.domain.secret_forms import MARK
from bot.domain.verdict import recorded_verdict, without_secrets
from bot.extras.bundles.bundle import MOST_BYTES, MOST_FINDINGS, MOST_LINE, PLAIN_FORM, BundleFile, BundleHead
from bot.extras.bundles.export import hashes_named, head_and_report
from bot.ledger.chain import APART, Chain
from bot.ledger.excerpt import StoredEntry


@dataclass(slots=True)
class BundleFindings:
    """The findings about a bundle.

    Shape: `broken` is wrong, `unproven` could not be verified, `holds` is right: all as sentences. `notes` say what the
    findings rest on.
    """

    incident: str = ""
    broken: list[str] = field(default_factory=list)
    unproven: list[str] = field(default_factory=list)
    holds: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a bundle; one that comes through a pipe is stored first. Raises: BundleError when it cannot be read."""
    try:
        with path.open("rb") as file, tempfile.TemporaryFile() as spool:
            if file.seekable():
                yield file
                return
            while (some := file.read(1024 * 1024)) and spool.tell() <= MOST_BYTES:
                spool.write(some)
            yield spool
    except OSError as no:
        raise BundleError(f"{path} cannot be read: {no.strerror}.") from no


def verified(file: BinaryIO, playbooks: Playbooks, noted: Sequence[NotedHead] = ()) -> BundleFindings:
    """Verify a bundle: each byte, the chains, their notes about each other, the verdict and the report.

    Shape: `playbooks` judge its case again; `noted` are heads that were noted elsewhere and must be in it.

    Raises: BundleError when it is no bundle, or of a newer form.
    """
    bundle = BundleFile(file)
    if changed := bundle.damage():
        return BundleFindings(broken=list(changed))
    return _Verification(bundle, playbooks, noted).found()


class _Verification:
    """Verifies a bundle whose bytes are as written; its writer may have forged them."""

    def __init__(self, bundle: BundleFile, playbooks: Playbooks, noted: Sequence[NotedHead]) -> None:
        self._bundle = bundle
        self._playbooks = playbooks
        self._heads = dict.fromkeys(noted, False)  # whether each was found
        self._proven = 0  # the number of the last entry that is not after such a head
        self._entries: tuple[Entry, ...] = ()
        self._hashes: dict[int, str] = {}
        self._dated: dict[int, datetime] = {}
        self._notes: set[int] = set()  # numbers of the entries that `house` notes
        self._end = 0  # the number of the entry that `house` notes as the end, the last of them
        self._unread = ""  # the first entry of `house` of which this program cannot say what it means
        self._named: dict[str, str] = {}  # what else was kept, by its hash
        self._findings = BundleFindings()

    def found(self) -> BundleFindings:
        """Return the findings."""
        findings, rows = self._findings, self._bundle.rows()
        _, self._head = next(rows)
        findings.incident = self._head.incident
        before = last = _parsed_head(self._head.house_before)
        has_case, report, kept = False, "", set[str]()
        for kind, group in groupby(rows, itemgetter(0)):
            values = (value for _, value in group)
            if kind == "entry" and not self._check_story(values):
                return findings
            if kind == "house":
                last = self._check_house(values, before)
            elif kind == "case":
                self._check_case(next(values))
                has_case = True
            elif kind == "kept":
                kept = self._check_stored_texts(values)
            elif kind == "report":
                report = next(values)
        self._check_notes(before, last)
        self._check_given_heads(before, last)
        self._check_head_and_report(before, last, report)
        if not has_case:
            self._check_case(None)
        self._note_missing_texts(kept)
        return findings

    def _check_story(self, rows: Iterator[StoredEntry]) -> bool:
        """Follow the incident's entries; return whether they are an incident."""
        findings, chain, entries = self._findings, Chain(self._head.incident), list[Entry | None]()
        for row in rows:
            entries.append(chain.follow(row)[0])
            self._hashes[row.seq] = row.hash
            if row.stream != chain.stream:
                findings.broken.append(_wrong_stream_words(row, chain.stream))
            for head in self._heads:
                if head.is_of(chain.stream, row.seq, row.hash):
                    self._heads[head], self._proven = True, row.seq
        findings.broken += [f"entry {broken}" for broken in chain.broken[:MOST_FINDINGS]]
        self._entries = tuple(entry for entry in entries if entry is not None)
        self._dated = {entry.seq: entry.at for entry in self._entries}
        try:
            with impossible_on_error("a value in them is beyond reckoning"):
                self._incident = fold(self._entries)
                self._named = dict(hashes_named(self._entries))
        except UnreadableEntry as no:
            findings.unproven.append(f"{no.sentence} {no.try_next}".strip())
            return False
        except ImpossibleEvent as no:
            findings.broken.append(f"its entries are no incident: {no}")
            return False
        return True

    def _check_house(self, rows: Iterator[StoredEntry], before: Head) -> Head:
        """Follow `house`, and compare what it notes with the incident; return its last entry."""
        findings, chain, incident = self._findings, Chain(HOUSE, before), self._incident.id
        self._heads |= {head: True for head in self._heads if head.is_of(HOUSE, before.seq, before.hash)}
        at_before = None if before.seq else ""  # when `house` wrote the entry before, as far as it is known
        for row in rows:
            entry, _ = chain.follow(row)
            if row.stream != HOUSE:
                findings.broken.append(_wrong_stream_words(row, HOUSE))
            try:
                event = entry.event if entry is not None else None
            except UnreadableEntry as no:  # of a newer program, perhaps about this incident
                event, self._unread = None, self._unread or f"entry {HOUSE}/{row.seq}: {no.sentence}"
            if isinstance(event, EntryAnchored | IncidentEnded) and event.incident == incident:
                self._notes.add(event.seq)
                self._end = max(self._end, event.seq) if isinstance(event, IncidentEnded) else self._end
                if self._hashes.get(event.seq) != event.head:
                    says = f"it is not the entry that house noted, in {HOUSE}/{row.seq}"
                    findings.broken.append(f"entry {incident}/{event.seq}: {says}")
                if isinstance(event, EntryAnchored) and entry is not None:
                    self._check_time(event, entry.at, at_before)
            at_before = row.at
            for head in self._heads:
                if head.is_of(HOUSE, row.seq, row.hash):
                    self._heads[head] = True
                    self._proven = max(self._proven, *self._notes, 0)
            if len(chain.broken) + len(findings.broken) > MOST_FINDINGS:
                break
        findings.broken += [f"entry {broken}" for broken in chain.broken]
        return chain.head

    def _check_time(self, event: EntryAnchored, at: datetime, at_before: str | None) -> None:
        """Compare when an entry is dated with when `house` noted it, which is in the same transaction."""
        dated, noted = self._dated.get(event.seq, at), instant_text(at)
        if at - dated <= APART:
            return
        says = f"entry {self._incident.id}/{event.seq}: it is dated {instant_text(dated)}, and house noted it {noted}"
        if at_before is None or noted == at_before:  # no entry is dated before another
            self._findings.unproven.append(f"{says}: the clock was set back, or it is forged")
        else:
            self._findings.broken.append(says)

    def _check_notes(self, before: Head, last: Head) -> None:
        """What `house` has to note, and does not."""
        findings, incident = self._findings, self._incident
        if 1 not in self._notes:
            findings.unproven.append(
                "the notes in house begin after its opening: an older program opened it, or they were cut off"
            )
        else:
            needed = [each for each in self._entries if each.kind in ANCHORED and each.seq not in self._notes]
            says = (f"entry {incident.id}/{entry.seq}: house has no note of it" for entry in needed)
            findings.broken += islice(says, MOST_FINDINGS)
        if incident.ended and last != before and not self._end:
            findings.broken.append(f"entry {incident.id}/{incident.seq}: house has no note of this end")
        elif self._end and self._end != incident.seq:
            findings.unproven.append(
                f"the end that house notes is entry {self._end}, and it has {incident.seq}: those after it were added, "
                "or an older program exported it. Export it again"
            )
        if self._unread:
            findings.unproven.append(self._unread)
        if 1 in self._notes and not findings.broken:
            findings.holds.append(
                f"{len(self._entries)} entries from its opening, noted in house up to {self._head.house_head}"
            )

    def _check_given_heads(self, before: Head, last: Head) -> None:
        """What the given heads prove; without one, only the bundle itself says that it is genuine."""
        findings, end = self._findings, self._entries[-1].seq
        for head in (head for head, is_there in self._heads.items() if not is_there):
            says = f"house: the head {head} is not in it; it has entries {before.seq + 1} to {last.seq}"
            if head.seq is None or head.seq > last.seq:  # of a later entry, for all it can tell
                findings.unproven.append(f"{says}. Export it with --head {head}")
            elif head.seq < before.seq:
                way = "Give that of the incident's closing card; if it is that, somebody has numbered the entries anew"
                findings.unproven.append(f"{says}. {way}")
            else:
                findings.broken.append(says)
        if not self._heads:
            findings.notes.append("compared with no head noted elsewhere, without which a whole forgery agrees: --head")
            if not self._incident.ended:
                findings.unproven.append(
                    f"it was open when it was exported, so nothing says that entry {end} was the last. Export it again "
                    "when it has ended, or give a head"
                )
        elif any(self._heads.values()) and self._proven < end:
            findings.unproven.append(
                f"entries {self._proven + 1} to {end} are later than the head that was given: give that of the end"
            )
        if self._heads and not self._incident.ended:
            findings.notes.append(f"as of its last entry, {end}, it was {self._incident.state}, not ended")

    def _check_head_and_report(self, before: Head, last: Head, report: str) -> None:
        head, findings = self._head, self._findings
        try:
            with impossible_on_error("its entries cannot be shown"):
                findings.broken += _plan_faults(self._entries)
            follows, shown = head_and_report(self._incident, self._entries, before, last, head.exported_at)
        except ImpossibleEvent as no:
            findings.broken.append(no.sentence)
            return
        for name in BundleHead.__slots__:
            if name not in ("program", "exported_at") and getattr(follows, name) != getattr(head, name):
                findings.broken.append(f"the head: field {name} is not what the entries say")
        if unknown := self._bundle.unknown:
            says = f"the head: its field {listed(unknown, 3)} is not known here, and nothing says that it is right"
            findings.unproven.append(says)
        is_same = report == shown
        if head.program != program_name():
            differs = "" if is_same else ", and its report has other words"
            by = one_line(head.program, 60)
            findings.unproven.append(f"the head: {by} wrote it{differs}; this is {program_name()}. Verify it there too")
        elif not is_same:
            findings.broken.append("the report: it is not what its entries say")

    def _check_stored_texts(self, texts: Iterator[str]) -> set[str]:
        """Look whether the entries name each text that was kept; return the hashes."""
        kept = set[str]()
        for number, text in enumerate(texts):
            if number == len(self._named) or len(self._findings.broken) > MOST_FINDINGS:
                self._findings.broken.append("what was kept: there is more than its entries name")
                break
            kept.add(self._check_stored_text(text))
        return kept

    def _check_stored_text(self, text: str) -> str:
        """Look whether an entry names a text that was kept; return its hash."""
        findings, named = self._findings, self._named
        try:
            digest = read_case(text, "What was kept", self._incident.node, MOST_LINE).digest
        except CaseError as no:
            findings.broken.append(f"what was kept: {no.sentence}")
            return ""
        if digest not in named:
            findings.broken.append(f"what was kept: no entry names {digest[:16]}…")
        else:
            findings.holds.append(f"{named[digest]}, of which the entry has the hash: {digest[:16]}…")
        return digest

    def _note_missing_texts(self, kept: Collection[str]) -> None:
        why = "form 1 has no place for it" if self._bundle.form == PLAIN_FORM else "it is no longer kept"
        lacking = (f"{what} is not in it: {why}" for digest, what in self._named.items() if digest not in kept)
        self._findings.unproven += islice(lacking, MOST_FINDINGS)

    def _check_case(self, text: str | None) -> None:
        """Derive the verdict again from what the node said, if that is in it."""
        findings, triaged = self._findings, triaged_in(self._entries)
        if triaged is None:
            findings.unproven.append("it has no verdict yet")
            return
        if text is None or not triaged.case:
            findings.unproven.append("no case is kept with it, so the verdict cannot be derived again")
            return
        try:
            shown = triaged.verdict
            case = read_case(text, "The case", shown.node, MOST_LINE, shown.muted)
            if case.digest != triaged.case:
                findings.broken.append(f"the case: it is not the case behind the verdict, {triaged.case[:16]}…")
            else:
                with impossible_on_error("it cannot be judged"):
                    self._judge_again(case, triaged)
        except CaseError as no:
            findings.broken.append(f"the case: {no.sentence}")
        except ImpossibleEvent as no:
            findings.unproven.append(f"the case: {no.sentence}")

    def _judge_again(self, case: Case, triaged: Triaged) -> None:
        findings, head = self._findings, case.head
        try:
            playbook = self._playbooks.get(head.playbook)
        except PlaybookError as error:
            findings.unproven.append(f"the verdict was not derived again: {one_line(str(error), 200)}")
            return
        if playbook.digest != head.playbook_digest:
            findings.unproven.append(
                f"the verdict was not derived again: the playbook {head.playbook} here differs from the playbook that "
                f"made it ({head.playbook_digest[:12]}…). Name the folder that has that: --playbooks DIR"
            )
            return
        was, verdict = recorded_verdict(triaged.verdict), run_alone(judged_with_secrets(case, playbook))
        # The case is as it was cut then. By the forms of today more may be cut, which is no difference.
        if differs := was.differs_from(recorded_verdict(verdict)) and was.differs_from(
            recorded_verdict(without_secrets(verdict))
        ):
            says = f"the verdict: derived again, it differs: {'; '.join(differs)}"
            if head.program != program_name():
                findings.unproven.append(f"{says}. It was made by {head.program}, and this is {program_name()}")
            elif any(MARK[:-1] in run.stdout for run in case.runs):
                findings.unproven.append(f"{says}. What was taken out of the case as a secret may have decided")
            else:
                findings.broken.append(says)
            return
        now = recorded_verdict(verdict)
        sure = f" ({now.confidence})" if now.confidence else ""
        plan = f", plan {now.plan[:16]}…" if now.plan else ""
        said = ", ".join(part for part in (now.status, f"{now.cause}{sure}" if now.cause else "") if part)
        findings.holds.append(f"the verdict, derived again from what the node said: {said}{plan}")
        if case.muted:
            causes = one_line(listed([mute.cause for mute in case.muted], 5), 200)
            findings.notes.append(f"the verdict rests on what was muted then, by its own word: {causes}")


def _wrong_stream_words(row: StoredEntry, stream: str) -> str:
    return f"entry {stream}/{row.seq}: it belongs to another stream, {one_line(row.stream, 40)}"


def _plan_faults(entries: Sequence[Entry]) -> Iterator[str]:
    digest = ""
    for entry in entries:
        event = entry.event
        if isinstance(event, PlanProposed):
            digest = event.digest
            if not event.is_unaltered:
                yield f"entry {entry.stream}/{entry.seq}: the plan's digest is not that of the plan"
        elif isinstance(event, Approved | Endorsed) and event.digest != digest:
            yield f"entry {entry.stream}/{entry.seq}: another plan was approved than was proposed"


def _parsed_head(text: str) -> Head:
    seq, _, digest = text.partition(":")
    return Head(int(seq), digest) if seq.isdecimal() and len(seq) < 18 else Head()
