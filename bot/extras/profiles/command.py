"""`zombie profile`: which function burns which core, from what perf recorded."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bot.commands import options
from bot.domain.errors import UsageError, ZombieError
from bot.extras.profiles.perf_command import HERTZ, SECONDS, CaptureRequest, alternatives_words

if TYPE_CHECKING:
    from bot.extras.profiles.nodes import NodeProfile
    from bot.extras.profiles.profile import Profile
    from bot.extras.profiles.selection import Selection


FORMATS = ("text", "json", "folded", "speedscope", "perf", "svg", "png", "html")

EXAMPLES = """examples:
  zombie profile node-123                           record 10 s there with perf, and say what burns
  zombie profile node-123 --seconds 30 --hz 99 --out profiles/
  perf script | gzip > perf.txt.gz                  on the node, after perf record -a -g
  zombie profile --from perf.txt.gz                 the function that burns the hottest core, and its process
  zombie profile --from perf.txt.gz --core 39 --between 12 18.6
                                                       a single core, in the seconds 12 to 18.6 after the first event
  zombie profile --from - --format folded           stacks as stackcollapse-perf.pl prints them, from stdin
  zombie profile --from perf.txt --format html --out flame.html
                                                       a flame graph as a page that needs no network
  zombie profile --from perf.txt --format html --against calm.txt --out more.html
                                                       more (orange) and less (blue) than in calm.txt

formats: text, json, folded; speedscope (for speedscope.app) and perf (for FlameScope, Firefox Profiler, Perfetto and
speedscope); svg and png, the heat map of each second's 20 ms; html, the flame graph with that map.

exit status with --from: 0 read; 2 not a profile, or used wrongly
"""

_EXIT_CODES = """
exit status with NODE:
  0  every node was profiled, and its hottest function has a name
  2  the command line, or a file it names, is wrong
  3  perf, names of functions or rights are missing on a node, or it is overloaded
  4  a node could not be reached
  With several nodes 4 wins over 3.
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "profile",
        "say which function burns which core",
        "Record on nodes with perf, or read what perf recorded, as perf script prints it: plain, gzip or - for stdin. "
        "Files of any length are read in a single pass, in bounded memory.",
        EXAMPLES + _EXIT_CODES,
        group="look",
    )
    _add_node_options(parser)
    parser.add_argument("--from", dest="source", type=Path, metavar="FILE", help="text of perf script; - is stdin")
    _add_selection(parser)
    parser.add_argument("--format", choices=FORMATS, default="text", help="what to print (default: text)")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="write it there (default: stdout); with NODE a folder for perf's text"
    )
    against = parser.add_mutually_exclusive_group()
    against.add_argument("--against", type=Path, metavar="FILE", help="html: the difference to this profile")
    against.add_argument(
        "--against-between",
        nargs=2,
        type=float,
        metavar=("A", "B"),
        help="html: the difference to these seconds of the same file",
    )
    parser.set_defaults(run=run)


