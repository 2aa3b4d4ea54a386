"""`zombie check --open` puts what it found on record; without it nothing of the record is even loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.app.extras import shipped
from bot.domain.fold import fold
from bot.domain.verdict import Status
from bot.ledger import Database, Ledger, audit
from tests.commandline import CommandLine, Ran

ROOT = Path(__file__).parents[3]


def check(run: CommandLine, *arguments: str) -> Ran:
    run.unreachable("node-1", "node-2")
    return run("check", "--samples", "1", *arguments)


def test_each_node_gets_an_incident_of_one_group(run: CommandLine) -> None:
    checked = check(run, "node-2", "node-1", "--open", "--json")
    nodes = {one["node"]: one for one in checked.json["nodes"]}
    assert checked.status == 4
    with Database.open(run.ledger()) as database:
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


def test_terminal_says_which_incident_it_is(run: CommandLine) -> None:
    last = check(run, "node-1", "--open").out.splitlines()[-1]
    incident = last.split()[1]
    assert last == f"Incident {incident} of node-1: zombie incidents show {incident}"
    shown = run("incidents", "show", incident)
    assert (shown.status, shown.out.splitlines()[0]) == (0, f"{incident}  node-1  triaged")


def test_what_cannot_be_recorded_is_not_begun(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOMBIE_STATE_DIR", "/dev/null/state")
    status, out, err = check(run, "node-1", "--open")
    assert (status, out) == (2, "")
    assert err.startswith("zombie: The ledger at /dev/null/state/zombie.db cannot be used: ")


def test_what_is_recorded_opens_nothing(run: CommandLine) -> None:
    status, _, err = check(run, "node-1", "--open", "--record", "r")
    assert (status, "--open opens incidents: not both at once" in err) == (2, True)
    assert not [path for path in ("state", "r") if Path(path).exists()]


def test_check_without_open_loads_nothing_of_the_record_and_no_extra(run: CommandLine) -> None:
    """Beside the extras' doors, and the settings that these show."""
    program = (
        "import sys, bot.__main__; bot.__main__.main(['check', '--local', '--samples', '1', '--json']); "
        "heavy = {'sqlalchemy', 'sqlite3', 'psycopg', 'bot.ledger', 'PIL', 'slack_sdk'}; "
        "extras = {name for name in sys.modules if name.startswith('bot.extras.')}; "
        "print(*sorted(heavy & sys.modules.keys() | extras), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(run.folder)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    doors = {f"bot.extras.{extra.name}{part}" for extra in shipped().on for part in ("", ".settings")}
    assert set(done.stderr.split()) - doors == set()
    assert len(json.loads(done.stdout)["nodes"]) == 1
