"""The bill of materials is valid CycloneDX, holds what the lock holds, and says under which licence each package is.

The schemas beside this file are CycloneDX's own (Apache-2.0, OWASP Foundation), unchanged.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7

from bot.app.version import version
from tests.contract.test_packaging import locked

ROOT = Path(__file__).parents[2]
SCHEMAS = Path(__file__).parent / "cyclonedx"
ELSEWHERE = {"httpx2-jsfetch", "pywin32", "tzdata"}  # never installed on Linux, where the licences are read


def made(*arguments: str) -> str:
    """Run the script with the packages of the lock, and no way to a network."""
    command = ["unshare", "--user", "--map-root-user", "--net", sys.executable, "-P", str(ROOT / "deploy/sbom.py")]
    usable = subprocess.run([*command[:4], "true"], capture_output=True, check=False).returncode == 0
    command = [*(command if usable else command[4:]), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, cwd="/").stdout


@pytest.fixture(scope="module")
def validator() -> Draft7Validator:
    texts = {path.name: json.loads(path.read_text()) for path in SCHEMAS.glob("*.json")}
    registry: Registry[Any] = Registry()
    for name, schema in texts.items():
        resource = Resource.from_contents(schema, default_specification=DRAFT7)
        snapshot = name.replace(".schema.json", ".SNAPSHOT.schema.json")  # what they call each other
        registry = registry.with_resource(f"http://cyclonedx.org/schema/{snapshot}", resource)
    return Draft7Validator(texts["bom-1.6.schema.json"], registry=registry)


@pytest.fixture(scope="module")
def bill() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(made())
    return document


def test_it_is_cyclonedx(bill: dict[str, Any], validator: Draft7Validator) -> None:
    assert [error.message for error in validator.iter_errors(bill)] == []
    broken = json.loads(json.dumps(bill))
    broken["components"][0]["externalReferences"][0]["hashes"][0]["content"] = "no hash"
    broken["metadata"]["component"]["type"] = "programme"
    assert len(list(validator.iter_errors(broken))) >= 2, "the schema would notice"


def test_it_holds_the_lock_and_nothing_else(bill: dict[str, Any]) -> None:
    assert {part["name"]: part["version"] for part in bill["components"]} == locked("requirements.lock")
    assert all(part["externalReferences"][0]["hashes"] for part in bill["components"])
    assert bill["metadata"]["component"]["version"] == version()
    direct = set(bill["dependencies"][0]["dependsOn"])
    assert {"asyncssh", "slack-bolt", "boto3"} <= {purl.split("/")[1].partition("@")[0] for purl in direct}
    assert direct < {part["bom-ref"] for part in bill["components"]}


def test_every_package_that_is_installed_has_a_licence(bill: dict[str, Any]) -> None:
    without = {part["name"] for part in bill["components"] if "licenses" not in part}
    assert without <= ELSEWHERE
    listed = dict(line.split("  ") for line in made("--licences").splitlines())
    assert len(listed) == len(bill["components"])
    assert listed[next(name for name in listed if name.startswith("asyncssh "))] == "EPL-2.0 OR GPL-2.0-or-later"


def test_the_same_lock_gives_the_same_document(bill: dict[str, Any]) -> None:
    assert json.loads(made()) == bill
