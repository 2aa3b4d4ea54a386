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

if TYPE_CHECKING:
    from bot.app.growth import KeptCounts
    from bot.domain.case import Case, CaseStore, KeptCases, Readings
    from bot.domain.contracts import ActingLedger
    from bot.domain.entry import Entry
    from bot.domain.incident import IncidentSummary
    from bot.domain.playbook import Playbook
    from bot.domain.verdict import Verdict
    from bot.ledger import Database
    from bot.response.diagnosis.proposal import Proposer
    from bot.response.record import Record

MOST_NAMED = 5
_SQLITE = "sqlite:///"


def opened(environment: Mapping[str, str]) -> Database:
    """Open the record's database, or create it. SQLAlchemy is imported here, so that other commands start fast.

    Raises: LedgerUnavailable when it cannot be opened.
    """
    from bot.ledger import Database
    from bot.settings import database_url

    return Database.open(database_url(environment))


def existing(environment: Mapping[str, str]) -> Database:
    """Open an existing database.

    Raises: LedgerUnavailable when there is none, or it cannot be opened.
    """
    from bot.ledger import is_there
    from bot.settings import database_url

    url = database_url(environment)
    if not is_there(url):
        raise LedgerUnavailable(
            f"There is no ledger at {url.removeprefix('sqlite:///')}.",
            "Name its place with ZOMBIE_DATABASE_URL or ZOMBIE_STATE_DIR.",
        )
    return opened(environment)


def incidents(environment: Mapping[str, str], only_open: bool) -> tuple[IncidentSummary, ...]:
    """Return a summary of each incident, the newest first; none if there is no database yet."""
    from bot.ledger import Ledger, is_there
    from bot.settings import database_url

    if not is_there(database_url(environment)):
        return ()
    with opened(environment) as database:
        return Ledger(database).incidents(only_open)


@dataclass(frozen=True, slots=True)
class ReadMutes:
    """The mutes as they stood when a command began."""

    entries: tuple[Entry, ...]

    async def mutes(self) -> tuple[Entry, ...]:
        """Return every entry by which a cause was muted or unmuted."""
        return self.entries


def mutes(environment: Mapping[str, str]) -> ReadMutes | None:
    """Return what was muted; None where there is no record, or where it cannot be read, which is said on stderr.

    Shape: SQLAlchemy is imported only where there may be a record. A verdict does not wait for it: without it, nothing
    counts as accepted.
    """
    from bot.settings import database_url

    try:
        url = database_url(environment)
        if url.startswith(_SQLITE) and not Path(url.removeprefix(_SQLITE)).exists():
            return None
        from bot.ledger import Ledger

        with existing(environment) as database:
            return ReadMutes(Ledger(database).mutes())
    except (LedgerError, SettingsError) as no:
        print(f"zombie: what was muted cannot be read, so nothing counts as muted: {no.sentence}", file=sys.stderr)
        return None


@contextlib.contextmanager
def counts(environment: Mapping[str, str]) -> Iterator[KeptCounts | None]:
    """What was counted on nodes before; None where there is no record, or where it cannot be read, which is said.

    Shape: as with `mutes`, SQLAlchemy is imported only where there may be a record.
    """
    from bot.settings import database_url

    with contextlib.ExitStack() as kept:
        found = None
        try:
            url = database_url(environment)
            if not url.startswith(_SQLITE) or Path(url.removeprefix(_SQLITE)).exists():
                from bot.app.growth import KeptCounts

                found = KeptCounts(kept.enter_context(existing(environment)))
        except (LedgerError, SettingsError) as no:
            print(f"zombie: what was counted before cannot be read: {no.sentence}", file=sys.stderr)
        yield found


def whole_id(environment: Mapping[str, str], beginning: str) -> str:
    """Return the id of the one incident whose id begins so; what begins none is returned as it is.

    Raises: UsageError when several begin so.
    """
    ids = [incident.id for incident in incidents(environment, only_open=False)]
    found = [name for name in ids if name.startswith(beginning)]
    if not beginning or beginning in ids or not found:
        return beginning
    if len(found) > 1:
        some = ", ".join(found[:MOST_NAMED]) + (", …" if len(found) > MOST_NAMED else "")
        raise UsageError(f"{len(found)} incidents begin with {beginning}: {some}", "Write more of it.")
    return found[0]


