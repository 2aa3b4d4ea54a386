"""The playbooks and tables that come with the program."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def own_playbooks() -> Path:
    """Return their folder: within the installed package, or beside it in a checkout."""
    package = Path(__file__).parents[1]
    packaged = package / "_playbooks"
    return packaged if packaged.is_dir() else package.parent / "playbooks"


def own_rows(name: str) -> Mapping[str, Any]:
    """Return what `tables/NAME.toml` holds.

    Raises: OSError or ValueError when it cannot be read.
    """
    import tomllib  # not before a table is needed

    return tomllib.loads((own_playbooks() / "tables" / f"{name}.toml").read_text("utf-8"))
