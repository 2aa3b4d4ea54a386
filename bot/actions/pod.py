"""A pod, with what matters for moving it off its node.

Defined in: the API reference of v1 Pod; the labels of KubeRay, of Kubeflow's training operator and of batch Jobs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.domain.errors import CannotRead
from bot.domain.safe_text import one_line

_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\Z")
_UID = re.compile(r"[A-Za-z0-9-]{1,64}\Z")
_MIRROR = "kubernetes.io/config.mirror"
_JOBS = (  # the first label that a pod has names the work it is part of
    ("ray.io/cluster", "Ray cluster"),
    ("training.kubeflow.org/job-name", "training job"),
    ("jobset.sigs.k8s.io/jobset-name", "JobSet"),
    ("volcano.sh/job-name", "Volcano job"),
    ("batch.kubernetes.io/job-name", "Job"),
    ("job-name", "Job"),
)
_ROLES = ("ray.io/node-type", "training.kubeflow.org/replica-type")
EVICT, GOING, BARE = "evict", "going", "bare"
LOSES = "loses emptyDir"


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod of a node.

    Shape: `state` is EVICT, GOING (it is ending already) or BARE (no controller would recreate it). `about` says what
    it belongs to and what it would lose.
    """

    namespace: str
    name: str
    uid: str
    state: str = EVICT
    about: str = ""
    node: str = ""
    moves: bool = True

    @classmethod
    def from_api(cls, told: Mapping[str, Any]) -> Pod:
        """Return the pod from the API's JSON.

        Raises: CannotRead when it has no valid name.
        """
        meta, spec, status = (_mapping_in(told, name) for name in ("metadata", "spec", "status"))
        namespace, name, uid = (meta.get(key) for key in ("namespace", "name", "uid"))
        if not (_matches_pattern(_NAME, namespace) and _matches_pattern(_NAME, name) and _matches_pattern(_UID, uid)):
            raise CannotRead(f"the cluster lists a pod without a valid name: {one_line(str(name), 80)}")
        owners = meta.get("ownerReferences")
        owner = next((ref for ref in owners or () if isinstance(ref, dict) and ref.get("controller") is True), None)
        stays = _MIRROR in _mapping_in(meta, "annotations") or (owner or {}).get("kind") == "DaemonSet"
        ended = status.get("phase") in ("Succeeded", "Failed")
        state = GOING if meta.get("deletionTimestamp") else EVICT if owner is not None else BARE
        return cls(
            str(namespace),
            str(name),
            str(uid),
            state,
            "; ".join(filter(None, (_workload_words(_mapping_in(meta, "labels"), owner), _empty_dirs_words(spec)))),
            str(spec.get("nodeName", "")),
            not stays and not ended,
        )

    @classmethod
    def from_fact(cls, full_name: str, said: str) -> Pod:
        """Return the pod from a fact."""
        namespace, _, name = full_name.partition("/")
        uid, state, *about = said.split(" ", 2)
        return cls(namespace, name, uid, state, "".join(about))

    @property
    def full_name(self) -> str:
        """Its namespace and name."""
        return f"{self.namespace}/{self.name}"

    @property
    def to_fact(self) -> str:
        """The pod as a fact, to be parsed by `from_fact`."""
        return f"{self.uid} {self.state} {self.about}".rstrip()

    @property
    def loss(self) -> int:
        """Its rank among the pods of a drain: first what nothing starts again, then what loses data."""
        return 0 if self.state == BARE else 1 if LOSES in self.about else 2

    @property
    def is_lost(self) -> bool:
        """True if its eviction takes what nothing brings back. One that is ending already is not evicted."""
        return self.state != GOING and self.loss < 2

    @property
    def words(self) -> str:
        """The pod for people."""
        state = {GOING: "is ending already", BARE: "no controller would start it again"}.get(self.state, "")
        told = "; ".join(filter(None, (self.about, state)))
        return f"{self.full_name}: {told}" if told else self.full_name


def _workload_words(labels: Mapping[str, Any], owner: Mapping[str, Any] | None) -> str:
    role = next((f" ({one_line(str(labels[label]), 40)})" for label in _ROLES if label in labels), "")
    for label, word in _JOBS:
        if label in labels:
            return f"{word} {one_line(str(labels[label]), 100)}{role}"
    if owner is None:
        return ""
    return one_line(f"{owner.get('kind', '')} {owner.get('name', '')}".strip(), 150)


def _empty_dirs_words(spec: Mapping[str, Any]) -> str:
    volumes = spec.get("volumes")
    names = [
        one_line(str(volume.get("name", "")), 40)
        for volume in (volumes if isinstance(volumes, list) else ())
        if isinstance(volume, dict) and "emptyDir" in volume
    ]
    return f"{LOSES} {', '.join(names)}" if names else ""


def _matches_pattern(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.match(value) is not None


def _mapping_in(of: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = of.get(name)
    return found if isinstance(found, dict) else {}
