"""What a cluster says of a node and its pods, and what a drain makes of it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bot.actions import ACTIONS
from bot.actions.cluster_node import BARE_TOO
from bot.actions.pod import Pod
from bot.demo.cluster.cluster import DemoNode
from bot.demo.cluster.pod import DemoPod
from bot.domain.action import ClusterCalls, Facts, Proof
from bot.domain.command import Completed, Outputs
from bot.domain.errors import CannotRead
from bot.domain.probe import Snapshot
from tests.known import known

ROOT = Path(__file__).parents[3]
ARGS = {"node": "n1", "of_cluster": "prod", "within": "7m"}
BOOT = "3b1cd2f4-71f5-4b0e-9c0c-0f7b6e1a2b3c"
NODE = DemoNode("n1", lambda: BOOT).document()


def told(node: Any, *pods: Any) -> Outputs:
    listed = {"kind": "PodList", "apiVersion": "v1", "items": list(pods)}
    return Outputs(Completed("", "node", 0, json.dumps(node)), Completed("", "pods", 0, json.dumps(listed)))


def facts(*pods: DemoPod, node: Any = NODE) -> Facts:
    found = ACTIONS["drain"].facts(ARGS, told(node, *(pod.document() for pod in pods)))
    return {**found, "boot_id": BOOT}


def by_calls(name: str) -> ClusterCalls:
    return known(ACTIONS[name].by_calls)


def test_pods_that_a_reboot_does_not_hurt_are_left_and_the_others_go() -> None:
    now = facts(
        DemoPod("kube-system", "aws-node", "n1", ("DaemonSet", "aws-node")),
        DemoPod("kube-system", "kube-proxy", "n1", mirror=True),
        DemoPod("batch", "done", "n1", ("Job", "done"), phase="Succeeded"),
        DemoPod("batch", "failed", "n1", phase="Failed"),
        DemoPod("web", "api", "n1", ("ReplicaSet", "api-77")),
        DemoPod("ray", "going", "n1", ("RayCluster", "t"), ends_at=1.0),
    )
    assert now["pods"] == "2"
    called = by_calls("drain").calls(ARGS, {}, now)
    assert [line.split()[1] for line in called] == ["/api/v1/nodes/n1", "/api/v1/namespaces/web/pods/api/eviction"]


def test_pod_that_is_lost_with_it_and_came_since_the_drain_began_is_not_evicted() -> None:
    there = DemoPod("b", "there", "n1", ("ReplicaSet", "api-77"), empty_dirs=("tmp",))
    late = (replace(there, name="late"), DemoPod("c", "bare", "n1"), DemoPod("a", "whole", "n1", ("Job", "etl")))
    seen = {**ARGS, BARE_TOO: "yes"}, facts(there), facts(there, *late)
    assert [line.split()[1].split("/")[-2] for line in by_calls("drain").calls(*seen)[1:]] == ["whole", "there"]
    assert [words.partition(":")[0] for words in by_calls("drain").spares(*seen)] == ["b/late", "c/bare"]


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ({"ray.io/cluster": "train-7", "ray.io/node-type": "head"}, "Ray cluster train-7 (head)"),
        ({"training.kubeflow.org/job-name": "bert"}, "training job bert"),
        ({"batch.kubernetes.io/job-name": "etl", "job-name": "etl"}, "Job etl"),
        ({"job-name": "old"}, "Job old"),
        ({"app": "x"}, "ReplicaSet api-77"),
        ({"ray.io/cluster": "x\x1b[31m\n" * 40}, "Ray cluster x\\x1b[31m x"),
    ],
)
def test_whoever_approves_sees_which_job_a_pod_is_part_of(labels: dict[str, str], says: str) -> None:
    now = facts(DemoPod("ns", "p", "n1", ("ReplicaSet", "api-77"), labels, empty_dirs=("tmp", "cache")))
    (line,) = by_calls("drain").affects(ARGS, now)
    assert line.startswith(f"ns/p: {says}")
    assert line.endswith("loses emptyDir tmp, cache")


def test_whoever_approves_is_told_first_of_what_is_lost_with_a_pod() -> None:
    now = facts(
        DemoPod("a", "keeps", "n1", ("ReplicaSet", "api-77")),
        DemoPod("b", "loses", "n1", ("ReplicaSet", "api-77"), empty_dirs=("tmp",)),
        DemoPod("c", "bare", "n1"),
        DemoPod("d", "goes", "n1", ("ReplicaSet", "api-77"), empty_dirs=("tmp",), ends_at=9.0),
    )
    told_first = {line.partition(":")[0]: is_lost for line, is_lost in by_calls("drain").affects(ARGS, now).items()}
    assert list(told_first.items()) == [("c/bare", True), ("b/loses", True), ("d/goes", False), ("a/keeps", False)]


def test_node_is_drained_once_it_is_cordoned_and_nothing_is_left() -> None:
    cordoned = NODE | {"spec": {"unschedulable": True}}
    pod = DemoPod("web", "api", "n1", ("ReplicaSet", "api-77"))
    drain = ACTIONS["drain"]
    for now, proof in (
        (facts(), Proof.NOT_YET),
        (facts(pod, node=cordoned), Proof.NOT_YET),
        (facts(node=cordoned), Proof.PROVEN),
    ):
        assert drain.judge(ARGS, facts(), now) is proof
    assert drain.patience(facts()) == timedelta(minutes=7)


def test_node_is_open_again_once_it_is_ready_in_the_boot_that_it_is_in() -> None:
    uncordon = ACTIONS["uncordon"]
    now = {"unschedulable": "false", "ready": "True", "cluster_boot": BOOT, "boot_id": BOOT}
    assert uncordon.judge(ARGS, now, now) is Proof.PROVEN
    for other in ({"ready": "Unknown"}, {"unschedulable": "true"}, {"boot_id": "another"}):
        assert uncordon.judge(ARGS, now, now | other) is Proof.NOT_YET
    closed = now | {"unschedulable": "true"}
    assert len(by_calls("uncordon").calls(ARGS, now, closed)) == 1
    assert by_calls("uncordon").calls(ARGS, now, closed | {"ready": "False"}) == ()
    for before, ours in (({"unschedulable": "false"}, True), ({"unschedulable": "true"}, False), ({}, False)):
        given_so = by_calls("uncordon").given(closed, {"drain": before})
        assert bool(by_calls("uncordon").calls(ARGS, given_so, closed)) is ours
    assert by_calls("uncordon").given(closed, {}) == closed, "by itself it undoes whatever it is approved for"


@pytest.mark.parametrize("said", ["", "{", "[]", "{}", '{"kind":"Status"}', '{"kind":"Node"}', "[" * 100_000])
def test_node_that_the_cluster_does_not_tell_of_is_not_known(said: str) -> None:
    outputs = Outputs(Completed("", "node", 0, said), Completed("", "pods", 0, '{"kind":"PodList","items":[]}'))
    for name in ("drain", "uncordon"):
        with pytest.raises(CannotRead):
            ACTIONS[name].facts(ARGS, outputs)


@pytest.mark.parametrize(
    "pod",
    [
        {},
        {"metadata": {"name": "../x", "namespace": "a", "uid": "u"}, "spec": {"nodeName": "n1"}},
        {"metadata": {"name": "x", "namespace": "a", "uid": 'u"'}, "spec": {"nodeName": "n1"}},
        {"metadata": {"name": "x", "namespace": "a", "uid": "u"}, "spec": {"nodeName": "another"}},
    ],
)
def test_pod_that_cannot_be_is_never_evicted(pod: Any) -> None:
    with pytest.raises(CannotRead):
        ACTIONS["drain"].facts(ARGS, told(NODE, pod))


@pytest.mark.parametrize("cut", [{"metadata": {"continue": "eyJ2Ijoi"}, "items": []}, {"metadata": {}}])
def test_list_of_pods_that_is_not_whole_empties_no_node(cut: dict[str, Any]) -> None:
    said = json.dumps({"kind": "PodList", "apiVersion": "v1"} | cut)
    outputs = Outputs(Completed("", "node", 0, json.dumps(NODE)), Completed("", "pods", 0, said))
    with pytest.raises(CannotRead, match="only a part"):
        ACTIONS["drain"].facts(ARGS, outputs)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["kind", "items", "spec", "status", "metadata", "conditions", "nodeInfo", "bootID", "type",
                         "labels", "ownerReferences", "annotations", "volumes", "name", "namespace", "uid"]),
        inner | st.sampled_from(["Node", "PodList", "Ready", "x", "n1"]), max_size=5,
    ),
    max_leaves=30,
)  # fmt: skip


@given(JSON, JSON)
def test_whatever_the_cluster_says_is_read_or_is_not_known(node: Any, pod: Any) -> None:
    for outputs in (told(node, pod), told(NODE, pod)):
        for name in ("drain", "uncordon"):
            try:
                ACTIONS[name].facts(ARGS, outputs)
            except CannotRead:
                continue


@given(st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True), st.sampled_from(["evict", "going", "bare"]))
def test_pod_is_read_as_it_was_written(name: str, state: str) -> None:
    for about in ("", "Job a; loses emptyDir b"):
        pod = Pod("ns", name, "u-1", state, about)
        assert Pod.from_fact(pod.full_name, pod.to_fact) == pod


def test_role_that_is_handed_out_gives_what_the_actions_need_and_no_more() -> None:
    (role, _, _) = yaml.safe_load_all((ROOT / "docs" / "kubernetes-role.yaml").read_text())
    given = {(verb, resource) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}
    assert given == {right for name in ("drain", "uncordon") for right in ACTIONS[name].rights_of(ARGS)}
    page = (ROOT / "docs" / "kubernetes.md").read_text()
    lines = [line for line in (ROOT / "docs" / "kubernetes-role.yaml").read_text().splitlines() if "apiGroups" in line]
    assert lines
    assert all(line in page for line in lines)


@pytest.mark.parametrize("name", ["n1/../../namespaces/x", "n1?dryRun=All", "n1 {}", "N1", "", "n1&limit=1", "{name}"])
def test_name_that_is_none_becomes_no_part_of_a_path(name: str) -> None:
    args, snapshot = ARGS | {"node": name}, Snapshot("n", datetime.now(UTC), timedelta(seconds=5))
    for action in (ACTIONS[each] for each in ("drain", "cordon", "uncordon")):
        with pytest.raises(CannotRead):
            action.looks(args)
        with pytest.raises(CannotRead):
            action.commands(args, snapshot)
