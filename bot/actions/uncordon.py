"""Let pods come to a Kubernetes node again, once its cluster finds it Ready in the boot that it is in."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from bot.actions import cluster_node
from bot.actions.cluster_node import BOOT, CLUSTER, CLUSTER_BOOT, NODE, READY, UNSCHEDULABLE, WHY
from bot.domain.action import Action, Args, ByCalls, Facts, Proof, RemedyRules
from bot.domain.call import remarked
from bot.domain.command import Command, Outputs
from bot.domain.probe import Snapshot

LEFT_SO = "cordoned_before"  # the drain found it cordoned, so it is not ours to end


def commands(args: Args, snapshot: Snapshot) -> tuple[str, ...]:
    """Return the one call; twice changes nothing more.

    Example:
    >>> from datetime import datetime, timezone
    >>> commands({"node": "n1"}, Snapshot("n", datetime.now(timezone.utc), timedelta(seconds=5)))[0][:60]
    'PATCH /api/v1/nodes/n1 {"spec":{"unschedulable":null}}  # on'
    """
    return (remarked(call(args), "once the node is Ready; not if it was cordoned before the drain"),)


def once_ready(args: Args) -> str:
    """Return the call as the undo of a cordon has it."""
    return remarked(call(args), "once the node is Ready")


def call(args: Args) -> str:
    """Return the call that lets pods come."""
    return f'PATCH /api/v1/nodes/{cluster_node.name_of(args)} {{"spec":{{"unschedulable":null}}}}'


def looks(args: Args) -> tuple[Command, ...]:
    """Return the look at the node."""
    return (cluster_node.look_at_node(args),)


def facts(args: Args, outputs: Outputs) -> Facts:
    """Return how the node is.

    Raises: CannotRead when the cluster does not say.
    """
    return cluster_node.node_facts(args, outputs)


def given(facts: Facts, earlier: Mapping[str, Facts]) -> Facts:
    """Add whether the plan's drain found the node cordoned: it then began nothing, or says so."""
    if "drain" not in earlier or earlier["drain"].get(UNSCHEDULABLE) == "false":
        return facts
    return {**facts, LEFT_SO: "true"}


def judge(args: Args, before: Facts, now: Facts) -> Proof:
    """Judge whether pods may come, to a node that is Ready in this very boot."""
    open_again = now[UNSCHEDULABLE] == "false" or LEFT_SO in before
    return Proof.PROVEN if open_again and _is_ready(now) else Proof.NOT_YET


def calls(args: Args, before: Facts, now: Facts) -> tuple[str, ...]:
    """Return what is to be called now: nothing before the node is Ready, nothing where somebody else cordoned it."""
    return (call(args),) if _is_ready(now) and now[UNSCHEDULABLE] == "true" and LEFT_SO not in before else ()


def lasts(args: Args, before: Facts, now: Facts) -> str:
    """Say what is wrong with the node in its cluster."""
    if not _is_ready(now):
        return f"{args[NODE]} is not Ready in its cluster: {now.get(WHY) or 'it is known there in another boot'}"
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
    looks=looks,
    facts=facts,
    judge=judge,
    rights=lambda args: (("get", "nodes"), ("patch", "nodes")),
    settles=False,
    remedy=RemedyRules(last="it lets work back onto the node"),
    limit=timedelta(seconds=10),
    by_calls=ByCalls(calls=calls, lasts=lasts, given=given),
)
