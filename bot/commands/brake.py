"""`zombie brake`: nothing that has not begun begins, until it is released."""

from __future__ import annotations

import argparse


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "brake",
        help="stop everything that has not begun; release it; say whether it is on",
        description="While the brake is on, nothing is approved and no step begins, in no program that shares the "
        "database. A step that has begun is finished and its proof read. It needs the database alone.",
    )
    parser.add_argument("verb", choices=("on", "off", "status"), metavar="on|off|status")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why; it goes on record")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from bot.commands import record
    from bot.domain.house_events import HOUSE, BrakePulled, BrakeReleased
    from bot.ledger import Ledger

    with record.opened(arguments.environ) as database:
        ledger = Ledger(database)
        if arguments.verb != "status":
            moved = BrakePulled if arguments.verb == "on" else BrakeReleased
            reason = arguments.reason.strip() or "no reason given"
            ledger.append(HOUSE, None, moved(reason), record.terminal_user())
        pulled = ledger.braked()
    if pulled is None:
        print("off")
    else:
        print(f"on: pulled by {pulled.by} at {pulled.at:%Y-%m-%d %H:%M:%S} UTC: {pulled.body.get('reason', '')}")
    return 0
