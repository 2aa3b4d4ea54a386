"""Puts what is unusual about a node beside its verdict, and the node's facts on record for later checks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from bot.app.factories import now
from bot.domain.contracts import Clock, Listener, Log
from bot.domain.growth import CountSample
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.probe import Unread
from bot.domain.verdict import Status, Unusual, Verdict
from bot.extras.fleet.facts import Fact, figures_of, lines_of
from bot.extras.unusual.settings import UnusualSettings
from bot.extras.unusual.store import FRESH, FactStore
from bot.extras.unusual.unusual_facts import SAID, NodeFacts, PeerComparison, Peers, compare, rates
from bot.probes.host import HostReading
from bot.response.diagnosis.scheduler import Diagnose

if TYPE_CHECKING:
    from bot.app.bot import Bot
    from bot.ledger import Database
    from bot.settings import Settings

WHOLE = "node-health"  # the whole check, where no bot has another as its own
OVERLAP = timedelta(minutes=1)  # a row may be stored later than one that was read later
PATIENCE, ALONE = 1.0, 10.0  # seconds that a verdict waits for it: in a storm it does without; in a terminal


@dataclass(slots=True)
class _Kind:
    peers: Peers = field(default_factory=Peers)
    latest: dict[str, datetime] = field(default_factory=dict)  # check of each node


class PeerComparer:
    """Compares each node that a whole check judges with its peers on record.

    Shape: `playbook` names the whole check; `like` are the labels that make nodes peers. Units: `patience` are seconds.
    """

    def __init__(
        self, store: FactStore, playbook: str, like: Sequence[str], clock: Clock, log: Log, patience: float = PATIENCE
    ) -> None:
        self._store, self._patience = store, patience
        self._playbook, self._like = playbook, like
        self._clock, self._log = clock, log
        self._kinds: dict[str, _Kind] = {}
        self._thread = ThreadPoolExecutor(1, "unusual")  # one by one; the record's own threads wait for nothing of this

    def beside(self, diagnose: Diagnose) -> Diagnose:
        """Return a diagnosis that has it beside its verdict; status, cause, confidence and plan stay the same."""

        async def both(node: Node, playbook: Playbook, heard: Listener) -> Verdict:
            verdict = await diagnose(node, playbook, heard)
            if verdict.snapshot is None or playbook.name != self._playbook:
                return verdict
            comparing = asyncio.get_running_loop().run_in_executor(self._thread, self.compared, node, verdict)
            try:
                async with asyncio.timeout(self._patience):
                    unusual, compared = await asyncio.shield(comparing)
                    return replace(verdict, unusual=unusual, compared=compared)
            except TimeoutError:
                comparing.add_done_callback(lambda late: late.cancelled() or late.exception())
                self._log("unusual_not_compared", node=node.name, error=f"it took longer than {self._patience:g} s")
            except Exception as no:  # noqa: BLE001 - no verdict is held back for the record, nor for what a row of it holds
                self._log("unusual_not_compared", node=node.name, error=str(no) or repr(no))
            return verdict

        return both

    def compared(self, node: Node, verdict: Verdict) -> tuple[tuple[Unusual, ...], str]:
        """Return what is unusual, and how much was compared with whom; as `stored`."""
        snapshot = verdict.snapshot
        assert snapshot is not None
        host = snapshot.get(HostReading)
        booted = None if isinstance(host, Unread) else snapshot.taken_at - host.uptime
        found = self.compare_and_store(node, verdict.status is Status.HEALTHY, figures_of(snapshot), booted)
        return tuple(_with_lines(each, lines_of(snapshot, each.fact)) for each in found.unusual), found.with_whom

    async def keep(self, node: Node, is_healthy: bool, facts: Mapping[str, Fact]) -> None:
        """Do as `KeepsFacts.keep`; it is one that a sweep read, and nobody is told what is unusual about it."""
        try:
            await asyncio.get_running_loop().run_in_executor(
                self._thread, self.compare_and_store, node, is_healthy, facts
            )
        except Exception as no:  # noqa: BLE001 - nor is a sweep; the program may end meanwhile, too
            self._log("unusual_not_stored", node=node.name, error=str(no) or repr(no))

    def compare_and_store(
        self, node: Node, is_healthy: bool, figures: Mapping[str, Fact], booted: datetime | None = None
    ) -> PeerComparison:
        """Compare a node with its peers, and store its facts. Blocks. Raises: LedgerUnavailable."""
        facts = NodeFacts(node.name, self._clock(), is_healthy, figures)
        if past := self._store.past.now(node.name):
            facts = replace(facts, facts={**facts.facts, **rates(facts, past[-1])})
        kind = json.dumps([node.labels.get(label, "") for label in self._like])
        peers = self._refresh_peers(kind)
        peers.remove(node.name)
        found = compare(facts, peers, past, booted)
        facts = replace(facts, stood_out=found.stood_out)
        self._store.keep.now(kind, facts)
        self._kinds[kind].latest[node.name] = facts.at  # it is not read back
        if facts.is_healthy:
            peers.add(facts)
        return found

    def _refresh_peers(self, kind: str) -> Peers:
        """The healthy nodes of a kind that any program at this record read lately."""
        fresh = self._clock() - FRESH
        held = self._kinds.setdefault(kind, _Kind())
        after = max(held.latest.values(), default=fresh) - OVERLAP
        for facts in self._store.news.now(kind, max(after, fresh), held.latest):
            held.peers.add(facts) if facts.is_healthy else held.peers.remove(facts.node)
            held.latest[facts.node] = facts.at
        for old in [each.node for each in held.peers.nodes.values() if each.at < fresh]:
            held.peers.remove(old)
        return held.peers

    async def counted(self, node: str, cause: str, until: datetime) -> tuple[CountSample, ...]:
        """Return nothing: counts are the core's."""
        return ()

    def knows(self, nodes: Sequence[Node]) -> None:
        """Forget nodes that are in the inventory no more, and were last read too long ago to be peers."""
        names, before = {node.name for node in nodes}, self._clock() - FRESH
        if names:
            self._thread.submit(self._store.forget_others.now, names, before).add_done_callback(self._forgot)

    def _forgot(self, done: Future[None]) -> None:
        if not done.cancelled() and (no := done.exception()) is not None:
            self._log("unusual_not_forgotten", error=str(no))

    async def close(self) -> None:
        """Compare nothing more."""
        await asyncio.to_thread(self._thread.shutdown, cancel_futures=True)


def _with_lines(unusual: Unusual, lines: tuple[str, ...]) -> Unusual:
    """The same with the node's own lines; what the kernel says is quoted whole."""
    if not lines or not unusual.fact.startswith(SAID):
        return replace(unusual, lines=lines)
    return replace(
        unusual, title="a line of the kernel", here=f"“{lines[0].partition(' kernel: ')[2] or lines[0]}”", lines=lines
    )


def of_record(
    database: Database, settings: Settings, log: Log, playbook: str = WHOLE, patience: float = ALONE
) -> PeerComparer:
    """Return what compares nodes with those on record; `playbook` names the whole check."""
    return PeerComparer(FactStore(database), playbook, settings.of(UnusualSettings).like, now, log, patience)


def reads_more(bot: Bot) -> PeerComparer:
    """Return what compares the bot's nodes with their peers, and stores what sweeps read; the same for both."""
    return bot.once(_of_bot)


def _of_bot(bot: Bot) -> PeerComparer:
    return of_record(bot.stores.database, bot.settings, bot.log, bot.playbooks.get("").name, PATIENCE)
