"""Puts together Kubernetes: whether nodes can be drained, and access to their clusters, loaded on first use."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

from bot.domain.cluster_call import ApiAnswer, Call
from bot.domain.contracts import ClusterApi
from bot.domain.errors import SettingsError
from bot.response.diagnosis.planning import DrainSettings
from bot.response.execution.cluster_calls import ClusterAccess
from bot.settings import Settings, home_of

OWN = "in-cluster"


def draining(settings: Settings) -> DrainSettings:
    """Return the settings for draining, and which cures may be offered; loads nothing.

    Raises: SettingsError when two clusters are named.
    """
    said = settings.kubernetes
    if said.context and said.in_cluster:
        raise SettingsError("[kubernetes] has context and in_cluster: set only one of them.")
    missing = ""
    if not (said.context or said.in_cluster or said.kubeconfig):
        missing = "no Kubernetes cluster is configured"
    elif importlib.util.find_spec("lightkube") is None:
        missing = "the extra k8s is not installed"
    cluster = OWN if said.in_cluster else said.context
    return DrainSettings(missing, cluster, said.drain_deadline, said.bare_pods, settings.act.proven_only)


def cluster_access(settings: Settings, environment: Mapping[str, str]) -> ClusterAccess:
    """Return the access to the clusters; its package is loaded with the first call.

    Raises: SettingsError when two clusters are named.
    """
    found = draining(settings)
    if found.missing:
        return ClusterAccess(None)
    kubeconfig = settings.kubernetes.kubeconfig
    if kubeconfig is None and found.cluster != OWN:
        kubeconfig = usual_kubeconfig(environment)
    return ClusterAccess(_ApiOnFirstCall(kubeconfig, OWN if found.cluster == OWN else ""))


def usual_kubeconfig(environment: Mapping[str, str]) -> Path:
    """Return where a kubeconfig is that nothing names."""
    return home_of(environment) / ".kube" / "config"


class _ApiOnFirstCall:
    """The clusters' APIs, made with the first call."""

    def __init__(self, kubeconfig: Path | None, own: str) -> None:
        self._told = kubeconfig, own
        self._api: ClusterApi | None = None
        self._making = asyncio.Lock()

    async def call(self, cluster: str, call: Call, limit: timedelta) -> ApiAnswer:
        async with self._making:
            if self._api is None:
                self._api = await asyncio.to_thread(self._new_api)  # loading takes a moment
        return await self._api.call(cluster, call, limit)

    def _new_api(self) -> ClusterApi:
        from bot.transport.kubernetes import KubernetesApi

        return KubernetesApi(*self._told)

    async def close(self) -> None:
        if self._api is not None:
            await self._api.close()
