"""`zombie diff`: how nodes differ from their peers."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING

from bot.commands import options
from bot.domain.errors import UsageError
from bot.extras.fleet.command import add_scheduler

if TYPE_CHECKING:
    from bot.extras.fleet.comparison import Comparison
    from bot.extras.fleet.run import FleetRun

EXAMPLES = """examples:
  zombie diff ray-gpu-1a-0417 --against role=gpu          a sick node beside the other GPU nodes
  zombie diff 'ray-gpu-1a-*' --against 'ray-gpu-1c-*'     one zone beside another
  zombie diff node-1 node-2 --against az=us-east-1a --json

Facts are what a single look shows: units, versions, kernel flags, file systems, counts by their power of ten, and the
inventory's labels; names of pods, containers and sessions, ids and PIDs are none. Peers with a cause that the nodes
have are left out, by its signature: a single look, no verdict. Differences that chance would rarely make among so many
facts (Fisher's exact test, corrected) are telling, and only these are listed; --full lists all. Where so few nodes can
tell nothing from chance, that is said, and differences are listed as they are: name several sick nodes, and many peers.
A peer that is spared only because something else kept the culprit from starting is named.

exit status:
  0  compared, with any result
  2  the command line, or a file it names, is wrong, or a selector matches no node
  3  there is nothing to compare with: every peer is left out
  4  none of the nodes could be reached
  130  interrupted: nothing was compared
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "diff",
        "say how sick nodes differ from their peers",
        "Read nodes and their peers once, and list the differences, the most surprising first.",
        EXAMPLES,
        group="look",
    )
    options.add_selection(parser, "+")
    parser.add_argument("--against", nargs="+", required=True, metavar="SELECTOR", help="the peers, written like NODE")
    parser.add_argument("-p", "--playbook", metavar="NAME", help="the playbook (default: node-health)")
    options.add_files(parser)
    parser.add_argument("--parallel", type=options.positive, metavar="N", help="read N nodes at once (default 50)")
    parser.add_argument("--deadline", metavar="S", help="give up on a node after S seconds")
    add_scheduler(parser)
    parser.add_argument("--full", action="store_true", help="list every difference, also what may be chance")
    parser.add_argument("--json", action="store_true", help="print the differences as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from bot.extras.fleet.comparison import difference_body, difference_text

    what, here = _run_and_sick_nodes(arguments)
    try:
        asyncio.run(what.run(lambda answer: None))
    except KeyboardInterrupt:
        done = f"{len(what.answers)} of {len(what.nodes)} nodes were read"
        options.print_remark(f"interrupted, {done}; nothing was compared, and nothing changed on any of them")
        return 130
    comparison: Comparison = what.comparison(here)
    if not comparison.here:
        options.print_remark(comparison.left_out[0].because)
        return 4
    text = difference_text(comparison, options.width(), full=arguments.full)
    options.print_result(arguments, difference_body(comparison), text)
    return 0 if comparison.there else 3


def _run_and_sick_nodes(arguments: argparse.Namespace) -> tuple[FleetRun, tuple[str, ...]]:
    """Return the run, and the names of the sick nodes. `--sample` takes some of the peers."""
    from bot.app.factories import ssh_transport
    from bot.app.workload_selection import sampled, selected
    from bot.extras.fleet.run import MOST_AT_ONCE
    from bot.extras.fleet.runner import SweepDependencies

    settings, inventory = options.site(arguments)
    sick = selected(arguments.nodes, inventory, settings, arguments.environ, arguments.namespace)
    peers = selected(arguments.against, inventory, settings, arguments.environ, arguments.namespace)
    names = {node.name for node in sick}
    others = sampled([node for node in peers if node.name not in names], arguments.sample)
    if not others:
        raise UsageError(
            "There is nothing to compare with: --against names the same nodes.", "Name more of them, such as role=gpu."
        )
    at_once = arguments.parallel or MOST_AT_ONCE
    means = SweepDependencies(settings, ssh_transport(arguments.environ), parallel=at_once, remark=options.print_remark)
    run = means.facts((*sick, *others), options.library(settings).get())
    return run, tuple(node.name for node in sick)
