"""Calls to Kubernetes APIs, with the credentials of a kubeconfig or of the pod's service account.

lightkube reads the configuration and authenticates. The calls are sent exactly as they were approved.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import httpx2
import msgspec
import yaml
from lightkube.config.client_adapter import AsyncClient, ConnectionParams
from lightkube.config.kubeconfig import KubeConfig, SingleConfig
from lightkube.config.models import User
from lightkube.core.exceptions import ConfigError

from bot.domain.addresses import is_loopback
from bot.domain.cluster_call import ApiAnswer, Call
from bot.domain.errors import ConnectionLost, UnknownCluster
from bot.domain.safe_text import decode, one_line, redacted_line

# People write kubeconfigs: every error in them becomes a sentence.
_MISCONFIGURED = (ConfigError, OSError, ValueError, KeyError, TypeError, AssertionError, AttributeError)
_MALFORMED = (msgspec.MsgspecError, yaml.YAMLError, httpx2.InvalidURL)
_TYPES = {"POST": "application/json", "PATCH": "application/merge-patch+json"}
_LIMIT_BYTES = 64 * 1024 * 1024


class KubernetesApi:
    """Clusters by their context in the kubeconfig, and the cluster in which this program runs."""

    def __init__(self, kubeconfig: Path | None, own: str = "") -> None:
        """`own` is the name of the cluster in which this program runs, if it runs in a cluster."""
        self._kubeconfig = kubeconfig
        self._own = own
        self._clients: dict[str, httpx2.AsyncClient] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    async def call(self, cluster: str, call: Call, limit: timedelta) -> ApiAnswer:
        """Send a call and return the answer.

        Raises: UnknownCluster when no cluster of that name is configured; ConnectionLost when there was no answer.
        """
        client = await self._client(cluster)
        content = call.body.encode() if call.body else None
        headers: Mapping[str, str] = {"Content-Type": _TYPES[call.verb]} if content is not None else {}
        try:
            async with asyncio.timeout(limit.total_seconds()):
                request = client.stream(call.verb, call.path, content=content, headers=dict(headers))
                async with request as answer:
                    body = bytearray()
                    async for part in answer.aiter_bytes():
                        body += part
                        if len(body) > _LIMIT_BYTES:
                            return ApiAnswer(answer.status_code, decode(bytes(body[:_LIMIT_BYTES])), cut=True)
                    return ApiAnswer(answer.status_code, decode(bytes(body)))
        except TimeoutError as error:
            raise ConnectionLost(
                f"The API of cluster {cluster} did not answer in {limit.total_seconds():g} s."
            ) from error
        except (httpx2.HTTPError, OSError, ConfigError, ValueError, KeyError) as error:
            raise ConnectionLost(f"The API of cluster {cluster} cannot be reached ({_reason(error)}).") from error

    async def close(self) -> None:
        """Close the connections."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.aclose()

    async def _client(self, cluster: str) -> httpx2.AsyncClient:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # a connection belongs to the loop that made it
            self._clients, self._loop = {}, loop
        if cluster not in self._clients:
            client = await asyncio.to_thread(self._new_client, cluster)  # reads files, and the system's certificates
            self._clients.setdefault(cluster, client)
        return self._clients[cluster]

    def _new_client(self, cluster: str) -> httpx2.AsyncClient:
        try:
            config = self._config(cluster)
            is_https = config.cluster.server.startswith("https:")  # the environment's proxy is not for loopback
            return AsyncClient(config, ConnectionParams(timeout=httpx2.Timeout(10), trust_env=is_https))
        except (*_MISCONFIGURED, *_MALFORMED) as error:
            named = one_line(cluster, 60)
            raise UnknownCluster(f"Cluster {named} cannot be used as configured ({_reason(error)}).") from error

    def _config(self, cluster: str) -> SingleConfig:
        if self._own and cluster == self._own:
            found = KubeConfig.from_service_account().get()
            assert found is not None
            return found
        if self._kubeconfig is None:
            raise UnknownCluster(f"No cluster {one_line(cluster, 60)!r} is configured.", "[kubernetes] kubeconfig")
        known = KubeConfig.from_file(self._kubeconfig)
        if cluster not in known.contexts:
            names = ", ".join(one_line(name, 40) for name in sorted(known.contexts)[:8]) or "none"
            raise UnknownCluster(
                f"{self._kubeconfig} has no context {one_line(cluster, 60)!r}; it has {names}.",
                "[kubernetes] context, or the node's label kubernetes_context",
            )
        found = known.get(cluster)
        assert found is not None
        if found.cluster.insecure:  # as with SSH: whoever answers would get the login, and be asked to drain
            raise UnknownCluster(
                f"{self._kubeconfig} switches the check of {one_line(cluster, 60)}'s certificate off "
                "(insecure-skip-tls-verify).",
                "Name its certificate-authority there.",
            )
        server = httpx2.URL(found.cluster.server)
        if server.scheme != "https" and not (
            server.scheme == "http" and is_loopback(server.host)
        ):  # the same, for whoever listens on the way
            raise UnknownCluster(
                f"{self._kubeconfig} has neither https nor this machine as {one_line(cluster, 60)}'s server.",
                "Name an https:// address there, or a proxy on loopback: kubectl proxy",
            )
        # No user is needed where a proxy or the network authenticates.
        return found if found.user is not None else found._replace(user=User())


def _reason(error: Exception) -> str:
    """Say why, without what a library quotes: a line of the kubeconfig, or the header with the token."""
    said = str(error)
    if isinstance(error, httpx2.LocalProtocolError):
        said = "the login cannot be sent as it is written"
    elif isinstance(error, yaml.MarkedYAMLError):
        where = f", line {error.problem_mark.line + 1}" if error.problem_mark is not None else ""
        said = f"the kubeconfig is not YAML{where}"
    return redacted_line(f"{type(error).__name__}: {said}", 160)
