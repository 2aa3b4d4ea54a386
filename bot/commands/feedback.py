"""The verbs of `zombie playbooks` about right and wrong verdicts: stats, looked-at, keep."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from bot.commands import approvals, options
from bot.domain.errors import Refused, UsageError


def add_verbs(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add them to the command."""
    stats = verbs.add_parser("stats", help="how often each cause was right, as people marked its verdicts")
    stats.add_argument("--json", action="store_true", help="print it as JSON")
    options.add_files(stats)
    stats.set_defaults(run=run_stats)
    looked = verbs.add_parser("looked-at", help="say that a cause in doubt was looked at; its plans are offered again")
    looked.add_argument("cause", metavar="CAUSE", help="the cause, as zombie playbooks stats names it")
    looked.add_argument("--reason", metavar="TEXT", help="what was found or changed, for the record")
    options.add_files(looked)
    looked.set_defaults(run=run_looked_at)
    keep = verbs.add_parser("keep", help="keep a case as a test of your playbooks")
    keep.add_argument("case", type=Path, metavar="ID", help="an incident, or a case's file")
    keep.add_argument("--dir", type=Path, metavar="DIR", required=True, help="the folder of your cases")
    keep.add_argument("--expect", metavar="CAUSE|none", required=True, help="what the verdict should name")
    options.add_files(keep)
    keep.set_defaults(run=run_keep)


def run_stats(arguments: argparse.Namespace) -> int:
    """Print how often each cause was right.

    Raises: LedgerUnavailable when the record cannot be read.
    """
    from bot.app.policy_settings import rules_of_acting
    from bot.commands import record
    from bot.domain.feedback import scores, uncounted
    from bot.ledger import Ledger
    from bot.surfaces.stats import stats_document, stats_text

    policy = rules_of_acting(options.settings(arguments))
    with record.if_there(arguments.environ) as database:
        entries = Ledger(database).marks() if database is not None else ()
    found, others = scores(entries, policy), uncounted(entries, policy)
    print(
        stats_document(found, others) + "\n" if arguments.json else stats_text(found, others, options.width()), end=""
    )
    return 0


def run_looked_at(arguments: argparse.Namespace) -> int:
    """Record that a cause in doubt was looked at.

    Raises: UsageError without a reason; LedgerUnavailable when there is no record.
    """
    from bot.app.parts import now
    from bot.app.policy_settings import rules_of_acting
    from bot.commands import record
    from bot.commands.login import terminal_user
    from bot.response.decision.verdict_marker import VerdictMarker

    if not (arguments.reason or "").strip():
        raise UsageError("What was found? It goes on record.", "zombie playbooks looked-at CAUSE --reason TEXT")
    by = terminal_user(arguments.environ)
    policy = rules_of_acting(options.settings(arguments))
    with record.stores(arguments.environ) as stores:
        marker = VerdictMarker(policy, stores.ledger, now)
        try:
            was = asyncio.run(marker.look(arguments.cause, arguments.reason, by, by.removeprefix("terminal:")))
        except Refused as no:
            return approvals.say_refused(no)
    said = f"{was.against} of {was.voices} people who may approve said that {was.cause} was wrong."
    print(f"{said} Counting starts again; its plans are offered again.")
    return 0


def run_keep(arguments: argparse.Namespace) -> int:
    """Write a case and its expected verdict into a folder for backtests.

    Raises: CaseError when there is no such case, or the folder cannot be written; UsageError for an unknown cause.
    """
    from bot.commands import record
    from bot.commands.mute import known_cause
    from bot.domain.safe_text import one_line
    from bot.transport import case_file, expectations

    if arguments.expect != expectations.NONE:
        known_cause(arguments.expect, options.settings(arguments))
    case = record.named_case(arguments.environ, arguments.case)
    is_kept = not arguments.case.exists()  # with its incident
    of = record.whole_id(arguments.environ, str(arguments.case)) if is_kept else ""
    folder = case_file.made(arguments.dir)
    path = case_file.write(folder, case, of)
    expectations.expect(folder, path.name, arguments.expect)
    said = "name no cause" if arguments.expect == expectations.NONE else f"name {arguments.expect}"
    print(f"{path} is stored; a verdict on it should {said} ({folder / expectations.FILE}).")
    if "backtest" in arguments.extras.commands:
        print(one_line(options.to_type(arguments, f"Look at it: zombie backtest {folder} --playbooks YOURS"), 300))
    return 0
