"""`zombie check --open` puts what it found on record; without it nothing of the record is even loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bot.__main__ import main
from bot.domain.fold import fold
from bot.domain.verdict import Status
from bot.ledger import Ledger, audit
from tests.record.ledgers import ledger_in

ROOT = Path(__file__).parents[3]


@pytest.fixture
def inventory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two nodes that nobody can reach, which is a verdict too, and a quick one."""
    monkeypatch.setenv("ZOMBIE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("ZOMBIE_DATABASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "inventory.toml"
    (tmp_path / "known_hosts").touch()
    nodes = "".join(f'[nodes.{name}]\naddress = "127.0.0.1"\nport = 1\n' for name in ("node-1", "node-2"))
    path.write_text(f'[ssh]\nknown_hosts = "known_hosts"\n{nodes}')
    return path


def check(inventory: Path, *arguments: str) -> int:
    return main(["check", "--inventory", str(inventory), "--samples", "1", *arguments])


def test_each_node_gets_an_incident_of_one_group(
    inventory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(inventory, "node-2", "node-1", "--open", "--json") == 4
    nodes = {one["node"]: one for one in json.loads(capsys.readouterr().out)["nodes"]}
    with ledger_in(tmp_path / "state") as database:
        ledger = Ledger(database)
        found = {node: fold(ledger.read.now(one["incident"])) for node, one in nodes.items()}
        assert audit(database).broken == ()
    assert set(found) == {"node-1", "node-2"}
    assert len({incident.group for incident in found.values()}) == 1
    for node, incident in found.items():
        assert (incident.node, incident.playbook, incident.ended) == (node, "node-health", True)
        assert (incident.alert.kind, incident.alert.asked_by[:9]) == ("terminal", "terminal:")
        assert incident.verdict is not None
        assert incident.verdict.status is Status.UNREACHABLE
        assert incident.verdict.summary == nodes[node]["summary"]


def test_terminal_says_which_incident_it_is(inventory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(inventory, "node-1", "--open")
    last = capsys.readouterr().out.splitlines()[-1]
    incident = last.split()[1]
    assert last == f"Incident {incident} of node-1: zombie incidents show {incident}"
    assert main(["incidents", "show", incident]) == 0
    assert capsys.readouterr().out.startswith(f"{incident}  node-1  triaged\n")


def test_without_open_nothing_is_recorded(inventory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(inventory, "node-1", "--json")
    assert "incident" not in json.loads(capsys.readouterr().out)["nodes"][0]
    assert not (tmp_path / "state").exists()


def test_what_cannot_be_recorded_is_not_begun(
    inventory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ZOMBIE_STATE_DIR", "/dev/null/state")
    assert check(inventory, "node-1", "--open") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("zombie: The ledger at /dev/null/state/zombie.db cannot be used: ")


def test_what_is_recorded_opens_nothing(inventory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(inventory, "node-1", "--open", "--record", str(tmp_path / "r")) == 2
    assert "--open opens incidents: not both at once" in capsys.readouterr().err
    assert not (tmp_path / "state").exists()
    assert not (tmp_path / "r").exists()


def test_check_without_open_loads_nothing_of_the_record(inventory: Path) -> None:
    command = ["check", "node-1", "--inventory", str(inventory), "--samples", "1", "--json"]
    program = (
        f"import sys, bot.__main__; bot.__main__.main({command!r}); "
        "heavy = {'sqlalchemy', 'sqlite3', 'psycopg', 'bot.ledger', 'PIL', 'slack_sdk'}; "
        "print(*sorted(heavy & sys.modules.keys()), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env={"PYTHONPATH": str(ROOT), "HOME": str(inventory.parent)},
        cwd=inventory.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr.strip() == ""
    assert json.loads(done.stdout)["nodes"][0]["status"] == "unreachable"
