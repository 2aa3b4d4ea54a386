"""`zombie undo`: propose to take back what an incident did."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING

from bot.commands import options, wishing
from bot.domain.errors import Refused

if TYPE_CHECKING:
    from bot.app.acting import Acting
    from bot.domain.approval import Approval
    from bot.domain.contracts import ActingLedger
    from bot.domain.entry import Entry
    from bot.domain.incident import Incident

_EXIT_CODES = """exit status:
  0  an incident with the inverse plan is proposed; its id is printed
  1  it was refused: the refusal's name is on stderr
  2  the command line, or a file it names, is wrong; there is no such incident
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "undo",
        help="propose to take back what an incident did",
        description=wishing.described(
            "Open an incident whose plan brings back what was before: units enabled, unmasked, started as the "
            "record says they were. Nothing is done yet: somebody else approves it, like any plan (zombie remediate). "
            "It is refused where the node is not as the incident left it. A reboot cannot be taken back."
        ),
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("id", metavar="ID", help="the incident: zombie incidents")
    parser.add_argument(
        "--as", "--approve-as", dest="claimed", type=wishing.name, metavar="NAME", help="who asks (else your login)"
    )
    parser.add_argument("--reason", default="", metavar="TEXT", help="why; it goes on record")
    options.add_files(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status.

    Raises: UnknownIncident when there is none of that id.
    """
    from bot.actions import ACTIONS
    from bot.app.acting import acting
    from bot.commands import record
    from bot.surfaces.incidents import entry_line
    from bot.surfaces.view.plan_words import PlanWords

    settings = options.settings(arguments)
    known = options.inventory(arguments, settings)
    wish = wishing.approval(arguments.claimed, arguments.reason)
    with record.existing(arguments.environ) as database, record.ledger_of(database) as ledger:
        parts = acting(settings, known, ledger, arguments.environ)
        try:
            opened, entries = asyncio.run(_proposed(parts, ledger, arguments.id, wish))
        except Refused as no:
            return wishing.say_refused(no)
    for entry in entries:
        print(entry_line(entry, PlanWords(ACTIONS)))
    print(f"Incident {opened.id}: somebody else approves it with")
    print(f"  zombie remediate {opened.id} --approve-as NAME --reason TEXT")
    return 0


async def _proposed(
    parts: Acting, ledger: ActingLedger, incident: str, wish: Approval
) -> tuple[Incident, tuple[Entry, ...]]:
    try:
        opened = await parts.responder.undo(incident, wish)
        return opened, await ledger.read(opened.id)
    finally:
        await parts.cluster.close()
