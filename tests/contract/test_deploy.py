"""What `deploy/` holds is taken by the programs that would run it, and speaks of settings and pages that exist."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from lightkube.codecs import load_all_yaml

from bot.settings import all_rows
from bot.sources import settings_of
from tests.conftest import missing
from tests.image import instructions

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "deploy/zombie.service"
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())
MANIFESTS: list[dict[str, Any]] = list(yaml.safe_load_all((ROOT / "deploy/kubernetes.yaml").read_text()))
SECRETS = {
    row.environment for table in all_rows(settings_of()).values() for row in table.values() if row.secret
}  # what may stand in a file of CREDENTIALS_DIRECTORY
MOST_EXPOSED = 15  # in tenths, of systemd's own scale to 100


def manifest(kind: str) -> dict[str, Any]:
    (found,) = (document for document in MANIFESTS if document["kind"] == kind)
    return found


def systemd_analyze(*arguments: str | Path) -> None:
    if shutil.which("systemd-analyze") is None:
        missing("systemd-analyze is not installed (Debian: apt install systemd)")
    command = ["systemd-analyze", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "zombie.service:" not in done.stderr, done.stderr  # a key that is not known is only a warning


def test_systemd_takes_the_unit_and_finds_it_closed(tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/zombie/bin/zombie", sys.executable))  # which is there
    systemd_analyze("verify", "--man=no", unit)
    systemd_analyze("security", "--offline=true", f"--threshold={MOST_EXPOSED}", unit)


def test_unit_and_compose_hand_over_secrets_by_names_that_are_read() -> None:
    handed = set(re.findall(r"^#?LoadCredential=([A-Z_]+):", UNIT.read_text(), re.MULTILINE))
    assert handed
    assert handed <= SECRETS
    assert set(COMPOSE["services"]["zombie"]["secrets"]) <= SECRETS
    assert {*COMPOSE["services"]["zombie"]["secrets"], "POSTGRES_PASSWORD"} == set(COMPOSE["secrets"])
    asked = (ROOT / "deploy/kubernetes.yaml").read_text()
    assert set(re.findall(r"--from-file=([A-Z_]+)", asked)) <= SECRETS


def test_compose_mounts_what_it_declares_and_nothing_in_the_image_is_written_to() -> None:
    bot = COMPOSE["services"]["zombie"]
    assert bot["read_only"] is True
    assert {volume["source"] for volume in bot["volumes"] if volume["type"] == "volume"} < set(COMPOSE["volumes"])
    assert set(bot["depends_on"]) < set(COMPOSE["services"])
    stages = dict(instructions((ROOT / "Dockerfile").read_text()))
    assert {stages["VOLUME"], stages["WORKDIR"]} == {volume["target"] for volume in bot["volumes"]}
    assert bot["ports"] == [f"127.0.0.1:8080:{stages['EXPOSE']}"]


def test_docker_compose_takes_the_file() -> None:
    docker = shutil.which("docker")
    works = docker and subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode == 0
    if not works:
        pytest.skip("docker compose is not installed; tests/e2e/test_deploy_tools.py has its schema")
    command = ["docker", "compose", "-f", str(ROOT / "deploy/compose.yaml"), "config", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def through_the_models(text: str) -> list[Any]:
    read: list[Any] = list(load_all_yaml(text))
    return [document.to_dict() for document in read]


def test_every_field_of_the_manifests_is_known_to_kubernetes() -> None:
    """The models are made from Kubernetes' own schema: what is misspelt is lost on the way through them."""
    assert through_the_models((ROOT / "deploy/kubernetes.yaml").read_text()) == MANIFESTS
    misspelt = (ROOT / "deploy/kubernetes.yaml").read_text().replace("readOnlyRootFilesystem", "readonlyRootFilesystem")
    assert through_the_models(misspelt) != list(yaml.safe_load_all(misspelt))


def test_manifests_fit_together_and_fit_the_image() -> None:
    labels = {"app": "zombie"}
    spec = manifest("Deployment")["spec"]
    assert spec["replicas"] > manifest("PodDisruptionBudget")["spec"]["minAvailable"]
    assert spec["template"]["metadata"]["labels"] == spec["selector"]["matchLabels"] == labels
    assert manifest("Service")["spec"]["selector"] == labels
    for kind, key in (("PodDisruptionBudget", "selector"), ("NetworkPolicy", "podSelector")):
        assert manifest(kind)["spec"][key]["matchLabels"] == labels
    (container,) = spec["template"]["spec"]["containers"]
    assert re.fullmatch(r"zombie:\d+\.\d+\.\d+", container["image"]), "a release's number, never latest"
    stages = dict(instructions((ROOT / "Dockerfile").read_text()))
    assert [port["containerPort"] for port in container["ports"]] == [int(stages["EXPOSE"])]
    who = spec["template"]["spec"]["securityContext"]
    assert f"{who['runAsUser']}:{who['runAsGroup']}" == stages["USER"]
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert set(mounts) == {volume["name"] for volume in spec["template"]["spec"]["volumes"]}
    assert {stages["VOLUME"], stages["WORKDIR"], "/tmp"} <= set(mounts.values())
    named = re.findall(r"create secret generic ([\w-]+)", (ROOT / "deploy/kubernetes.yaml").read_text())
    volumes = spec["template"]["spec"]["volumes"]
    assert set(named) == {volume["secret"]["secretName"] for volume in volumes if "secret" in volume}
    assert container["env"] == [{"name": "CREDENTIALS_DIRECTORY", "value": mounts["secrets"]}]
    assert {container[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")} == {
        "/healthz",
        "/readyz",
    }
