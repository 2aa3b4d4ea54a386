"""Where a node is one of a Kubernetes cluster, so that its reboot is enclosed by drain and uncordon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from bot.domain.duration import written
from bot.domain.node import Node
from bot.domain.plan import Step
from bot.domain.safe_text import one_line

NODE_LABEL, CONTEXT_LABEL = "kubernetes_node", "kubernetes_context"


@dataclass(frozen=True, slots=True)
class Draining:
    """What is configured of clusters.

    Shape: `missing` says why no node can be drained, and is empty where they can. `cluster` names the one that nodes
    are in whose label says no other; empty: the label has to say. `bare_pods`: also those that nothing starts again.
    """

    missing: str = "no Kubernetes cluster is configured"
    cluster: str = ""
    within: timedelta = timedelta(minutes=10)
    bare_pods: bool = False

    def around(self, node: Node, steps: Sequence[Step], reboot_at: int) -> tuple[tuple[Step, ...], str]:
        """Return the steps with a drain before and an uncordon after the reboot, and why not where there should be.

        Example:
        >>> node = Node("n1", "10.0.0.7", labels={"kubernetes_node": "ip-10-0-0-7"})
        >>> [step.action for step in Draining("", "prod").around(node, [Step("reboot")], 0)[0]]
        ['drain', 'reboot', 'uncordon']
        >>> Draining().around(node, [Step("reboot")], 0)[1]
        'ip-10-0-0-7 is not drained: no Kubernetes cluster is configured. Its pods are cut off by the reboot.'
        """
        name = node.labels.get(NODE_LABEL, "")
        if not name or any(step.action == "drain" for step in steps):
            return tuple(steps), ""
        cluster = node.labels.get(CONTEXT_LABEL, "") or self.cluster
        if why := self.missing or ("" if cluster else f"no label {CONTEXT_LABEL} names its cluster"):
            return tuple(steps), f"{one_line(name, 100)} is not drained: {why}. Its pods are cut off by the reboot."
        where = {"node": name, "of_cluster": cluster}
        how = {"within": written(self.within)} | ({"with_bare_pods": "bare pods too"} if self.bare_pods else {})
        before, after = steps[:reboot_at], steps[reboot_at:]
        return (*before, Step("drain", where | how), *after, Step("uncordon", where)), ""
