"""Options that several commands share, and what they mean."""

from __future__ import annotations

import argparse
import io
import json
import sys
import textwrap
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.commands.parser import HELP_GROUP, as_called, program_as_called
from bot.domain.errors import UsageError
from bot.domain.safe_text import safe_value

if TYPE_CHECKING:
    from bot.domain.entry import NotedHead
    from bot.domain.node import Node
    from bot.domain.sample import Sample
    from bot.inventory import Inventory
    from bot.library import Library
    from bot.settings import Settings
    from bot.view.plan_words import PlanWords


def add_parser(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    about: str,
    after: str,
    group: str = "",
) -> argparse.ArgumentParser:
    """Add a command, or a verb: `about` is its description, `after` are examples and exit codes.

    Shape: `summary` is its line in the list, in this `group` of it (`GROUPS`). Without one it is not shown: an
    old name, which goes on working.
    """
    shown: dict[str, Any] = {"help": summary} if summary else {}
    added = commands.add_parser(
        name,
        description=textwrap.fill(about, 100),
        epilog=after,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        **shown,
    )
    added.set_defaults(**({HELP_GROUP: group} if group else {}))
    return added


def verbs_of(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str
) -> argparse._SubParsersAction[argparse.ArgumentParser]:
    """Return the verbs of a command that is there already, for an extra that adds to them."""
    return next(each for each in commands.choices[name]._actions if isinstance(each, argparse._SubParsersAction))


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add the options for the inventory, the settings file and further playbooks."""
    add_places(parser)
    parser.add_argument(
        "--playbooks", type=Path, metavar="DIR", action="append", help="a directory of further playbooks"
    )


def add_places(parser: argparse.ArgumentParser) -> None:
    """Add the options for the inventory and the settings file."""
    parser.add_argument("--inventory", type=Path, metavar="FILE", help="nodes, as TOML (else ZOMBIE_INVENTORY)")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings, as TOML (else ./zombie.toml)")


def add_selection(parser: argparse.ArgumentParser, nargs: str) -> None:
    """Add the arguments that select nodes, or a sample of them."""
    add_nodes(parser, nargs)
    parser.add_argument("--sample", type=sample, metavar="5%", help="only a random sample of them: 5%% or 20")


def add_nodes(parser: argparse.ArgumentParser, nargs: str) -> None:
    """Add the arguments that select nodes."""
    parser.add_argument(
        "nodes",
        nargs=nargs,
        metavar="NODE",
        help="a node's name, a glob ray-gpu-*, labels role=gpu,az=us-east-1a, pod/NAME or job/NAME",
    )
    parser.add_argument("-n", "--namespace", default="", metavar="NAME", help="the namespace of pod/… and job/…")


def selection(
    arguments: argparse.Namespace, known: Inventory, settings: Settings
) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """Return the selected nodes, and the requested sample of them; without a sample all of them.

    Raises: UsageError when a selector matches no node.
    """
    from bot.app.workload_selection import sampled, selected

    if getattr(arguments, "all", False):
        meant = known.nodes
        if not meant:  # nothing that was read is never healthy
            raise UsageError("The inventory names no node, so there is nothing to check.", "zombie nodes lists them.")
    else:
        meant = selected(arguments.nodes, known, settings, arguments.environ, arguments.namespace)
    return meant, sampled(meant, arguments.sample)


def sample(text: str) -> Sample:
    """Parse a share or a number of nodes."""
    from bot.domain.sample import Sample

    try:
        return Sample.of(text)
    except UsageError as no:
        raise argparse.ArgumentTypeError(str(no)) from no


def print_remark(says: str) -> None:
    """Print a remark beside the result, on stderr."""
    print(f"zombie: {says}", file=sys.stderr, flush=True)


def escape_unencodable_output() -> None:
    """Let stdout take any letter: neither an ASCII terminal nor a forged name is a reason not to verify."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def width(elsewhere: int = 80) -> int:
    """Return the width of text in columns; `elsewhere` is that of text that is not for a terminal."""
    from bot.app.terminal_progress import terminal_width

    return min(100, terminal_width()) if sys.stdout.isatty() else elsewhere


