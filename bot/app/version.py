"""Which version this is: what a build wrote into it, else what git says of the checkout's commit.

Sources: `bot/app/_version.py`, which wheel and image carry; git; an archive that git made (`.git_archival.txt`); the
`PKG-INFO` of an unpacked sdist. Between releases the next minor version is named, with the number of commits since
the last and the commit's hash, `0.2.0.dev7+g1a2b3c4d5`: as hatch-vcs does where a wheel is built.
"""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from pathlib import Path

UNKNOWN = "0+unknown"  # copied without git, and not by a build
_DESCRIBED = re.compile(r"v(\d+)\.(\d+)\.(\d+)(?:-(\d+)-g([0-9a-f]+))?")


@cache
def version() -> str:
    """Return this program's version, as PEP 440 writes it. Raises: nothing; `UNKNOWN` where nobody says it."""
    try:
        from bot.app._version import version as built
    except ImportError:
        return version_of_sources(Path(__file__).parents[2])
    return str(built)


def program_name() -> str:
    """Return how cases, reports and sketches name the program that wrote them: `zombie VERSION`."""
    return f"zombie {version()}"


def version_of_sources(root: Path) -> str:
    """Return what is said of the sources in `root` by whoever brought them there. Raises: nothing."""
    if (root / ".git").exists():
        described = _git(root, "describe", "--tags", "--long", "--match", "v[0-9]*", "--abbrev=9")
        if described:
            return version_of_description(described)
        commits, commit = _git(root, "rev-list", "--count", "HEAD"), _git(root, "rev-parse", "--short=9", "HEAD")
        return f"0.1.0.dev{commits}+g{commit}" if commits and commit else UNKNOWN
    for name, line in ((".git_archival.txt", r"describe-name: (.+)"), ("PKG-INFO", r"Version: (.+)")):
        try:
            found = re.search(rf"^{line}$", (root / name).read_text(encoding="utf-8"), re.MULTILINE)
        except OSError:
            continue
        if found is not None:
            return found[1] if name == "PKG-INFO" else version_of_description(found[1])
    return UNKNOWN


def version_of_description(described: str) -> str:
    """Return the version that `git describe` means; `UNKNOWN` where it is none of ours."""
    found = _DESCRIBED.fullmatch(described)
    if found is None:
        return UNKNOWN
    major, minor, patch, commits, commit = found.groups()
    if int(commits or 0) == 0:
        return f"{major}.{minor}.{patch}"
    return f"{major}.{int(minor) + 1}.0.dev{commits}+g{commit[:9]}"


def _git(root: Path, *arguments: str) -> str:
    # GIT_DIR and its like, as a hook has them, would make it speak of another checkout.
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        said = subprocess.run(
            ["git", "-C", str(root), *arguments], env=own, capture_output=True, text=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return said.stdout.strip() if said.returncode == 0 else ""
