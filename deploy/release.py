"""Makes what a release is published with: `python deploy/release.py dist`, in an environment of requirements-dev.lock.

In the folder are then wheel and sdist, `sbom.cdx.json` and `licences.txt` (what they bring along), `changes.md` (that
version's part of CHANGELOG.md) and `SHA256SUMS`. The same commit gives the same bytes: files have the commit's time.
Where git says that the commit is no release, the changes are those still unreleased.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def changes(changelog: str, version: str) -> str:
    """Return a version's part of the changelog, without its heading. Raises: ValueError where it has none."""
    name = "Unreleased" if "+" in version else version
    found = re.search(rf"^## \[{re.escape(name)}\].*\n(?s:(.*?))(?=^## \[|\Z)", changelog, re.MULTILINE)
    if found is None:
        raise ValueError(f"CHANGELOG.md has no part [{name}]")
    return found[1].strip() + "\n"


def main(folder: Path) -> None:
    """Fill `folder`, which is made and must be empty."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise SystemExit(f"{folder} is not empty: what is in it would be published too")
    when = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": when.stdout.strip()}
    build = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder.resolve())]
    subprocess.run(build, cwd=ROOT, env=environment, check=True)
    (wheel,) = folder.glob("*.whl")
    for name, words in (("sbom.cdx.json", []), ("licences.txt", ["--licences"])):
        made = [sys.executable, str(ROOT / "deploy/sbom.py"), *words]
        said = subprocess.run(made, env=environment, capture_output=True, check=True).stdout
        (folder / name).write_bytes(said)
    of_version = changes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), wheel.name.split("-")[1])
    (folder / "changes.md").write_text(of_version, encoding="utf-8")
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(folder.iterdir())]
    (folder / "SHA256SUMS").write_text("".join(sums), encoding="ascii")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) == 2 else "dist"))
