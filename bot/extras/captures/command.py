"""`zombie capture`: record on a node for hours, and keep what its cores did just before a symptom."""

from __future__ import annotations

import argparse
import asyncio
import gzip
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bot.commands import options
from bot.domain.errors import CannotRead, Unreachable, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bot.extras.captures.capture_fold import RollingCapture
    from bot.extras.captures.capture_watch import CaptureLookResult, RollingWatch

_EXAMPLES = """examples:
  zombie capture start node-123 --for 12h                what the cores did just before a reset or a lockup
  zombie capture start node-123 --for 6h --around core-held
                                                            each core that a process held for 2 s in the kernel
  zombie capture list
  zombie capture show 7k3m9x2qpv --out segments/         look now; write perf's text around symptoms there
  zombie capture stop 7k3m9x2qpv

The recorder is a systemd unit on the node, with low priority and limits. It ends by itself, even without this program.
Its sudoers lines: zombie sudoers --profile

exit status:
  0  done; who asked, and the outcome, is on record
  1  refused; the refusal's name is on stderr
  2  the command line, or a file it names, is wrong; no such capture
  3  perf, systemd, disk space or rights are missing on the node, or it is overloaded
  4  the node could not be reached
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "capture",
        "record on a node for hours, and keep what ran before a symptom",
        "Let perf record every core of a node into a ring of short segments. When the network card is reset, a core "
        "locks up, or a process holds a core in the kernel, the segments around that second are read, and a sentence "
        "about what the core ran goes on record.",
        _EXAMPLES,
        group="look",
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="start|list|show|stop")
    start = options.add_parser(verbs, "start", "begin to record", "Begin to record on a node.", "")
    start.add_argument("node", metavar="NODE", help="the node's name")
    start.add_argument("--for", dest="lasts", default="12h", metavar="TIME", help="1h, 6h, 12h or 24h (default 12h)")
    start.add_argument("--segment", default="2m", metavar="TIME", help="how long a segment is: 1m or 2m (default 2m)")
    start.add_argument(
        "--around",
        action="append",
        choices=("nic-reset", "lockup", "core-held"),
        help="what to look for (default: nic-reset and lockup); more than once for several",
    )
    listing = options.add_parser(verbs, "list", "list what was recorded", "List captures, the newest first.", "")
    listing.add_argument("--json", action="store_true", help="print the list as JSON")
    show = options.add_parser(verbs, "show", "look at a capture now", "Look at a capture now.", "")
    stop = options.add_parser(verbs, "stop", "end it", "End it.", "")
    for verb in (show, stop):
        verb.add_argument("capture", metavar="ID", help="its id, or the beginning of it")
    show.add_argument("--json", action="store_true", help="print it as JSON")
    for verb in (show, stop):
        verb.add_argument("--out", type=Path, metavar="DIR", help="write perf's text around symptoms to DIR")
    start.set_defaults(does=_start)
    listing.set_defaults(does=_list)
    show.set_defaults(does=_print_capture)
    stop.set_defaults(does=_print_capture, json=False)
    for verb in verbs.choices.values():
        options.add_files(verb)
        verb.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status.

    Raises: UsageError for values that no sudoers line can allow, and for an unknown capture; Refused.
    """
    from bot.commands import open_record
    from bot.ledger import is_file_there
    from bot.settings import database_url

    if arguments.verb == "list" and not is_file_there(database_url(arguments.environ)):
        _print_list(arguments, [])
        return 0
    try:
        with open_record.stores(arguments.environ, create=arguments.verb == "start") as stores:
            from bot.extras.captures.capture_watch import rolling_watch
            from bot.response.incident_record import null_log

            settings = options.settings(arguments)
            watch = rolling_watch(settings, stores.database, arguments.environ, stores.cases, null_log)
            asyncio.run(arguments.does(arguments, watch))
            return 0
    except (CannotRead, Unreachable) as no:
        print(f"zombie: {no.sentence.rstrip('.')}. {no.try_next}".rstrip(), file=sys.stderr)
        return 4 if isinstance(no, Unreachable) else 3


