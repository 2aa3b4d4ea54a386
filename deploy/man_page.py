"""Puts two files into the wheel: the man page, where `man zombie` finds it, and the version that git said.

Source: Hatch's build hooks. It runs where the wheel is built, with nothing installed but Hatch: so it may import only
the parsers and settings, which need the standard library alone.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManPage(BuildHookInterface):  # type: ignore[type-arg]
    """Writes the page before the wheel is packed, and removes it after."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the page, and say where it belongs."""
        sys.path.insert(0, self.root)
        try:
            from bot.__main__ import parser
            from bot.commands.manual import man_page

            self._folder = tempfile.TemporaryDirectory()
            page = Path(self._folder.name) / "zombie.1"
            built = Path(self._folder.name) / "_version.py"
            built.write_text(f'version = "{self.metadata.version}"\n', encoding="ascii")
            page.write_text(man_page(parser("zombie")), encoding="ascii")
        finally:
            sys.path.remove(self.root)
        build_data["force_include"][str(built)] = "bot/app/_version.py"
        build_data["shared_data"][str(page)] = "share/man/man1/zombie.1"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove it again."""
        self._folder.cleanup()
