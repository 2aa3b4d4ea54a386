"""The part of `zombie profile` that captures on nodes; `profile.py` reads files."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bot.commands import options
from bot.domain.capture import HERTZ, SECONDS, CaptureRequest
from bot.domain.errors import UsageError

if TYPE_CHECKING:
    from bot.app.profiling import NodeProfile
    from bot.profile import Selection

EXIT_CODES = """
exit status with NODE:
  0  every node was profiled, and its hottest function has a name
  2  the command line, or a file it names, is wrong
  3  perf, names of functions or rights are missing on a node, or it is overloaded
  4  a node could not be reached
  With several nodes 4 wins over 3.
"""


def add_node_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a capture on nodes."""
    options.add_selection(parser, "*")
    parser.add_argument(
        "--seconds", type=int, default=10, metavar="N", help=f"record so long: {_list(SECONDS)} (default 10)"
    )
    parser.add_argument(
        "--hz", type=int, default=49, metavar="N", help=f"samples a second: {_list(HERTZ)} (default 49)"
    )
    parser.add_argument("--anyway", action="store_true", help="also profile a node that is short of memory")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print JSON; with NODE a document of all nodes",
    )
    options.add_files(parser)


def run_nodes(arguments: argparse.Namespace, selection: Selection) -> int:
    """Profile the named nodes and return the exit status.

    Raises: UsageError for a rate or a length that no sudoers line can allow.
    """

    from bot.app.profiling import Profiling, profile_nodes

    try:
        request = CaptureRequest(arguments.hz, arguments.seconds)
    except ValueError as no:
        raise UsageError(
            f"{str(no).capitalize()}.", "The sudoers lines allow exactly these: zombie sudoers --profile"
        ) from no
    settings = options.settings(arguments)
    inventory = options.inventory(arguments, settings)
    nodes = options.selection(arguments, inventory, settings)[1]
    if arguments.out is not None:
        _made(arguments.out)
    what = Profiling(request, selection, arguments.anyway, kept_in=arguments.out)

    def heard(found: NodeProfile) -> None:
        if not arguments.json:
            print(_text(found), end="", flush=True)

    if sys.stderr.isatty():
        print(f"zombie: recording for {request.seconds} s", file=sys.stderr)
    found = asyncio.run(profile_nodes(nodes, what, arguments.environ, heard))
    if arguments.json:
        nodes_said = [node.document() for node in found]
        print(json.dumps({"schema": 1, "nodes": nodes_said}, ensure_ascii=False))
    return max((node.exit_status for node in found), default=0)


def _text(found: NodeProfile) -> str:
    from bot.profile import words
    from bot.response.capture.profile_words import says

    if found.why is not None:
        tail = f"  {found.why.try_next}\n" if found.why.try_next else ""
        return f"{found.node}: {found.why.sentence}\n{tail}"
    assert found.captured is not None
    assert found.profile is not None
    more = [*says(found.captured, found.profile).lines, *found.captured.remarks, found.captured.incomplete]
    more += [f"kept: {found.kept}"] if found.kept is not None else []
    return words.text(found.profile, found.node) + "\n" + "".join(f"{line}\n" for line in more if line) + "\n"


def _made(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as no:
        raise UsageError(f"{folder} cannot be made: {no.strerror}.", "Name another folder with --out.") from no


def _list(numbers: tuple[int, ...]) -> str:
    *others, last = numbers
    return f"{', '.join(map(str, others))} or {last}"
