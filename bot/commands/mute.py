"""`zombie mute`: accept a known cause on some nodes for a time, end that early, or list what is muted."""

from __future__ import annotations

import argparse
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from bot.commands import options
from bot.domain.errors import UsageError

if TYPE_CHECKING:
    from bot.domain.mute import Mute
    from bot.settings import Settings

_EXAMPLES = """examples:
  zombie mute failed-units node-123 --for 7d --reason "it is replaced on Monday"
  zombie mute disk-full 'ray-gpu-*' --for 12h --reason "the clean-up runs tonight"
  zombie mute cpu-steal role=batch,az=us-east-1a --for 30d --reason "these are cheap on purpose"
  zombie mute                      what is muted now, by whom, until when and why
  zombie mute --end failed-units node-123

exit status:
  0  done; what was muted, or no longer is, is on stdout and on record
  2  the command line is wrong: no such cause, no matching node, no such mute, or a reason or a time is missing
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "mute",
        "accept a known cause on some nodes for a time",
        "A muted cause is still found and shown, with who accepted it, until when and why. It comes after every other "
        "finding that is at least as grave, and no plan is offered for it. The status, the exit status and the "
        "incidents that alerts open stay as they are. Programs that share the database see it with their next "
        "check. With --end the next check names the cause again, and offers a plan for it where possible. Without a "
        "cause this lists what is muted.",
        _EXAMPLES,
        group="rules",
    )
    parser.add_argument("cause", nargs="?", metavar="CAUSE", help="the cause, as a verdict names it")
    parser.add_argument("selector", nargs="?", metavar="SELECTOR", help="a node, a glob of names, or labels: k=v,k=v")
    parser.add_argument("--for", dest="lasts", type=options.duration, metavar="TIME", help="for how long: 12h, 7d")
    parser.add_argument("--reason", metavar="TEXT", help="why it is accepted, for the record and every card")
    parser.add_argument("--end", action="store_true", help="end a mute early; cause and selector as they were muted")
    parser.add_argument("--json", action="store_true", help="print the list as JSON")
    options.add_files(parser)
    parser.set_defaults(run=run)
    old = options.add_parser(commands, "unmute", "", "The same as zombie mute --end.", "")
    old.add_argument("cause", metavar="CAUSE", help="the cause that is muted")
    old.add_argument("selector", metavar="SELECTOR", help="the selector, as it was muted")
    old.add_argument("--reason", default="", metavar="TEXT", help="the reason, for the record")
    old.set_defaults(run=_end_mute)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status.

    Raises: UsageError when the cause, the selector, the time or the reason is missing or wrong.
    """
    if arguments.end:
        if arguments.selector is None or arguments.lasts is not None:
            raise UsageError(
                "A mute that ends needs CAUSE and SELECTOR, and no time.", "zombie mute --end CAUSE SELECTOR"
            )
        return _end_mute(arguments)
    if arguments.cause is None:
        return _list_mutes(arguments)
    from bot.app.factories import now
    from bot.commands import open_record
    from bot.commands.terminal_login import terminal_user
    from bot.domain.house_events import HOUSE, CauseMuted
    from bot.domain.mute import valid_selector
    from bot.domain.safe_text import one_line
    from bot.ledger import Ledger

    for_so_long = "" if arguments.lasts is None else "said"
    needs = {"SELECTOR": arguments.selector, "--for": for_so_long, "--reason": (arguments.reason or "").strip()}
    if lacks := [name for name, value in needs.items() if not value]:
        raise UsageError(f"A mute needs {' and '.join(lacks)}.", "zombie mute --help")
    settings = options.settings(arguments)
    check_cause_known(arguments.cause, settings)
    selector = valid_selector(arguments.selector)
    until = now() + _long_enough(arguments.lasts)
    meant = _matching_nodes_words(arguments, settings, selector, until)
    by = terminal_user(arguments.environ)
    event = CauseMuted(
        arguments.cause, selector, until, one_line(arguments.reason.strip(), 300), by.removeprefix("terminal:")
    )
    with open_record.open_or_create(arguments.environ) as database:
        Ledger(database).append.now(HOUSE, None, event, by)
    print(f"{event.cause} is muted on {selector} until {until:%Y-%m-%d %H:%M} UTC{meant}.")
    return 0


