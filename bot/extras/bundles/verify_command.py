"""`zombie verify`: whether an incident's bundle is intact, without its database."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bot.commands import options

if TYPE_CHECKING:
    from bot.domain.entry import NotedHead

EXAMPLES = """examples:
  zombie incidents export ID -o incident.jsonl      where the record is
  zombie verify incident.jsonl                      anywhere else
  zombie verify incident.jsonl --head 412:3f9a1c04b7de52c0a8e91d7734bb06f2
                                                       and it must contain the head that a card shows

exit status:
  0  it is intact, and the verdict was derived again from what the node said
  1  it is broken; each line names the entry, or the part, and what is wrong
  2  it is no bundle, or something could not be verified: each such line says what; for example the program that wrote
     it is another, readings are missing, or entries are later than the head that was given
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "verify",
        "verify an incident's bundle that another person exported",
        "Verify that every byte of a bundle is as written, every entry is chained to the entry before, house notes the "
        "same, the approved plan is the proposed plan, and the case gives the verdict again.",
        EXAMPLES,
    )
    parser.add_argument("bundle", type=Path, metavar="BUNDLE", help="a file of zombie incidents export")
    parser.add_argument(
        "--head",
        type=options.head,
        action="append",
        default=[],
        metavar="SEQ:HASH",
        help="a head that the bundle must contain, as shown on the incident's card; may be repeated",
    )
    parser.add_argument(
        "--playbooks", type=Path, metavar="DIR", action="append", default=[], help="a directory of further playbooks"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Verify, and return 0 if it is intact.

    Raises: BundleError when it is no bundle.
    """
    return print_verified(arguments.bundle, arguments.playbooks, arguments.head)


def print_verified(bundle: Path, playbooks: Sequence[Path], heads: Sequence[NotedHead]) -> int:
    """Print whether a bundle is intact, and return the exit status.

    Raises: BundleError when it is no bundle.
    """
    from bot.app.factories import library
    from bot.domain.safe_text import one_line
    from bot.extras.bundles.verification import opened, verified

    options.print_anything()
    with opened(bundle) as file:
        found = verified(file, library(playbooks), heads)
    for broken in found.broken:
        print(one_line(f"broken: {broken}", 600))
    if found.broken:
        return 1
    for words, sentences in (("holds", found.holds), ("not proven", found.unproven), ("note", found.notes)):
        for sentence in sentences:
            print(one_line(f"{words}: {sentence}", 600))
    print(one_line(f"{'not all proven' if found.unproven else 'whole'}: incident {found.incident}", 200))
    return 2 if found.unproven else 0
