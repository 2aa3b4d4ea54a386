"""`zombie release`: free a node from an incident that cannot go on."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from bot.commands import options, terminal_approval
from bot.domain.errors import UsageError

_EXIT_CODES = """exit status:
  0  the node is free; which incident held it, and why that cannot go on, is on stdout and on record
  1  refused (the refusal's name is on stderr): nothing holds the node, or its incident can go on
  2  the command line, or a file it names, is wrong; there is no ledger

example:
  zombie release node-123 --approve-as alice --reason "the newer bot is gone, and the node was looked at by hand"
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "release",
        "free a node from an incident that cannot go on",
        "From its first step to its end an incident has its node to itself. An incident that waits for an answer, was "
        "written by a newer program, or is damaged may never end, and blocks the node. This frees the node. "
        "Nothing is done on the node, so look at it first: a step may have begun. It is refused while the incident can "
        "go on, or if a program that may work on it gave a sign of life within the last minute.",
        _EXIT_CODES,
        group="act",
    )
    parser.add_argument("node", metavar="NODE", help="the node that is held, by its name in the record")
    parser.add_argument(
        "--approve-as", type=terminal_approval.name, metavar="NAME", help="a name in terminal_approvers"
    )
    parser.add_argument("--reason", metavar="TEXT", help="the reason, for the record")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings, as TOML (else ./zombie.toml)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status.

    Raises: UsageError when the approver or the reason is missing; LedgerUnavailable when there is no ledger; Refused.
    """
    from bot.actions import ACTIONS
    from bot.app.policy_settings import policy_as_written
    from bot.commands import open_record
    from bot.response.decision.node_releaser import NodeReleaser

    lacks = [f"--{name.replace('_', '-')}" for name in ("approve_as", "reason") if getattr(arguments, name) is None]
    if lacks:
        raise UsageError(f"A release needs {' and '.join(lacks)}.", "zombie release --help")
    approval = terminal_approval.approval(arguments.environ, arguments.approve_as, arguments.reason)
    policy = policy_as_written(options.settings(arguments))
    with open_record.stores(arguments.environ) as stores:
        done = asyncio.run(NodeReleaser(policy, stores.ledger, ACTIONS).release(arguments.node, approval))
    print(f"{done.node} is free. Incident {done.incident} held it, and cannot go on: {done.because}.")
    return 0
