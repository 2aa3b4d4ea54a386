"""`zombie why`: which changes of readings would change a verdict."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bot.commands import options
from bot.commands.replay import add_playbook
from bot.domain.safe_text import safe

if TYPE_CHECKING:
    pass

EXAMPLES = """examples:
  zombie why said/node-123.jsonl           the smallest changes of readings that would change the verdict
  zombie why 7k3m9x2qpv                    for what an incident's node said
  zombie why said/node-123.jsonl --json    all of them, each in the form of zombie replay --with

Each number that the verdict depends on is moved, and each reading and entry that the verdict names is left out, one at
a time; each time the case is evaluated again. A whole replay confirmed what is printed. Numbers are exact to 0.2 %.

exit status:
  0  the changes are printed, or that there are none
  2  the command line, or the case, is wrong
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "why",
        "say which changes of readings would change a verdict",
        "Find the smallest single changes of readings that would change a case's status, cause, confidence or plan.",
        EXAMPLES,
        group="look",
    )
    parser.add_argument(
        "case",
        type=Path,
        metavar="CASE",
        help="a case, or a folder with one (zombie check NODE --record DIR), or an incident's id",
    )
    add_playbook(parser)
    parser.add_argument("--json", action="store_true", help="print them as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the changes.

    Raises: CaseError when the case cannot be read.
    """
    from bot.commands import open_record
    from bot.extras.cases.explaining import explained
    from bot.extras.cases.why_document import why_body, why_text

    settings = options.settings(arguments)
    case = open_record.named_case(arguments.environ, arguments.case)
    playbook = options.library(settings).get(arguments.playbook or case.head.playbook)
    explanation = explained(case, playbook)
    for remark in explanation.remarks:
        print(safe(f"zombie: {arguments.case}: {remark}"), file=sys.stderr)
    lines = why_text(explanation, options.plan_words(), options.width())
    # Of an incident's case no command replays it from here.
    if explanation.verdict.snapshot is not None and explanation.changes and arguments.case.exists():
        first = shlex.quote(str(explanation.changes[0].change))
        lines += ["", f"  To see it: zombie replay {shlex.quote(str(arguments.case))} --with {first}"]
    body = why_body(explanation, options.plan_words())
    options.print_result(arguments, body, options.as_typed_here(arguments, "\n".join(lines)))
    return 0
