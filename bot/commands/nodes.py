"""`zombie nodes`: list the nodes of the inventory."""

from __future__ import annotations

import argparse

from bot.commands import options


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "nodes",
        "list the nodes of the inventory",
        "List the nodes of the inventory, with address and labels.",
        "example:\n  zombie nodes --inventory inventory.toml",
        group="look",
    )
    options.add_files(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    nodes = options.inventory(arguments, options.settings(arguments)).nodes
    if not nodes:
        options.print_remark("The inventory names no node.")
    for node in nodes:
        labels = " ".join(f"{name}={value}" for name, value in node.labels.items())
        where = node.address + (f":{node.port}" if node.port else "")
        print(f"{node.name}  {where}  {labels}".rstrip())
    return 0
