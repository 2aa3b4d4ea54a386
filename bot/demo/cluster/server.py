"""The simulated cluster's API server on loopback: the few calls that a drain makes, answered as by a real server.

Defined in: https://kubernetes.io/docs/reference/using-api/api-concepts/, and API-initiated Eviction.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from bot.demo.cluster.cluster import Cluster, Failure

HOST = "127.0.0.1"
TOKEN = "demo-cluster-token"
_PATCHES = ("application/merge-patch+json", "application/strategic-merge-patch+json")


class ClusterServer:
    """Serves a cluster over HTTP. `calls` are the requests so far, in order."""

    def __init__(self, cluster: Cluster, tls: ssl.SSLContext | None = None) -> None:
        self.cluster = cluster
        self._tls = tls
        self.calls: list[str] = []
        self.down = False  # connections are closed without an answer
        self.broken = False  # every answer is 500
        self.page = 500  # the most nodes of an answer, whatever was asked for
        self.on_call: Callable[[str], None] = lambda line: None  # after a call took effect, before its answer
        self.url = ""
        self._port = 0
        self._runner: web.AppRunner | None = None

    @classmethod
    @asynccontextmanager
    async def running(cls, cluster: Cluster, tls: ssl.SSLContext | None = None) -> AsyncIterator[ClusterServer]:
        """Serve a cluster for the length of a block, over plain HTTP unless `tls` is given."""
        server = cls(cluster, tls)
        await server.start()
        try:
            yield server
        finally:
            await server.stop()

    async def start(self) -> None:
        """Listen; after a stop on the same port as before."""
        app = web.Application(client_max_size=1024 * 1024)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        await web.TCPSite(self._runner, HOST, self._port, reuse_address=True, ssl_context=self._tls).start()
        self._port = self._runner.addresses[0][1]
        self.url = f"{'https' if self._tls is not None else 'http'}://{HOST}:{self._port}"

    async def stop(self) -> None:
        """Stop listening, like an API server that is down."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def kubeconfig(self, context: str = "demo") -> str:
        """Return a kubeconfig with a context for this cluster."""
        return json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "somewhere-else",
                "clusters": [{"name": "simulated", "cluster": {"server": self.url}}],
                "users": [{"name": "zombie", "user": {"token": TOKEN}}],
                "contexts": [{"name": context, "context": {"cluster": "simulated", "user": "zombie"}}],
            }
        )

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.text()
        line = f"{request.method} {request.raw_path}" + (f" {body}" if body else "")
        if "selfsubjectaccessreviews" not in line:
            self.calls.append(line)
        if self.down and request.transport is not None:
            request.transport.close()
        try:
            if self.broken:
                raise Failure(500, "InternalError", "etcdserver: request timed out")
            if request.headers.get("Authorization") != f"Bearer {TOKEN}":
                raise Failure(401, "Unauthorized", "Unauthorized")
            status, document = self._routed(request, body)
        except Failure as no:
            status, document = no.code, no.document()
        self.on_call(line)
        return web.json_response(document, status=status)

    def _routed(self, request: web.Request, body: str) -> tuple[int, dict[str, Any]]:
        match [request.method, *request.path.strip("/").split("/")]:
            case ["GET", "api", "v1", "nodes", name]:
                self._allowed("get", "nodes")
                return 200, self.cluster.node(name).document()
            case ["GET", "api", "v1", "nodes"]:
                self._allowed("list", "nodes")
                return 200, self._nodes(request.query)
            case ["PATCH", "api", "v1", "nodes", name]:
                self._allowed("patch", "nodes")
                if request.content_type not in _PATCHES:
                    raise Failure(415, "UnsupportedMediaType", f"{request.content_type} is not a patch")
                return 200, self.cluster.patch(name, _json(body)).document()
            case ["GET", "api", "v1", "pods"]:
                self._allowed("list", "pods")
                field, _, node = request.query.get("fieldSelector", "").partition("=")
                if field != "spec.nodeName":
                    raise Failure(400, "BadRequest", f"field label not supported: {field}")
                items = [pod.document() for pod in self.cluster.on(node)]
                return 200, {
                    "kind": "PodList",
                    "apiVersion": "v1",
                    "metadata": {"resourceVersion": "9"},
                    "items": items,
                }
            case ["GET", "api", "v1", "namespaces", namespace, "pods"]:
                self._allowed("list", "pods")
                return 200, self._pods_of(
                    namespace, request.query.get("fieldSelector"), request.query.get("labelSelector")
                )
            case ["POST", "api", "v1", "namespaces", namespace, "pods", name, "eviction"]:
                self._allowed("create", "pods/eviction")
                return self._evict(namespace, name, _json(body))
            case ["POST", "apis", "authorization.k8s.io", "v1", "selfsubjectaccessreviews"]:
                return self._review(_json(body))
        raise Failure(404, "NotFound", "the server could not find the requested resource")

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

    def _evict(self, namespace: str, name: str, given: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if (given.get("kind"), given.get("apiVersion")) != ("Eviction", "policy/v1"):
            raise Failure(400, "BadRequest", "the body is no Eviction of policy/v1")
        if given.get("metadata", {}).get("name") != name:
            raise Failure(400, "BadRequest", "name in URL does not match name in Eviction object")
        options = given.get("deleteOptions", {})
        self.cluster.evict(namespace, name, options.get("preconditions", {}).get("uid", ""))
        return 201, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}

    def _review(self, given: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        asked = given["spec"]["resourceAttributes"]
        resource = "/".join(filter(None, (asked["resource"], asked.get("subresource", ""))))
        allowed = self.cluster.may(asked["verb"], resource)
        return 201, {**given, "status": {"allowed": allowed}}

    def _allowed(self, verb: str, resource: str) -> None:
        if not self.cluster.may(verb, resource):
            message = f'{resource} is forbidden: User "zombie" cannot {verb} resource "{resource}" at the cluster scope'
            raise Failure(403, "Forbidden", message)


def _json(body: str) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Failure(400, "BadRequest", "the body is no JSON object")
    return found
