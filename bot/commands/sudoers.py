"""`zombie sudoers`: the sudoers lines for reading, and for acting as [act] allows."""

from __future__ import annotations

import argparse
from pathlib import Path

from bot.commands import options
from bot.domain.errors import UsageError


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "sudoers",
        "print the sudoers lines that the bot needs on a node",
        "Print a sudoers line for each command that needs root: full path, exact arguments, no wildcard. Without "
        "these lines the probes that need them are unread; nothing else changes. If [act] units or start_units names "
        "what may be stopped or started, the lines for acting follow separately.",
        "examples:\n  zombie sudoers --user zombie >lines && sudo visudo -cf lines && "
        "sudo install -m 440 lines /etc/sudoers.d/zombie\n"
        "  zombie sudoers --node node-123                           only what that node has\n"
        "  zombie sudoers --script zombie_key.pub | ssh NODE sudo sh -s          login, key, groups and lines in one\n"
        "  zombie sudoers --script zombie_key.pub | ssh NODE sudo sh -s -- --remove     takes all of it away again\n"
        "  zombie sudoers --script ca.pub --ca            an SSH certificate authority in place of a key\n"
        "Many nodes: deploy/ansible is a role that runs the same script.",
        group="run",
    )
    parser.add_argument("--user", default="zombie", metavar="NAME", help="the login on the nodes (default: zombie)")
    parser.add_argument(
        "--profile",
        action="store_true",
        help="print the lines for zombie profile, zombie capture and bpftrace, and no others",
    )
    parser.add_argument("--node", metavar="NODE", help="only the lines whose program and device that node has")
    parser.add_argument(
        "--script",
        type=Path,
        metavar="KEY.pub",
        help="print a script for root on a node: it makes the login with this public key, and its lines for reading",
    )
    parser.add_argument(
        "--ca", action="store_true", help="KEY.pub is a certificate authority's: certificates for the login are let in"
    )
    options.add_files(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from bot.app.extras import rights_of
    from bot.app.factories import probes_of_all
    from bot.response.execution.sudoers import acting_sudoers_text, capture_sudoers_text, reading_sudoers_text

    if arguments.profile:
        print(capture_sudoers_text(arguments.user, rights_of(arguments.extras.on)), end="")
        return 0
    settings = options.settings(arguments)
    probes = probes_of_all(settings.playbooks)
    if arguments.script:
        from bot.app.new_site import node_script, public_key

        lines = reading_sudoers_text(arguments.user, probes)
        print(node_script(arguments.user, public_key(arguments.script), lines, arguments.ca), end="")
        return 0
    there = None
    if arguments.node:
        import asyncio

        from bot.app.doctor.nodes import find_files_on_node
        from bot.app.factories import ssh_transport
        from bot.domain.errors import Unreachable

        node = options.inventory(arguments, settings).find(arguments.node)
        try:
            there = asyncio.run(find_files_on_node(ssh_transport(arguments.environ), node, probes))
        except Unreachable as no:
            raise UsageError(no.sentence, no.try_next) from no
    print(reading_sudoers_text(arguments.user, probes, there), end="")
    from bot.app.acting import acting_rights

    acts_as = settings.acting_login.user or arguments.user
    if lines := acting_sudoers_text(acts_as, acting_rights(settings)):
        print(f"\n{lines}", end="")
    return 0
