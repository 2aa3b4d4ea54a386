"""`zombie remediate`: decide on an incident's plan, and execute it here and now, with every guard."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

from bot.commands import options, terminal_approval
from bot.commands.watch import print_new_entries
from bot.domain.errors import AlreadyDecided, LedgerUnavailable, UnknownIncident, UsageError

if TYPE_CHECKING:
    from bot.app.acting import Acting
    from bot.domain.incident import Incident
    from bot.domain.policy import Approval
    from bot.ledger import Ledger
    from bot.response.incident_record import IncidentRecord

_EXIT_CODES = """exit status:
  0  the incident was resolved; or it was declined, cancelled or given up, as asked
  1  refused (the refusal's name is on stderr), or it ended otherwise, or it waits for a person
  2  the command line, or a file it names, is wrong; there is no such incident

examples:
  zombie remediate ID --approve-as alice --reason "core 39 is gone"
  zombie remediate ID --decline --approve-as alice --reason "the rollout will replace it"
  zombie remediate ID --cancel
  zombie remediate ID --answer "give up" --approve-as alice --reason "it was replaced"
"""
LONGEST_WAIT_SECONDS = 5.0
_SILENT = timedelta(seconds=20)
_GO_ON, _GIVE_UP = "go on", "give up"  # as in bot.domain, which is not imported to build the command line


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "remediate",
        "approve an incident's plan and execute it, or decline it",
        "Approve the plan of an incident and execute it. The node is checked again first, every step is verified, and "
        "the node is watched for a while before the incident counts as resolved. If several people must approve, each "
        "of them runs this command, and the last of these executes the plan.",
        _EXIT_CODES,
        group="act",
    )
    parser.add_argument("id", metavar="ID", help="the incident: zombie incidents")
    parser.add_argument(
        "--approve-as", type=terminal_approval.name, metavar="NAME", help="a name in terminal_approvers"
    )
    parser.add_argument("--reason", metavar="TEXT", help="the reason, for the record")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--decline", action="store_true", help="decline the plan instead")
    instead.add_argument(
        "--cancel",
        action="store_true",
        help="cancel the incident before its first step; the person who asked may, too (default: your login)",
    )
    instead.add_argument(
        "--answer",
        choices=(_GO_ON, _GIVE_UP),
        metavar="ANSWER",
        help=f'answer its question: "{_GO_ON}" checks the node again, "{_GIVE_UP}" leaves it to a person',
    )
    parser.add_argument(
        "--validation", type=options.duration, metavar="D", help="how long the node is watched afterwards"
    )
    options.add_files(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status.

    Raises: UnknownIncident when there is no such incident; UsageError without an approver or a reason; Refused.
    """
    from bot.app.acting import acting
    from bot.commands import open_record

    lacks = [f"--{name.replace('_', '-')}" for name in ("approve_as", "reason") if getattr(arguments, name) is None]
    if lacks and not arguments.cancel:
        raise UsageError(f"A decision needs {' and '.join(lacks)}.", "zombie remediate --help")
    settings, known = options.site(arguments)
    approval = terminal_approval.approval(arguments.environ, arguments.approve_as, arguments.reason or "")
    with open_record.stores(arguments.environ, extras=arguments.extras.serving) as stores:
        parts = acting(settings, known, stores.ledger, arguments.environ, arguments.validation, cases=stores.cases)
        try:
            incident = asyncio.run(_decide_and_execute(parts, stores.ledger, arguments, approval))
        except (KeyboardInterrupt, BrokenPipeError):  # Ctrl-C; the reader of the output left, as in `… | head`
            options.print_remark(f"interrupted; a running `zombie serve` goes on with {arguments.id}.")
            again = f"Without one: the same command again, in {_SILENT.total_seconds():g} s if it had begun."
            print(f"        {again}", file=sys.stderr)
            raise
    as_asked = arguments.decline or arguments.cancel or arguments.answer == _GIVE_UP
    return 0 if as_asked or incident.state == "resolved" else 1


async def _decide_and_execute(
    parts: Acting, ledger: Ledger, arguments: argparse.Namespace, approval: Approval
) -> Incident:
    from bot.domain.fold import fold

    shown = fold(await parts.responder.record.entries(arguments.id)).seq
    try:
        decided = await _apply_decision(parts, ledger, arguments, approval)
        if decided is not None:
            await print_new_entries(parts.responder.record, decided.id, shown)
        if decided is not None and decided.state == "proposed" and decided.proposal is not None:
            approvals = f"{len(decided.endorsements)} of {decided.approvals_needed}"
            print(f"{approvals} have said yes; it begins after the last yes.")
        if decided is not None and (decided.ended or decided.state == "proposed"):
            return decided
        ended = await _advance_and_print(parts, arguments.id, shown if decided is None else decided.seq)
        if ended.state == "unknown":
            how = f'zombie remediate {arguments.id} --answer "{_GO_ON}" or "{_GIVE_UP}"'
            print(options.as_typed_here(arguments, f"It waits for an answer: {how}"))
        return ended
    finally:
        await parts.cluster.close()


async def _apply_decision(
    parts: Acting, ledger: Ledger, arguments: argparse.Namespace, approval: Approval
) -> Incident | None:
    """Apply the decision. None: it was made before and interrupted, and only has to be continued."""
    responder, incident_id = parts.responder, arguments.id
    if arguments.decline:
        return await responder.decline(incident_id, approval)
    if arguments.cancel:
        return await responder.cancel(incident_id, approval)
    if arguments.answer is not None:
        return await responder.answer(incident_id, arguments.answer, approval)
    with contextlib.suppress(UnknownIncident):  # the decision itself says and records that
        await _show_plan(responder.record, incident_id)
    try:
        return await responder.decide(incident_id, approval)
    except AlreadyDecided:
        if not await _was_interrupted(parts, ledger, incident_id, approval):
            raise
        print("This decision was made before and interrupted; it continues now.")
        return None


async def _show_plan(record: IncidentRecord, incident_id: str) -> None:
    """Print a plan that waits for a yes: what ends, what is done, with every command. Raises: UnknownIncident."""
    from bot.domain.safe_text import safe

    incident = await record.find(incident_id)
    plan = options.plan_words().of_incident(incident) if incident.state == "proposed" else None
    if plan is not None:
        said = (plan.ends_words(), f"{plan.node}: {plan.words}", *plan.also, *plan.moves, *plan.notes)
        print("\n".join([*filter(None, map(safe, said)), *(f"  $ {safe(line)}" for line in plan.commands)]), flush=True)


async def _advance_and_print(parts: Acting, incident_id: str, shown: int) -> Incident:
    """Advance the incident until it ends or asks a question, and print each entry."""
    from bot.domain.transitions import State

    waits_for = ""
    while True:
        try:
            again = await parts.remediation.advance(incident_id)
            incident = await print_new_entries(parts.responder.record, incident_id, shown)
        except LedgerUnavailable as error:
            options.print_remark(error.sentence)
            await asyncio.sleep(1)
            continue
        shown = incident.seq
        if incident.state is State.UNKNOWN or again is None:
            return incident
        if again.because != waits_for and again.after:
            waits_for = again.because
            if waits_for:
                print(f"  … {waits_for}", flush=True)
        await asyncio.sleep(min(again.after.total_seconds(), LONGEST_WAIT_SECONDS))


async def _was_interrupted(parts: Acting, ledger: Ledger, incident_id: str, approval: Approval) -> bool:
    """Return whether this person approved it before, and its runner has been silent since."""
    from bot.app.factories import now

    incident = await parts.responder.record.find(incident_id)
    if incident.ended or incident.question is not None:
        return False
    if incident.approval is None or incident.approval.by != approval.by:
        return False
    held = await ledger.current_hold(incident.node)
    if held is not None and held.incident == incident_id:
        return held.silent_for >= _SILENT
    return now() - incident.updated_at >= _SILENT
