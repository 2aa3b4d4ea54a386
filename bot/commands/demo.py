"""`zombie demo`: a fleet of simulated nodes to try everything on."""

from __future__ import annotations

import argparse

from bot.commands import options


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "demo",
        help="a fleet of simulated nodes to try everything on",
        description="Start a fleet of simulated nodes behind real SSH on loopback, check it, and leave a prompt. "
        "Needs no account, no root and no network.",
    )
    parser.add_argument(
        "--samples", type=options.window, default=5, metavar="N", help="watch for N seconds (default 5)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from bot.app.demo import demo

    return demo(arguments.samples, arguments.environ.get("ZOMBIE_COMMAND", "./zombie"))
