"""`zombie watch`: print an incident's entries as they appear, until it ends."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING

from bot.commands import options

if TYPE_CHECKING:
    from bot.domain.incident import Incident
    from bot.response.incident_record import IncidentRecord

_EVERY_SECONDS = 0.5


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "watch",
        "follow an incident live",
        "Print every entry of an incident as it appears, until the incident ends. It needs only the database.",
        "example:\n  zombie watch ID",
        group="record",
    )
    parser.add_argument("id", metavar="ID", help="its id, or the beginning of it")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status.

    Raises: UnknownIncident when there is no such incident.
    """
    from bot.commands import open_record

    incident_id = open_record.complete_id(arguments.environ, arguments.id)
    with open_record.stores(arguments.environ) as stores:

        async def watch() -> None:
            from bot.response.incident_record import IncidentRecord

            record, shown = IncidentRecord(stores.ledger), 0
            while True:
                incident = await print_new_entries(record, incident_id, shown)
                if incident.ended:
                    print(f"{incident.id} is {incident.state}", flush=True)
                    return
                shown = incident.seq
                await asyncio.sleep(_EVERY_SECONDS)

        asyncio.run(watch())
    return 0


async def print_new_entries(record: IncidentRecord, incident_id: str, shown: int) -> Incident:
    """Print what an incident's record has beyond so many entries, a line each, and return the incident.

    Raises: UnknownIncident; LedgerError.
    """
    from bot.domain.fold import fold
    from bot.surfaces.incidents import entry_line, plan_of

    entries = await record.entries(incident_id)
    incident = fold(entries)
    for entry in entries[shown:]:
        print(entry_line(entry, options.plan_words(), plan_of(incident)), flush=True)
    return incident
