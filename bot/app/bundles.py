"""Bundles: an incident in a file, and another person's verification of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from bot.actions import ACTIONS
from bot.app.bundle_kept import Verified, kept_of, look_at_kept
from bot.app.cases import awaited, replayed
from bot.app.check import PROGRAM
from bot.domain.bundle import Bundle, BundleHead, damage, read_bundle
from bot.domain.case import Case, RecordedVerdict, read_case
from bot.domain.entry import ANCHORED, Entry, Head, NotedHead
from bot.domain.errors import BundleError, CaseError, ImpossibleEvent, PlaybookError, UnknownIncident, UnreadableEntry
from bot.domain.events import Approved, Endorsed, PlanProposed, Triaged
from bot.domain.fold import fold, triaged_in
from bot.domain.house_events import HOUSE, EntryAnchored, IncidentEnded
from bot.domain.incident import Incident
from bot.domain.playbook import Playbooks
from bot.domain.safe_text import one_line, safe
from bot.ledger import Database, KeptCases, Ledger
from bot.ledger.chain import Chain
from bot.ledger.entries import entry_of
from bot.ledger.excerpt import Excerpt, excerpt
from bot.surfaces.incidents import incident_text
from bot.surfaces.view.context import ViewContext
from bot.surfaces.view.plan_words import PlanWords

MOST_BYTES = 128 * 1024 * 1024


def exported(database: Database, incident_id: str, at: datetime, until: NotedHead | None = None) -> Bundle:
    """Return an incident's bundle; `until` is a head of `house` that it has to include.

    Raises: UnknownIncident; BundleError when the record is broken there, or has no such head; LedgerError.
    """
    found = excerpt(database, incident_id, until)
    if not found.entries or incident_id == HOUSE:
        raise UnknownIncident(f"There is no incident {one_line(incident_id, 40)!r}.")
    entries = tuple(map(entry_of, found.entries))
    incident = fold(entries)
    triaged = triaged_in(entries)
    cases = KeptCases(database)
    case = cases.text(incident_id, triaged.case) if triaged is not None and triaged.case else None
    kept, form = kept_of(incident, entries, cases, Ledger(database))
    head, report = _head(incident, entries, found, at), _report(incident, entries)
    return Bundle(head, found.entries, found.house, report, case, kept, form)


def load(path: Path) -> bytes:
    """Return the bytes of a bundle. Raises: BundleError when it cannot be read, or is too large."""
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as no:
        raise BundleError(f"{path} cannot be read: {no.strerror}.") from no
    if len(raw) > MOST_BYTES:
        raise BundleError(f"{path} has more than {MOST_BYTES // 1024 // 1024} MiB.", "No bundle is that large.")
    return raw


def verified(raw: bytes, playbooks: Playbooks, noted: Sequence[NotedHead] = ()) -> Verified:
    """Verify a bundle: each byte, the chains, their notes about each other, the verdict and the report.

    Shape: `playbooks` weigh its case again; `noted` are heads that were noted elsewhere and must be in it.

    Raises: BundleError when it is no bundle, or of a newer form.
    """
    if changed := damage(raw):
        return Verified(broken=list(changed))
    return _Look(read_bundle(raw), playbooks).found(noted)


class _Look:
    """Verifies a bundle whose bytes are as written; its writer may have forged them."""

    def __init__(self, bundle: Bundle, playbooks: Playbooks) -> None:
        self._bundle = bundle
        self._playbooks = playbooks
        self._findings = Verified(bundle.head.incident)

    def found(self, noted: Sequence[NotedHead]) -> Verified:
        """Return the findings."""
        findings, bundle = self._findings, self._bundle
        findings.broken += _of_chains(bundle)
        try:
            entries = tuple(map(entry_of, bundle.entries))
            incident = fold(entries)
        except UnreadableEntry as no:
            findings.unproven.append(f"{no.sentence} {no.try_next}".strip())
            return findings
        except (ImpossibleEvent, ValueError) as no:
            findings.broken.append(f"its entries are no incident: {no}")
            return findings
        findings.broken += _of_notes(bundle, entries, incident)
        findings.broken += _of_heads(bundle, noted)
        findings.broken += _of_plan(entries)
        findings.broken += self._of_head(incident, entries)
        if not bundle.house:
            findings.unproven.append("house has no note of it: an older program opened it, and it has not ended")
        elif not findings.broken:
            findings.holds.append(
                f"{len(entries)} entries from its opening, noted in house up to {bundle.head.house_head}"
            )
        if bundle.head.program == PROGRAM and _report(incident, entries) != bundle.report:
            findings.broken.append("the report: it is not what its entries say")
        self._case(triaged_in(entries))
        look_at_kept(bundle, entries, findings)
        return findings

    def _of_head(self, incident: Incident, entries: Sequence[Entry]) -> Iterator[str]:
        bundle = self._bundle
        before = _noted(bundle.head.house_before)
        follows = _head(incident, entries, Excerpt(bundle.entries, bundle.house, before), bundle.head.exported_at)
        for name in BundleHead.__slots__:
            if name not in ("program", "exported_at") and getattr(follows, name) != getattr(bundle.head, name):
                yield f"the head: field {name} is not what the entries say"

    def _case(self, triaged: Triaged | None) -> None:
        findings, text = self._findings, self._bundle.case
        if triaged is None:
            findings.unproven.append("it has no verdict yet")
            return
        if text is None or not triaged.case:
            findings.unproven.append("no case is kept with it, so the verdict cannot be derived again")
            return
        try:
            case = read_case(text, "The case", triaged.verdict.node)
            if case.digest != triaged.case:
                findings.broken.append(f"the case: it is not the case behind the verdict, {triaged.case[:16]}…")
                return
            self._again(case, triaged)
        except CaseError as no:
            findings.broken.append(f"the case: {no.sentence}")

    def _again(self, case: Case, triaged: Triaged) -> None:
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
        verdict = awaited(replayed(case, playbook))
        if differs := RecordedVerdict.of(triaged.verdict).differs_from(verdict):
            says = f"the verdict: derived again, it differs: {'; '.join(differs)}"
            if head.program == PROGRAM:
                findings.broken.append(says)
            else:
                findings.unproven.append(f"{says}. It was made by {head.program}, and this is {PROGRAM}")
            return
        now = RecordedVerdict.of(verdict)
        sure = f" ({now.confidence})" if now.confidence else ""
        plan = f", plan {now.plan[:16]}…" if now.plan else ""
        said = ", ".join(part for part in (now.status, f"{now.cause}{sure}" if now.cause else "") if part)
        findings.holds.append(f"the verdict, derived again from what the node said: {said}{plan}")


def _of_chains(bundle: Bundle) -> Iterator[str]:
    for entries, after in ((bundle.entries, Head()), (bundle.house, _noted(bundle.head.house_before))):
        stream = HOUSE if entries is bundle.house else bundle.head.incident
        chain = Chain(stream, after)
        for entry in entries:
            chain.follow(entry)
            if entry.stream != stream:
                yield f"entry {stream}/{entry.seq}: it belongs to another stream, {one_line(str(entry.stream), 40)}"
        yield from (f"entry {broken}" for broken in chain.broken)


def _of_notes(bundle: Bundle, entries: Sequence[Entry], incident: Incident) -> Iterator[str]:
    """Compare the incident with its notes in `house`."""
    hashes, noted = {entry.seq: entry.hash for entry in entries}, set[int]()
    ended = False
    for row in bundle.house:
        try:
            event = entry_of(row).event
        except UnreadableEntry:
            continue  # of a newer program; the chain proves that it is intact
        if not isinstance(event, EntryAnchored | IncidentEnded) or event.incident != incident.id:
            continue
        noted.add(event.seq)
        ended = ended or isinstance(event, IncidentEnded)
        if hashes.get(event.seq) != event.head:
            yield f"entry {incident.id}/{event.seq}: it is not the entry that house noted, in {HOUSE}/{row.seq}"
    needed = [entry for entry in entries if entry.kind in ANCHORED and entry.seq not in noted]
    if 1 in noted:  # otherwise an older program opened it, which noted only its end
        yield from (f"entry {incident.id}/{entry.seq}: house has no note of it" for entry in needed)
    if incident.ended and bundle.house and not ended:
        yield f"entry {incident.id}/{incident.seq}: house has no note of this end"


def _of_heads(bundle: Bundle, noted: Sequence[NotedHead]) -> Iterator[str]:
    for head in noted:
        is_there = any(
            row.hash.startswith(head.digits) and head.seq in (None, row.seq)
            for row in (*bundle.house, *(bundle.entries if head.seq is None else ()))
        )
        if not is_there:
            last = bundle.house[-1].seq if bundle.house else 0
            yield f"house: the head {head} is not in it; it reaches to entry {last}. Export it with --head {head}"


def _of_plan(entries: Sequence[Entry]) -> Iterator[str]:
    digest = ""
    for entry in entries:
        event = entry.event
        if isinstance(event, PlanProposed):
            digest = event.digest
            if not event.is_whole:
                yield f"entry {entry.stream}/{entry.seq}: the plan's digest is not that of the plan"
        elif isinstance(event, Approved | Endorsed) and event.digest != digest:
            yield f"entry {entry.stream}/{entry.seq}: another plan was approved than was proposed"


def _head(incident: Incident, entries: Sequence[Entry], found: Excerpt, at: datetime) -> BundleHead:
    triaged = triaged_in(entries)
    judged = RecordedVerdict.of(triaged.verdict) if triaged is not None else RecordedVerdict("")
    voices = [(entry, entry.event) for entry in entries]
    return BundleHead(
        incident=incident.id,
        node=incident.node,
        program=PROGRAM,
        exported_at=at,
        status=judged.status,
        cause=judged.cause,
        confidence=judged.confidence,
        plan=next((event.digest for _, event in voices if isinstance(event, PlanProposed)), ""),
        approvals=tuple(entry.by for entry, event in voices if isinstance(event, Approved | Endorsed)),
        case=triaged.case if triaged is not None else "",
        house_before=_written(found.before),
        house_head=_written(Head(found.house[-1].seq, found.house[-1].hash)) if found.house else "",
    )


def _report(incident: Incident, entries: Sequence[Entry]) -> str:
    return safe(incident_text(incident, entries, context=ViewContext(words=PlanWords(ACTIONS))))


def _written(head: Head) -> str:
    return f"{head.seq}:{head.hash}" if head.seq else ""


def _noted(text: str) -> Head:
    seq, _, digest = text.partition(":")
    return Head(int(seq), digest) if seq.isdecimal() and len(seq) < 18 else Head()
