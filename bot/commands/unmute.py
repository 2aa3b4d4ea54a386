"""`zombie unmute`: end a mute early."""

from __future__ import annotations

import argparse

from bot.commands import options
from bot.commands.mute import muted_now
from bot.domain.errors import UsageError

_EXAMPLES = """example:
  zombie unmute failed-units node-123

exit status:
  0  it is no longer muted
  2  no such mute: write cause and selector as they were muted (zombie mute lists them)
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "unmute",
        "end a mute early",
        "The next check of these nodes names the cause again, and offers a plan for it where possible.",
        _EXAMPLES,
    )
    parser.add_argument("cause", metavar="CAUSE", help="the cause that is muted")
    parser.add_argument("selector", metavar="SELECTOR", help="the selector, as it was muted")
    parser.add_argument("--reason", default="", metavar="TEXT", help="the reason, for the record")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status.

    Raises: UsageError when there is no such mute.
    """
    from bot.commands import record
    from bot.commands.login import terminal_user
    from bot.domain.house_events import HOUSE, CauseUnmuted
    from bot.domain.safe_text import one_line
    from bot.ledger import Ledger

    cause, selector = arguments.cause, arguments.selector
    muted = muted_now(arguments)
    if not any((mute.cause, mute.selector) == (cause, selector) for mute in muted):
        said = ", ".join(f"{mute.cause} on {mute.selector}" for mute in muted[:5]) or "nothing"
        raise UsageError(
            f"{one_line(cause, 60)} is not muted on {one_line(selector, 60)}.", f"What is muted now: {said}."
        )
    by = terminal_user(arguments.environ)
    event = CauseUnmuted(cause, selector, one_line(arguments.reason, 300), by.removeprefix("terminal:"))
    with record.existing(arguments.environ) as database:
        Ledger(database).append(HOUSE, None, event, by)
    print(f"{cause} is no longer muted on {selector}.")
    return 0
