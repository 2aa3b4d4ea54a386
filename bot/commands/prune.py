"""`zombie prune`: remove from the record what is older than [retention] allows."""

from __future__ import annotations

import argparse
from pathlib import Path

from bot.commands import options

_EXAMPLES = """exit status: 0 done, 2 a setting is wrong or the record cannot be used

examples:
  zombie prune --dry-run
  zombie prune                     once a day, from a timer
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "prune",
        "remove from the record what is older than [retention] allows",
        "Remove incidents that ended longer ago than [retention] incidents, with all entries and what the nodes said; "
        "also what nodes said longer ago than [retention] readings, and deliveries older than [retention] "
        "deliveries. Incidents of the same alert are removed together, and open incidents never. The stream house "
        "keeps the head of each removed incident, so that audit verify still succeeds.",
        _EXAMPLES,
        group="record",
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be removed, and remove nothing")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings, as TOML (else ./zombie.toml)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prune, say how much, and return 0."""
    from bot.commands import open_record
    from bot.commands.terminal_login import terminal_user
    from bot.domain.duration import duration_text
    from bot.ledger import CaseStore, Pruner, ReadingStore

    retention = options.settings(arguments).retention
    done = "would be removed" if arguments.dry_run else "removed"
    with open_record.open_existing(arguments.environ) as database:
        pruner = Pruner(database, terminal_user(arguments.environ))
        if retention.incidents is None:
            print("incidents: kept for ever, [retention] incidents is not set")
        else:
            found = pruner.prune_incidents(retention.incidents, arguments.dry_run)
            older = f"older than {duration_text(retention.incidents)}"
            print(f"incidents: {found.incidents} {older} {done}, with {found.entries} entries")
            if found.firing:
                print(f"incidents: {found.firing} {older} stay, because no source said that their alert is over")
        if retention.readings is not None:
            gone = CaseStore(database).forget.now(retention.readings, arguments.dry_run)
            looks = ReadingStore(database).forget.now(retention.readings, arguments.dry_run)
            print(f"readings: {gone} cases and {looks} counts older than {duration_text(retention.readings)} {done}")
        found = pruner.prune_deliveries(retention.deliveries, arguments.dry_run)
        print(f"deliveries: {found.deliveries} older than {duration_text(retention.deliveries)} {done}")
    return 0
