"""`zombie verify BUNDLE`: the old name of `zombie audit verify FILE`, which goes on working."""

from __future__ import annotations

import argparse

from bot.commands import options
from bot.extras.bundles.audit_command import EXIT_CODES, add_bundle_options, run_bundle


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command, which no list shows."""
    parser = options.add_parser(commands, "verify", "", "The same as zombie audit verify FILE.", EXIT_CODES)
    add_bundle_options(parser, "BUNDLE")
    parser.add_argument("--head", type=options.parse_head, action="append", default=[], metavar="SEQ:HASH")
    parser.set_defaults(run=run_bundle)
