"""`zombie audit verify FILE`: whether an incident's bundle is intact, without its database."""

from __future__ import annotations

import argparse
from pathlib import Path

from bot.commands import audit, options
from bot.domain.errors import UsageError

EXIT_CODES = """with FILE, a bundle of zombie incidents export, which needs no database:
  zombie incidents export ID -o incident.jsonl      where the record is
  zombie audit verify incident.jsonl                anywhere else: bytes, chain, plan, and the verdict again
  zombie audit verify incident.jsonl --head 412:3f9a1c04b7de52c0a8e91d7734bb06f2
                                                    and it must contain the head that a card shows

exit status with FILE:
  0  it is intact, and the verdict was derived again from what the node said
  1  it is broken; each line names the entry, or the part, and what is wrong
  2  it is no bundle, or something could not be verified: each such line says what; for example the program that wrote
     it is another, readings are missing, or entries are later than the head that was given
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Let `zombie audit verify` take a bundle."""
    verify = options.verbs_of(commands, "audit").choices["verify"]
    add_bundle_options(verify, "FILE", nargs="?")
    verify.epilog = f"{verify.epilog}\n{EXIT_CODES}"
    verify.set_defaults(run=run)


def add_bundle_options(parser: argparse.ArgumentParser, name: str, nargs: str | None = None) -> None:
    """Add the argument that names a bundle, and what goes with it."""
    parser.add_argument(
        "bundle", type=Path, nargs=nargs, metavar=name, help="verify this file of zombie incidents export instead"
    )
    parser.add_argument(
        "--playbooks", type=Path, metavar="DIR", action="append", default=[], help="with FILE: further playbooks"
    )


def run(arguments: argparse.Namespace) -> int:
    """Verify, and return 0 if the record, or the bundle, is intact.

    Raises: UsageError when Slack, a bundle or the record cannot be read.
    """
    if arguments.bundle is not None:
        if arguments.from_slack or arguments.channel:
            raise UsageError("A bundle is not compared with Slack.", "Copy the head of its card: --head SEQ:HASH")
        return run_bundle(arguments)
    if arguments.playbooks:
        raise UsageError("--playbooks goes with a bundle.", "zombie audit verify FILE --playbooks DIR")
    return audit.run_verify(arguments)


def run_bundle(arguments: argparse.Namespace) -> int:
    """Print whether a bundle is intact, and return the exit status.

    Raises: BundleError when it is no bundle.
    """
    from bot.app.factories import library
    from bot.domain.safe_text import one_line
    from bot.extras.bundles.verification import opened, verified

    options.escape_unencodable_output()
    with opened(arguments.bundle) as file:
        found = verified(file, library(arguments.playbooks), arguments.head)
    for broken in found.broken:
        print(one_line(f"broken: {broken}", 600))
    if found.broken:
        return 1
    for words, sentences in (("holds", found.holds), ("not proven", found.unproven), ("note", found.notes)):
        for sentence in sentences:
            print(one_line(f"{words}: {sentence}", 600))
    print(one_line(f"{'not all proven' if found.unproven else 'whole'}: incident {found.incident}", 200))
    return 2 if found.unproven else 0
