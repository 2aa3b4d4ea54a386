"""`zombie remediate`: approve an incident's plan and carry it out, here and now, under every guard."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

from bot.commands import options
from bot.domain.errors import AlreadyDecided, LedgerUnavailable, Refused

if TYPE_CHECKING:
    from bot.app.acting import Acting
    from bot.domain.approval import Approval
    from bot.domain.incident import Incident
    from bot.ledger import AwaitedLedger

_EXIT_CODES = """exit status:
  0  the incident ended resolved
  1  it was refused (the refusal's name is on stderr), or the incident ended otherwise
  2  the command line, or a file it names, is wrong; there is no such incident
"""
LONGEST_WAIT_SECONDS = 5.0
_SILENT = timedelta(seconds=20)


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "remediate",
        help="approve an incident's plan and carry it out",
        description="Approve the plan of an incident and carry it out: the node is looked at again, each step is "
        "proved, and the node is watched before the incident counts as resolved.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("id", metavar="ID", help="the incident: zombie incidents")
    parser.add_argument("--approve-as", required=True, type=_name, metavar="NAME", help="one of terminal_approvers")
    parser.add_argument("--reason", required=True, metavar="TEXT", help="why; it goes on record")
    parser.add_argument("--validation", type=options.duration, metavar="D", help="how long the node is watched after")
    options.add_files(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status.

    Raises: UnknownIncident when there is none of that id.
    """
    from bot.app.acting import acting
    from bot.commands import record
    from bot.domain.approval import Approval

    settings = options.settings(arguments)
    known = options.inventory(arguments, settings)
    user = record.terminal_user().removeprefix("terminal:")
    approval = Approval(f"terminal:{arguments.approve_as}", arguments.reason, os_user=user)
    with record.existing(arguments.environ) as database, record.ledger_of(database) as ledger:
        parts = acting(settings, known, ledger, arguments.environ, arguments.validation)
        try:
            incident = asyncio.run(_to_its_end(parts, ledger, arguments.id, approval))
        except Refused as no:
            print(f"zombie: {no.name}: {no.sentence}", file=sys.stderr)
            if no.try_next:
                print(f"        {no.try_next}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print(f"zombie: interrupted; incident {arguments.id} is as it stands on record", file=sys.stderr)
            raise
    return 0 if incident.state == "resolved" else 1


async def _to_its_end(parts: Acting, ledger: AwaitedLedger, incident_id: str, approval: Approval) -> Incident:
    try:
        return await _remediate(parts, ledger, incident_id, approval)
    finally:
        await parts.cluster.close()


async def _remediate(parts: Acting, ledger: AwaitedLedger, incident_id: str, approval: Approval) -> Incident:
    from bot.domain.fold import fold
    from bot.domain.transitions import State
    from bot.surfaces.incidents import entry_line

    shown = fold(await parts.responder.book.story(incident_id)).seq
    try:
        await parts.responder.decide(incident_id, approval)
    except AlreadyDecided:
        if not await _left_lying(parts, ledger, incident_id, approval):
            raise
        print("What this approver decided was left lying; it goes on from where it stands.")
    waits_for = ""
    while True:
        try:
            again = await parts.remediation.advance(incident_id)
            entries = await parts.responder.book.story(incident_id)
        except LedgerUnavailable as error:
            print(f"zombie: {error.sentence}", file=sys.stderr)
            await asyncio.sleep(1)
            continue
        for entry in entries[shown:]:
            print(entry_line(entry), flush=True)
        shown = len(entries)
        incident = fold(entries)
        if again is None or incident.state is State.UNKNOWN:
            return incident
        if again.because != waits_for and again.after:
            waits_for = again.because
            print(f"  … {waits_for}", flush=True)
        await asyncio.sleep(min(again.after.total_seconds(), LONGEST_WAIT_SECONDS))


async def _left_lying(parts: Acting, ledger: AwaitedLedger, incident_id: str, approval: Approval) -> bool:
    """True when this same person approved it, and whoever carried it out has not been heard of since."""
    from bot.app import now

    incident = await parts.responder.book.find(incident_id)
    if incident.ended or incident.approval is None or incident.approval.by != approval.by:
        return False
    held = await ledger.hold(incident.node)
    if held is not None and held.incident == incident_id:
        return held.silent_for >= _SILENT
    return now() - incident.updated_at >= _SILENT


def _name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a name")
    return text
