"""`zombie route explain`: what an alert would lead to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bot.__main__ import main
from tests.alerts.bodies import group_alert, group_body, page_alert, page_event, raw

INVENTORY = """
[nodes.node-1]
[nodes.node-1.labels]
hostname = "shared"
[nodes.node-2]
[nodes.node-2.labels]
hostname = "shared"
"""
CONFIG = """
[slack]
alerts_channel = "CALERTS"
[pagerduty]
node_patterns = ["[a-z]+-[0-9]+", "shared"]
[[route]]
match = { source = "pagerduty", service = "Batch*" }
playbook = "network-resets"
mode = "read-only"
[[route]]
match = { severity = "page" }
channel = "CPAGES"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inventory.toml").write_text(INVENTORY)
    (tmp_path / "zombie.toml").write_text(CONFIG)
    return tmp_path


def explained(folder: Path, capsys: pytest.CaptureFixture[str], body: Any, *options: str) -> dict[str, Any]:
    (folder / "alert.json").write_bytes(raw(body))
    assert main(["route", "explain", "alert.json", "--json", *options]) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


def test_event_with_its_alerts_names_nodes_and_takes_the_first_route_that_fits(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = page_event(title="a core is pinned") | {"alerts": [page_alert("A1", {"host": "node-1"})]}
    told = explained(folder, capsys, body)
    assert (told["nodes"], told["asks"], told["alert"]["id"]) == (["node-1"], False, "Q1")
    assert told["route"] == {
        "number": 1,
        "match": {"source": "pagerduty", "service": "Batch*"},
        "playbook": "network-resets",
        "channel": "CALERTS",
        "mode": "read-only",
    }
    incident = {"incident": body["event"]["data"], "alerts": body["alerts"]}
    assert explained(folder, capsys, incident)["nodes"] == ["node-1"]


def test_group_takes_its_own_route(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = group_body([group_alert("node-2:9100", severity="page")])
    body["commonLabels"] = {}
    told = explained(folder, capsys, body)
    assert (told["nodes"], told["route"]["number"], told["route"]["channel"]) == (["node-2"], 2, "CPAGES")
    told = explained(folder, capsys, body, "--source", "grafana")
    assert told["alert"]["source"] == "grafana"


def test_node_whose_own_alerts_take_another_route_is_told_apart(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = group_body([group_alert("node-2:9100", severity="page"), group_alert("node-1:9100", severity="low")])
    body["commonLabels"] = {}
    told = explained(folder, capsys, body)
    assert (told["route"]["number"], told["node_routes"]["node-1"]["number"]) == (2, None)
    assert main(["route", "explain", "alert.json"]) == 0
    said = capsys.readouterr().out
    assert "node-1 by its own alerts: no route fits: the defaults apply; playbook node-health; remedies" in said
    assert "node-2 by its own" not in said


def test_shared_value_and_no_route_are_said_in_words(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = page_event(service={"summary": "Web"}) | {"alerts": [page_alert("A1", {"host": "shared"})]}
    (folder / "alert.json").write_bytes(raw(body))
    assert main(["route", "explain", "alert.json"]) == 0
    said = capsys.readouterr().out
    assert "none: the card would ask which node is meant" in said
    assert "“shared” may be node-1 or node-2" in said
    assert "no route fits" in said
    assert "playbook node-health, in channel CALERTS; remedies: it may offer a plan" in said


@pytest.mark.parametrize("body", ["nothing", {"event": {}}, {"alerts": 7}, page_event(kind="incident.annotated")])
def test_file_that_is_no_alert_is_said_so(folder: Path, capsys: pytest.CaptureFixture[str], body: Any) -> None:
    (folder / "alert.json").write_bytes(raw(body))
    assert main(["route", "explain", "alert.json"]) == 2
    assert "alert.json" in capsys.readouterr().err


def test_unknown_playbook_and_pattern_are_settings_errors(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "alert.json").write_bytes(raw(page_event()))
    (folder / "zombie.toml").write_text('[[route]]\nplaybook = "node-helth"\n')
    assert main(["route", "explain", "alert.json"]) == 2
    assert "node-health" in capsys.readouterr().err
    (folder / "zombie.toml").write_text('[pagerduty]\nnode_patterns = ["("]\n')
    assert main(["route", "explain", "alert.json"]) == 2
    assert "zombie.toml:2" in capsys.readouterr().err
