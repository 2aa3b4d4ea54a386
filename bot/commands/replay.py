"""`zombie replay`: judge cases again, anywhere, without a node."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bot.commands import options
from bot.domain.safe_text import safe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.app.cases import Replayed
    from bot.domain.verdict import Verdict

EXAMPLES = """examples:
  zombie check node-123 --record said/              stores what the node says: said/node-123.jsonl
  zombie replay said/node-123.jsonl                 the verdict again; no node is contacted
  zombie replay said/ --json                        every case of a folder, as the JSON of zombie check
  zombie replay said/ --playbooks mine/             with your own playbooks
  zombie replay said/node-123.jsonl --with cgroups.dying=900 --with cpu=unread
                                                    what if it had said that?

--with takes PROBE=unread, PROBE.FIELD=VALUE, PROBE.FIELD[ENTRY]=none or PROBE.FIELD[ENTRY].FIELD=VALUE, by the names
that --json has under readings. zombie why CASE finds the smallest changes that matter.

exit status: as zombie check; 2 also for a case that is damaged, truncated, or of a newer form
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "replay",
        "judge recorded cases again",
        "Judge what nodes said when they were recorded (zombie check --record), exactly like a live check.",
        EXAMPLES,
        group="rules",
    )
    parser.add_argument("cases", nargs="+", type=Path, metavar="CASE", help="a case, or a folder of cases")
    add_playbook(parser)
    parser.add_argument(
        "--with", dest="changes", action="append", default=[], metavar="READING=VALUE", help="change a reading first"
    )
    parser.add_argument("--json", action="store_true", help="print the verdicts as JSON")
    parser.add_argument(
        "--fail-on", choices=("degraded", "critical"), default="degraded", help="exit 1 from this status on"
    )
    parser.set_defaults(run=run)


def add_playbook(parser: argparse.ArgumentParser) -> None:
    """Add the options for the playbook that judges a case."""
    parser.add_argument("-p", "--playbook", metavar="NAME", help="the playbook (default: the case's own)")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings, as TOML (else ./zombie.toml)")
    parser.add_argument(
        "--playbooks", type=Path, metavar="DIR", action="append", help="a directory of further playbooks"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print each case's verdict.

    Raises: CaseError for the first case that cannot be read, before any is judged; UsageError for a wrong change.
    """
    from bot.app.cases import replay
    from bot.app.check import exit_status
    from bot.domain.change import Change
    from bot.domain.verdict import Status
    from bot.transport import case_file

    changes = [Change.parse(text) for text in arguments.changes]
    settings = options.settings(arguments)
    library = options.library(settings)
    cases = [(path, case_file.load(path)) for path in case_file.files(arguments.cases)]
    verdicts: list[Verdict] = []
    for path, case in cases:
        replayed = replay(case, library.get(arguments.playbook or case.head.playbook), changes)
        verdicts.append(replayed.verdict)
        for remark in replayed.remarks:
            print(safe(f"zombie: {path}: {remark}"), file=sys.stderr)
        if not arguments.json:
            print(_verdict_text(path, replayed, arguments), end="", flush=True)
    _print_end(verdicts, arguments.json)
    return exit_status(verdicts, Status(arguments.fail_on))


def _print_end(verdicts: Sequence[Verdict], as_json: bool) -> None:
    if as_json:
        from bot.surfaces.document import document

        print(document(verdicts))
    elif len(verdicts) > 1:
        from bot.surfaces.verdict_text import summary

        print(summary(verdicts, len(verdicts)))


def _verdict_text(path: Path, replayed: Replayed, arguments: argparse.Namespace) -> str:
    from bot.surfaces.verdict_text import verdict_text

    text = verdict_text(replayed.verdict, options.width(), options.wants_colour(arguments), options.plan_words())
    return f"{replayed.words(path)}\n\n{text}\n"
