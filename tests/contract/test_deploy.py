"""What `deploy/` holds is taken by the programs that would run it, and speaks of settings and pages that exist."""

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import psycopg
import pytest
import yaml
from sqlalchemy import make_url

from bot.app.extras import shipped
from bot.ledger import Database
from bot.settings import all_keys, database_url
from tests.conftest import missing
from tests.image import instructions
from tests.program import zombie
from tests.record.postgresql import Postgresql

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "deploy/zombie.service"
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())
CHART = ROOT / "deploy/chart"
SECRETS = {
    key.environment for table in all_keys(shipped().settings).values() for key in table.values() if key.secret
}  # what may stand in a file of CREDENTIALS_DIRECTORY
MOST_EXPOSED = 15  # in tenths, of systemd's own scale to 100


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
    assert set(COMPOSE["services"]["zombie"]["secrets"]) == set(COMPOSE["secrets"])


def test_composes_password_stands_in_one_file_and_both_services_read_it() -> None:
    bot, server = COMPOSE["services"]["zombie"], COMPOSE["services"]["postgresql"]
    (password,) = server["secrets"]
    assert COMPOSE["secrets"][password] == {"file": f"./secrets/{password}"}
    assert server["environment"]["POSTGRES_PASSWORD_FILE"] == f"/run/secrets/{password}"
    assert password in bot["secrets"]
    url = make_url(bot["environment"]["ZOMBIE_DATABASE_URL"])
    assert (url.password, url.host) == (None, "postgresql")
    assert (url.username, url.database) == (
        server["environment"]["POSTGRES_USER"],
        server["environment"]["POSTGRES_DB"],
    )


def test_bot_opens_a_server_by_the_url_of_compose_and_the_password_of_the_file(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    password = f"p@ss/w%rd: {secrets.token_hex(4)}"
    with psycopg.connect(postgresql.url(), autocommit=True) as administrator:
        for left in (b"DATABASE", b"ROLE"):  # by this test, tried before
            administrator.execute(b"DROP %b IF EXISTS zombie" % left)
        administrator.execute(f"CREATE ROLE zombie LOGIN PASSWORD '{password}'".encode())
        administrator.execute(b"CREATE DATABASE zombie OWNER zombie")
        url = COMPOSE["services"]["zombie"]["environment"]["ZOMBIE_DATABASE_URL"]
        environment = {
            "CREDENTIALS_DIRECTORY": str(tmp_path),
            "ZOMBIE_DATABASE_URL": url.replace("@postgresql/", f"@127.0.0.1:{postgresql.port}/"),
        }

        def audit() -> subprocess.CompletedProcess[str]:
            return zombie("audit", "verify", env={**os.environ, **environment, "HOME": str(tmp_path)}, within=60)

        (tmp_path / "ZOMBIE_DATABASE_PASSWORD").write_text(f"{password}\n")
        Database.open(database_url(environment)).close()
        opened = audit()
        assert (opened.returncode, opened.stderr[:7]) == (2, "empty: ")
        (tmp_path / "ZOMBIE_DATABASE_PASSWORD").write_text("another")
        refused = audit()
        assert refused.returncode == 2
        assert "password" in refused.stderr
        assert not any(word in refused.stderr + opened.stdout for word in (password, "another"))


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


def test_values_to_begin_with_name_secrets_that_they_say_how_to_make() -> None:
    text = (ROOT / "deploy/values.yaml").read_text()
    assert set(re.findall(r"--from-file=([A-Z_]+)", text)) <= SECRETS
    named = {part["existingSecret"] for part in yaml.safe_load(text).values() if "existingSecret" in part}
    assert set(re.findall(r"create secret generic ([\w-]+)", text)) == named
    with_database = yaml.safe_load(re.sub(r"^# (?=replicas|database|  existing)", "", text, flags=re.MULTILINE))
    assert with_database["database"]["existingSecret"]
    assert with_database["replicas"] > 1
    schema = json.loads((CHART / "values.schema.json").read_text())
    for values in (yaml.safe_load(text), with_database, yaml.safe_load((CHART / "values.yaml").read_text())):
        jsonschema.validate(values, schema)


def test_chart_refuses_every_secret_among_its_values() -> None:
    (listed,) = re.findall(r'splitList " " "([A-Z_ ]+)"', (CHART / "templates/_helpers.tpl").read_text())
    assert set(listed.split()) == SECRETS
