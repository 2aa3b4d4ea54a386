"""What clouds and clusters list, put together: who asks them, and where their answers are kept."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bot.app.kubernetes import OWN
from bot.domain.contracts import Clock, ClusterApi, Ledger, Log
from bot.domain.duration import span
from bot.domain.errors import LedgerError, UsageError
from bot.domain.listing import CannotList, Lister, Machine, Place
from bot.inventory.kind import Told

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.domain.node import Node
    from bot.inventory import Inventory
    from bot.inventory.shelf import Shelf

FOLDER = "inventory"  # in the state folder


def shelf(environment: Mapping[str, str], now: Clock) -> Shelf:
    """Return what clouds list, kept in the state folder; who asks them is loaded with the first question."""
    from bot.inventory.shelf import Shelf
    from bot.settings import state_folder

    listers: dict[str, Lister] = {"ec2": _instances, "kubernetes": partial(_nodes, environment)}
    return Shelf(state_folder(environment) / FOLDER, listers, now)


def _instances(place: Place) -> Sequence[Machine]:
    from bot.inventory.ec2_instances import instances

    return instances(place)


def _nodes(environment: Mapping[str, str], place: Place) -> Sequence[Machine]:
    from bot.inventory.cluster_nodes import lister

    home = Path(environment.get("HOME") or Path.home())
    usual = Path(environment.get("KUBECONFIG") or home / ".kube" / "config")

    def api_of(kubeconfig: Path | None) -> ClusterApi:
        try:
            from bot.transport.kubernetes import KubernetesApi
        except ImportError as no:
            raise CannotList("Kubernetes cannot be asked: the extra k8s is not installed") from no
        return KubernetesApi(kubeconfig or usual, OWN)

    return lister(api_of)(place)


def told(said: Told, at: datetime) -> str:
    """Return what a place told, in words: how many nodes, how old that is, what is amiss."""
    nodes = "1 node" if said.count == 1 else f"{said.count} nodes"
    age = "never listed yet" if said.read_at is None else f"listed {span(at - said.read_at)} ago"
    return f"{said.place}: {nodes}, {age}" + (f"; {said.complaint}" if said.complaint else "")


class Renewal:
    """Keeps an inventory as its clouds list it, for as long as the bot serves.

    Shape: `load` reads it anew and may block; `heard` are told the nodes once they are others. A node whose incident is
    open stays, listed or not.
    """

    def __init__(
        self,
        known: Inventory,
        load: Callable[[], Inventory],
        ledger: Ledger,
        log: Log,
        heard: Sequence[Callable[[Sequence[Node]], None]],
    ) -> None:
        self._known = known
        self._load = load
        self._ledger = ledger
        self._log = log
        self._heard = heard
        self._said: tuple[tuple[str, str], ...] = ()

    async def begin(self) -> None:
        """Bring back the nodes of open incidents that were listed before the start."""
        if self._known.refresh is not None:
            await self._take(self._known)

    async def run(self) -> None:
        """Read it anew, for ever; returns at once where nothing in it comes from elsewhere."""
        while (every := self._known.refresh) is not None:
            await asyncio.sleep(every.total_seconds())
            await self.renew()

    async def renew(self) -> None:
        """Read it anew once; what cannot be read leaves it as it was, and says so."""
        try:
            await self._take(await asyncio.to_thread(self._load))
        except (UsageError, OSError) as no:
            self._log("inventory_kept", because=str(no))

    async def _take(self, fresh: Inventory) -> None:
        try:
            needed = {summary.node for summary in await self._ledger.incidents(only_open=True)}
        except LedgerError as error:  # whose incident is open cannot be told: nobody is dropped
            self._log("ledger_unavailable", error=str(error))
            needed = set(self._known.names)
        before = self._known.by_name
        kept = self._known.take(fresh, needed)
        if self._known.by_name != before or fresh is self._known:
            for hear in self._heard:
                hear(self._known.nodes)
            self._log("inventory", nodes=len(self._known.by_name), kept_for_open_incidents=list(kept))
        amiss = tuple((said.place, said.complaint) for said in self._known.told if said.complaint)
        if amiss != self._said:
            self._said = amiss
            for place, complaint in amiss:
                self._log("inventory_partial", place=place, because=complaint)
