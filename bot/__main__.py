"""The terminal: parse, call, print."""

import argparse
import sys
from collections.abc import Sequence

from bot import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status."""
    parser = argparse.ArgumentParser(prog="zombie", description="Look at a sick node and say what is wrong with it.")
    parser.add_argument("--version", action="version", version=f"zombie {__version__}")
    parser.parse_args(argv)
    parser.print_help()
    return 0


if __name__ == "__main__":
    sys.exit(main())
