"""What drain and uncordon need to know from a Kubernetes cluster about a node and its pods.

Defined in: the API reference of v1 Node and Pod; which pods stay and which are refused follows `kubectl drain`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from bot.actions.pod import Pod
from bot.domain.action import Args, Facts
from bot.domain.command import Command, Outputs
from bot.domain.errors import CannotRead
from bot.domain.safe_text import one_line, redacted_line

# Arguments; the ledger stores them sorted by name, and they are shown in that order.
NODE, CLUSTER, WITHIN, BARE_TOO = "node", "of_cluster", "within", "with_bare_pods"
UNSCHEDULABLE, READY, WHY, CLUSTER_BOOT, LEFT = "unschedulable", "ready", "not_ready_because", "cluster_boot", "pods"
BOOT = "boot_id"  # from the node itself; the caller adds it
POD = "pod "  # before a pod's name
_LIMIT_BYTES = 64 * 1024 * 1024
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\Z")


def is_name(text: str) -> bool:
    """True for a valid node name in Kubernetes."""
    return _NAME.match(text) is not None


def name_of(args: Args) -> str:
    """Return the node's name in the cluster, safe to be part of an API path.

    Raises: CannotRead for an invalid name: a label may come from a tag, which many people may set.
    """
    if not is_name(args[NODE]):
        raise CannotRead(f"{one_line(args[NODE], 60)!r} cannot be the name of a node in Kubernetes")
    return args[NODE]


def node_command(args: Args) -> Command:
    """Return the call that reads the node."""
    return Command("node", ("GET", f"/api/v1/nodes/{name_of(args)}"), output_limit_bytes=_LIMIT_BYTES)


def node_calls(args: Args) -> tuple[Command, ...]:
    """Return what tells the node's state alone."""
    return (node_command(args),)


def cordon_call(args: Args) -> str:
    """Return the call that keeps new pods from the node."""
    return f'PATCH /api/v1/nodes/{name_of(args)} {{"spec":{{"unschedulable":true}}}}'


def another_boot_words(args: Args, now: Facts) -> str:
    """Say that the cluster's node is another machine or boot than SSH shows; empty if it is the same."""
    if now.get(BOOT) == now[CLUSTER_BOOT]:
        return ""
    return (
        f"The cluster knows {args[NODE]} in boot {now[CLUSTER_BOOT]}, and this machine is in {now.get(BOOT)}: "
        "the label kubernetes_node names another machine, or its kubelet is silent."
    )


def pods_command(args: Args) -> Command:
    """Return the call that reads the pods on the node."""
    path = f"/api/v1/pods?fieldSelector=spec.nodeName%3D{name_of(args)}"
    return Command("pods", ("GET", path), output_limit_bytes=_LIMIT_BYTES)


def node_facts(args: Args, outputs: Outputs) -> dict[str, str]:
    """Return whether new pods may come, whether the node is Ready, and which boot the cluster knows.

    Raises: CannotRead when the cluster does not say.
    """
    node = _parsed_object(outputs.text("node"), "Node")
    spec, status = _mapping_in(node, "spec"), _mapping_in(node, "status")
    ready = next((condition for condition in _items_in(status, "conditions") if condition.get("type") == "Ready"), {})
    boot = str(_mapping_in(status, "nodeInfo").get("bootID", "")).lower()
    if not ready.get("status") or not boot:
        raise CannotRead(f"the cluster does not say whether {args[NODE]} is Ready, and in which boot it is")
    found = {
        UNSCHEDULABLE: "true" if spec.get("unschedulable") is True else "false",
        READY: one_line(str(ready["status"]), 20),
        CLUSTER_BOOT: one_line(boot, 60),
    }
    if found[READY] != "True":
        found[WHY] = redacted_line(f"{ready.get('reason', '')} {ready.get('message', '')}".strip(), 200)
    return found


def pods_to_move(args: Args, outputs: Outputs) -> tuple[Pod, ...]:
    """Return the pods that a drain would move: all except DaemonSets', static pods of the node, and ended pods.

    Raises: CannotRead when the cluster does not say.
    """
    found = [Pod.from_api(item) for item in pods_listed(outputs.text("pods"))]
    if any(pod.node != args[NODE] for pod in found):
        raise CannotRead(f"the cluster lists pods that are not on {args[NODE]}")
    return tuple(sorted((pod for pod in found if pod.moves), key=lambda pod: pod.full_name))


def pods_listed(text: str) -> list[Mapping[str, Any]]:
    """Return the pods of an answer that is a whole list of pods. Raises: CannotRead."""
    listed = _parsed_object(text, "PodList")
    if "items" not in listed or _mapping_in(listed, "metadata").get("continue"):
        raise CannotRead("the cluster lists only a part of the pods")
    return _items_in(listed, "items")


def pod_facts(found: Iterable[Pod]) -> dict[str, str]:
    """Return each pod as a fact."""
    return {f"{POD}{pod.full_name}": pod.to_fact for pod in found}


def pods_of(facts: Facts) -> tuple[Pod, ...]:
    """Return the pods from facts."""
    return tuple(Pod.from_fact(name.removeprefix(POD), said) for name, said in facts.items() if name.startswith(POD))


def _parsed_object(text: str, kind: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CannotRead(f"the cluster's answer is not JSON: {one_line(str(error), 80)}") from error
    if not isinstance(found, dict) or found.get("kind") != kind:
        raise CannotRead(f"the cluster's answer is not a {kind}")
    return found


def _mapping_in(of: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = of.get(name)
    return part if isinstance(part, dict) else {}


def _items_in(of: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    items = of.get(name) or []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise CannotRead(f"the cluster's answer has no list of {name}")
    return items
