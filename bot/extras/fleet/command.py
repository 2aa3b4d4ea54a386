"""`zombie fleet`: which nodes have a cause, and how common it is."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bot.commands import options

if TYPE_CHECKING:
    from bot.extras.fleet.run import FleetRun
    from bot.extras.fleet.sweep import NodeAnswer

PATIENCE = 1.0  # seconds without an answer until what has answered is shown

EXAMPLES = """examples:
  zombie fleet role=gpu                                  which GPU nodes have a cause that shows in a single look
  zombie fleet 'ray-gpu-1a-*' --cause leaked-memory-cgroups   a single cause: two files on each node
  zombie fleet role=gpu --sample 5% --json               how common it is, from a sample, with its interval
  zombie fleet az=us-east-1a --full                      a whole check of each node, with verdicts
  zombie fleet job/train-llm -n ray                      the nodes on which a Kubernetes job runs
  zombie fleet role=gpu --scheduler tcp://127.0.0.1:8786 read by the workers of a scheduler: zombie worker --help

A cause is found by its signature: a single look at the few files where it shows, without the window of a check. Such a
hit is possible, not proven; `zombie check NODE` or --full gives the verdict. A cause that needs a window (--cause
io-stall) is judged by all its probes.

exit status:
  0  every node answered, and no node has any of the causes
  1  a node has such a cause
  2  the command line, or a file it names, is wrong, or a selector matches no node
  3  for some node it is not known
  4  a node could not be reached
  1 wins over 4, and 4 over 3; 4 too when no node could be reached. Ctrl-C: 130, and the answers so far are printed.
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "fleet",
        "say which nodes have a cause, how common it is, and where",
        "Ask many nodes at once for the signatures of causes, and count: by zone, role, kernel and image, with the "
        "interval in which the share of all nodes lies.",
        EXAMPLES,
        group="look",
    )
    options.add_selection(parser, "+")
    parser.add_argument(
        "--cause", nargs="+", action="extend", default=[], metavar="SLUG", help="count these causes (default: all)"
    )
    parser.add_argument("--full", action="store_true", help="check each node as `zombie check` does")
    parser.add_argument("-p", "--playbook", metavar="NAME", help="the playbook (default: node-health)")
    options.add_files(parser)
    parser.add_argument("--parallel", type=options.positive, metavar="N", help="ask N nodes at once (default 50)")
    parser.add_argument("--deadline", metavar="S", help="give up on a node after S seconds")
    parser.add_argument("--samples", type=options.window, metavar="N", help="the window of --full, in seconds")
    add_scheduler(parser)
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    parser.set_defaults(run=run)


def add_scheduler(parser: argparse.ArgumentParser) -> None:
    """Add the options for a scheduler whose workers read the nodes."""
    group = parser.add_argument_group("several machines")
    group.add_argument("--scheduler", metavar="URL", help="tls://HOST:PORT, or tcp:// on this machine")
    for name, what in (("ca", "the authority of all certificates"), ("cert", "this program's own"), ("key", "its key")):
        group.add_argument(f"--scheduler-{name}", type=Path, metavar="PEM", help=f"for tls://: {what}")


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from bot.extras.fleet.report import fleet_body, fleet_text, rest_text
    from bot.extras.fleet.runner import exit_status

    what = _fleet_run(arguments)
    interrupted, shown = False, set[str]()
    try:
        try:
            asyncio.run(_ask_nodes(what, options.redraws(arguments), None if arguments.json else shown))
        except KeyboardInterrupt:
            interrupted = True
            options.print_remark(f"interrupted, {len(what.answers)} of {len(what.nodes)} nodes are done")
    finally:
        if arguments.json:
            print(options.as_json(fleet_body(what.report, verdicts=what.sweep.is_full)))
        elif shown:
            print(rest_text(what.report, shown, options.width()), end="")
        else:
            print(fleet_text(what.report, options.width()), end="")
    return 130 if interrupted else exit_status(what.report)


def _fleet_run(arguments: argparse.Namespace) -> FleetRun:
    from bot.app.factories import ssh_transport
    from bot.app.many_nodes import collect_garbage_less_often, raise_file_limit
    from bot.commands import open_record
    from bot.extras.fleet.run import MOST_AT_ONCE
    from bot.extras.fleet.runner import SweepDependencies
    from bot.extras.fleet.sweep import Sweep

    settings = options.settings(arguments)
    sweep = Sweep.of(options.library(settings).get(), arguments.cause, full=arguments.full)
    meant, asked = options.selection(arguments, options.inventory(arguments, settings), settings)
    mutes = open_record.mutes(arguments.environ) if sweep.is_full else None
    collect_garbage_less_often(len(asked))
    at_once = raise_file_limit(min(arguments.parallel or MOST_AT_ONCE, len(asked)))
    means = SweepDependencies(settings, ssh_transport(arguments.environ), mutes, at_once, options.print_remark)
    return means.sweep(asked, len(meant), sweep)


async def _ask_nodes(what: FleetRun, draws: bool, shown: set[str] | None) -> None:
    """Ask every node; `shown` gets the nodes of a report that is printed before all have answered, None for none."""
    from bot.extras.fleet.report import answer_line, fleet_text

    clear = "\r\x1b[K" if draws else ""

    def heard(answer: NodeAnswer) -> None:
        line = answer_line(answer, what.sweep.is_full)
        if shown:
            print(f"{clear}{line}", flush=True)
        elif (answer.found or answer.unreachable_class) and (shown is None or not draws):
            print(f"{clear}{line}", file=sys.stderr, flush=True)
        if draws:
            print(f"{clear}{len(what.answers)} of {len(what.nodes)} done", end="", file=sys.stderr, flush=True)

    async def show_early(shown: set[str]) -> None:
        """Print the report once the rest keeps it waiting: a dead node takes ten seconds, and the others one."""
        loop = asyncio.get_running_loop()
        began, left, quiet = loop.time(), len(what.nodes), 0.0
        while not what.answers or not 0 < left <= what.parallel or quiet < max(PATIENCE, what.seconds / 2):
            await asyncio.sleep(0.1)
            left, quiet = len(what.nodes) - len(what.answers), loop.time() - began - what.seconds
        print(clear, end="", file=sys.stderr, flush=True)
        print(fleet_text(what.report, options.width(), goes_on=True), flush=True)
        shown.update(answer.node for answer in what.answers)

    early = asyncio.create_task(show_early(shown)) if shown is not None else None
    try:
        await what.run(heard)
    finally:
        if early is not None:
            early.cancel()
        print(clear, end="", file=sys.stderr, flush=True)
