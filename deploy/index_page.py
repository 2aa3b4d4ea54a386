"""What a package index shows of the project: the README with links and pictures that lead somewhere, and its addresses.

Source: Hatch's metadata hooks. Where the project lies is told by `ZOMBIE_REPOSITORY` (an https address, as the release
checklist says); without it no address is made up: pictures are left out, and links keep their words alone.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

REPOSITORY = "ZOMBIE_REPOSITORY"
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


class IndexPage(MetadataHookInterface):
    """Fills in `readme` and `urls`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill them in. Raises: ValueError when the address is none of the web's."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository = os.environ.get(REPOSITORY, "").rstrip("/")
        if repository and re.fullmatch(r"https://[\w.-]+(?:/[\w.~-]+)+", repository) is None:
            raise ValueError(f"{REPOSITORY} should be like https://example.com/owner/zombie")
        tag = "main" if "+" in metadata["version"] else f"v{metadata['version']}"
        metadata["readme"] = {"content-type": "text/markdown", "text": shown(text, repository, tag)}
        metadata["urls"] = (
            {
                "Source": repository,
                "Documentation": f"{repository}/blob/{tag}/docs/index.md",
                "Changelog": f"{repository}/blob/{tag}/CHANGELOG.md",
                "Issues": f"{repository}/issues",
            }
            if repository
            else {}
        )


def shown(text: str, repository: str, tag: str) -> str:
    """Return the README with absolute addresses in place of the checkout's files."""

    def moved(found: re.Match[str]) -> str:
        mark, words, target = found.groups()
        if target.startswith(("https://", "http://", "#", "mailto:")):
            return found.group()
        if not repository:
            return "" if mark else words
        return f"{mark}[{words}]({repository}/{'raw' if mark else 'blob'}/{tag}/{target})"

    return _LINK.sub(moved, text)
