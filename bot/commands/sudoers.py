"""`zombie sudoers`: the sudoers lines for reading, and for acting as [act] allows."""

from __future__ import annotations

import argparse

from bot.commands import options


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "sudoers",
        "print the sudoers lines that the bot needs on a node",
        "Print a sudoers line for each command that needs root: full path, exact arguments, no wildcard. Without "
        "these lines the probes that need them are unread; nothing else changes. If [act] units or start_units names "
        "what may be stopped or started, the lines for acting follow separately.",
        "example:\n  zombie sudoers --user zombie >lines && sudo visudo -cf lines && "
        "sudo install -m 440 lines /etc/sudoers.d/zombie",
    )
    parser.add_argument("--user", default="zombie", metavar="NAME", help="the login on the nodes (default: zombie)")
    parser.add_argument(
        "--profile",
        action="store_true",
        help="print the lines for zombie profile, zombie capture and bpftrace, and no others",
    )
    options.add_files(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from bot.app.extras import rights_of
    from bot.app.parts import sudoers
    from bot.response.execution.privilege import capture_text

    if arguments.profile:
        print(capture_text(arguments.user, rights_of(arguments.extras.on)), end="")
        return 0
    settings = options.settings(arguments)
    print(sudoers(arguments.user, settings.playbooks), end="")
    from bot.app.acting import acting_rights
    from bot.response.execution.privilege import acting_text

    acts_as = settings.acting_login.user or arguments.user
    if lines := acting_text(acts_as, acting_rights(settings)):
        print(f"\n{lines}", end="")
    return 0
