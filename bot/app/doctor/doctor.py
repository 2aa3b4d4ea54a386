"""`doctor` checks everything that a serving bot needs, at the same time, each within its time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
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


class Doctor:
    """Checks everything and changes nothing.

    Shape: `url` is the record's. `sources` and `surfaces` declare what to check; `transport` replaces the real one in
    tests.
    """

    def __init__(
        self,
        settings: Settings,
        known: Inventory,
        url: str,
        environment: Mapping[str, str],
        nodes: int = NODES,
        *,
        seconds: float = SECONDS,
        transport: Transport | None = None,
        sources: Sequence[Source] = SOURCES,
        surfaces: Sequence[SurfaceMember] = SURFACES,
    ) -> None:
        self._settings = settings
        self._known = known
        self._url = url
        self._environment = environment
        self._nodes = sample(known.nodes, nodes)
        self._seconds = seconds
        self._transport = transport
        self._sources = sources
        self._surfaces = surfaces
        self._policy = rules_of_acting(settings, len(known.nodes))
        self._gate = asyncio.Semaphore(AT_ONCE)

    async def examined(self) -> tuple[DoctorFinding, ...]:
        """Return all results, always in the same order."""
        here = LocalBot(self._settings.listen)
        looks: list[tuple[str, DoctorCheck]] = [
            ("database", lambda: own_state.record(self._url, now)),
            ("disk", lambda: own_state.disk(self._url)),
            ("policy", lambda: own_state.policy(self._policy, self._surfaces)),
            ("playbooks", lambda: own_state.playbooks(self._settings)),
            ("bot here", here.examined),
            *(look for surface in self._surfaces for look in surface.looks(self._settings, self._policy, now)),
            *((source.title, self._of_source(source, here)) for source in self._sources),
            ("Prometheus", lambda: prometheus(self._settings, self._nodes, now)),
            ("Pyroscope", lambda: pyroscope(self._settings, self._nodes, now)),
            ("inventory", self._inventory),
            *self._of_nodes(),
        ]
        found = await asyncio.gather(*(self._bounded(name, look) for name, look in looks))
        return tuple(examined for several in found for examined in several)

    async def _bounded(self, name: str, look: DoctorCheck) -> Sequence[DoctorFinding]:
        try:
            async with asyncio.timeout(self._seconds):
                return await look()
        except TimeoutError:
            return (DoctorFinding(name, Mark.WRONG, f"did not answer within {self._seconds:g} s"),)
        except ZombieError as no:
            return (DoctorFinding(name, Mark.WRONG, no.sentence, no.try_next),)
        except OSError as no:
            return (DoctorFinding(name, Mark.WRONG, no.strerror or str(no)),)

    def _of_source(self, source: Source, here: LocalBot) -> DoctorCheck:
        said = self._settings.of(source.settings)

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
        seen = f"{self._known.says}, of which {len(self._nodes)} are checked"
        if not self._known.nodes:
            none = DoctorFinding("inventory", Mark.WRONG, "it has no nodes", "Add a node: [nodes.NAME], address = …")
            return (none, *(self._of_place(said) for said in self._known.listings))
        return (DoctorFinding("inventory", Mark.OK, seen), *(self._of_place(said) for said in self._known.listings))

    @staticmethod
    def _of_place(said: ListingStatus) -> DoctorFinding:
        mark = Mark.OK if not said.complaint else Mark.NOTE if said.read_at is not None else Mark.WRONG
        return DoctorFinding("inventory", mark, listing_words(said, now()), "" if mark is Mark.OK else _LISTING)

    def _of_nodes(self) -> list[tuple[str, DoctorCheck]]:
        if not self._nodes:
            return []
        probes = {probe.name: probe for book in library(self._settings.playbooks).playbooks for probe in book.probes}
        acting: dict[str, Any] = {}
        acts: tuple[tuple[str, ...], ...] = ()
        looks: list[tuple[str, DoctorCheck]] = []
        if self._policy.acting:
            try:
                acting, acts = acting_login(self._settings, self._environment), acting_rights(self._settings)
            except SettingsError as no:
                wrong = DoctorFinding("login that acts", Mark.WRONG, no.sentence, no.try_next)
                looks.append(("login that acts", lambda: _told(wrong)))
        transport = self._transport or ssh_transport(self._environment)
        examination = NodeExamination(transport, tuple(probes.values()), acting, acts)

        def of(node: Node) -> DoctorCheck:
            async def look() -> Sequence[DoctorFinding]:
                async with self._gate:
                    return await examination.look(node)

            return look

        return [*looks, *((f"node {node.name}", of(node)) for node in self._nodes)]


async def _told(examined: DoctorFinding) -> Sequence[DoctorFinding]:
    return (examined,)
