"""`zombie playbooks`: list the playbooks, check a file, print their schema, keep a case as a test of them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sized
from pathlib import Path

from bot.commands import options
from bot.domain.errors import PlaybookError

_EXAMPLES = """examples:
  zombie playbooks check my-playbook.yaml                   or a folder: every playbook in it
  zombie playbooks schema > playbook.schema.json
  zombie playbooks keep 7k3m9x2qpv --dir cases/ --expect none    a wrong verdict becomes a test
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "playbooks",
        "list the playbooks, check your own, keep a case as a test of them",
        "List the playbooks, with their probes and causes; check your own; keep a case as a test of them.",
        _EXAMPLES,
    )
    options.add_files(parser)
    parser.set_defaults(run=run_list)
    verbs = parser.add_subparsers(title="verbs", metavar="VERB")
    check = verbs.add_parser("check", help="report what is wrong with a playbook, by line")
    check.add_argument("file", type=Path, metavar="FILE", help="a playbook, or a folder of them")
    check.set_defaults(run=run_check)
    keep = verbs.add_parser("keep", help="keep a case as a test of your playbooks")
    keep.add_argument("case", type=Path, metavar="ID", help="an incident, or a case's file")
    keep.add_argument("--dir", type=Path, metavar="DIR", required=True, help="the folder of your cases")
    keep.add_argument("--expect", metavar="CAUSE|none", required=True, help="what the verdict should name")
    options.add_files(keep)
    keep.set_defaults(run=run_keep)
    fields = verbs.add_parser("fields", help="list what conditions may use of each reading")
    fields.add_argument("probe", nargs="?", metavar="PROBE", help="only of this probe")
    fields.set_defaults(run=run_fields)
    verbs.add_parser("schema", help="print the JSON Schema of playbooks, for editors").set_defaults(run=run_schema)


def run_list(arguments: argparse.Namespace) -> int:
    """Print every playbook's name, title and probes."""

    for playbook in options.library(options.settings(arguments)).playbooks:
        print(f"{playbook.name}  {playbook.title}")
        print(f"    probes: {', '.join(probe.name for probe in playbook.probes)}")
        print(f"    causes: {', '.join(used.cause.name for used in playbook.causes)}")
    return 0


def run_check(arguments: argparse.Namespace) -> int:
    """Check a file, or every playbook of a folder; a fault is a usage error with file and line."""
    from bot.app.parts import library
    from bot.library.library import is_playbook

    is_folder, folders = arguments.file.is_dir(), options.settings(arguments).playbooks
    books = library([*folders, arguments.file] if is_folder else folders)
    files = sorted(path for path in arguments.file.iterdir() if is_playbook(path)) if is_folder else [arguments.file]
    faults = []
    for file in files:
        try:
            playbook = books.check_file(file)
        except PlaybookError as fault:
            faults.append(str(fault))
            continue
        holds = f"{_number(playbook.probes, 'probe')}, {_number(playbook.causes, 'cause')}"
        print(f"{file}: {playbook.name} is valid: {holds}")
    if faults or not files:
        raise PlaybookError("\n".join(faults) or f"{arguments.file} has no playbook: no file *.yaml or *.yml.")
    return 0


def _number(things: Sized, word: str) -> str:
    return f"1 {word}" if len(things) == 1 else f"{len(things)} {word}s"


def run_fields(arguments: argparse.Namespace) -> int:
    """Print every field of the readings with its kind."""
    from bot.domain.errors import UsageError
    from bot.domain.nearest import did_you_mean
    from bot.domain.safe_text import one_line
    from bot.library.kinds import fields_of
    from bot.probes import PROBES

    if arguments.probe is not None and arguments.probe not in PROBES:
        raise UsageError(
            f"There is no probe “{one_line(arguments.probe, 60)}”.", did_you_mean(arguments.probe, sorted(PROBES))
        )
    for name in sorted(PROBES) if arguments.probe is None else [arguments.probe]:
        for field, kind in fields_of(PROBES[name].reading).items():  # type: ignore[arg-type]  # a class is hashable
            print(f"{name}.{field}  {kind.value}")
    return 0


def run_schema(arguments: argparse.Namespace) -> int:
    """Print the JSON Schema."""
    from bot.app.parts import library

    print(json.dumps(library().json_schema(), indent=2))
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
