"""`zombie incidents export`: write an incident with its proof into a file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bot.commands import options


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to `zombie incidents`."""
    verbs = options.verbs_of(commands, "incidents")
    export = verbs.add_parser(
        "export",
        help="write an incident with its proof into a file",
        description="Write its entries, the record's notes about them, what the node said, and the report into a "
        "file, which zombie audit verify FILE checks anywhere. Other notes of the stream house between its opening "
        "and its end are included: they are part of the chain.",
    )
    export.add_argument("id", metavar="ID", help="its id, or the beginning of it")
    export.add_argument(
        "-o", "--out", type=Path, metavar="FILE", help="the file to write (else incident-ID.jsonl here)"
    )
    export.add_argument(
        "--head", type=options.parse_head, metavar="SEQ:HASH", help="include this head, as shown on the incident's card"
    )
    export.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write an incident's bundle.

    Raises: UnknownIncident when there is no such incident; BundleError when the record of it is broken.
    """
    from bot.app.factories import now
    from bot.commands import open_record
    from bot.extras.bundles.export import export, is_written_in_place

    incident = open_record.complete_id(arguments.environ, arguments.id)
    path = arguments.out or Path(f"incident-{incident}.jsonl")
    # Beside the bundle, not in it.
    told = sys.stderr if is_written_in_place(path) else sys.stdout
    with open_record.open_existing(arguments.environ) as database:
        done = export(database, incident, now(), path, arguments.head)
    said = (
        "with what the node said"
        if done.case is not None
        else "without what the node said: it was not kept, or is too long"
    )
    print(f"{path}: {len(done.entries)} entries, {said}; house up to {done.head.house_head or 'no note'}", file=told)
    return 0
