"""`zombie playbooks`: list the playbooks, check a file, begin a cause, print a schema, keep a case as a test."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sized
from pathlib import Path
from typing import TYPE_CHECKING

from bot.commands import options
from bot.domain.errors import PlaybookError

if TYPE_CHECKING:
    from bot.library import Library

_EXAMPLES = """examples:
  zombie playbooks check my-playbook.yaml                   or a folder: all that is in it
  zombie playbooks new disk-worn --dir my-playbooks         begins my-playbooks/causes/disk-worn.yaml
  zombie playbooks schema > playbook.schema.json
  zombie playbooks keep 7k3m9x2qpv --dir cases/ --expect none    a wrong verdict becomes a test
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "playbooks",
        "list the playbooks, check your own, keep a case as their test",
        "List the playbooks, with their probes and causes; check your own; keep a case as a test of them.",
        _EXAMPLES,
        group="rules",
    )
    options.add_files(parser)
    parser.set_defaults(run=run_list)
    verbs = parser.add_subparsers(title="verbs", metavar="VERB")
    check = verbs.add_parser("check", help="report what is wrong with a playbook or a cause, by line")
    check.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="a playbook, a cause, or a folder of them",
    )
    check.set_defaults(run=run_check)
    new = verbs.add_parser("new", help="write a cause of your own to begin with")
    new.add_argument("name", metavar="NAME", help="its name: lower-case letters, digits and dashes")
    new.add_argument("--dir", type=Path, metavar="DIR", default=Path(), help="the folder of your playbooks")
    new.set_defaults(run=run_new)
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
    """Check a file, or every playbook, cause and table of a folder; a fault is a usage error with file and line."""
    from bot.app.factories import library
    from bot.app.site_rows import add_site_rows
    from bot.library.library import is_playbook

    is_folder, folders = arguments.file.is_dir(), options.settings(arguments).playbooks
    files = sorted(path for path in arguments.file.iterdir() if is_playbook(path)) if is_folder else [arguments.file]
    causes = sorted((arguments.file / "causes").glob("*.y*ml"))
    tables = sorted((arguments.file / "tables").glob("*.toml"))
    if not is_folder and arguments.file.absolute().parent.name == "causes":
        files, causes = [], files
    beside = {path.absolute().parents[1] for path in (*causes, *tables)}
    add_site_rows(folders)  # causes may ask for their lines
    faults = [row.left_out for row in add_site_rows(beside)]
    faults += [fault for path in causes if (fault := _check_cause_file(path))]
    if not faults:
        books = library([*folders, arguments.file] if is_folder else folders, strict=True)
        faults = [fault for path in files if (fault := _check_playbook_file(books, path))]
    if faults or not (files or causes or tables):
        raise PlaybookError("\n".join(faults) or f"{arguments.file} has no playbook: no file *.yaml or *.yml.")
    return 0


def _check_playbook_file(books: Library, path: Path) -> str:
    try:
        playbook = books.check_file(path)
    except PlaybookError as fault:
        return str(fault)
    holds = f"{_count_words(playbook.probes, 'probe')}, {_count_words(playbook.causes, 'cause')}"
    print(f"{path}: {playbook.name} is valid: {holds}")
    return ""


def _check_cause_file(path: Path) -> str:
    from bot.causes.declared import read_cause
    from bot.causes.examples import check_examples

    try:
        cause = read_cause(path)
        count = check_examples(path, cause)
    except PlaybookError as fault:
        return str(fault)
    print(f"{path}: {cause.name} is valid: {count} example{'s' * (count != 1)}")
    return ""


def run_new(arguments: argparse.Namespace) -> int:
    """Write a cause to begin with.

    Raises: UsageError when the name is none, or the file is there already or cannot be written.
    """
    from bot.domain.errors import UsageError
    from bot.library.shapes import SLUG

    path = arguments.dir / "causes" / f"{arguments.name}.yaml"
    if not re.match(SLUG, arguments.name):
        raise UsageError("A cause's name has lower-case letters, digits and dashes, and starts with a letter.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(_NEW.replace("NAME", arguments.name))
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from None
    print(f"{path} is written; next: zombie playbooks check {path}")
    return 0


_NEW = """\
cause: NAME
title: Connections near their limit
about: What is wrong on a node that has it, and why these readings show it.
lasting_fix: What keeps it from coming back, in one line.
thresholds: # may be left out; a playbook may set others
  used_percent: {value: 50, reason: "Why this figure: what is normal, and where it was measured."}
let: # names for what is used again
  used: f"{conntrack.count:,} of {conntrack.maximum:,} tracked connections ({conntrack.used_percent:%})"
evidence: # zombie playbooks fields has the readings; what a line may say: docs/causes.md
  - name: connections-many
    when: conntrack.used_percent >= used_percent
    says: "{used}"
    lines: conntrack.source
critical: log("conntrack-full", minutes=10) # without this line it is degraded
otherwise: # the first that applies; what was not read rules nothing out
  - {undecided: the table of connections was not read, unread: conntrack}
  - {ruled_out: "{used}"}
examples: # zombie playbooks check evaluates them
  - {conntrack: {loaded: true, count: 60, maximum: 100}, then: degraded, says: 60 of 100}
  - {conntrack: {loaded: true, count: 60, maximum: 100}, log: [conntrack-full 2m ago], then: critical}
  - {conntrack: {loaded: true, count: 40, maximum: 100}, then: ruled_out}
  - {conntrack: unread, then: undecided}
"""


def _count_words(things: Sized, word: str) -> str:
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
        for field, kind in fields_of(PROBES[name].reading).items():
            print(f"{name}.{field}  {kind.value}")
    return 0


def run_schema(arguments: argparse.Namespace) -> int:
    """Print the JSON Schema."""
    from bot.app.factories import library

    print(json.dumps(library().json_schema(), indent=2))
    return 0


def run_keep(arguments: argparse.Namespace) -> int:
    """Write a case and its expected verdict into a folder for backtests.

    Raises: CaseError when there is no such case, or the folder cannot be written; UsageError for an unknown cause.
    """
    from bot.commands import open_record
    from bot.commands.mute import check_cause_known
    from bot.domain.safe_text import one_line
    from bot.transport import case_file, expectations

    if arguments.expect != expectations.NONE:
        check_cause_known(arguments.expect, options.settings(arguments))
    case = open_record.named_case(arguments.environ, arguments.case)
    is_kept = not arguments.case.exists()  # with its incident
    of = open_record.complete_id(arguments.environ, str(arguments.case)) if is_kept else ""
    folder = case_file.make_folder(arguments.dir)
    path = case_file.write(folder, case, of)
    expectations.expect(folder, path.name, arguments.expect)
    said = "name no cause" if arguments.expect == expectations.NONE else f"name {arguments.expect}"
    print(f"{path} is stored; a verdict on it should {said} ({folder / expectations.FILE}).")
    if "backtest" in arguments.extras.commands:
        print(
            one_line(options.as_typed_here(arguments, f"Look at it: zombie backtest {folder} --playbooks YOURS"), 300)
        )
    return 0
