"""`zombie brake`: nothing that has not begun begins, until it is released."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from bot.commands import options, wishing
from bot.domain.errors import Refused

_EXIT_CODES = """exit status:
  0  it is as asked; the answer is on stdout
  1  refused: NotAnApprover
  2  the command line, or a file it names, is wrong
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "brake",
        help="stop everything that has not begun; release it; say whether it is on",
        description=wishing.described(
            "While the brake is on, nothing is approved and no step begins, in no program that shares the "
            "database. A step that has begun is finished and its proof read. Whoever may write the database may pull "
            "it; only one of [policy] terminal_approvers may release it."
        ),
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("verb", choices=("on", "off", "status"), metavar="on|off|status")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why; it goes on record")
    parser.add_argument(
        "--approve-as", type=wishing.name, metavar="NAME", help="one of terminal_approvers (else your login)"
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings, as TOML (else ./zombie.toml)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from bot.commands import record
    from bot.domain.house_events import HOUSE, BrakePulled
    from bot.ledger import Ledger
    from bot.response.braking import NO_REASON, moved

    wish = wishing.approval(arguments.approve_as, arguments.reason)
    with record.opened(arguments.environ) as database:
        ledger = Ledger(database)
        if arguments.verb == "on" and not arguments.approve_as:  # whoever stands at the machine may stop it
            ledger.append(HOUSE, None, BrakePulled(wish.reason.strip() or NO_REASON), wish.by)
        elif arguments.verb != "status":
            from bot.app.policing import rules_of_acting

            policy = rules_of_acting(options.settings(arguments))
            try:
                with record.ledger_of(database) as awaited:
                    asyncio.run(moved(policy, awaited, wish, on=arguments.verb == "on"))
            except Refused as no:
                return wishing.say_refused(no)
        pulled = ledger.braked()
    if pulled is None:
        print("off")
    else:
        print(f"on: pulled by {pulled.by} at {pulled.at:%Y-%m-%d %H:%M:%S} UTC: {pulled.body.get('reason', '')}")
    return 0
