"""`zombie playbooks looked-at`: say that a cause in doubt was looked at."""

from __future__ import annotations

import argparse
import asyncio

from bot.commands import options
from bot.domain.errors import UsageError


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to `zombie playbooks`."""
    looked = options.verbs_of(commands, "playbooks").add_parser(
        "looked-at", help="say that a cause in doubt was looked at; its plans are offered again"
    )
    looked.add_argument("cause", metavar="CAUSE", help="the cause, as zombie playbooks stats names it")
    looked.add_argument("--reason", metavar="TEXT", help="what was found or changed, for the record")
    options.add_files(looked)
    looked.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Record that a cause in doubt was looked at.

    Raises: UsageError without a reason; LedgerUnavailable when there is no record; Refused.
    """
    from bot.app.factories import now
    from bot.app.policy_settings import policy_as_written
    from bot.commands import open_record
    from bot.commands.terminal_login import terminal_user
    from bot.domain.policy import Approval
    from bot.extras.marks.marker import VerdictMarker
    from bot.extras.marks.store import MarkStore

    if not (arguments.reason or "").strip():
        raise UsageError("What was found? It goes on record.", "zombie playbooks looked-at CAUSE --reason TEXT")
    by = terminal_user(arguments.environ)
    policy = policy_as_written(options.settings(arguments))
    with open_record.stores(arguments.environ) as stores:
        marker = VerdictMarker(policy, MarkStore(stores.database), now)
        approval = Approval(by, arguments.reason, os_user=by.removeprefix("terminal:"))
        print(asyncio.run(marker.record_cause_review(arguments.cause, approval)))
    return 0
