"""What the program is made of, for whoever must know: `python deploy/sbom.py > sbom.cdx.json`, `--licences` for people.

Source: `requirements.lock` says which packages, versions and files; the environment that this runs in says under which
licences they are, so run it in the one that the lock made (`.venv/bin/python`). Nothing is asked of a network, and the
same lock gives the same document.
Format: CycloneDX 1.6 as JSON, package URLs as in the purl specification.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
# What the classifiers of packages that say no expression mean, in SPDX's words.
CLASSIFIED = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
WRITTEN = {"Apache 2.0": "Apache-2.0", "Apache License 2.0": "Apache-2.0", "BSD": "BSD-3-Clause"}
EXPRESSION = re.compile(r"[A-Za-z0-9.+-]+-[0-9A-Za-z.+-]+(?: (?:AND|OR|WITH) [A-Za-z0-9.+-]+)*|MIT|ISC")


@dataclass(frozen=True, slots=True)
class Package:
    """One line of the lock.

    Shape: `hashes` are SHA-256 of each file that may be installed; `marker` says on which systems it is, empty on all.
    """

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]

    @property
    def purl(self) -> str:
        """Its package URL, which is its name in the document, too."""
        return f"pkg:pypi/{self.name}@{self.version}"

    @property
    def licence(self) -> str | None:
        """An SPDX expression; None where the package is not installed here, or says none that is understood."""
        try:
            said = metadata.metadata(self.name)
        except metadata.PackageNotFoundError:
            return None
        if expression := said.get("License-Expression"):
            return expression
        written = WRITTEN.get(said.get("License") or "", said.get("License") or "")
        if EXPRESSION.fullmatch(written):
            return written
        known = [CLASSIFIED.get(line.rpartition(" :: ")[2]) for line in said.get_all("Classifier") or ()]
        return " OR ".join(sorted({name for name in known if name})) or None


def packages(lock: str) -> Iterator[Package]:
    """Read a lock as `uv pip compile --generate-hashes` writes it."""
    for entry in re.split(r"\n(?=[a-z0-9])", lock):
        if found := re.match(r"([a-z0-9][a-z0-9._-]*)==([^ ;\\]+)(?: ; ([^\\\n]+?))? \\", entry):
            yield Package(found[1], found[2], found[3] or "", tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", entry)))


def document(lock: str, project: dict[str, Any], version: str, *, licences: bool = True) -> dict[str, Any]:
    """Return the bill of materials; `project` is the table of that name in pyproject.toml."""
    found = list(packages(lock))
    root = {
        "type": "application",
        "bom-ref": f"pkg:pypi/{project['name']}@{version}",
        "name": project["name"],
        "version": version,
        "description": project["description"],
        "licenses": [{"expression": project["license"]}],
        "purl": f"pkg:pypi/{project['name']}@{version}",
    }
    asked = [*project["dependencies"], *(line for some in project["optional-dependencies"].values() for line in some)]
    direct = {re.split(r"[^A-Za-z0-9._-]", line)[0].lower() for line in asked}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, lock)}",
        "version": 1,
        "metadata": {"component": root},
        "components": [_component(package, package.licence if licences else None) for package in found],
        "dependencies": [
            {"ref": root["bom-ref"], "dependsOn": [package.purl for package in found if package.name in direct]}
        ],
    }


def _component(package: Package, licence: str | None) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        "purl": package.purl,
        "scope": "optional" if package.marker else "required",
    }
    if licence:
        component["licenses"] = [{"expression": licence}]
    if package.marker:
        component["properties"] = [{"name": "python:marker", "value": package.marker}]
    # Which of the files is installed depends on the machine, so none of them is the component's one hash.
    component["externalReferences"] = [
        {
            "type": "distribution",
            "url": package.purl,
            "hashes": [{"alg": "SHA-256", "content": digest} for digest in package.hashes],
        }
    ]
    return component


def main(arguments: Sequence[str]) -> int:
    """Print the document, or the licences, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--licences", action="store_true", help="print a line a package: name, version, licence")
    parser.add_argument("--lock", type=Path, default=ROOT / "requirements.lock", metavar="FILE")
    chosen = parser.parse_args(arguments)
    lock = chosen.lock.read_text(encoding="utf-8")
    if chosen.licences:
        for package in packages(lock):
            print(f"{package.name} {package.version}  {package.licence or 'not installed here: see its own page'}")
        return 0
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    sys.path.insert(0, str(ROOT))
    from bot.app.version import version_of_sources

    print(json.dumps(document(lock, project, version_of_sources(ROOT)), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
