"""Move the pods off a Kubernetes node before a reboot: no new pods, and the others are evicted.

Defined in: the Eviction subresource of policy/v1 (Kubernetes 1.22 and later), which honours disruption budgets.
"""

from __future__ import annotations

import json
from datetime import timedelta

from bot.actions import cluster_node
from bot.actions.cluster_node import BARE_TOO, CLUSTER, LEFT, NODE, UNSCHEDULABLE, WITHIN
from bot.actions.pod import BARE, EVICT, GOING, Pod
from bot.domain.action import Action, Args, ClusterCalls, Facts, Proof, RemedyRules
from bot.domain.cluster_call import with_remark
from bot.domain.command import Command, Outputs
from bot.domain.duration import parse_duration
from bot.domain.probe import Snapshot
from bot.domain.safe_text import listed

_USUAL = "10m"


def commands(args: Args, snapshot: Snapshot) -> tuple[str, ...]:
    """Return the two calls: for the node, and for each pod. Repeating either changes nothing.

    Example:
    >>> from datetime import datetime, timezone
    >>> commands({"node": "n1"}, Snapshot("n", datetime.now(timezone.utc), timedelta(seconds=5)))[0]
    'PATCH /api/v1/nodes/n1 {"spec":{"unschedulable":true}}'
    """
    which = "each pod but DaemonSets', the node's own, and those that have ended"
    if BARE_TOO in args:
        which += "; also what no controller starts again"
    again = f"{which}; after a 429 again, for {args.get(WITHIN, _USUAL)} at most"
    return (cluster_node.cordon_call(args), with_remark(_eviction(Pod("{namespace}", "{name}", "{uid}")), again))


def node_and_pods_calls(args: Args) -> tuple[Command, ...]:
    """Return the calls that read the node and its pods."""
    return (cluster_node.node_command(args), cluster_node.pods_command(args))


def facts(args: Args, outputs: Outputs) -> Facts:
    """Return the node's state, and the pods that would be moved, by name.

    Raises: CannotRead when the cluster does not say.
    """
    pods = cluster_node.pods_to_move(args, outputs)
    found = cluster_node.node_facts(args, outputs) | {LEFT: str(len(pods)), WITHIN: args.get(WITHIN, _USUAL)}
    return found | cluster_node.pod_facts(pods)


def judge(args: Args, before: Facts, now: Facts) -> Proof:
    """Judge whether the node is cordoned, and all pods to be moved are gone."""
    return Proof.PROVEN if now[UNSCHEDULABLE] == "true" and now[LEFT] == "0" else Proof.NOT_YET


def eviction_calls_due(args: Args, before: Facts, now: Facts) -> tuple[str, ...]:
    """Return the calls to make now; a pod that is ending already is not evicted again, and in another boot none is."""
    if cluster_node.another_boot_words(args, now):
        return ()
    first = (cluster_node.cordon_call(args),) if now[UNSCHEDULABLE] != "true" else ()
    there = (pod for pod in cluster_node.pods_of(now) if pod.state != GOING and not _is_spared(args, before, pod))
    return (*first, *map(_eviction, there))


def spared_words(args: Args, before: Facts, now: Facts) -> tuple[str, ...]:
    """Return the pods that stay, so that the drain does not end, each with why."""
    spared = (pod for pod in cluster_node.pods_of(now) if _is_spared(args, before, pod))
    return tuple(f"{pod.words}: it came since the drain began, and would be lost unseen" for pod in spared)


def _is_spared(args: Args, before: Facts, pod: Pod) -> bool:
    """True for a pod that is lost with its eviction and was shown to nobody, or that nothing would start again."""
    is_known = pod.full_name in {each.full_name for each in cluster_node.pods_of(before)}
    return pod.is_lost and not (is_known and (pod.state == EVICT or BARE_TOO in args))


def refuses(args: Args, now: Facts) -> str:
    """Say why the node may not be drained: it is another machine, or nothing would start a pod again."""
    if other := cluster_node.another_boot_words(args, now):
        return other
    bare = [pod.full_name for pod in cluster_node.pods_of(now) if pod.state == BARE]
    if bare and BARE_TOO not in args:
        return f"No controller would start these pods of {args[NODE]} again: {listed(bare, 5)}."
    return ""


def affects(args: Args, now: Facts) -> dict[str, bool]:
    """Return the pods that would be moved, each with its job and the data it loses; the gravest first.

    Shape: True for a pod that is lost, or what it holds.
    """
    cordoned = f"{args[NODE]} is cordoned already: it is left so afterwards"
    first = {cordoned: False} if now[UNSCHEDULABLE] == "true" else {}
    pods = sorted(cluster_node.pods_of(now), key=lambda pod: pod.loss)
    return first | {pod.words: pod.is_lost for pod in pods}


def still_cordoned_words(args: Args, before: Facts, now: Facts) -> str:
    """Say that the node stays cordoned, if it was not before."""
    ours = before.get(UNSCHEDULABLE) == "false" and now[UNSCHEDULABLE] == "true"
    return f"{args[NODE]} stays cordoned: kubectl uncordon {args[NODE]}" if ours else ""


def _eviction(pod: Pod) -> str:
    """The eviction of exactly that pod, not of a later pod with the same name."""
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
        "deleteOptions": {"preconditions": {"uid": pod.uid}},
    }
    written = json.dumps(body, separators=(",", ":"))
    return f"POST /api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction {written}"


ACTION = Action(
    name="drain",
    title="Drain {node}",
    verb="drain",
    impact="no new pods come to {node}, and those that are there are evicted, within {within}",
    targets=(NODE, CLUSTER),
    commands=commands,
    looks=node_and_pods_calls,
    facts=facts,
    judge=judge,
    patience=lambda before: parse_duration(before.get(WITHIN, _USUAL)),
    rights=(("get", "nodes"), ("patch", "nodes"), ("list", "pods"), ("create", "pods/eviction")),
    settles=False,
    limit=timedelta(seconds=10),
    remedy=RemedyRules(before_reboot="afterwards there is nothing left to move away"),
    only_for_reboot=True,
    ended_by="uncordon",
    by_calls=ClusterCalls(
        calls=eviction_calls_due,
        lasts=lambda args, before, now: "",
        spares=spared_words,
        refuses=refuses,
        affects=affects,
        leaves=still_cordoned_words,
    ),
)
