"""`doctor` checks everything that a serving bot needs, at the same time, each within its time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from bot.app.acting import acting_login, acting_rights
from bot.app.doctor import own_state
from bot.app.doctor.history import prometheus, pyroscope
from bot.app.doctor.nodes import NodeExamination, sample
from bot.app.doctor.serving import LocalBot
from bot.app.listings import listing_words
from bot.app.parts import library, now, ssh_transport
from bot.app.policy_settings import rules_of_acting
from bot.domain.contracts import Transport
from bot.domain.doctor_finding import DoctorFinding, Mark
from bot.domain.errors import SettingsError, ZombieError
from bot.domain.node import Node
from bot.domain.policy import Policy
from bot.domain.setting import rows_of
from bot.inventory import Inventory
from bot.inventory.kind import ListingStatus
from bot.settings import Settings
from bot.sources import SOURCES
from bot.sources.source import Source
from bot.surfaces import SURFACES
from bot.surfaces.member import DoctorCheck, SurfaceMember

SECONDS = 25.0  # for an examination; all of them run at once
NODES = 5
AT_ONCE = 20  # nodes
_LISTING = "Until it answers, its last list of nodes is used; new nodes are not known."


@dataclass(slots=True, eq=False)
class Doctor:
    """Checks everything and changes nothing.

    Shape: `url` is the record's, `nodes` how many nodes are checked. `sources` and `surfaces` declare what to check;
    `transport` replaces the real one in tests.
    """

    settings: Settings
    known: Inventory
    url: str
    environment: Mapping[str, str]
    nodes: int = NODES
    _: KW_ONLY
    seconds: float = SECONDS
    transport: Transport | None = None
    sources: Sequence[Source] = SOURCES
    surfaces: Sequence[SurfaceMember] = SURFACES
    _sample: tuple[Node, ...] = field(init=False)
    _policy: Policy = field(init=False)
    _gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    def __post_init__(self) -> None:
        self._sample = sample(self.known.nodes, self.nodes)
        self._policy = rules_of_acting(self.settings, len(self.known.nodes))

    async def examined(self) -> tuple[DoctorFinding, ...]:
        """Return all results, always in the same order."""
        here = LocalBot(self.settings.listen)
        looks: list[tuple[str, DoctorCheck]] = [
            ("database", lambda: own_state.record(self.url, now)),
            ("disk", lambda: own_state.disk(self.url)),
            ("policy", lambda: own_state.policy(self._policy, self.surfaces)),
            ("playbooks", lambda: own_state.playbooks(self.settings)),
            ("bot here", here.examined),
            *(look for surface in self.surfaces for look in surface.looks(self.settings, self._policy, now)),
            *((source.title, self._of_source(source, here)) for source in self.sources),
            ("Prometheus", lambda: prometheus(self.settings, self._sample, now)),
            ("Pyroscope", lambda: pyroscope(self.settings, self._sample, now)),
            ("inventory", self._inventory),
            *self._of_nodes(),
        ]
        found = await asyncio.gather(*(self._bounded(name, look) for name, look in looks))
        return tuple(examined for several in found for examined in several)

    async def _bounded(self, name: str, look: DoctorCheck) -> Sequence[DoctorFinding]:
        try:
            async with asyncio.timeout(self.seconds):
                return await look()
        except TimeoutError:
            return (DoctorFinding(name, Mark.WRONG, f"did not answer within {self.seconds:g} s"),)
        except ZombieError as no:
            return (DoctorFinding(name, Mark.WRONG, no.sentence, no.try_next),)
        except OSError as no:
            return (DoctorFinding(name, Mark.WRONG, no.strerror or str(no)),)

    def _of_source(self, source: Source, here: LocalBot) -> DoctorCheck:
        said = self.settings.of(source.settings)

        async def look() -> Sequence[DoctorFinding]:
            if source.examine is not None:
                return await source.examine(said, here)
            variable = next(row.environment for _, row in rows_of(source.settings) if row.secret)
            if source.webhook(said) is None:
                seen = f"{variable} is not set, so {source.path} is not served (404)"
                return (DoctorFinding(source.title, Mark.NOT_SET, seen),)
            return (DoctorFinding(source.title, Mark.OK, f"{source.path} is served, for callers with {variable}"),)

        return look

    async def _inventory(self) -> Sequence[DoctorFinding]:
        seen = f"{self.known.says}, of which {len(self._sample)} are checked"
        if not self.known.nodes:
            none = DoctorFinding("inventory", Mark.WRONG, "it has no nodes", "Add a node: [nodes.NAME], address = …")
            return (none, *(self._of_place(said) for said in self.known.listings))
        return (DoctorFinding("inventory", Mark.OK, seen), *(self._of_place(said) for said in self.known.listings))

    @staticmethod
    def _of_place(said: ListingStatus) -> DoctorFinding:
        mark = Mark.OK if not said.complaint else Mark.NOTE if said.read_at is not None else Mark.WRONG
        return DoctorFinding("inventory", mark, listing_words(said, now()), "" if mark is Mark.OK else _LISTING)

    def _of_nodes(self) -> list[tuple[str, DoctorCheck]]:
        if not self._sample:
            return []
        probes = {probe.name: probe for book in library(self.settings.playbooks).playbooks for probe in book.probes}
        acting: dict[str, Any] = {}
        acts: tuple[tuple[str, ...], ...] = ()
        looks: list[tuple[str, DoctorCheck]] = []
        if self._policy.acting:
            try:
                acting, acts = acting_login(self.settings, self.environment), acting_rights(self.settings)
            except SettingsError as no:
                wrong = DoctorFinding("login that acts", Mark.WRONG, no.sentence, no.try_next)
                looks.append(("login that acts", lambda: _told(wrong)))
        transport = self.transport or ssh_transport(self.environment)
        examination = NodeExamination(transport, tuple(probes.values()), acting, acts)

        def of(node: Node) -> DoctorCheck:
            async def look() -> Sequence[DoctorFinding]:
                async with self._gate:
                    return await examination.look(node)

            return look

        return [*looks, *((f"node {node.name}", of(node)) for node in self._sample)]


async def _told(examined: DoctorFinding) -> Sequence[DoctorFinding]:
    return (examined,)