def as_json(document: Any) -> str:
    """Return a document as JSON, laid out for people, its texts made safe; with escapes where stdout is no UTF-8."""
    is_utf8 = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().startswith("utf")
    return json.dumps(safe_value(document), ensure_ascii=not is_utf8, indent=2)


def print_result(arguments: argparse.Namespace, body: Any, text: str) -> None:
    """Print what a command found: as JSON where that is asked for, else as text."""
    print(as_json(body) if arguments.json else text.rstrip("\n"))


def plan_words() -> PlanWords:
    """Return the words for plans of all actions; loads them."""
    from bot.actions import ACTIONS
    from bot.view.plan_words import PlanWords

    return PlanWords(ACTIONS)


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


def settings(arguments: argparse.Namespace) -> Settings:
    """Return the settings in force: flag before environment before zombie.toml before default.

    Raises: SettingsError when a setting has a wrong value.
    """
    from bot.settings import Settings, home_of

    environ = arguments.environ
    extras = arguments.extras
    found = Settings.load(vars(arguments), environ, Path.cwd(), home_of(environ), extras.settings, extras.absent)
    extras.check_settings(found.extras, found.config)
    return found


def library(settings: Settings) -> Library:
    """Load the playbooks in force; what of a site's own cannot be used is named on stderr and left out.

    Raises: PlaybookError when a folder cannot be read, or a site's form of a secret cannot be used.
    """
    from bot.app.factories import library

    found = library(settings.playbooks, settings.playbook)
    for fault in dict.fromkeys(map(str, found.left_out.values())):
        print_remark(f"{fault}\n        This playbook is left out.")
    for fault in found.rules_left_out.values():
        print_remark(f"{fault}\n        It is left out, and undecided on every node.")
    return found


def inventory(arguments: argparse.Namespace, settings: Settings) -> Inventory:
    """Load the inventory in force.

    Raises: UsageError when there is none, saying how to make it; InventoryError when it has errors.
    """
    from bot.app.factories import inventory, now
    from bot.app.listings import listing_words

    if settings.inventory is None:
        raise UsageError(
            "There is no inventory, so no node is known.",
            "Name it with --inventory FILE or ZOMBIE_INVENTORY, or make inventory.toml here. "
            'Two lines are enough: [nodes.node-123] and address = "10.0.0.7". '
            "For this machine: zombie check --local",
        )
    known = inventory(settings.inventory, arguments.environ)
    for status in known.listings:
        if status.complaint:
            print(f"inventory: {listing_words(status, now())}", file=sys.stderr)
    return known


def site(arguments: argparse.Namespace) -> tuple[Settings, Inventory]:
    """Return the settings and the inventory in force.

    Raises: as `settings` and `inventory`.
    """
    found = settings(arguments)
    return found, inventory(arguments, found)


def wants_colour(arguments: argparse.Namespace) -> bool:
    """Return whether stdout is a terminal, and neither NO_COLOR nor TERM=dumb is set."""
    environ = arguments.environ
    return sys.stdout.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def as_typed_here(arguments: argparse.Namespace, text: str) -> str:
    """Write commands in a line of the answer as they are called here."""
    return as_called(text, program_as_called(arguments.environ))


def redraws(arguments: argparse.Namespace) -> bool:
    """Return whether stderr is a terminal on which a line can be written anew."""
    return sys.stderr.isatty() and arguments.environ.get("TERM") != "dumb"


def duration(text: str) -> timedelta:
    """Parse a time like 90s, 10m or 2h."""
    from bot.domain.duration import parse_duration

    try:
        return parse_duration(float(text) if text.replace(".", "", 1).isdigit() else text)
    except ValueError as no:
        raise argparse.ArgumentTypeError(str(no)) from no


def parse_head(text: str) -> NotedHead:
    """Parse a head of the record, as shown on cards."""
    from bot.domain.entry import NotedHead

    try:
        return NotedHead.of(text)
    except ValueError as no:
        raise argparse.ArgumentTypeError(str(no)) from no
