"""`zombie settings`: the settings in force, and where each value comes from."""

from __future__ import annotations

import argparse
import json

from bot.commands import options


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "settings",
        "print the settings in force, and where each value comes from",
        "Print every setting with its value and its origin. A flag wins over the environment, the environment over "
        "zombie.toml, and zombie.toml over the default. Values of secrets are not shown.",
        "example:\n  zombie settings --config zombie.toml",
        group="run",
    )
    options.add_files(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from bot.domain.safe_text import redacted, redacted_text

    settings = options.settings(arguments)
    for given in settings.given:
        if not (key := given.key).only_in_file:
            print(f"{key.name} = {redacted_text(given.shown) or '(not set)'}  [{given.origin}]")
            print(f"    {key.help}" + (f" ({key.environment})" if key.environment else ""))
    for name, written, declared in settings.in_tables():
        value = json.dumps(redacted(written), ensure_ascii=False)  # an address may hold a secret
        default = declared.example if declared is not None and declared.has_default else "(not set)"
        print(f"{name} = {default}  [default]" if written is None else f"{name} = {value}  [zombie.toml]")
        if declared is not None:
            print(f"    {declared.help}")
    return 0
