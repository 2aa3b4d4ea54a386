"""`zombie sudoers`: the exact lines that let the reading login read what only root may."""

from __future__ import annotations

import argparse

from bot.commands import options


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "sudoers",
        help="print the sudoers lines that reading needs on a node",
        description="Print one exact sudoers line for each command that a login may not run by itself: full path, "
        "exact arguments, no wildcard. Without them these probes are unread; nothing else changes.",
    )
    parser.add_argument("--user", default="zombie", metavar="NAME", help="the login on the nodes (default: zombie)")
    options.add_files(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from bot import app

    print(app.sudoers(arguments.user, options.settings(arguments).playbooks), end="")
    return 0