def _list_mutes(arguments: argparse.Namespace) -> int:
    from bot.domain.entry import instant_text
    from bot.domain.safe_text import one_line

    if arguments.lasts is not None or arguments.reason is not None:
        raise UsageError("Which cause, and on which nodes?", "zombie mute CAUSE SELECTOR --for 7d --reason TEXT")
    found = muted_now(arguments)
    rows = [
        {
            "cause": mute.cause,
            "selector": mute.selector,
            "until": instant_text(mute.until),
            "reason": mute.reason,
            "by": mute.by,
        }
        for mute in found
    ]
    lines = [
        f"{mute.cause} on {mute.selector} until {mute.until:%Y-%m-%d %H:%M} UTC, by {one_line(mute.by, 80)}: "
        f"{one_line(mute.reason)}"
        for mute in found
    ]
    options.print_result(arguments, {"mutes": rows}, "\n".join(lines) or "Nothing is muted.")
    return 0


def _end_mute(arguments: argparse.Namespace) -> int:
    """End a mute early. Raises: UsageError when there is no such mute."""
    from bot.commands import open_record
    from bot.commands.terminal_login import terminal_user
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
    event = CauseUnmuted(cause, selector, one_line(arguments.reason or "", 300), by.removeprefix("terminal:"))
    with open_record.open_existing(arguments.environ) as database:
        Ledger(database).append.now(HOUSE, None, event, by)
    print(f"{cause} is no longer muted on {selector}.")
    return 0


def muted_now(arguments: argparse.Namespace) -> tuple[Mute, ...]:
    """Return the mutes in force; none where there is no record.

    Raises: LedgerUnavailable when the record cannot be read.
    """
    from bot.app.factories import now
    from bot.commands import open_record
    from bot.domain.mute_record import mutes_in_force
    from bot.ledger import Ledger

    with open_record.open_if_there(arguments.environ) as database:
        return mutes_in_force(Ledger(database).mutes.now(), now()) if database is not None else ()


def check_cause_known(cause: str, settings: Settings) -> None:
    """Raises: UsageError when no playbook names it."""
    from bot.app.factories import library
    from bot.domain.nearest import did_you_mean
    from bot.domain.safe_text import one_line

    playbooks = library(settings.playbooks).playbooks
    known = {used.cause.name for playbook in playbooks for used in playbook.causes}
    known |= {condition.cause for playbook in playbooks for condition in playbook.conditions if condition.cause}
    if cause not in known:
        raise UsageError(f"No playbook names a cause “{one_line(cause, 60)}”.", did_you_mean(cause, sorted(known)))


def _long_enough(lasts: timedelta) -> timedelta:
    """Raises: UsageError for a mute that is too short to be seen."""
    if lasts < timedelta(minutes=1):
        raise UsageError("A mute lasts at least a minute.", "Write for example --for 7d.")
    return lasts


def _matching_nodes_words(arguments: argparse.Namespace, settings: Settings, selector: str, until: datetime) -> str:
    """Say how many nodes a selector matches now; empty where no inventory is set.

    Raises: UsageError when it matches no known node.
    """
    from bot.domain.mute import Mute

    if settings.inventory is None:
        options.print_remark("no inventory is set, so the matching nodes are not known")
        return ""
    inventory = options.inventory(arguments, settings)
    mute = Mute(arguments.cause, selector, until, "")
    count = sum(mute.covers(node) for node in inventory.nodes)
    if not count and not inventory.knows(selector):
        raise UsageError(f"{selector} matches no node of {inventory.origin}.", "zombie nodes lists them.")
    return f", which matches {count or 1} of {len(inventory.nodes)} nodes now"
