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
    from bot.settings import all_options

    settings, known = options.settings(arguments), all_options(arguments.extras.settings)
    for given in settings.given:
        row = given.setting
        print(f"{row.name} = {redacted_text(given.shown) or '(not set)'}  [{given.origin}]")
        print(f"    {row.help}" + (f" ({row.environment})" if row.environment else ""))
    for name, written in settings.in_tables():
        value = json.dumps(redacted(written), ensure_ascii=False)  # an address may hold a secret
        table, _, key = name.rpartition(".")
        option = known.get(table, {}).get(key)
        default = option.example if option is not None and option.has_default else "(not set)"
        print(f"{name} = {default}  [default]" if written is None else f"{name} = {value}  [zombie.toml]")
        if option is not None and option.help:
            print(f"    {option.help}")
    return 0
