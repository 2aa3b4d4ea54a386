"""Which nodes an alarm is about."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from bot.domain.alert import AlertGroup, AlertStatus, SourceAlert
from bot.domain.node import Node
from bot.response.intake.routing import NamedNodes, NamePlaces, Names

NODES = (
    Node(
        "node-1",
        "10.0.0.1",
        labels={"instance_id": "i-0a1", "private_dns": "ip-10-0-0-1.ec2.internal", "hostname": "a"},
    ),
    Node("node-2", "10.0.0.2", labels={"instance_id": "i-0a2", "hostname": "worker", "rack": "r1"}),
    Node("node-3", "10.0.0.3", labels={"hostname": "worker", "rack": "r1"}),
    Node("Node-4", "10.0.0.4"),
    Node("node-4", "10.0.0.5"),
    Node("db.example.org", "10.0.0.6"),
    *(Node(f"behind-{number}", "10.0.0.9", port=number) for number in (1, 2)),
    Node("here", "127.0.0.1"),
)
ALARM = AlertGroup("pagerduty", "Q1", AlertStatus.FIRED, "core pinned")
ANYWHERE = NamePlaces()


def named(body: Any, title: str = "", places: NamePlaces = ANYWHERE) -> NamedNodes:
    alarm = replace(ALARM, title=title)
    return Names(NODES).found(alarm, (SourceAlert("A1", body=body),), places)


@pytest.mark.parametrize(
    ("body", "nodes"),
    [
        ({"details": {"host": "node-1"}}, ("node-1",)),
        ({"details": "host=node-1; user=root"}, ("node-1",)),
        ({"details": {"instance": "node-2:9100"}}, ("node-2",)),
        ({"contexts": [{"type": "link", "href": "https://g/d/x?var-host=node-1&from=now"}]}, ("node-1",)),
        ({"cef_details": {"source_origin": "ip-10-0-0-1.ec2.internal"}}, ("node-1",)),
        ({"details": {"InstanceId": "i-0a2"}}, ("node-2",)),
        ({"details": json.dumps({"Trigger": {"Dimensions": [{"value": "i-0a1"}]}})}, ("node-1",)),
        ({"details": json.dumps(json.dumps({"host": "node-1"}))}, ("node-1",)),
        ({"summary": "Sick: node-1, node-2."}, ("node-1", "node-2")),
        ({"details": {"node-1": "sick"}}, ("node-1",)),
        ({"details": {"host": "NODE-1"}}, ("node-1",)),
        ({"details": {"host": "Node-4"}}, ("Node-4",)),
        ({"details": {"instance": "10.0.0.3:9100"}}, ("node-3",)),
        ({"details": {"instance": "10.0.0.9:9100", "link": "http://127.0.0.1:9093/"}}, ()),
        ({"details": {"host": "db.example.org"}}, ("db.example.org",)),
        ({"details": {"host": "$(reboot) `node-1` <!channel>"}}, ("node-1",)),
        ({"details": {"host": "node-12", "disk": "node-1_disk", "fqdn": "node-1.example.org", "rack": "r1"}}, ()),
        ({"details": {"host": "nøde-1x", "rows": [1, None, True, {"n": 2.5}]}}, ()),
        ({}, ()),
    ],
)
def test_whole_names_are_found_wherever_they_stand(body: dict[str, Any], nodes: tuple[str, ...]) -> None:
    assert named(body) == NamedNodes(nodes)


def test_title_names_a_node() -> None:
    assert named({}, "node-3: CPU at 100 %") == NamedNodes(("node-3",))


def test_value_that_two_nodes_share_is_never_guessed() -> None:
    assert named({"details": {"host": "worker"}}) == NamedNodes((), {"worker": ("node-2", "node-3")})
    assert named({"details": {"host": "NODE-4"}}) == NamedNodes((), {"NODE-4": ("Node-4", "node-4")})


def test_shared_value_beside_one_of_its_nodes_is_no_question() -> None:
    assert named({"details": {"host": "worker", "id": "i-0a2"}}) == NamedNodes(("node-2",))


def test_paths_narrow_where_names_are_looked_for() -> None:
    body = {"body": {"details": {"host": "node-1", "neighbour": "node-2"}, "rows": [{"host": "node-3"}]}}
    assert named(body, "node-4", NamePlaces.of(["body.details.host"], [])) == NamedNodes(("node-1",))
    assert named(body, "", NamePlaces.of(["body.rows.host"], [])) == NamedNodes(("node-3",))
    assert named(body, "", NamePlaces.of(["body.*.host"], [])) == NamedNodes(("node-1", "node-3"))
    assert named({"details": json.dumps({"host": "node-1"})}, "", NamePlaces.of(["details.host"], [])) == NamedNodes(
        ("node-1",)
    )
    assert named(body, "node-4", NamePlaces.of(["body.details.none.deeper"], [])) == NamedNodes()


def test_patterns_say_what_a_name_looks_like() -> None:
    body = {"details": {"metric": "servers.node-1.cpu", "host": "node-2"}}
    assert named(body, "", NamePlaces.of([], [re.compile(r"servers\.([\w-]+)\.")])) == NamedNodes(("node-1",))
    assert named(body, "", NamePlaces.of([], [re.compile(r"node-\d")])) == NamedNodes(("node-1", "node-2"))


def test_enormous_body_is_searched_as_far_as_there_is_room() -> None:
    deep: Any = "node-1"
    for _ in range(200):
        deep = [deep]
    assert named({"details": ["x" * 3_000_000, "node-1"], "deep": deep}) == NamedNodes()
