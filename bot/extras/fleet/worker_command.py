"""`zombie worker`: read nodes for sweeps that come through a scheduler."""

from __future__ import annotations

import argparse
import asyncio

from bot.commands import options
from bot.extras.fleet.command import add_scheduler

AT_ONCE = 200
EXAMPLES = """examples:
  dask scheduler --host 127.0.0.1                         Dask's scheduler; it comes with the extra `fleet`
  zombie worker --scheduler tcp://127.0.0.1:8786          a worker on the same machine
  zombie worker --scheduler tls://scheduler:8786 --zone us-east-1a \\
      --scheduler-ca ca.pem --scheduler-cert worker.pem --scheduler-key worker.key
  zombie fleet role=gpu --scheduler tcp://127.0.0.1:8786  a sweep that the workers read

A worker reads with its own inventory and keys: names are sent, keys are not. It never acts, and never uses the login of
[ssh.act]. With --zone it reads only nodes with that label zone or az; without --zone, any node that it is asked for.

Whoever reaches the scheduler can run code on its workers, where keys of nodes are. So plain tcp:// works within a
machine only; between machines use tls:// with certificates of your own authority: docs/fleet.md

exit status:
  0  it was stopped by a signal
  2  the command line, or a file it names, is wrong; the scheduler does not answer, or is gone
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "worker",
        "read nodes for sweeps that are started on another machine",
        "Join a Dask scheduler and read the nodes of `zombie fleet --scheduler`, a chunk at a time.",
        EXAMPLES,
        group="run",
    )
    add_scheduler(parser)
    parser.add_argument("--zone", default="", metavar="Z", help="read only nodes whose label zone or az is Z")
    parser.add_argument(
        "--parallel",
        type=options.positive,
        metavar="N",
        help=f"read N nodes at once, in steps of 50 (default {AT_ONCE})",
    )
    options.add_files(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from bot.app.many_nodes import collect_garbage_less_often, raise_file_limit
    from bot.extras.fleet.worker import work

    settings, known = options.site(arguments)
    at_once = raise_file_limit(arguments.parallel or AT_ONCE)
    collect_garbage_less_often(at_once)
    asyncio.run(work(settings, known, arguments.environ, arguments.zone, at_once, options.print_remark))
    return 0
