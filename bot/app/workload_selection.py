"""Turns selectors into nodes, and asks clusters where a selector names a workload."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import quote

from bot.actions.cluster_node import pods_listed
from bot.app.kubernetes import cluster_access, draining
from bot.domain.cluster_call import Call
from bot.domain.contracts import ClusterApi
from bot.domain.errors import CannotRead, ConnectionLost, UnknownCluster, UsageError
from bot.domain.node import Node
from bot.domain.safe_text import redacted_line
from bot.domain.sample import Sample
from bot.domain.selector import DEFAULT_NAMESPACE, Selector, SelectorKind, valid_namespace
from bot.inventory.selection import select
from bot.settings import Settings

if TYPE_CHECKING:
    from bot.inventory import Inventory

# Of every pod of a job since Kubernetes 1.27: https://kubernetes.io/docs/reference/labels-annotations-taints/
_JOB_LABEL = "batch.kubernetes.io/job-name"
LIMIT = timedelta(seconds=10)  # of a call


def selected(
    words: Sequence[str], inventory: Inventory, settings: Settings, environment: Mapping[str, str], namespace: str = ""
) -> tuple[Node, ...]:
    """Return the nodes that the words select, without a running event loop. Raises: as `find_selected`."""
    return asyncio.run(find_selected(words, inventory, settings, environment, namespace))


async def find_selected(
    words: Sequence[str], inventory: Inventory, settings: Settings, environment: Mapping[str, str], namespace: str = ""
) -> tuple[Node, ...]:
    """Return the nodes that the words select; a cluster is asked only for workloads.

    Raises: UsageError when a word selects no node, or the cluster does not say where a workload runs.
    """
    selectors = [Selector.of(word) for word in dict.fromkeys(words)]
    if not any(selector.kind is SelectorKind.WORKLOAD for selector in selectors):
        return await asyncio.to_thread(select, inventory, selectors)  # the search for near names takes time
    return select(inventory, selectors, await _workload_nodes(selectors, settings, environment, namespace))


def sampled(nodes: Sequence[Node], sample: Sample | None) -> tuple[Node, ...]:
    """Return a sample of the nodes, or all of them."""
    return tuple(nodes) if sample is None else sample.draw(nodes, secrets.SystemRandom())


async def _workload_nodes(
    selectors: Sequence[Selector], settings: Settings, environment: Mapping[str, str], namespace: str
) -> dict[str, tuple[str, ...]]:
    reach, cluster = cluster_access(settings, environment), draining(settings)
    if reach.api is None:
        workload = next(selector.text for selector in selectors if selector.kind is SelectorKind.WORKLOAD)
        raise UsageError(
            f"It is not known where {workload} runs: {cluster.missing}.",
            'Name the cluster in zombie.toml: [kubernetes] context = "…" (and the extra k8s).',
        )
    try:
        return await nodes_that_run(reach.api, cluster.cluster, selectors, namespace)
    finally:
        await reach.api.close()


async def nodes_that_run(
    api: ClusterApi, cluster: str, selectors: Sequence[Selector], namespace: str = ""
) -> dict[str, tuple[str, ...]]:
    """Return the cluster's nodes on which each workload among the selectors runs, by its text.

    Raises: UsageError where the cluster does not know it, or does not say.
    """
    where = valid_namespace(namespace or DEFAULT_NAMESPACE)
    found: dict[str, tuple[str, ...]] = {}
    for selector in selectors:
        if selector.kind is SelectorKind.WORKLOAD:
            found[selector.text] = await _nodes_of(api, cluster, selector, where)
    return found


async def _nodes_of(api: ClusterApi, cluster: str, selector: Selector, namespace: str) -> tuple[str, ...]:
    by = f"metadata.name={selector.name}" if selector.workload == "pod" else f"{_JOB_LABEL}={selector.name}"
    query = f"{'fieldSelector' if selector.workload == 'pod' else 'labelSelector'}={quote(by, safe='')}"
    path = f"/api/v1/namespaces/{namespace}/pods?{query}"
    try:
        answer = await api.call(cluster, Call("GET", path), LIMIT)
    except (ConnectionLost, UnknownCluster) as no:
        raise UsageError(no.sentence, "Name the nodes themselves, or by labels.") from no
    said = "more than can be read" if answer.cut else f"{answer.status} {redacted_line(answer.body[:4000], 120)}"
    try:
        if answer.cut or not answer.is_done:
            raise CannotRead(said)
        names = [pod["spec"].get("nodeName") for pod in pods_listed(answer.body)]
    except (CannotRead, KeyError, TypeError, AttributeError) as no:
        says = str(no) if isinstance(no, CannotRead) else said
        raise UsageError(f"The cluster {cluster} does not say where {selector.text} runs: {says}", "") from no
    if not names:
        raise UsageError(
            f"There is no {selector.text} in the namespace {namespace} of the cluster {cluster}.",
            "Name its namespace with -n NAMESPACE.",
        )
    return tuple(dict.fromkeys(name for name in names if isinstance(name, str) and name))
