"""`zombie profile`: which function burns which core, from what perf recorded."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bot.commands import options, profile_nodes
from bot.domain.errors import UsageError

if TYPE_CHECKING:
    from bot.profile import Profile, Selection

FORMATS = ("text", "json", "folded")

EXAMPLES = """examples:
  zombie profile node-123                           record 10 s there with perf, and say what burns
  zombie profile node-123 --seconds 30 --hz 99 --out profiles/
  perf script | gzip > perf.txt.gz                  on the node, after perf record -a -g
  zombie profile --from perf.txt.gz                 the function that burns the hottest core, and in whose name
  zombie profile --from perf.txt.gz --core 39 --between 12 18.6
                                                    one core, in the seconds 12 to 18.6 after the first event
  zombie profile --from - --format folded           stacks as stackcollapse-perf.pl prints them, from stdin

exit status with --from: 0 read; 2 no profile, or used wrongly
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "profile",
        "say which function burns which core",
        "Record on nodes with perf, or read what perf recorded, as perf script prints it: plain, gzip or - for stdin. "
        "It is read in one pass, in bounded memory, however long it is.",
        EXAMPLES + profile_nodes.EXIT_CODES,
    )
    profile_nodes.add_node_options(parser)
    parser.add_argument("--from", dest="source", type=Path, metavar="FILE", help="text of perf script; - is stdin")
    add_selection(parser)
    parser.add_argument("--format", choices=FORMATS, default="text", help="what to print (default: text)")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="write it there (default: stdout); with NODE a folder for perf's text"
    )
    parser.set_defaults(run=run)


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which events are looked at."""
    parser.add_argument("--core", type=int, metavar="N", help="only this core")
    parser.add_argument("--process", metavar="COMM", help="only processes of this name, as perf prints it")
    parser.add_argument(
        "--between", nargs=2, type=float, metavar=("A", "B"), help="only from second A to B after the first event"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the profile.

    Raises: ProfileError for what is no profile; UsageError without one.
    """
    if arguments.nodes:
        if arguments.source is not None:
            raise UsageError("--from reads a file, and NODE records anew: one at a time.", "Leave one of them out.")
        return profile_nodes.run_nodes(arguments, _selection(arguments))
    if arguments.source is None:
        raise UsageError(
            "There is no profile to read.",
            "Name a node to record on, or the text of perf script: zombie profile --from perf.txt",
        )
    from bot.app.profile_files import read

    profile = read(arguments.source, _selection(arguments))
    _write(_pieces(profile, arguments), arguments.out)
    return 0


def _selection(arguments: argparse.Namespace) -> Selection:
    from bot.profile import Selection

    between = tuple(arguments.between) if arguments.between else None
    if between and not 0 <= between[0] < between[1] < float("inf"):
        raise UsageError("--between takes two seconds from the first event, the lower first.", "Say --between 12 18.6")
    return Selection(core=arguments.core, process=arguments.process, between=between)


def _pieces(profile: Profile, arguments: argparse.Namespace) -> Iterator[str]:
    from bot.profile import words

    match arguments.format:
        case "json":
            yield json.dumps(profile.document(), ensure_ascii=False) + "\n"
        case "folded":
            yield from (line + "\n" for line in profile.folded())
        case _:
            name = "stdin" if str(arguments.source) == "-" else arguments.source.name
            yield words.text(profile, name)


def _write(pieces: Iterable[str], out: Path | None) -> None:
    if out is None:
        sys.stdout.writelines(pieces)
        return
    with out.open("w", encoding="utf-8") as file:
        file.writelines(pieces)
