"""Makes one site of docs/ and of the pages that stand beside it in a checkout (README, CHANGELOG, …).

Source: MkDocs' hooks, which call these functions by their names. Links stay as they are on the pages, so that they also
work where the repository is read.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
BESIDE = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that stand beside docs/, and leave out what only they name."""
    for name in BESIDE:
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, name.lower(), content=_from_root(text)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Turn links to pages that stand beside docs/ to where they are on the site; what is on no page is plain text."""
    text = re.sub(rf"\]\(\.\./({'|'.join(map(re.escape, BESIDE))})", lambda found: f"]({found[1].lower()}", markdown)
    return re.sub(r"\[([^\]]+)\]\(\.\./(?:deploy|\.github)/[^)]*\)", r"\1", text)


def _from_root(text: str) -> str:
    """A page as if it were in docs/: its links lose that folder, and what is on no page is plain text."""
    text = text.replace("](docs/", "](")
    names = "|".join(map(re.escape, BESIDE))
    text = re.sub(rf"\]\(({names})", lambda found: f"]({found[1].lower()}", text)
    return re.sub(r"\[([^\]]+)\]\((?:LICENSE|deploy/[^)]*|bot/[^)]*)\)", r"\1", text)
