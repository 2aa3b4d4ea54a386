"""The terminal: parse, call, print."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from bot import __version__
from bot.domain.errors import LedgerError, UsageError


def parser() -> argparse.ArgumentParser:
    """Build the command line."""
    from bot.commands import COMMANDS

    top = argparse.ArgumentParser(
        prog="zombie",
        description="Log in to a sick node, read what matters, and say what is wrong with it: one verdict, with proof.",
        epilog="Try `zombie demo` first: it needs no account, no root and no network.",
    )
    top.add_argument("--version", action="version", version=f"zombie {__version__}")
    commands = top.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status."""
    arguments = parser().parse_args(argv)
    arguments.environ = os.environ  # read here, handed down from here
    try:
        status: int = arguments.run(arguments)
    except (UsageError, LedgerError) as error:
        print(f"zombie: {error.sentence}", file=sys.stderr)
        if error.try_next:
            print(f"        {error.try_next}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of our output left, `zombie … | head`
        sys.stderr.close()
        return 141
    return status


if __name__ == "__main__":
    sys.exit(main())
