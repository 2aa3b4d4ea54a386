"""`zombie brake`: stop new approvals and new steps until it is released."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bot.commands import options, terminal_approval

if TYPE_CHECKING:
    from bot.domain.entry import Entry

_EXIT_CODES = """exit status:
  0  done; the answer is on stdout
  1  refused: NotAnApprover
  2  the command line, or a file it names, is wrong; what the database holds is no ledger

examples:
  zombie brake on --reason "a rollout is under way"
  zombie brake off --approve-as alice --reason "the rollout is over"
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "brake",
        "stop all that has not begun, release it, or show if it is on",
        "While the brake is on, nothing can be approved and no step begins, in any program that shares the database. A "
        "step that has begun is finished and verified. Whoever can write to the database may pull the brake; only "
        "[policy] terminal_approvers may release it.",
        _EXIT_CODES,
        group="act",
    )
    parser.add_argument("verb", choices=("on", "off", "status"), metavar="on|off|status")
    parser.add_argument("--reason", default="", metavar="TEXT", help="the reason, for the record")
    parser.add_argument(
        "--approve-as",
        type=terminal_approval.name,
        metavar="NAME",
        help="a name in terminal_approvers (else your login)",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings, as TOML (else ./zombie.toml)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status. Raises: Refused."""
    from bot.commands import open_record
    from bot.ledger import Ledger
    from bot.ledger.health import holds_ledger, is_served
    from bot.response.decision import braking
    from bot.settings import database_url

    approval = terminal_approval.approval(arguments.environ, arguments.approve_as, arguments.reason)
    was_there = holds_ledger(database_url(arguments.environ))
    if arguments.verb == "status" and not was_there:
        _print_brake(arguments, None, was_there, is_served=False)
        return 0
    with open_record.stores(arguments.environ, create=True) as stores:
        if arguments.verb == "on" and not arguments.approve_as:  # everybody with access to the machine may pull it
            asyncio.run(braking.pull_brake(stores.ledger, approval))
            _warn_where_nobody_may_release_it(arguments)
        elif arguments.verb != "status":
            from bot.app.policy_settings import policy_as_written

            policy = policy_as_written(options.settings(arguments))
            asyncio.run(braking.set_brake(policy, stores.ledger, approval, on=arguments.verb == "on"))
        _print_brake(arguments, Ledger(stores.database).brake_pull.now(), was_there, is_served(stores.database))
    return 0


def _print_brake(arguments: argparse.Namespace, pulled: Entry | None, was_there: bool, is_served: bool) -> None:
    """Say how the brake stands, and last where no bot hears of it: whoever named another ledger moved nothing there."""
    from bot.domain.safe_text import one_line
    from bot.ledger.health import ledger_words
    from bot.settings import database_url

    if pulled is None:
        print("off")
    else:
        reason = one_line(str(pulled.body.get("reason", "")), 500)
        print(f"on: pulled by {one_line(pulled.by, 140)} at {pulled.at:%Y-%m-%d %H:%M:%S} UTC: {reason}")
    if is_served:
        return
    place = ledger_words(database_url(arguments.environ))
    why = f"no bot serves at {place} just now" if was_there else f"there was no ledger at {place}, so no bot uses it"
    sys.stdout.flush()
    options.print_remark(
        f"{why}. A bot with another ledger has another brake: name that ledger with ZOMBIE_DATABASE_URL or "
        "ZOMBIE_STATE_DIR."
    )


def _warn_where_nobody_may_release_it(arguments: argparse.Namespace) -> None:
    from bot.app.policy_settings import policy_as_written
    from bot.domain.errors import UsageError

    try:
        named = policy_as_written(options.settings(arguments)).names_anybody
    except UsageError:  # the brake is on, and that is what was asked for
        return
    if not named:
        said = 'nobody may release it yet. Name an approver in zombie.toml: [policy] terminal_approvers = ["NAME"]'
        options.print_remark(said)
