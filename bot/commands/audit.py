"""`zombie audit`: verify the record, and export it."""

from __future__ import annotations

import argparse
import re

from bot.commands import options

_EXAMPLES = """examples:
  zombie audit verify
  zombie audit verify --head 3f9a1c04b7de          the hash on a closing card must be in the record
  zombie audit export > record.jsonl
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "audit",
        "verify that the record is intact, or export it",
        "Every entry of the record is chained to the one before by a hash. Verify the chain, or export the entries.",
        _EXAMPLES,
    )
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    verify = options.add_parser(
        verbs,
        "verify",
        "recompute every hash and list what is broken",
        "Recompute the hash of every entry, compare each incident's end with its note in the stream house, and list "
        "what is broken as INCIDENT/ENTRY. A record that was truncated or rewritten as a whole shows only against a "
        "hash that was noted elsewhere: every closing card and note has one.",
        "exit status: 0 the record is intact, 1 it is broken, 2 it cannot be read",
    )
    verify.add_argument("--head", type=_hash, metavar="HASH", help="a hash that must be in the record")
    verify.set_defaults(run=run_verify)
    export = verbs.add_parser("export", help="print every entry as one line of JSON, in order of time")
    export.set_defaults(run=run_export)


def run_verify(arguments: argparse.Namespace) -> int:
    """Verify, and return 0 if the record is intact."""
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
