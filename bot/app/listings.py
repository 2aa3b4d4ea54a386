"""Puts together the lists of clouds and clusters: who asks them, and where their answers are stored."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bot.app.kubernetes import OWN, usual_kubeconfig
from bot.domain.contracts import Clock, ClusterApi, Log
from bot.domain.duration import span_words
from bot.domain.errors import LedgerError
from bot.domain.machine_listing import CannotList, Lister, Machine, Place
from bot.inventory.kind import ListingStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.domain.node import Node
    from bot.inventory import Inventory
    from bot.inventory.listing_cache import ListingCache
    from bot.ledger import Ledger

FOLDER = "inventory"  # in the state folder


def listing_cache(environment: Mapping[str, str], now: Clock) -> ListingCache:
    """Return the lists of clouds, stored in the state folder; their clients are loaded on first use."""
    from bot.inventory.listing_cache import ListingCache
    from bot.settings import state_folder

    listers: dict[str, Lister] = {"ec2": _ec2_instances, "kubernetes": partial(_cluster_nodes, environment)}
    return ListingCache(state_folder(environment) / FOLDER, listers, now)


def _ec2_instances(place: Place) -> Sequence[Machine]:
    from bot.inventory.ec2_instances import instances

    return instances(place)


def _cluster_nodes(environment: Mapping[str, str], place: Place) -> Sequence[Machine]:
    from bot.inventory.cluster_nodes import lister

    usual = Path(environment.get("KUBECONFIG") or usual_kubeconfig(environment))

    def api_of(kubeconfig: Path | None) -> ClusterApi:
        try:
            from bot.transport.kubernetes import KubernetesApi
        except ImportError as no:
            raise CannotList("Kubernetes cannot be asked: the extra k8s is not installed") from no
        return KubernetesApi(kubeconfig or usual, OWN)

    return lister(api_of)(place)


def listing_words(status: ListingStatus, at: datetime) -> str:
    """Return a place's list in words: how many nodes, how old, what is wrong."""
    nodes = "1 node" if status.count == 1 else f"{status.count} nodes"
    age = "never listed yet" if status.read_at is None else f"listed {span_words(at - status.read_at)} ago"
    return f"{status.place}: {nodes}, {age}" + (f"; {status.complaint}" if status.complaint else "")


@dataclass(slots=True, eq=False)
class Renewal:
    """Keeps an inventory in step with its clouds while the bot serves.

    Shape: `load` reads it again and may block; `heard` are told the nodes when they change. A node with an open
    incident stays, listed or not.
    """

    known: Inventory
    load: Callable[[], Inventory]
    ledger: Ledger
    log: Log
    heard: Sequence[Callable[[Sequence[Node]], None]]
    _said: tuple[tuple[str, str], ...] = ()

    async def begin(self) -> None:
        """Restore the nodes of open incidents that were listed before the start."""
        if self.known.refresh is not None:
            await self._take_over(self.known)

    async def run(self) -> None:
        """Read it again and again; returns at once if nothing in it comes from a cloud."""
        while (every := self.known.refresh) is not None:
            await asyncio.sleep(every.total_seconds())
            await self.renew()

    async def renew(self) -> None:
        """Read it again once; if that fails it stays as it was, and the failure is logged."""
        try:
            await self._take_over(await asyncio.to_thread(self.load))
        except Exception as no:  # noqa: BLE001 - whatever is wrong with what was read, what is known stays
            self.log("inventory_kept", because=str(no) or repr(no))

    async def _take_over(self, fresh: Inventory) -> None:
        try:
            needed = {summary.node for summary in await self.ledger.incidents(only_open=True)}
        except LedgerError as error:  # open incidents are not known, so no node is dropped
            self.log("ledger_unavailable", error=str(error))
            needed = set(self.known.names)
        before = self.known.by_name
        kept = self.known.take(fresh, needed)
        if self.known.by_name != before or fresh is self.known:
            for hear in self.heard:
                hear(self.known.nodes)
            self.log("inventory", nodes=len(self.known.by_name), kept_for_open_incidents=list(kept))
        amiss = tuple((status.place, status.complaint) for status in self.known.listings if status.complaint)
        if amiss != self._said:
            self._said = amiss
            for place, complaint in amiss:
                self.log("inventory_partial", place=place, because=complaint)
