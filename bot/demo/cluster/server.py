"""The simulated cluster's API server on loopback: the few calls that a drain makes, answered as by a real server.

Defined in: https://kubernetes.io/docs/reference/using-api/api-concepts/, and API-initiated Eviction.
"""

from __future__ import annotations

import json
import ssl
from typing import Any

from aiohttp import web

from bot.demo.cluster.cluster import Cluster, Failure

HOST = "127.0.0.1"
TOKEN = "demo-cluster-token"
_PATCHES = ("application/merge-patch+json", "application/strategic-merge-patch+json")


class ClusterServer:
    """Serves a cluster over HTTP. `calls` are the requests so far, in order.

    Shape: tests have one that lists nodes, speaks TLS and breaks (tests/nodes/cluster_server.py).
    """

    tls: ssl.SSLContext | None = None

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.calls: list[str] = []
        self.url = ""
        self._port = 0
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Listen; after a stop on the same port as before."""
        app = web.Application(client_max_size=1024 * 1024)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        await web.TCPSite(self._runner, HOST, self._port, reuse_address=True, ssl_context=self.tls).start()
        self._port = self._runner.addresses[0][1]
        self.url = f"{'https' if self.tls is not None else 'http'}://{HOST}:{self._port}"

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
        if "selfsubjectaccessreviews" not in request.path:
            self.calls.append(call_line(request, body))
        try:
            if request.headers.get("Authorization") != f"Bearer {TOKEN}":
                raise Failure(401, "Unauthorized", "Unauthorized")
            status, document = self._routed(request, body)
        except Failure as no:
            status, document = no.code, no.document()
        return web.json_response(document, status=status)

    def _routed(self, request: web.Request, body: str) -> tuple[int, dict[str, Any]]:
        match [request.method, *request.path.strip("/").split("/")]:
            case ["GET", "api", "v1", "nodes", name]:
                self._check_right("get", "nodes")
                return 200, self.cluster.node(name).document()
            case ["PATCH", "api", "v1", "nodes", name]:
                self._check_right("patch", "nodes")
                if request.content_type not in _PATCHES:
                    raise Failure(415, "UnsupportedMediaType", f"{request.content_type} is not a patch")
                return 200, self.cluster.patch(name, _json_object(body)).document()
            case ["GET", "api", "v1", "pods"]:
                self._check_right("list", "pods")
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
            case ["POST", "api", "v1", "namespaces", namespace, "pods", name, "eviction"]:
                self._check_right("create", "pods/eviction")
                return self._evict(namespace, name, _json_object(body))
            case ["POST", "apis", "authorization.k8s.io", "v1", "selfsubjectaccessreviews"]:
                return self._review(_json_object(body))
        raise Failure(404, "NotFound", "the server could not find the requested resource")

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

    def _check_right(self, verb: str, resource: str) -> None:
        if not self.cluster.may(verb, resource):
            message = f'{resource} is forbidden: User "zombie" cannot {verb} resource "{resource}" at the cluster scope'
            raise Failure(403, "Forbidden", message)


def call_line(request: web.Request, body: str) -> str:
    """Return a call as one line."""
    return f"{request.method} {request.raw_path}" + (f" {body}" if body else "")


def _json_object(body: str) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Failure(400, "BadRequest", "the body is no JSON object")
    return found
