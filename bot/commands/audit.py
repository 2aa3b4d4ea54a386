"""`zombie audit`: whether the record is whole, and the record for keeping elsewhere."""

from __future__ import annotations

import argparse
import re


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("audit", help="say whether the record is whole; export it")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    verify = verbs.add_parser(
        "verify",
        help="compute every hash again and name what is broken",
        description="Compute the hash of every entry again, compare each end with what the house noted of it, and name "
        "what is broken as INCIDENT/ENTRY. A record that was cut at its end or written anew as a whole is found by a "
        "hash that was noted elsewhere: each closing card and note carries one.",
        epilog="exit status: 0 the record is whole, 1 it is broken, 2 it cannot be read",
    )
    verify.add_argument("--head", type=_hash, metavar="HASH", help="a hash that must be in the record")
    verify.set_defaults(run=run_verify)
    export = verbs.add_parser("export", help="print every entry as one line of JSON, in the order of time")
    export.set_defaults(run=run_export)


def run_verify(arguments: argparse.Namespace) -> int:
    """Verify, and return 0 where the record is whole."""
    from bot.commands import record
    from bot.ledger import audit

    with record.existing(arguments.environ) as database:
        found = audit(database, arguments.head or "")
    counted = f"{found.entries} entries, {found.incidents} incidents"
    if not found.broken:
        print(f"whole: {counted}; the house ends with {found.house.hash}")
        return 0
    for broken in found.broken:
        print(f"broken: {broken}")
    print(f"{len(found.broken)} broken of {counted}")
    return 1


def run_export(arguments: argparse.Namespace) -> int:
    """Print every entry."""
    from bot.commands import record
    from bot.ledger import exported

    with record.existing(arguments.environ) as database:
        for line in exported(database):
            print(line)
    return 0


def _hash(text: str) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]{12,64}", text):
        raise argparse.ArgumentTypeError("a hash is 64 hexadecimal digits, or at least their first 12")
    return text.lower()
