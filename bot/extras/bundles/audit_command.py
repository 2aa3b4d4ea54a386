"""`zombie audit verify FILE`: verify a bundle, in place of the record."""

from __future__ import annotations

import argparse
from pathlib import Path

from bot.commands import audit, options
from bot.domain.errors import UsageError
from bot.extras.bundles.verify_command import print_verified


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Let `zombie audit verify` take a bundle."""
    verify = options.verbs_of(commands, "audit").choices["verify"]
    verify.add_argument(
        "bundle", type=Path, nargs="?", metavar="FILE", help="verify this bundle instead, as zombie verify does"
    )
    verify.add_argument(
        "--playbooks", type=Path, metavar="DIR", action="append", default=[], help="with FILE: further playbooks"
    )
    verify.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Verify, and return 0 if the record, or the bundle, is intact.

    Raises: UsageError when Slack, a bundle or the record cannot be read.
    """
    if arguments.bundle is not None:
        if arguments.from_slack or arguments.channel:
            raise UsageError("A bundle is not compared with Slack.", "Copy the head of its card: --head SEQ:HASH")
        return print_verified(arguments.bundle, arguments.playbooks, arguments.head)
    if arguments.playbooks:
        raise UsageError("--playbooks goes with a bundle.", "zombie audit verify FILE --playbooks DIR")
    return audit.run_verify(arguments)
