"""Puts together reports: an incident's record, what its node said, and what would have changed the verdict."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from bot.actions import ACTIONS
from bot.app.extras import seat_values
from bot.app.factories import now
from bot.app.version import program_name
from bot.chat.thread_files import ReportFile
from bot.domain.case import Case, read_case
from bot.domain.core_heat import CoreHeat
from bot.domain.entry import Entry
from bot.domain.errors import BundleError, CaseError, LedgerUnavailable, UnknownIncident
from bot.domain.fold import fold, triaged_in
from bot.domain.house_events import HOUSE
from bot.domain.incident import Incident
from bot.domain.playbook import Playbooks
from bot.domain.safe_text import one_line
from bot.extras.cases.explaining import Why, why_as_shown
from bot.extras.reports.page import page
from bot.extras.reports.report import whole_report
from bot.extras.reports.report_data import ReportData, StoredAnswer
from bot.extras.reports.report_moments import kernel_moments
from bot.inventory import Inventory
from bot.ledger import CaseStore, Database, Ledger
from bot.ledger.excerpt import excerpt
from bot.seats import Extra, Moment, Picture
from bot.view.plan_words import PlanWords

if TYPE_CHECKING:
    from bot.app.bot import Bot
    from bot.chat.thread_files import ThreadFileKind

WORDS = PlanWords(ACTIONS)
MOST_CHANGES = 20
MOST_PICTURES = 12  # that extras add: a profile has two


def report_data(
    database: Database,
    incident_id: str,
    playbooks: Playbooks,
    at: datetime,
    known: Inventory | None = None,
    extras: Sequence[Extra] = (),
) -> ReportData:
    """Return all data for a report about an incident.

    Shape: `known` has labels of nodes; those in the stored case win. `extras` may add to it.
    Raises: UnknownIncident; LedgerUnavailable when the database cannot be read; UnreadableEntry, ImpossibleEvent when
    the entries form no incident that this program understands.
    """
    ledger = Ledger(database)
    entries = ledger.read.now(incident_id) if incident_id != HOUSE else ()
    if not entries:
        raise UnknownIncident(f"There is no incident {one_line(incident_id, 40)!r}.")
    incident = fold(entries)
    head, broken = _house_head(database, incident_id)
    case, no_case = _stored_case(database, incident_id, entries)
    why = Why((), no_case)
    if case is not None and incident.verdict is not None:
        why = why_as_shown(case, playbooks, incident.verdict, MOST_CHANGES)
    node = known.by_name.get(incident.node) if known is not None else None
    together = ledger.incident_ids_of_card.now(incident.card)
    ended = incident.updated_at if incident.ended else None
    added = [
        each for shown in seat_values(extras, "reports").values() for each in shown(database, incident, entries, ended)
    ]
    heat = (incident.verdict.heat if incident.verdict is not None else None) or (why.again.heat if why.again else None)
    return ReportData(
        incident,
        entries,
        program_name(),
        at,
        WORDS,
        head,
        broken,
        case.head if case is not None else None,
        why.sentences,
        why.because,
        {**(node.labels if node is not None else {}), **(case.head.labels if case is not None else {})},
        pictures=tuple(_pictures(incident, heat)),
        profiles=tuple(each for each in added if isinstance(each, Picture))[:MOST_PICTURES],
        before_reboot=tuple(_stored_answers(database, incident)),
        others=tuple(name for name in together if name != incident_id),
        moments=(*kernel_moments(incident, case), *(each for each in added if isinstance(each, Moment))),
    )


def _house_head(database: Database, incident_id: str) -> tuple[str, str]:
    """The last note about the incident in `house`; else why there is none: what is broken up to there, or unread."""
    try:
        with excerpt(database, incident_id) as found:
            return (found.last.noted if found.last != found.before else ""), ""
    except (BundleError, LedgerUnavailable) as no:
        return "", no.sentence


def _stored_case(database: Database, incident_id: str, entries: tuple[Entry, ...]) -> tuple[Case | None, str]:
    triaged = triaged_in(entries)
    if triaged is None:
        return None, "There is no verdict yet."
    try:
        case = CaseStore(database).of_verdict.now(incident_id, triaged)
    except (CaseError, LedgerUnavailable) as no:  # it is damaged, or another than its entry names
        return None, no.sentence
    return case, "" if case is not None else "What the node said is not stored, so it cannot be evaluated again."


def _stored_answers(database: Database, incident: Incident) -> Iterator[StoredAnswer]:
    """Yield what was stored before each step that destroyed it."""
    for step in incident.steps:
        if step.started is None or not (step.started.kept or step.started.kept_says):
            continue
        yield StoredAnswer(f"Before step {step.number}: {step.started.kept_says}.", "")
        try:
            text = CaseStore(database).text.now(incident.id, step.started.kept) if step.started.kept else None
            runs = read_case(text, "What was kept", incident.node).runs if text is not None else ()
        except (CaseError, LedgerUnavailable) as no:
            yield StoredAnswer(no.sentence, "")
            continue
        if step.started.kept and text is None:
            yield StoredAnswer("It is no longer kept.", "")
        yield from (StoredAnswer(run.probe, run.stdout) for run in runs)


def _pictures(incident: Incident, heat: CoreHeat | None) -> Iterator[Picture]:
    from bot.view.core_picture import core_picture  # Pillow is loaded where a picture is drawn

    if heat is not None:
        yield Picture(core_picture(heat, incident.node), heat.alt_text)


def thread_files(bot: Bot) -> tuple[ThreadFileKind, ...]:
    """Return the kind of file that brings an incident's report into its card's thread, with people's names."""

    def made(incident_id: str) -> ReportData:
        return report_data(bot.stores.database, incident_id, bot.playbooks, now(), bot.known, bot.extras)

    async def page_of(incident_id: str) -> str:
        data, people = await asyncio.to_thread(made, incident_id), bot.chat_handlers.people
        data = replace(data, names={by: one_line(await people.named(by), 80) for by in data.people})
        return await asyncio.to_thread(lambda: page(whole_report(data)))

    return (ReportFile(page_of),)
