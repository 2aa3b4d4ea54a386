"""`zombie settings`: the settings in force, and where each value comes from."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from typing import Any

from bot.commands import options
from bot.settings.tables import TABLES


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "settings",
        "print the settings in force, and where each value comes from",
        "Print every setting with its value and its origin. A flag wins over the environment, that over zombie.toml, "
        "and that over the default. Values of secrets are not shown.",
        "example:\n  zombie settings --config zombie.toml",
    )
    options.add_files(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    settings = options.settings(arguments)
    for given in settings.given:
        row = given.setting
        print(f"{row.name} = {given.shown or '(not set)'}  [{given.origin}]")
        print(f"    {row.help}" + (f" ({row.environment})" if row.environment else ""))
    for line in _tables(settings.tables):
        print(line)
    return 0


def _tables(written: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for every key of the tables that only zombie.toml has."""
    for name, keys in TABLES.items():
        table = written.get(name, {})
        for key in keys:
            yield _row(f"{name}.{key}", table[key]) if key in table else f"{name}.{key} = (its default)  [default]"
    for key, value in written.get("ssh", {}).get("act", {}).items():
        yield _row(f"ssh.act.{key}", value)
    for route in written.get("route", ()):
        yield _row("route", route)


def _row(name: str, value: Any) -> str:
    return f"{name} = {json.dumps(value, ensure_ascii=False)}  [zombie.toml]"
