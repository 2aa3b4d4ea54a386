"""The simulated cluster's API server as tests need it: it lists nodes and pods, speaks TLS, and breaks."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from bot.demo.cluster import server
from bot.demo.cluster.cluster import Cluster, Failure
from bot.demo.cluster.server import call_line


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
