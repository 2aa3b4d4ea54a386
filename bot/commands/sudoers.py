"""`zombie sudoers`: the exact lines that let a login read what only root may, and do what [act] allows."""

from __future__ import annotations

import argparse

from bot.commands import options


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "sudoers",
        help="print the sudoers lines that reading needs on a node",
        description="Print one exact sudoers line for each command that a login may not run by itself: full path, "
        "exact arguments, no wildcard. Without them these probes are unread; nothing else changes. Apart from these "
        "stand the lines for acting, where [act] units names what may be stopped.",
    )
    parser.add_argument("--user", default="zombie", metavar="NAME", help="the login on the nodes (default: zombie)")
    options.add_files(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from bot import app

    settings = options.settings(arguments)
    print(app.sudoers(arguments.user, settings.playbooks), end="")
    from bot.app.acting import acting_rights
    from bot.response.privilege import acting_text

    acts_as = settings.acting_login.user or arguments.user
    if lines := acting_text(acts_as, acting_rights(settings)):
        print(f"\n{lines}", end="")
    return 0
