"""A pod of the simulated cluster, and its disruption budget.

Defined in: the API reference of v1 Pod. Only the fields that a drain reads are there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Budget:
    """A disruption budget. It forbids the first `refuses` evictions; None forbids all."""

    name: str
    refuses: int | None = 0
    asked: int = 0

    def allows_eviction(self) -> bool:
        """Return whether a pod may be evicted now."""
        self.asked += 1
        return self.refuses is not None and self.asked > self.refuses


@dataclass(slots=True)
class DemoPod:
    """A pod. `owner` is the kind and name of its controller, empty without a controller.

    Shape: `grace` is how many seconds it takes to end; `ends_at` is when it will have ended, None while it runs. With
    `comes_back` its controller starts it on the same node again, as it does for a pod that tolerates the taint.
    """

    namespace: str
    name: str
    node: str
    owner: tuple[str, str] = ("", "")
    labels: Mapping[str, str] = field(default_factory=dict)
    empty_dirs: tuple[str, ...] = ()
    mirror: bool = False
    phase: str = "Running"
    grace: float = 0.0
    budgets: tuple[Budget, ...] = ()
    comes_back: bool = False
    ends_at: float | None = None
    generation: int = 0

    @property
    def uid(self) -> str:
        """Its uid. A new pod of the same name has a new uid."""
        seed = hashlib.sha256(f"{self.namespace}/{self.name} {self.generation}".encode()).hexdigest()
        return f"{seed[:8]}-{seed[8:12]}-4{seed[13:16]}-8{seed[17:20]}-{seed[20:32]}"

    def document(self) -> dict[str, Any]:
        """Return its JSON."""
        meta: dict[str, Any] = {
            "name": self.name,
            "namespace": self.namespace,
            "uid": self.uid,
            "resourceVersion": str(1000 + self.generation),
            "labels": dict(self.labels),
        }
        kind, name = self.owner
        if kind:
            version = "batch/v1" if kind == "Job" else "apps/v1"
            owner = {"apiVersion": version, "kind": kind, "name": name, "uid": "0", "controller": True}
            meta["ownerReferences"] = [owner]
        if self.mirror:
            meta["annotations"] = {"kubernetes.io/config.mirror": "3f1c", "kubernetes.io/config.source": "file"}
            meta["ownerReferences"] = [{"apiVersion": "v1", "kind": "Node", "name": self.node, "controller": True}]
        if self.ends_at is not None:
            meta |= {"deletionTimestamp": "2026-11-21T09:30:00Z", "deletionGracePeriodSeconds": int(self.grace)}
        volumes: list[dict[str, Any]] = [{"name": name, "emptyDir": {}} for name in self.empty_dirs]
        volumes.append({"name": "kube-api-access", "projected": {"sources": []}})
        spec = {"nodeName": self.node, "containers": [{"name": "main", "image": "app:1"}], "volumes": volumes}
        return {"metadata": meta, "spec": spec, "status": {"phase": self.phase}}
