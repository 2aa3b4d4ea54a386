"""`zombie undo`: propose to undo what an incident did."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING

from bot.commands import options, terminal_approval

if TYPE_CHECKING:
    from bot.app.acting import Acting
    from bot.domain.entry import Entry
    from bot.domain.incident import Incident
    from bot.domain.policy import Approval
    from bot.ledger import Ledger

_EXIT_CODES = """exit status:
  0  an incident with the inverse plan is proposed; its id is printed
  1  refused; the refusal's name is on stderr
  2  the command line, or a file it names, is wrong; there is no such incident

example:
  zombie undo ID --as alice --reason "the agent is needed after all"
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "undo",
        "propose to undo what an incident did",
        "Open an incident whose plan restores the units as they were: enabled, unmasked, started. Nothing is done yet: "
        "another person has to approve the plan (zombie remediate). It is refused if the node has changed since the "
        "incident. A reboot cannot be undone.",
        _EXIT_CODES,
        group="act",
    )
    parser.add_argument("id", metavar="ID", help="the incident: zombie incidents")
    parser.add_argument(
        "--as",
        "--approve-as",
        dest="claimed",
        type=terminal_approval.name,
        metavar="NAME",
        help="who asks (default: your login)",
    )
    parser.add_argument("--reason", default="", metavar="TEXT", help="the reason, for the record")
    options.add_files(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status.

    Raises: UnknownIncident for an unknown id; Refused.
    """
    from bot.app.acting import acting
    from bot.commands import open_record
    from bot.surfaces.incidents import entry_line

    settings, known = options.site(arguments)
    approval = terminal_approval.approval(arguments.environ, arguments.claimed, arguments.reason)
    with open_record.stores(arguments.environ, extras=arguments.extras.serving) as stores:
        parts = acting(settings, known, stores.ledger, arguments.environ)
        opened, entries = asyncio.run(_open_undo(parts, stores.ledger, arguments.id, approval))
    for entry in entries:
        print(entry_line(entry, options.plan_words()))
    print(f"Incident {opened.id}: another person has to approve it with")
    print(options.as_typed_here(arguments, f"  zombie remediate {opened.id} --approve-as NAME --reason TEXT"))
    return 0


async def _open_undo(
    parts: Acting, ledger: Ledger, incident: str, approval: Approval
) -> tuple[Incident, tuple[Entry, ...]]:
    try:
        opened = await parts.responder.undo(incident, approval)
        return opened, await ledger.read(opened.id)
    finally:
        await parts.cluster.close()
