"""Let pods come to a Kubernetes node again, once its cluster finds it Ready in its present boot."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from bot.actions import cluster_node
from bot.actions.cluster_node import BOOT, CLUSTER, CLUSTER_BOOT, NODE, READY, UNSCHEDULABLE, WHY
from bot.domain.action import Action, Args, ClusterCalls, Facts, Proof, RemedyRules
from bot.domain.cluster_call import with_remark
from bot.domain.probe import Snapshot

LEFT_SO = "cordoned_before"  # it was cordoned before the drain, so we must not uncordon it


def commands(args: Args, snapshot: Snapshot) -> tuple[str, ...]:
    """Return the call; repeating it changes nothing.

    Example:
    >>> from datetime import datetime, timezone
    >>> commands({"node": "n1"}, Snapshot("n", datetime.now(timezone.utc), timedelta(seconds=5)))[0][:60]
    'PATCH /api/v1/nodes/n1 {"spec":{"unschedulable":null}}  # on'
    """
    return (with_remark(call(args), "once the cure has held; not if it was cordoned before the drain"),)


def undo_call(args: Args) -> str:
    """Return the call as used to undo a cordon."""
    return with_remark(call(args), "once the node is Ready")


def call(args: Args) -> str:
    """Return the call that lets pods come."""
    return f'PATCH /api/v1/nodes/{cluster_node.name_of(args)} {{"spec":{{"unschedulable":null}}}}'


def with_earlier_cordon(facts: Facts, earlier: Mapping[str, Facts]) -> Facts:
    """Add whether the node was cordoned before the plan's drain."""
    if "drain" not in earlier or earlier["drain"].get(UNSCHEDULABLE) == "false":
        return facts
    return {**facts, LEFT_SO: "true"}


def judge(args: Args, before: Facts, now: Facts) -> Proof:
    """Judge whether pods may come, and the node is Ready in this boot."""
    open_again = now[UNSCHEDULABLE] == "false" or LEFT_SO in before
    return Proof.PROVEN if open_again and _is_ready(now) else Proof.NOT_YET


def uncordon_calls_due(args: Args, before: Facts, now: Facts) -> tuple[str, ...]:
    """Return the calls to make now: none before the node is Ready, or if somebody else cordoned it."""
    return (call(args),) if _is_ready(now) and now[UNSCHEDULABLE] == "true" and LEFT_SO not in before else ()


def node_trouble(args: Args, before: Facts, now: Facts) -> str:
    """Say what is wrong with the node in its cluster."""
    if not _is_ready(now):
        return f"{args[NODE]} is not Ready in its cluster: {now.get(WHY) or 'the cluster knows it in another boot'}"
    if now[UNSCHEDULABLE] == "true" and LEFT_SO not in before:
        return f"{args[NODE]} was cordoned again"
    return ""


def _is_ready(now: Facts) -> bool:
    return now[READY] == "True" and now.get(BOOT) == now[CLUSTER_BOOT]


ACTION = Action(
    name="uncordon",
    title="Uncordon {node}",
    verb="uncordon",
    impact="pods may come again",
    targets=(NODE, CLUSTER),
    commands=commands,
    looks=cluster_node.node_calls,
    facts=cluster_node.node_facts,
    judge=judge,
    rights=(("get", "nodes"), ("patch", "nodes")),
    settles=False,
    once_cured=True,
    remedy=RemedyRules(last="it lets work back onto the node"),
    limit=timedelta(seconds=10),
    by_calls=ClusterCalls(calls=uncordon_calls_due, lasts=node_trouble, given=with_earlier_cordon),
)
