"""Keep new pods away from a Kubernetes node whose fault only people can fix. Running pods stay."""

from __future__ import annotations

from datetime import timedelta

from bot.actions import cluster_node, uncordon
from bot.actions.cluster_node import CLUSTER, NODE, UNSCHEDULABLE
from bot.domain.action import Action, Args, ClusterCalls, Facts, Proof, RemedyRules, Step
from bot.domain.probe import Snapshot


def commands(args: Args, snapshot: Snapshot) -> tuple[str, ...]:
    """Return the call; repeating it changes nothing.

    Example:
    >>> from datetime import datetime, timezone
    >>> commands({"node": "n1"}, Snapshot("n", datetime.now(timezone.utc), timedelta(seconds=5)))
    ('PATCH /api/v1/nodes/n1 {"spec":{"unschedulable":true}}',)
    """
    return (cluster_node.cordon_call(args),)


def judge(args: Args, before: Facts, now: Facts) -> Proof:
    """Judge whether new pods are kept away."""
    return Proof.PROVEN if now[UNSCHEDULABLE] == "true" else Proof.NOT_YET


def cordon_calls_due(args: Args, before: Facts, now: Facts) -> tuple[str, ...]:
    """Return the calls to make now: none if the node is cordoned already, or in another boot."""
    due = now[UNSCHEDULABLE] != "true" and not cluster_node.another_boot_words(args, now)
    return (cluster_node.cordon_call(args),) if due else ()


def refuses(args: Args, now: Facts) -> str:
    """Say why the node may not be cordoned: it is another machine, or it is cordoned already."""
    if now[UNSCHEDULABLE] == "true":
        return f"{args[NODE]} is cordoned already: nothing is left to do."
    return cluster_node.another_boot_words(args, now)


def uncordoned_since(args: Args, before: Facts, now: Facts) -> str:
    """Say that somebody uncordoned the node."""
    return f"{args[NODE]} was uncordoned" if now[UNSCHEDULABLE] != "true" else ""


def inverse(args: Args, before: Facts) -> tuple[Step, ...]:
    """Return the step that uncordons the node once the cluster finds it Ready; none if it was cordoned before."""
    if before.get(UNSCHEDULABLE) != "false":
        return ()
    return (Step("uncordon", {NODE: args[NODE], CLUSTER: args[CLUSTER]}, (uncordon.undo_call(args),)),)


ACTION = Action(
    name="cordon",
    title="Cordon {node}",
    verb="cordon",
    impact="no new pods come to {node}; those that are there stay",
    note="It cures nothing: afterwards a person must see to the node. `zombie undo` lets pods come again.",
    targets=(NODE, CLUSTER),
    commands=commands,
    looks=cluster_node.node_calls,
    facts=cluster_node.node_facts,
    judge=judge,
    patience=lambda before: timedelta(minutes=1),
    inverse=inverse,
    rights=(("get", "nodes"), ("patch", "nodes")),
    settles=False,
    contains=True,
    limit=timedelta(seconds=10),
    remedy=RemedyRules(only_where="it keeps work from a node that only people can repair"),
    by_calls=ClusterCalls(calls=cordon_calls_due, lasts=uncordoned_since, refuses=refuses),
)