def _add_selection(parser: argparse.ArgumentParser) -> None:
    """Add the options that select events."""
    parser.add_argument("--core", type=int, metavar="N", help="only this core")
    parser.add_argument("--process", metavar="COMM", help="only processes of this name, as perf prints it")
    parser.add_argument(
        "--between", nargs=2, type=float, metavar=("A", "B"), help="only from second A to B after the first event"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the profile.

    Raises: ProfileError for a file that is no profile; UsageError without a source.
    """
    if arguments.nodes:
        if arguments.source is not None:
            raise UsageError("--from reads a file, and NODE records anew: not both at once.", "Leave out either.")
        if arguments.format == "json":
            arguments.json = True
        elif arguments.format != "text" or arguments.against or arguments.against_between:
            raise UsageError(
                "Of a node it prints text or JSON.",
                "Record with --out DIR, then draw what is stored there: zombie profile --from FILE --format …",
            )
        return _run_nodes(arguments, _selection(arguments, arguments.between))
    if arguments.source is None:
        raise UsageError(
            "There is no profile to read.",
            "Name a node to record on, or the text of perf script: zombie profile --from perf.txt",
        )
    if arguments.json:
        if arguments.format not in ("text", "json"):
            raise UsageError(f"--json and --format {arguments.format} are two outputs.", "Leave out either.")
        arguments.format = "json"
    if (arguments.against or arguments.against_between) and arguments.format != "html":
        raise UsageError("Only the flame graph shows a difference.", "Say --format html --out flame.html")
    if arguments.format == "png" and arguments.out is None and sys.stdout.isatty():
        raise UsageError("A picture cannot be printed on a terminal.", "Name a file: --out profile.png")
    _write(_output_pieces(arguments), arguments.out)
    return 0


def _selection(arguments: argparse.Namespace, between: list[float] | None) -> Selection:
    from bot.extras.profiles.selection import Selection

    if between and not 0 <= between[0] < between[1] < float("inf"):
        raise UsageError("A range takes two seconds from the first event, the lower first.", "Say --between 12 18.6")
    return Selection(arguments.core, arguments.process, (between[0], between[1]) if between else None)


def _output_pieces(arguments: argparse.Namespace) -> Iterator[bytes]:
    """Read the whole profile, then yield the output: a refused profile leaves no partial file."""
    from bot.extras.profiles import files

    selection = _selection(arguments, arguments.between)
    name = "stdin" if str(arguments.source) == "-" else arguments.source.name
    match arguments.format:
        case "perf":
            return files.perf_text(arguments.source, selection)
        case "speedscope":
            return files.speedscope(arguments.source, selection, _title(name, selection))
    found = files.read(arguments.source, selection)
    if arguments.format == "html":
        return iter([_page(arguments, found, name).encode()])
    return iter([_in_form(found, arguments.format, name)]) if arguments.format != "folded" else _folded(found)


def _folded(found: Profile) -> Iterator[bytes]:
    return (f"{line}\n".encode() for line in found.folded())


def _in_form(found: Profile, form: str, name: str) -> bytes:
    from bot.extras.profiles import words
    from bot.extras.profiles.heat_map import HeatMap, svg

    match form:
        case "json":
            return (json.dumps(found.document(), ensure_ascii=False) + "\n").encode()
        case "svg":
            return svg(HeatMap.of(found.heatmap(), found.whole_seconds), name, words.headline(found)).encode()
        case "png":
            from bot.extras.profiles.heat_map_picture import png

            return png(HeatMap.of(found.heatmap(), found.whole_seconds), name, words.headline(found))
    return words.text(found, name).encode()


def _page(arguments: argparse.Namespace, found: Profile, name: str) -> str:
    from bot.extras.profiles import files, words
    from bot.extras.profiles.flame_page import flame_page
    from bot.extras.profiles.flame_tree import flame_tree
    from bot.extras.profiles.heat_map import HeatMap, svg

    before, said = None, words.headline(found)
    if arguments.against or arguments.against_between:
        source = arguments.against or arguments.source
        if str(source) == "-":
            raise UsageError("stdin can be read only once.", "Write it into a file first, and compare that.")
        selection = _selection(
            arguments, arguments.against_between or (None if arguments.against else arguments.between)
        )
        before = files.read(source, selection).stacks
        said += f"\nOrange is more and blue less than in {_title(source.name, selection)}, grey the same."
    title = _title(name, found.selection)
    heat = svg(HeatMap.of(found.heatmap(), found.whole_seconds), "Each second, idle left out", title)
    heat = heat if found.first_ns is not None else ""
    return flame_page(flame_tree(found.stacks, before), title, said, heat, compares=before is not None)


def _title(name: str, selection: Selection) -> str:
    return f"{name}, {selection}" if str(selection) else name


def _write(pieces: Iterator[bytes], out: Path | None) -> None:
    if out is None:
        sys.stdout.flush()
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        return
    with out.open("wb") as file:
        file.writelines(pieces)


def _add_node_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a capture on nodes."""
    options.add_selection(parser, "*")
    parser.add_argument(
        "--seconds",
        type=int,
        default=10,
        metavar="N",
        help=f"record so long: {alternatives_words(SECONDS)} (default 10)",
    )
    parser.add_argument(
        "--hz", type=int, default=49, metavar="N", help=f"samples a second: {alternatives_words(HERTZ)} (default 49)"
    )
    parser.add_argument("--anyway", action="store_true", help="also profile a node that is short of memory")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print JSON; with NODE a document of all nodes",
    )
    options.add_files(parser)


def _run_nodes(arguments: argparse.Namespace, selection: Selection) -> int:
    """Profile the named nodes and return the exit status.

    Raises: UsageError for a rate or a length that no sudoers line can allow.
    """

    from bot.extras.profiles.nodes import Profiling, profile_nodes

    try:
        request = CaptureRequest(arguments.hz, arguments.seconds)
    except ValueError as no:
        raise UsageError(
            f"{str(no).capitalize()}.", "The sudoers lines allow exactly these: zombie sudoers --profile"
        ) from no
    settings, inventory = options.site(arguments)
    nodes = options.selection(arguments, inventory, settings)[1]
    if arguments.out is not None:
        _make_folder(arguments.out)
    what = Profiling(request, selection, arguments.anyway, kept_in=arguments.out)

    def heard(found: NodeProfile) -> None:
        if not arguments.json:
            print(_node_text(found), end="", flush=True)

    if sys.stderr.isatty():
        options.print_remark(f"recording for {request.seconds} s")
    found = asyncio.run(profile_nodes(nodes, what, arguments.environ, heard))
    if arguments.json:
        nodes_said = [node.document() for node in found]
        print(json.dumps({"schema": 1, "nodes": nodes_said}, ensure_ascii=False))
    return max((node.exit_status for node in found), default=0)


def _node_text(found: NodeProfile) -> str:
    from bot.extras.profiles import words

    if isinstance(found.found, ZombieError):
        tail = f"  {found.found.try_next}\n" if found.found.try_next else ""
        return f"{found.node}: {found.found.sentence}\n{tail}"
    more = [*words.says(*found.found).lines, *([f"kept: {found.kept}"] if found.kept else [])]
    return words.text(found.found[1], found.node) + "\n" + "".join(f"{line}\n" for line in more) + "\n"


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as no:
        raise UsageError(f"{folder} cannot be made: {no.strerror}.", "Name another folder with --out.") from no
