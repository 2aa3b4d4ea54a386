"""Makes what a release is published with: `python deploy/release.py dist`, in an environment of requirements-dev.lock.

In the folder are then wheel and sdist, `zombie-VERSION.tgz` (the chart, of that version's image), `sbom.cdx.json` and
`licences.txt` (what they bring along), `changes.md` (that version's part of CHANGELOG.md) and `SHA256SUMS`. The same
commit gives the same bytes: files have the commit's time. Where git says that the commit is no release, the changes are
those of `changes/`.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def changes(changelog: str, version: str) -> str:
    """Return a version's part of the changelog, without its heading. Raises: ValueError where it has none."""
    found = re.search(rf"^## \[{re.escape(version)}\].*\n(?s:(.*?))(?=^## \[|\Z)", changelog, re.MULTILINE)
    if found is None:
        raise ValueError(f"CHANGELOG.md has no part [{version}]: `towncrier build --version {version}` makes it")
    return found[1].strip() + "\n"


def unreleased(version: str) -> str:
    """Return what `changes/` holds, as the changelog would say it."""
    draft = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", version]
    said = subprocess.run(draft, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return changes(said, version)


def chart(version: str, when: int) -> tuple[str, bytes]:
    """Return the packed chart of a version, as `helm package` names it and Helm takes it, with its files' time.

    Python's 0.2.0.dev7+gabc is 0.2.0-dev7+gabc to Helm, and says of itself that it is of no release.
    """
    semantic = version.replace(".dev", "-dev")
    written = io.BytesIO()
    files = subprocess.run(["git", "ls-files", "-z", "deploy/chart"], cwd=ROOT, capture_output=True, check=True)
    with tarfile.open(fileobj=written, mode="w", format=tarfile.USTAR_FORMAT) as packed:
        for name in sorted(filter(None, files.stdout.decode().split("\0"))):
            data = (ROOT / name).read_bytes()
            if name.endswith("/Chart.yaml"):
                data = data.replace(b"\nversion: 0.0.0+clone\n", f"\nversion: {semantic}\n".encode())
                data = data.replace(b"\nappVersion: 0.0.0+clone\n", f"\nappVersion: {version}\n".encode())
            entry = tarfile.TarInfo(name.replace("deploy/chart", "zombie", 1))
            entry.size, entry.mtime, entry.mode = len(data), when, 0o644
            packed.addfile(entry, io.BytesIO(data))
    return f"zombie-{semantic}.tgz", gzip.compress(written.getvalue(), mtime=0)


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
    version = wheel.name.split("-")[1]
    name, packed = chart(version, int(environment["SOURCE_DATE_EPOCH"]))
    (folder / name).write_bytes(packed)
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    of_version = unreleased(version) if "+" in version else changes(changelog, version)
    (folder / "changes.md").write_text(of_version, encoding="utf-8")
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(folder.iterdir())]
    (folder / "SHA256SUMS").write_text("".join(sums), encoding="ascii")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) == 2 else "dist"))