def story(environment: Mapping[str, str], incident: str) -> tuple[Entry, ...]:
    """Return an incident's entries.

    Raises: UnknownIncident when there is no such incident.
    """
    with existing(environment) as database, kept(database) as book:
        return asyncio.run(book.story(incident))


def kept_case(environment: Mapping[str, str], beginning: str) -> Case | None:
    """Return the case that is kept with the incident whose id begins so; None where there is no such, or none is kept.

    Raises: UsageError when several begin so; CaseError when the case is damaged.
    """
    from bot.domain.case import read_case
    from bot.domain.events import Triaged
    from bot.ledger import KeptCases, is_there
    from bot.settings import database_url

    if not is_there(database_url(environment)):
        return None
    incident = whole_id(environment, beginning)
    try:
        entries = story(environment, incident)
    except UnknownIncident:
        return None
    triaged = next((event for entry in entries if isinstance(event := entry.event, Triaged)), None)
    if triaged is None or not triaged.case:
        return None
    with existing(environment) as database:
        text = KeptCases(database).text(incident, triaged.case)
    return read_case(text, f"The case of incident {incident}", triaged.verdict.node) if text is not None else None


def named_case(environment: Mapping[str, str], named: Path) -> Case:
    """Return the case of a file, or the one that is kept with an incident.

    Raises: CaseError when there is none, or it is damaged; UsageError when several incidents begin so.
    """
    from bot.transport import case_file

    if named.is_file():
        return case_file.load(named)
    if (found := kept_case(environment, str(named))) is not None:
        return found
    raise CaseError(
        f"{named} is not a case's file, and no incident of that id keeps a case.",
        "Record a node with: zombie check NODE --record DIR, or name an incident: zombie incidents",
    )


async def open_incidents(
    ledger: ActingLedger,
    verdicts: Sequence[Verdict],
    playbook: Playbook,
    ids: MutableMapping[str, str],
    proposer: Proposer | None,
    by: str,
    cases: KeptCases | None = None,
    readings: Readings | None = None,
) -> None:
    """Open one incident a verdict, all of one group, and note each id under its node as soon as all is on record.

    Shape: `by` is the login that asked. Without a `proposer` no plan is put to those who may approve it. `cases`
    keeps what the nodes said, `readings` what was counted there.

    Raises: LedgerUnavailable when one cannot be written down.
    """
    from bot.app import incident_id
    from bot.app.parts import now
    from bot.domain.alert import TERMINAL
    from bot.response.diagnosis.recorder import VerdictRecorder
    from bot.response.record import Opening, unheard

    recorder = VerdictRecorder(ledger, proposer, unheard, cases, readings)
    wish = f"check {' '.join(verdict.node for verdict in verdicts)}"
    opening = Opening(TERMINAL, incident_id(), by, wish, playbook.name, os_user=by.removeprefix(f"{TERMINAL}:"))
    incidents = [opening.unrecorded(verdict.node, now()) for verdict in verdicts]
    for incident in incidents:  # before any plan: how many have to approve may hang on how many there are
        await recorder.opened(incident)
    for incident, verdict in zip(incidents, verdicts, strict=True):
        ids[verdict.node] = (await recorder.record(incident, verdict, playbook)).id


@contextlib.contextmanager
def ledger_of(database: Database) -> Iterator[ActingLedger]:
    """The ledger of a database, for one command."""
    from concurrent.futures import ThreadPoolExecutor

    from bot.ledger import Ledger, on_threads

    with ThreadPoolExecutor(1) as threads:
        yield on_threads(Ledger(database), threads)


@contextlib.contextmanager
def cases_of(database: Database) -> Iterator[CaseStore]:
    """The cases that a database keeps with its incidents, for one command."""
    from concurrent.futures import ThreadPoolExecutor

    from bot.ledger import KeptCases, on_threads

    with ThreadPoolExecutor(1) as threads:
        yield on_threads(KeptCases(database), threads)


@contextlib.contextmanager
def readings_of(database: Database) -> Iterator[Readings]:
    """What was counted on nodes, as a database keeps it, for one command."""
    from concurrent.futures import ThreadPoolExecutor

    from bot.ledger import ReadingStore, on_threads

    with ThreadPoolExecutor(1) as threads:
        yield on_threads(ReadingStore(database), threads)


@contextlib.contextmanager
def kept(database: Database) -> Iterator[Record]:
    """The incidents of a database, for one command."""
    from bot.response.record import Record

    with ledger_of(database) as ledger:
        yield Record(ledger)
