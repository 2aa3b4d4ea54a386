"""Asks a cluster's API for its nodes, page by page, within bounds.

Defined in: https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bot.domain.cluster_call import Call
from bot.domain.contracts import ClusterApi
from bot.domain.errors import ConnectionLost, UnknownCluster
from bot.domain.machine_listing import MOST_MACHINES, CannotList, Lister, Machine, Place
from bot.domain.safe_text import redacted_line

LIMIT = timedelta(seconds=10)  # of each call
_A_PAGE = 500
_MOST_PAGES = 2 * MOST_MACHINES // _A_PAGE
_EXPIRED = 410  # the earlier pages are of an outdated state: start again
_ON_AWS = re.compile(r"aws:///[a-z0-9-]+/(i-[0-9a-f]+)\Z")


def lister(api_of: Callable[[Path | None], ClusterApi]) -> Lister:
    """Return the lister of a cluster's nodes; `api_of` opens the API of a kubeconfig's clusters.

    Shape: `place.name` is the context; `place.asked` holds `selector`, labels as `kubectl -l` takes them, and
    `kubeconfig`, empty for the default.
    """

    def nodes(place: Place) -> tuple[Machine, ...]:
        kubeconfig = str(place.asked.get("kubeconfig") or "")
        return asyncio.run(_closing(api_of(Path(kubeconfig) if kubeconfig else None), place))

    return nodes


async def _closing(api: ClusterApi, place: Place) -> tuple[Machine, ...]:
    try:
        return await _listed_machines(api, place)
    except (ConnectionLost, UnknownCluster) as error:
        raise CannotList(error.sentence) from error
    finally:
        await api.close()


async def _listed_machines(api: ClusterApi, place: Place) -> tuple[Machine, ...]:
    found: list[Machine] = []
    selector = str(place.asked.get("selector") or "")
    token, seen = "", set[str]()
    for _ in range(_MOST_PAGES):
        query = f"limit={_A_PAGE}" + (f"&labelSelector={quote(selector, safe='')}" if selector else "")
        path = f"/api/v1/nodes?{query}" + (f"&continue={quote(token, safe='')}" if token else "")
        answer = await api.call(place.name, Call("GET", path), LIMIT)
        if answer.status == _EXPIRED and token:
            token, found = "", []
            continue
        if not answer.is_done or answer.cut:
            said = "more than can be read" if answer.cut else f"{answer.status} {_message(answer.body)}"
            raise CannotList(f"the cluster answers {said}", found)
        try:
            answer_body = json.loads(answer.body)
            found += [_machine(node) for node in answer_body["items"]]
            token = str(answer_body.get("metadata", {}).get("continue") or "")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise CannotList(f"the cluster's answer is not a list of nodes ({type(error).__name__})", found) from error
        if not token:
            return tuple(found)
        if token in seen or len(found) > MOST_MACHINES:
            break
        seen.add(token)
    raise CannotList("the cluster's list of nodes has too many pages, and was cut off", found)


def _message(body: str) -> str:
    try:
        return redacted_line(str(json.loads(body)["message"]), 160)
    except (ValueError, KeyError, TypeError, RecursionError):
        return redacted_line(body[:4000], 80)  # of a proxy, perhaps, which shows what was sent


def _machine(node: Mapping[str, Any]) -> Machine:
    meta, spec, status = node["metadata"], node.get("spec") or {}, node.get("status") or {}
    info = status.get("nodeInfo") or {}
    addresses: dict[str, str] = {}
    for address in status.get("addresses") or ():
        addresses.setdefault(str(address["type"]), str(address["address"]))
    ready = next((str(item["status"]) for item in status.get("conditions") or () if item["type"] == "Ready"), "Unknown")
    instance = _ON_AWS.match(str(spec.get("providerID") or ""))
    facts = {
        "address": addresses.get("InternalIP", ""),
        "hostname": addresses.get("Hostname", ""),
        "kernel": str(info.get("kernelVersion") or ""),
        "image": str(info.get("osImage") or ""),
        "ready": ready.lower(),
        "cordoned": "true" if spec.get("unschedulable") else "false",
        "instance_id": instance[1] if instance else "",
    }
    tags = {str(name): str(value) for name, value in (meta.get("labels") or {}).items()}
    return Machine(str(meta["name"]), {name: fact for name, fact in facts.items() if fact}, tags)
