"""Exports an incident into a bundle: what of it is in the file, and what follows from its entries."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from bot.actions import ACTIONS
from bot.app.version import program_name
from bot.domain.case import RecordedVerdict
from bot.domain.entry import Entry, Head, NotedHead
from bot.domain.errors import UnknownIncident
from bot.domain.events import Approved, Endorsed, PlanProposed, ProfileTaken, StepStarted
from bot.domain.fold import fold, impossible_on_error, triaged_in
from bot.domain.house_events import HOUSE
from bot.domain.incident import Incident
from bot.domain.safe_text import one_line
from bot.domain.verdict import recorded_verdict
from bot.extras.bundles.bundle import FORM, MOST_LINE, PLAIN_FORM, Bundle, BundleHead, fits_a_line
from bot.ledger import CaseStore, Database, Ledger
from bot.ledger.entries import entry_of
from bot.ledger.excerpt import excerpt
from bot.surfaces.incidents import incident_text
from bot.view.context import ViewContext
from bot.view.plan_words import PlanWords


def export(database: Database, incident_id: str, at: datetime, path: Path, until: NotedHead | None = None) -> Bundle:
    """Write an incident's bundle, all of it or nothing, and return it; `until` is a head of `house` that it includes.

    Shape: `house` is read as it is written, so that its length takes no memory. What a node said is left out where it
    is larger than a line of a bundle.
    Raises: UnknownIncident; BundleError when the record is broken there, has no such head, or is larger than a bundle;
    LedgerError.
    """
    with _replacing(path) as file, excerpt(database, incident_id, until) as found:
        if not found.entries or incident_id == HOUSE:
            raise UnknownIncident(f"There is no incident {one_line(incident_id, 40)!r}.")
        entries = tuple(map(entry_of, found.entries))
        incident = fold(entries)
        triaged = triaged_in(entries)
        cases = CaseStore(database)
        case = cases.text.now(incident_id, triaged.case, MOST_LINE) if triaged is not None and triaged.case else None
        kept, form = _stored_texts(incident, entries, cases, Ledger(database))
        head, report = head_and_report(incident, entries, found.before, found.last, at)
        case = case if fits_a_line(case) else None
        bundle = Bundle(head, found.entries, found.house(), report, case, kept, form)
        file.writelines(bundle.lines())
    return bundle


def is_written_in_place(path: Path) -> bool:
    """True for a path that is written as it is, such as /dev/stdout; any other is replaced, or not at all."""
    return path.is_symlink() or (path.exists() and not path.is_file())


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that comes to stand at the path once the context has ended, and only without an error.

    So no transaction within it waits for whoever reads a pipe: PostgreSQL ends one that is idle for seconds.
    """
    if is_written_in_place(path):
        with tempfile.TemporaryFile() as spool:
            yield spool
            spool.seek(0)
            with path.open("wb") as file:
                shutil.copyfileobj(spool, file)
        return
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")  # another may export it, too
    try:
        with unfinished.open("wb") as file:
            yield file
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _stored_texts(
    incident: Incident, entries: Sequence[Entry], cases: CaseStore, ledger: Ledger
) -> tuple[Iterator[str], int]:
    """Return what is still stored of it, as texts that are read one by one, and the bundle form that can hold it."""
    named = dict(hashes_named(entries))
    # The sketch of a profile that changed a verdict is stored with the incident whose card asked for it.
    of_card = dict.fromkeys((incident.id, *ledger.incident_ids_of_card.now(incident.card)))
    texts = (
        next(filter(None, (cases.text.now(name, digest, MOST_LINE) for name in of_card)), None) for digest in named
    )
    return (text for text in texts if text and fits_a_line(text)), FORM if named else PLAIN_FORM


def hashes_named(entries: Sequence[Entry]) -> Iterator[tuple[str, str]]:
    """Yield each hash in the entries beside the case's, and what it stands for."""
    for entry in entries:
        event = entry.event
        if isinstance(event, StepStarted) and event.kept:
            yield event.kept, f"what the node said before step {event.number}"
        elif isinstance(event, ProfileTaken) and event.sketch:
            yield event.sketch, f"the sketch of the profile in entry {entry.seq}"


def _bundle_head(incident: Incident, entries: Sequence[Entry], before: Head, last: Head, at: datetime) -> BundleHead:
    triaged = triaged_in(entries)
    judged = recorded_verdict(triaged.verdict) if triaged is not None else RecordedVerdict("")
    voices = [(entry, entry.event) for entry in entries]
    return BundleHead(
        incident=incident.id,
        node=incident.node,
        program=program_name(),
        exported_at=at,
        status=judged.status,
        cause=judged.cause,
        confidence=judged.confidence,
        plan=next((event.digest for _, event in voices if isinstance(event, PlanProposed)), ""),
        approvals=tuple(entry.by for entry, event in voices if isinstance(event, Approved | Endorsed)),
        case=triaged.case if triaged is not None else "",
        house_before=_head_text(before) if last != before else "",
        house_head=_head_text(last) if last != before else "",
    )


def head_and_report(
    incident: Incident, entries: Sequence[Entry], before: Head, last: Head, at: datetime
) -> tuple[BundleHead, str]:
    """Return the head and the report that follow from the entries. Raises: ImpossibleEvent where that is beyond us."""
    with impossible_on_error("its entries cannot be shown"):
        report = incident_text(incident, entries, context=ViewContext(words=PlanWords(ACTIONS)))
        return _bundle_head(incident, entries, before, last, at), report


def _head_text(head: Head) -> str:
    return f"{head.seq}:{head.hash}" if head.seq else ""
