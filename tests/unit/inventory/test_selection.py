"""From what people write to nodes of an inventory; what means nobody is told with what there is."""

from collections.abc import Mapping, Sequence

import pytest

from bot.domain.errors import UnknownNode
from bot.domain.node import Node
from bot.domain.selector import Selector
from bot.inventory import Inventory
from bot.inventory.selection import select

NODES = {
    name: Node(name, "10.0.0.1", labels=labels)
    for name, labels in {
        "ray-gpu-1a-01": {"role": "gpu", "az": "us-east-1a", "kubernetes_node": "ip-10-0-0-1.ec2.internal"},
        "ray-gpu-1b-02": {"role": "gpu", "az": "us-east-1b"},
        "web-1a-01": {"role": "web", "az": "us-east-1a", "private_dns": "ip-10-0-0-9.ec2.internal"},
    }.items()
}
KNOWN = Inventory(NODES, "inventory.toml")


def names(*words: str, run_on: Mapping[str, Sequence[str]] | None = None) -> list[str]:
    return [node.name for node in select(KNOWN, [Selector.of(word) for word in words], run_on)]


def refused(*words: str, run_on: Mapping[str, Sequence[str]] | None = None) -> str:
    with pytest.raises(UnknownNode) as caught:
        names(*words, run_on=run_on)
    return str(caught.value)


def test_every_kind_means_its_nodes_and_each_node_once() -> None:
    assert names("web-1a-01", "ray-*") == ["web-1a-01", "ray-gpu-1a-01", "ray-gpu-1b-02"]
    assert names("role=gpu", "ray-gpu-1b-02", "*") == ["ray-gpu-1a-01", "ray-gpu-1b-02", "web-1a-01"]
    assert names("role=gpu,az=us-east-1b") == ["ray-gpu-1b-02"]


def test_workload_means_the_nodes_that_it_runs_on_by_any_of_their_names() -> None:
    run_on = {"job/train": ["ip-10-0-0-1.ec2.internal", "ip-10-0-0-9.ec2.internal", "ray-gpu-1b-02"]}
    assert names("job/train", run_on=run_on) == ["ray-gpu-1a-01", "web-1a-01", "ray-gpu-1b-02"]


def test_workload_on_a_node_that_is_not_known_is_not_left_out_in_silence() -> None:
    said = refused("pod/x", run_on={"pod/x": ["ip-10-0-0-1.ec2.internal", "ip-10-9-9-9"]})
    assert "ip-10-9-9-9" in said
    assert "kubernetes_node" in said
    assert "runs on no node now" in refused("pod/x", run_on={"pod/x": []})


def test_what_means_nobody_is_told_with_what_there_is() -> None:
    assert "Did you mean ray-gpu-1a-01" in refused("ray-gpu-1a-1")
    assert "Near it are ray-gpu-1b-02, ray-gpu-1a-01" in refused("ray-gp-*")
    assert "role is gpu, web." in refused("role=gpuu")
    assert "No node has the label rol; there are az, kubernetes_node, private_dns, role." in refused("rol=gpu")
    assert "no node has all of them" in refused("role=web,az=us-east-1b")
    assert "no node has all of them" not in refused("role=web,az=us-west-2a")
