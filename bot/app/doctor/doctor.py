"""`doctor` checks everything that a serving bot needs, at the same time, each within its time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from bot.app.acting import acting_login, acting_rights
from bot.app.doctor import own_state
from bot.app.doctor.nodes import NodeExamination, sample
from bot.app.extras import ExtrasInForce, installed_names, load_failure_words
from bot.app.factories import library, now, ssh_transport
from bot.app.listings import listing_words
from bot.app.policy_settings import policy_as_written
from bot.domain.contracts import Transport
from bot.domain.doctor_finding import DoctorFinding, Mark
from bot.domain.errors import SettingsError, ZombieError
from bot.domain.node import Node
from bot.domain.policy import Policy
from bot.domain.safe_text import one_line
from bot.domain.setting import keys_of
from bot.inventory import Inventory
from bot.inventory.kind import ListingStatus
from bot.seats import Extra, loaded
from bot.settings import Settings
from bot.sources import SOURCES
from bot.sources.source import Source
from bot.surfaces import SURFACES
from bot.surfaces.descriptor import DoctorCheck, DoctorChecks, SurfaceDescriptor, known

SECONDS = 25.0  # for an examination; all of them run at once
NODES = 5
AT_ONCE = 20  # nodes
_MEND = "Mend or remove it, or take it out of [extras] on"
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
    surfaces: Sequence[SurfaceDescriptor] = SURFACES
    extras: ExtrasInForce = field(default_factory=ExtrasInForce)
    _sample: tuple[Node, ...] = field(init=False)
    _policy: Policy = field(init=False)
    _gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    def __post_init__(self) -> None:
        self._sample = sample(self.known.nodes, self.nodes)
        self._policy = policy_as_written(self.settings, len(self.known.nodes))

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
            *((source.title, self._source_check(source, here)) for source in self.sources),
            *(look for extra in self.extras.on for look in self._extra_checks(extra)),
            ("inventory", self._inventory),
            *self._node_checks(),
            ("extras", self._extras_not_on),
        ]
        found = await asyncio.gather(*(self._run_with_timeout(name, look) for name, look in looks))
        return tuple(examined for several in found for examined in several)

    async def _run_with_timeout(self, name: str, look: DoctorCheck) -> Sequence[DoctorFinding]:
        try:
            async with asyncio.timeout(self.seconds):
                return await look()
        except TimeoutError:
            return (DoctorFinding(name, Mark.WRONG, f"did not answer within {self.seconds:g} s"),)
        except ZombieError as no:
            return (DoctorFinding(name, Mark.WRONG, no.sentence, no.try_next),)
        except OSError as no:
            return (DoctorFinding(name, Mark.WRONG, no.strerror or str(no)),)

    def _source_check(self, source: Source, here: LocalBot) -> DoctorCheck:
        said = self.settings.of(source.settings)

        async def look() -> Sequence[DoctorFinding]:
            if source.examine is not None:
                return await source.examine(said, here)
            variable = next(key.environment for key in keys_of(source.settings).values() if key.secret)
            if source.webhook(said) is None:
                seen = f"{variable} is not set, so {source.path} is not served (404)"
                return (DoctorFinding(source.title, Mark.NOT_SET, seen),)
            return (DoctorFinding(source.title, Mark.OK, f"{source.path} is served, for callers with {variable}"),)

        return look

    async def _inventory(self) -> Sequence[DoctorFinding]:
        seen = f"{self.known.says}, of which {len(self._sample)} are checked"
        if not self.known.nodes:
            none = DoctorFinding("inventory", Mark.WRONG, "it has no nodes", "Add a node: [nodes.NAME], address = …")
            return (none, *(self._listing_finding(said) for said in self.known.listings))
        return (
            DoctorFinding("inventory", Mark.OK, seen),
            *(self._listing_finding(said) for said in self.known.listings),
        )

    @staticmethod
    def _listing_finding(said: ListingStatus) -> DoctorFinding:
        mark = Mark.OK if not said.complaint else Mark.NOTE if said.read_at is not None else Mark.WRONG
        return DoctorFinding("inventory", mark, listing_words(said, now()), "" if mark is Mark.OK else _LISTING)

    def _node_checks(self) -> list[tuple[str, DoctorCheck]]:
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
                looks.append(known(wrong))
        transport = self.transport or ssh_transport(self.environment)
        examination = NodeExamination(transport, tuple(probes.values()), acting, acts)

        def of(node: Node) -> DoctorCheck:
            async def look() -> Sequence[DoctorFinding]:
                async with self._gate:
                    return await examination.look(node)

            return look

        return [*looks, *((f"node {node.name}", of(node)) for node in self._sample)]

    def _extra_checks(self, extra: Extra) -> DoctorChecks:
        """What an extra checks; one that cannot be loaded is named."""
        try:
            checks: DoctorChecks = loaded(extra.looks)(self.settings, self._sample, now) if extra.looks else ()
        except Exception as no:  # noqa: BLE001 - whatever is wrong with an extra, the rest is examined
            wrong = DoctorFinding(f"extra {extra.name}", Mark.WRONG, load_failure_words(no), _MEND)
            return (known(wrong),)
        return checks

    async def _extras_not_on(self) -> Sequence[DoctorFinding]:
        """Which extras are left out, and which packages would take part if the settings named them."""
        found = [
            DoctorFinding(f"extra {name}", Mark.NOT_SET, why)
            if name in self.extras.chosen
            else DoctorFinding(f"extra {name}", Mark.WRONG, why, _MEND)
            for name, why in self.extras.left_out.items()
        ]
        known = self.extras.left_out.keys() | {extra.name for extra in self.extras.on} | self.extras.wanted
        for name in set(installed_names()) - known:
            hint = f'[extras] on = ["{name}"] in zombie.toml lets it into this program, which acts'
            found.append(DoctorFinding(f"extra {name}", Mark.NOT_SET, "a package here brings it, and it is off", hint))
        return sorted(found, key=lambda finding: finding.name)


# --- The bot that serves on this machine, checked over HTTP by its pages


MOST_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class LocalBot:
    """The bot at an address of this machine, if it serves there."""

    address: str

    async def fetch(self, path: str) -> str:
        """Return a page of it; empty if the status is no success.

        Raises: OSError when nothing answers there.
        """
        host, _, port = self.address.rpartition(":")
        here = "127.0.0.1" if host in ("", "0.0.0.0", "[::]") else host

        def get() -> str:
            with build_opener(ProxyHandler({})).open(f"http://{here}:{port}{path}", timeout=3) as answer:
                return str(answer.read(MOST_BYTES).decode(errors="replace"))

        try:
            return await asyncio.to_thread(get)
        except URLError as no:
            if getattr(no, "code", 0):
                return ""
            raise OSError(one_line(str(no.reason), 80)) from no

    async def examined(self) -> tuple[DoctorFinding, ...]:
        """Does it take work?"""
        try:
            page = await self.fetch("/readyz")
        except OSError as no:
            return (DoctorFinding("bot here", Mark.NOT_SET, f"no bot answers at {self.address} ({no})"),)
        if '"ready": true' in page:
            return (DoctorFinding("bot here", Mark.OK, f"takes work at {self.address}"),)
        hint = f"curl http://{self.address}/readyz says why"
        return (DoctorFinding("bot here", Mark.WRONG, f"at {self.address} takes no work", hint),)
