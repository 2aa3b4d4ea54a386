"""Writes deploy/zombie.toml: every setting of the file, commented out, with its default and what it is for.

`python -m tests.reference` does so, from the settings' own declarations. Uncommented, the file loads and changes
nothing but what has no default: such a line is an example.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping

from bot.app.extras import shipped
from bot.domain.setting import Key, keys_of
from bot.settings import all_keys, several_tables

HEAD = """# Every setting that zombie.toml may have, with its default. Uncomment what you change.
# Made by `python -m tests.reference`. What only the environment has, secrets above all, is in docs/reference.md, and
# `zombie settings` says what is in force. Durations are "90s", "15m", "2h" or "7d".
"""
LINKS = """
# Links on each card, by the name that people read: {node}, {cause}, {incident}, {page}, {from}, {until} are filled in.
[links]
# Dashboard = "https://grafana.example.com/d/node?var-node={node}"
"""
_ASSIGNED = re.compile(r"^# (?=\[\[|\w+ = )", re.MULTILINE)


def uncommented(sample: str) -> str:
    """The sample as it is when every line of it counts."""
    return _ASSIGNED.sub("", sample)


def sample(_before: str = "") -> str:
    """Return the file's text."""
    return HEAD + "".join(_table(name, keys) for name, keys in by_table().items()) + LINKS


def by_table() -> Mapping[str, Mapping[str, Key]]:
    """Return what each table may have by its names there; one that may stand several times is named [NAME]."""
    tables: dict[str, dict[str, Key]] = {}
    for key in (key for of_table in all_keys(shipped().settings).values() for key in of_table.values()):
        table, _, name = key.toml.rpartition(".")
        if name and name != "links":
            tables.setdefault(table, {})[name] = key
    return tables | {f"[{name}]": keys_of(kind) for name, kind in several_tables(shipped().settings).items()}


def _table(name: str, keys: Mapping[str, Key]) -> str:
    several = name.startswith("[")
    head = [] if not name else [f"# [{name}]" if several else f"[{name}]"]
    return "\n".join(["", *head, *(line for name, key in keys.items() for line in _lines(name, key))]) + "\n"


def _lines(name: str, key: Key) -> Iterator[str]:
    says = key.help if key.has_default else f"{key.help} No default; for example:"
    yield from (f"# {line}" for line in textwrap.wrap(says, 118, break_on_hyphens=False))
    yield f"# {name} = {key.example}"