async def _start(arguments: argparse.Namespace, watch: RollingWatch) -> None:
    from bot.commands.terminal_login import terminal_user
    from bot.extras.captures.recorder_commands import RollingRequest, hours_of, minutes_of

    try:
        hours, minutes = hours_of(arguments.lasts), minutes_of(arguments.segment)
        around = tuple(dict.fromkeys(arguments.around or RollingRequest().around))
        request = RollingRequest(hours, minutes, around)
    except ValueError as no:
        raise UsageError(
            f"{str(no).capitalize()}.", "The sudoers lines allow exactly these: zombie sudoers --profile"
        ) from no
    by = terminal_user(arguments.environ)
    node = options.inventory(arguments, options.settings(arguments)).find(arguments.node)
    rolling = await watch.control.ask(node, request, by, by.removeprefix("terminal:"))
    print(f"Capture {rolling.id} records on {rolling.node} until {rolling.until:%Y-%m-%d %H:%M} UTC.")
    print(options.as_typed_here(arguments, f"  zombie capture show {rolling.id}"))


async def _list(arguments: argparse.Namespace, watch: RollingWatch) -> None:
    _print_list(arguments, list((await watch.control.all()).values())[::-1])


def _print_list(arguments: argparse.Namespace, captures: list[RollingCapture]) -> None:
    from bot.extras.captures.words import document, line

    none = options.as_typed_here(arguments, "Nothing was captured. To begin: zombie capture start NODE --for 12h")
    text = "\n".join(map(line, captures)) or none
    options.print_result(arguments, {"captures": [document(rolling) for rolling in captures]}, text)


async def _print_capture(arguments: argparse.Namespace, watch: RollingWatch) -> None:
    from bot.extras.captures.words import document, lines

    news = await _look_or_stop(arguments, watch)
    options.print_result(arguments, {"schema": 1, **document(news.rolling, news)}, "\n".join(lines(news)))


async def _look_or_stop(arguments: argparse.Namespace, watch: RollingWatch) -> CaptureLookResult:
    """Look at it; where it is to be stopped, before that: the last samples are read before the ring is removed."""
    from bot.commands.terminal_login import terminal_user
    from bot.extras.captures.capture_watch import CaptureLookResult

    rolling = await watch.control.find(arguments.capture)
    if rolling.is_over:
        return CaptureLookResult(rolling)
    known = options.inventory(arguments, options.settings(arguments))
    if arguments.out is not None:
        arguments.out.mkdir(parents=True, exist_ok=True)
    said = dict[str, str]()  # of each name

    @contextmanager
    def keep(name: str) -> Iterator[Callable[[bytes], object]]:
        """Write perf's text into its file, as gzip; what cannot be read whole leaves that as it was."""
        path = arguments.out / f"{rolling.node}-{name}.perf.txt.gz"
        part = path.with_suffix(".part")
        try:
            with gzip.open(part, "wb", compresslevel=1) as file:
                yield file.write
            part.replace(path)
            said[name] = f"kept: {path}"
        except CannotRead as no:
            said[name] = f"not kept: {name}: {no.sentence}"
            raise
        except OSError as no:
            try_next = "Name a folder with room. Whether the capture still runs: zombie capture list"
            raise UsageError(f"{path} cannot be written: {no.strerror}.", try_next) from no
        finally:
            part.unlink(missing_ok=True)

    keeps = (keep,) if arguments.out is not None else ()
    by = terminal_user(arguments.environ) if arguments.verb == "stop" else ""
    news = await watch.look_for_person(known, rolling, by, by.removeprefix("terminal:"), *keeps)
    for name in dict.fromkeys((*said, *(each.name for each in news.rolling.found if keeps and not each.ends_mono))):
        print(said.get(name, f"not kept: {name}: no finished segment of the ring shows it"), file=sys.stderr)
    return news
