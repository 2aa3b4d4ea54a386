"""`zombie route explain`: what an alert would lead to."""

from __future__ import annotations

from typing import Any

import pytest

from tests.alerts.bodies import group_alert, group_body, page_alert, page_event, raw
from tests.commandline import CommandLine, Ran

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


def explain(run: CommandLine, body: Any, *options: str, config: str = CONFIG) -> Ran:
    (run.folder / "inventory.toml").write_text(INVENTORY)
    (run.folder / "zombie.toml").write_text(config)
    (run.folder / "alert.json").write_bytes(raw(body))
    return run("route", "explain", "alert.json", *options)


def test_event_with_its_alerts_names_nodes_and_takes_the_first_route_that_fits(run: CommandLine) -> None:
    body = page_event(title="a core is pinned") | {"alerts": [page_alert("A1", {"host": "node-1"})]}
    told = explain(run, body, "--json").json
    assert (told["nodes"], told["asks"], told["alert"]["id"]) == (["node-1"], False, "Q1")
    assert told["route"] == {
        "number": 1,
        "match": {"source": "pagerduty", "service": "Batch*"},
        "playbook": "network-resets",
        "channel": "CALERTS",
        "mode": "read-only",
    }
    incident = {"incident": body["event"]["data"], "alerts": body["alerts"]}
    assert explain(run, incident, "--json").json["nodes"] == ["node-1"]


@pytest.mark.parametrize(
    ("title", "nodes"),
    [
        ("BMC login failed: node-1", ["node-1"]),
        ("BMC login failed: node-1; it is reached by node-2", ["node-2", "node-1"]),
    ],
)
def test_name_where_a_secret_might_stand_is_found(run: CommandLine, title: str, nodes: list[str]) -> None:
    assert explain(run, page_event(title=title), "--json").json["nodes"] == nodes


def test_group_takes_its_own_route(run: CommandLine) -> None:
    body = group_body([group_alert("node-2:9100", severity="page")])
    body["commonLabels"] = {}
    told = explain(run, body, "--json").json
    assert (told["nodes"], told["route"]["number"], told["route"]["channel"]) == (["node-2"], 2, "CPAGES")
    assert explain(run, body, "--json", "--source", "grafana").json["alert"]["source"] == "grafana"


def test_node_whose_own_alerts_take_another_route_is_told_apart(run: CommandLine) -> None:
    body = group_body([group_alert("node-2:9100", severity="page"), group_alert("node-1:9100", severity="low")])
    body["commonLabels"] = {}
    told = explain(run, body, "--json").json
    assert (told["route"]["number"], told["node_routes"]["node-1"]["number"]) == (2, None)
    said = explain(run, body).out
    assert "node-1 by its own alerts: no route fits: the defaults apply; playbook node-health; remedies" in said
    assert "node-2 by its own" not in said


def test_shared_value_and_no_route_are_said_in_words(run: CommandLine) -> None:
    body = page_event(service={"summary": "Web"}) | {"alerts": [page_alert("A1", {"host": "shared"})]}
    status, said, _ = explain(run, body)
    assert status == 0
    assert "none: the card would ask which node is meant" in said
    assert "“shared” may be node-1 or node-2" in said
    assert "no route fits" in said
    assert "playbook node-health, in channel CALERTS; remedies: it may offer a plan" in said


@pytest.mark.parametrize("body", ["nothing", {"event": {}}, {"alerts": 7}, page_event(kind="incident.annotated")])
def test_file_that_is_no_alert_is_said_so(run: CommandLine, body: Any) -> None:
    status, _, said = explain(run, body)
    assert (status, "alert.json" in said) == (2, True)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ('[[route]]\nplaybook = "node-helth"\n', "node-health"),
        ('[pagerduty]\nnode_patterns = ["("]\n', "zombie.toml:2"),
    ],
)
def test_unknown_playbook_and_pattern_are_settings_errors(run: CommandLine, config: str, says: str) -> None:
    status, _, said = explain(run, page_event(), config=config)
    assert (status, says in said) == (2, True)
