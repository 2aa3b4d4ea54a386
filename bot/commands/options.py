"""Options that several commands share."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bot.domain.errors import UsageError


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the inventory, the settings file and further playbooks."""
    parser.add_argument("--inventory", type=Path, metavar="FILE", help="nodes, as TOML (else ZOMBIE_INVENTORY)")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings, as TOML (else ./zombie.toml)")
    parser.add_argument(
        "--playbooks", type=Path, metavar="DIR", action="append", default=[], help="a directory of further playbooks"
    )


def positive(text: str) -> int:
    """Parse a whole number above zero."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above zero")
    return number


def window(text: str) -> int:
    """Parse the length of the sampling window."""
    number = positive(text)
    if number > 60:
        raise argparse.ArgumentTypeError("a window is at most 60 seconds")
    return number


def seconds(text: str) -> float:
    """Parse a time in seconds, with or without a trailing s."""
    number = float(text.removesuffix("s"))
    if not 0 < number <= 3600:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds up to an hour")
    return number


def inventory_path(arguments: argparse.Namespace) -> Path:
    """Return the inventory to use: the flag's, the environment's, or ./inventory.toml.

    Raises: UsageError when there is none, with how to make one.
    """
    named = arguments.inventory or arguments.environ.get("ZOMBIE_INVENTORY")
    if named:
        return Path(named)
    if Path("inventory.toml").is_file():
        return Path("inventory.toml")
    raise UsageError(
        "There is no inventory: which nodes are there?",
        "Name one with --inventory FILE or ZOMBIE_INVENTORY, or make inventory.toml here. "
        'Two lines are enough: [nodes.node-123] and address = "10.0.0.7". '
        "This machine needs none: zombie check --local",
    )


def wants_colour(arguments: argparse.Namespace) -> bool:
    """True when stdout is a terminal that nobody asked to be plain."""
    environ = arguments.environ
    return sys.stdout.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
