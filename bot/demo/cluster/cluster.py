"""The state of the simulated Kubernetes cluster: its nodes and pods, and what the bot may do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.demo.cluster.pod import DemoPod

RIGHTS = frozenset(
    {("get", "nodes"), ("list", "nodes"), ("patch", "nodes"), ("list", "pods"), ("create", "pods/eviction")}
)
ELSEWHERE = "another-node"


class Failure(Exception):
    """An error answer of the API, sent as a `Status`."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message

    def document(self) -> dict[str, Any]:
        """Return its JSON."""
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code,
        }


@dataclass(slots=True)
class DemoNode:
    """A node. Its boot id and its readiness are asked for at every read."""

    name: str
    boot_id: Callable[[], str]
    ready: Callable[[], bool] = lambda: True
    unschedulable: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    address: str = ""
    kernel: str = "6.8.0-1021-aws"
    provider: str = ""

    def document(self) -> dict[str, Any]:
        """Return its JSON."""
        ready = self.ready()
        condition = {
            "type": "Ready",
            "status": "True" if ready else "Unknown",
            "reason": "KubeletReady" if ready else "NodeStatusUnknown",
            "message": "kubelet is posting ready status" if ready else "Kubelet stopped posting node status.",
        }
        spec: dict[str, Any] = {"unschedulable": True} if self.unschedulable else {}
        if self.provider:
            spec["providerID"] = self.provider
        addresses = [{"type": "Hostname", "address": self.name}]
        if self.address:
            addresses.insert(0, {"type": "InternalIP", "address": self.address})
        info = {"bootID": self.boot_id(), "machineID": "m" * 32, "kubeletVersion": "v1.31.4"}
        info |= {"kernelVersion": self.kernel, "osImage": "Ubuntu 24.04.1 LTS"}
        pressure = {"type": "MemoryPressure", "status": "False", "reason": "KubeletHasSufficientMemory"}
        return {
            "kind": "Node",
            "apiVersion": "v1",
            "metadata": {
                "name": self.name,
                "uid": f"uid-of-{self.name}",
                "resourceVersion": "77",
                "labels": {"kubernetes.io/hostname": self.name, **self.labels},
            },
            "spec": spec,
            "status": {"addresses": addresses, "conditions": [pressure, condition], "nodeInfo": info},
        }


@dataclass(slots=True)
class Cluster:
    """All nodes and pods. `seconds` is the clock."""

    nodes: dict[str, DemoNode]
    pods: list[DemoPod]
    seconds: Callable[[], float]
    rights: frozenset[tuple[str, str]] = RIGHTS
    evicted: list[str] = field(default_factory=list)
    patched: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, nodes: Iterable[DemoNode], pods: Iterable[DemoPod], seconds: Callable[[], float]) -> Cluster:
        """Return a cluster of these nodes and pods."""
        return cls({node.name: node for node in nodes}, list(pods), seconds)

    def on(self, node: str) -> list[DemoPod]:
        """Return the pods on a node now. A pod past its grace period is gone, and its controller starts it again."""
        now = self.seconds()
        for pod in self.pods:
            if pod.ends_at is not None and now >= pod.ends_at:
                pod.ends_at, pod.generation = None, pod.generation + 1
                pod.node = pod.node if pod.comes_back else ELSEWHERE
        return [pod for pod in self.pods if pod.node == node]

    def may(self, verb: str, resource: str) -> bool:
        """Return whether the bot's account may do this."""
        return (verb, resource) in self.rights

    def node(self, name: str) -> DemoNode:
        """Return a node.

        Raises: Failure when there is no node of that name.
        """
        if name not in self.nodes:
            raise Failure(404, "NotFound", f'nodes "{name}" not found')
        return self.nodes[name]

    def patch(self, name: str, change: dict[str, Any]) -> DemoNode:
        """Apply a merge patch to a node.

        Raises: Failure when there is no such node, or the patch changes anything but `unschedulable`.
        """
        node = self.node(name)
        spec = change.get("spec")
        if set(change) != {"spec"} or not isinstance(spec, dict) or set(spec) != {"unschedulable"}:
            raise Failure(422, "Invalid", f'Node "{name}" is invalid: only spec.unschedulable is known here')
        node.unschedulable = spec["unschedulable"] is True
        self.patched.append(f"{name} unschedulable={spec['unschedulable']}")
        return node

    def evict(self, namespace: str, name: str, uid: str) -> None:
        """Evict a pod as the Eviction subresource does.

        Raises: Failure when there is no such pod, its uid differs, or a disruption budget forbids it.
        """
        pod = next(
            (candidate for candidate in self.pods if (candidate.namespace, candidate.name) == (namespace, name)), None
        )
        if pod is None or pod not in self.on(pod.node):
            raise Failure(404, "NotFound", f'pods "{name}" not found')
        if uid and uid != pod.uid:
            detail = f"the UID in the precondition ({uid}) does not match the UID in record ({pod.uid})"
            raise Failure(
                409, "Conflict", f'Operation cannot be fulfilled on Pod "{name}": Precondition failed: {detail}'
            )
        if pod.ends_at is not None:
            return
        if len(pod.budgets) > 1:
            message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
            raise Failure(500, "InternalError", message)
        if not all(budget.allows_eviction() for budget in pod.budgets):
            raise Failure(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.")
        pod.ends_at = self.seconds() + pod.grace
        self.evicted.append(f"{namespace}/{name}")
