"""`zombie settings`: what is in force, and where each value came from."""

from __future__ import annotations

import argparse

from bot.commands import options


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "settings",
        help="print the settings in force and where each came from",
        description="Print every setting, its value and its origin: flag before environment before zombie.toml before "
        "default. Secrets only say that they are there.",
    )
    options.add_files(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    for given in options.settings(arguments).given:
        row = given.setting
        print(f"{row.name} = {given.shown or '(not set)'}  [{given.origin}]")
        print(f"    {row.help}" + (f" ({row.environment})" if row.environment else ""))
    return 0
