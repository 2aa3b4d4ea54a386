"""How commands open the record."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bot.domain.errors import CaseError, LedgerError, LedgerUnavailable, SettingsError, UnknownIncident, UsageError
from bot.domain.mute_record import GivenMutes
from bot.domain.safe_text import one_line

if TYPE_CHECKING:
    from bot.app.stored_counts import StoredCounts
    from bot.domain.case import Case
    from bot.domain.entry import Entry
    from bot.domain.incident import IncidentSummary
    from bot.domain.playbook import Playbook
    from bot.domain.verdict import Verdict
    from bot.ledger import CaseStore, Database, Ledger, ReadingStore
    from bot.response.diagnosis.proposal import Proposer
    from bot.seats import Extra

MOST_NAMED = 5
_SQLITE = "sqlite:///"


def open_or_create(environment: Mapping[str, str]) -> Database:
    """Open the record's database, or create it. SQLAlchemy is imported here, so that other commands start fast.

    Raises: LedgerUnavailable when it cannot be opened.
    """
    from bot.ledger import Database
    from bot.settings import database_url

    return Database.open(database_url(environment))


def open_existing(environment: Mapping[str, str]) -> Database:
    """Open an existing database.

    Raises: LedgerUnavailable when there is none, or it cannot be opened.
    """
    from bot.ledger import is_file_there
    from bot.ledger.health import ledger_words
    from bot.settings import database_url

    url = database_url(environment)
    if not is_file_there(url):
        raise LedgerUnavailable(
            f"There is no ledger at {ledger_words(url)}.",
            "`zombie serve` and `zombie check NODE --open` make it. If it is elsewhere: ZOMBIE_DATABASE_URL or "
            "ZOMBIE_STATE_DIR.",
        )
    return open_or_create(environment)


@contextlib.contextmanager
def open_if_there(environment: Mapping[str, str]) -> Iterator[Database | None]:
    """Open the database while the block runs; None if there is none yet.

    Raises: LedgerUnavailable when it cannot be opened.
    """
    from bot.ledger import is_file_there
    from bot.settings import database_url

    if not is_file_there(database_url(environment)):
        yield None
        return
    with open_or_create(environment) as database:
        yield database


def incidents(environment: Mapping[str, str], only_open: bool) -> tuple[IncidentSummary, ...]:
    """Return a summary of each incident, the newest first; none if there is no database yet."""
    from bot.ledger import Ledger

    with open_if_there(environment) as database:
        return Ledger(database).incidents.now(only_open) if database is not None else ()


def mutes(environment: Mapping[str, str]) -> GivenMutes | None:
    """Return what was muted; None without a record, or with an unreadable record, which stderr reports.

    Shape: SQLAlchemy is imported only where there may be a record. Verdicts do not depend on it: without it nothing
    counts as accepted.
    """
    try:
        if not _may_be_there(environment):
            return None
        from bot.ledger import Ledger

        with open_existing(environment) as database:
            return GivenMutes(Ledger(database).mutes.now())
    except (LedgerError, SettingsError) as no:
        print(f"zombie: what was muted cannot be read, so nothing counts as muted: {no.sentence}", file=sys.stderr)
        return None


@contextlib.contextmanager
def counts(environment: Mapping[str, str]) -> Iterator[StoredCounts | None]:
    """Return earlier counts of nodes; None without a record, or with an unreadable record, which stderr reports.

    Shape: as with `mutes`, SQLAlchemy is imported only where there may be a record.
    """
    with contextlib.ExitStack() as kept:
        found = None
        try:
            if _may_be_there(environment):
                from bot.app.stored_counts import StoredCounts

                found = StoredCounts(kept.enter_context(open_existing(environment)))
        except (LedgerError, SettingsError) as no:
            print(f"zombie: what was counted before cannot be read: {no.sentence}", file=sys.stderr)
        yield found


def _may_be_there(environment: Mapping[str, str]) -> bool:
    from bot.settings import database_url

    url = database_url(environment)
    return not url.startswith(_SQLITE) or Path(url.removeprefix(_SQLITE)).exists()


def complete_id(environment: Mapping[str, str], beginning: str) -> str:
    """Return the incident id with this beginning; a beginning of none is returned unchanged.

    Raises: UsageError when several ids begin like this.
    """
    ids = [incident.id for incident in incidents(environment, only_open=False)]
    found = [name for name in ids if name.startswith(beginning)]
    if not beginning or beginning in ids or not found:
        return one_line(beginning, 200)  # the bytes of an argument need not be text, and a database takes text
    if len(found) > 1:
        some = ", ".join(found[:MOST_NAMED]) + (", …" if len(found) > MOST_NAMED else "")
        raise UsageError(f"{len(found)} incidents begin with {beginning}: {some}", "Write more of it.")
    return found[0]


def story(environment: Mapping[str, str], incident: str) -> tuple[Entry, ...]:
    """Return an incident's entries.

    Raises: UnknownIncident when there is no such incident.
    """
    from bot.response.incident_record import IncidentRecord

    with stores(environment) as found:
        return asyncio.run(IncidentRecord(found.ledger).entries(incident))


def stored_case(environment: Mapping[str, str], beginning: str) -> Case | None:
    """Return the case stored with the incident whose id begins like this; None without incident or case.

    Raises: UsageError when several ids begin like this; CaseError when the case is damaged.
    """
    from bot.domain.fold import triaged_in
    from bot.ledger import CaseStore

    with open_if_there(environment) as database:
        if database is None:
            return None
        incident = complete_id(environment, beginning)
        try:
            triaged = triaged_in(story(environment, incident))
        except UnknownIncident:
            return None
        return CaseStore(database).of_verdict.now(incident, triaged) if triaged is not None else None


def named_case(environment: Mapping[str, str], named: Path) -> Case:
    """Return the case in a file, the only case in a folder, or the case stored with an incident.

    Raises: CaseError when there is none, or it is damaged; UsageError when several ids begin like this.
    """
    from bot.transport import case_file

    if named.is_file():
        return case_file.load(named)
    if named.is_dir():
        first, *others = case_file.files([named])
        if others:
            raise CaseError(f"{named} has {1 + len(others)} cases in it.", f"Name a case, such as {first}")
        return case_file.load(first)
    if (found := stored_case(environment, str(named))) is not None:
        return found
    raise CaseError(
        f"{named} is not a case file, and no incident of that id has a stored case.",
        "Record a node with: zombie check NODE --record DIR, or name an incident: zombie incidents",
    )


async def open_incidents(
    stores: RecordStores,
    verdicts: Sequence[Verdict],
    playbook: Playbook,
    ids: MutableMapping[str, str],
    proposer: Proposer | None,
    by: str,
) -> None:
    """Open an incident for each verdict, in the same group, and note each id by node once all are on record.

    Shape: `by` is the login that asked. Without a `proposer` no plan is shown to approvers.

    Raises: LedgerUnavailable when an incident cannot be written.
    """
    from bot.app.factories import incident_id, now
    from bot.domain.alert import TERMINAL
    from bot.response.diagnosis.recorder import VerdictRecorder
    from bot.response.incident_record import IncidentRequest, null_log

    recorder = VerdictRecorder(stores.ledger, proposer, null_log, stores.cases, stores.readings)
    what = f"check {' '.join(verdict.node for verdict in verdicts)}"
    opening = IncidentRequest(TERMINAL, incident_id(), by, what, playbook.name, os_user=by.removeprefix(f"{TERMINAL}:"))
    incidents = [opening.unrecorded(verdict.node, now()) for verdict in verdicts]
    for incident in incidents:  # before any plan: the number of approvals needed may depend on the number of incidents
        await recorder.record_opening(incident)
    for incident, verdict in zip(incidents, verdicts, strict=True):
        ids[verdict.node] = (await recorder.record(incident, verdict, playbook)).id


@dataclass(frozen=True, slots=True)
class RecordStores:
    """What a command needs of the record."""

    database: Database
    ledger: Ledger
    cases: CaseStore
    readings: ReadingStore


@contextlib.contextmanager
def stores(
    environment: Mapping[str, str], *, create: bool = False, extras: Sequence[Extra] = ()
) -> Iterator[RecordStores]:
    """Open the record; with `create` it need not exist. `extras` may hold steps that are begun here, and doubt causes.

    Raises: LedgerUnavailable when there is none, or it cannot be opened.
    """
    with (open_or_create if create else open_existing)(environment) as database:
        yield stores_of(database, extras)


def stores_of(database: Database, extras: Sequence[Extra] = ()) -> RecordStores:
    """The stores of an open database; `extras` as of `stores`."""
    from bot.app.extras import cause_doubters, step_blockers
    from bot.ledger import CaseStore, Ledger, ReadingStore

    ledger = Ledger(database, holders=step_blockers(extras), doubters=cause_doubters(extras))
    return RecordStores(database, ledger, CaseStore(database), ReadingStore(database))
