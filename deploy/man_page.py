"""Puts into the wheel: the man page, where `man zombie` finds it, its version, and what it brings along (PEP 770).

Source: Hatch's build hooks. It runs where the wheel is built, with nothing installed but Hatch: so it may import only
the parsers and settings, which need the standard library alone.
"""

from __future__ import annotations

import json
import runpy
import sys
import tempfile
import tomllib
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
            bill = Path(self._folder.name) / "zombie.cdx.json"
            bill.write_text(self._bill(), encoding="utf-8")
        finally:
            sys.path.remove(self.root)
        build_data["force_include"][str(built)] = "bot/app/_version.py"
        build_data["sbom_files"].append(str(bill))
        build_data["shared_data"][str(page)] = "share/man/man1/zombie.1"

    def _bill(self) -> str:
        """Return `deploy/sbom.py`'s document of the lock, without licences: those are of whoever runs it."""
        lock, project = Path(self.root, "requirements.lock"), Path(self.root, "pyproject.toml")
        made = runpy.run_path(str(Path(self.root, "deploy/sbom.py")))["document"]
        table = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
        return json.dumps(
            made(lock.read_text(encoding="utf-8"), table, self.metadata.version, licences=False), indent=2
        )

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove it again."""
        self._folder.cleanup()
