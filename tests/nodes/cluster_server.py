"""The simulated cluster's API server as tests need it: it lists nodes and pods, speaks TLS, and breaks."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

from aiohttp import web
from yarl import URL

from bot.demo.cluster import server
from bot.demo.cluster.cluster import Cluster, Failure
from bot.demo.cluster.server import TOKEN, call_line
from bot.domain.cluster_call import ApiAnswer, Call
from bot.domain.errors import ConnectionLost
from bot.transport.kubernetes import KubernetesApi


class ClusterServer(server.ClusterServer):
    """Serves a cluster, and goes wrong as a test says."""

    def __init__(self, cluster: Cluster, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(cluster)
        self.tls = tls
        self.down = False  # connections are closed without an answer
        self.broken = False  # every answer is 500
        self.page = 500  # the most nodes of an answer, whatever was asked for
        self.on_call: Callable[[str], None] = lambda line: None  # after a call took effect, before its answer

    @classmethod
    @asynccontextmanager
    async def running(cls, cluster: Cluster, tls: ssl.SSLContext | None = None) -> AsyncIterator[ClusterServer]:
        """Serve a cluster for the length of a block, over plain HTTP unless `tls` is given."""
        started = cls(cluster, tls)
        await started.start()
        try:
            yield started
        finally:
            await started.stop()

    @property
    def is_serving(self) -> bool:
        return self._runner is not None

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if self.down and request.transport is not None:
            request.transport.close()
        answer = await super()._answer(request)
        self.on_call(call_line(request, await request.text()))
        return answer

    def _routed(self, request: web.Request, body: str) -> tuple[int, dict[str, Any]]:
        if self.broken:
            raise Failure(500, "InternalError", "etcdserver: request timed out")
        match [request.method, *request.path.strip("/").split("/")]:
            case ["GET", "api", "v1", "nodes"]:
                self._check_right("list", "nodes")
                return 200, self._nodes(request.query)
            case ["GET", "api", "v1", "namespaces", namespace, "pods"]:
                self._check_right("list", "pods")
                return 200, self._pods_of(
                    namespace, request.query.get("fieldSelector"), request.query.get("labelSelector")
                )
        return super()._routed(request, body)

    def _nodes(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """A page of the nodes that have all the labels asked for."""
        wanted = dict(pair.split("=", 1) for pair in asked.get("labelSelector", "").split(",") if "=" in pair)
        documents = [node.document() for _, node in sorted(self.cluster.nodes.items())]
        fitting = [node for node in documents if wanted.items() <= node["metadata"]["labels"].items()]
        start, limit = int(asked.get("continue") or 0), min(int(asked.get("limit") or self.page), self.page)
        meta = {"resourceVersion": "9"} | ({"continue": str(start + limit)} if start + limit < len(fitting) else {})
        items = fitting[start : start + limit]
        return {"kind": "NodeList", "apiVersion": "v1", "metadata": meta, "items": items}

    def _pods_of(self, namespace: str, field: str | None, label: str | None) -> dict[str, Any]:
        """A namespace's pods by name or by a label, as `kubectl get pods` asks for them."""
        name, _, value = (field or label or "").partition("=")
        if field and name != "metadata.name":
            raise Failure(400, "BadRequest", f"field label not supported: {name}")
        items = [
            pod.document()
            for pod in self.cluster.pods
            if pod.namespace == namespace and value == (pod.name if field else pod.labels.get(name))
        ]
        return {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}, "items": items}


@dataclass
class Asked:
    """A request that was on no wire: what a server reads of `web.Request`."""

    method: str
    raw_path: str
    body: str
    content_type: str = "application/merge-patch+json"
    headers: Mapping[str, str] = field(default_factory=lambda: {"Authorization": f"Bearer {TOKEN}"})
    is_lost: bool = False

    @property
    def path(self) -> str:
        return URL(self.raw_path).path

    @property
    def query(self) -> Mapping[str, str]:
        return URL(self.raw_path).query

    @property
    def transport(self) -> Asked:
        return self

    def close(self) -> None:
        self.is_lost = True

    async def text(self) -> str:
        return self.body


class NearApi(KubernetesApi):
    """The API of a server in this process, without HTTP: a drain asks hundreds of times.

    That HTTP makes no difference is what tests/contract/test_kubernetes_api.py and tests/e2e/test_drain.py are for.
    """

    def __init__(self, kubeconfig: Path, server: ClusterServer) -> None:
        super().__init__(kubeconfig)
        self._server, self._configured = server, set[str]()

    async def call(self, cluster: str, call: Call, limit: timedelta) -> ApiAnswer:
        """Have the server answer, or lose the answer where it closes its connections."""
        if cluster not in self._configured:
            self._config(cluster)
            self._configured.add(cluster)
        asked = Asked(call.verb, call.path, call.body)
        await asyncio.sleep(0.001)  # others have their turn, as they have while a network is waited for
        if self._server.is_serving:
            answer = await self._server._answer(cast("web.Request", asked))
            await asyncio.sleep(0)  # whoever is cancelled meanwhile hears nothing of it
            if not asked.is_lost:
                assert isinstance(answer, web.Response)
                return ApiAnswer(answer.status, answer.text or "")
        raise ConnectionLost(f"The API of cluster {cluster} cannot be reached.")
