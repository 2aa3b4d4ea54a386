"""Where the playbooks and tables are that come with the program."""

from __future__ import annotations

from pathlib import Path


def own_playbooks() -> Path:
    """Return their folder: within the installed package, or beside it in a checkout."""
    package = Path(__file__).parents[1]
    packaged = package / "_playbooks"
    return packaged if packaged.is_dir() else package.parent / "playbooks"
