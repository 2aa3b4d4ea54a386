"""`zombie playbooks`: list the playbooks, check a file, print their schema; `feedback.py` has its verbs on marks."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from bot.commands import feedback, options

_EXAMPLES = """examples:
  zombie playbooks check my-playbook.yaml
  zombie playbooks schema > playbook.schema.json
  zombie playbooks stats                                    how right each cause was, as people marked it
  zombie playbooks looked-at io-stall --reason "the threshold is 5 s now"
  zombie playbooks keep 7k3m9x2qpv --dir cases/ --expect none    a wrong verdict becomes a test
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "playbooks",
        "list the playbooks, check one of your own, say how right they were",
        "List the playbooks, with their probes and causes; check a playbook of your own; say how right they were.",
        _EXAMPLES,
    )
    options.add_files(parser)
    parser.set_defaults(run=run_list)
    verbs = parser.add_subparsers(title="verbs", metavar="VERB")
    check = verbs.add_parser("check", help="report what is wrong with a playbook, by line")
    check.add_argument("file", type=Path, metavar="FILE")
    check.set_defaults(run=run_check)
    feedback.add_verbs(verbs)
    verbs.add_parser("schema", help="print the JSON Schema of playbooks, for editors").set_defaults(run=run_schema)


def run_list(arguments: argparse.Namespace) -> int:
    """Print every playbook's name, title and probes."""
    from bot import app

    for playbook in app.library(options.settings(arguments).playbooks).playbooks:
        print(f"{playbook.name}  {playbook.title}")
        print(f"    probes: {', '.join(probe.name for probe in playbook.probes)}")
        print(f"    causes: {', '.join(used.cause.name for used in playbook.causes)}")
    return 0


def run_check(arguments: argparse.Namespace) -> int:
    """Check a file; a fault is a usage error with file and line."""
    from bot import app

    playbook = app.library(options.settings(arguments).playbooks).check_file(arguments.file)
    print(f"{arguments.file}: {playbook.name} is fine: {len(playbook.probes)} probes, {len(playbook.causes)} causes")
    return 0


def run_schema(arguments: argparse.Namespace) -> int:
    """Print the JSON Schema."""
    from bot import app

    print(json.dumps(app.library().json_schema(), indent=2))
    return 0
