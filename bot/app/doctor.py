"""`doctor`: everything that a serving bot leans on, looked at side by side, each within its time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from bot.app import doctor_home
from bot.app.acting import acting_login, acting_rights
from bot.app.doctor_nodes import NodeExamination, sample
from bot.app.doctor_pagerduty import PagerDutyExamination
from bot.app.parts import library, now, ssh_transport
from bot.app.serve import slack_tokens
from bot.domain.contracts import Transport
from bot.domain.errors import SettingsError, ZombieError
from bot.domain.examined import Examined, Mark
from bot.domain.node import Node
from bot.inventory import Inventory
from bot.response.policy import Policy
from bot.settings import Settings
from bot.surfaces.slack.examination import SlackExamination

SECONDS = 25.0  # for one examination; all of them run at once
NODES = 5
AT_ONCE = 20  # nodes

Look = Callable[[], Awaitable[Sequence[Examined]]]


class Doctor:
    """Looks at everything and changes nothing.

    Shape: `url` is the record's; `pagerduty` and `transport` stand in for the real ones in tests.
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
        pagerduty: PagerDutyExamination | None = None,
    ) -> None:
        self._settings = settings
        self._known = known
        self._url = url
        self._environment = environment
        self._nodes = sample(known.nodes, nodes)
        self._seconds = seconds
        self._transport = transport
        self._pagerduty = pagerduty or PagerDutyExamination(settings)
        self._gate = asyncio.Semaphore(AT_ONCE)

    async def examined(self) -> tuple[Examined, ...]:
        """Return what everything came to, always in the same order."""
        looks: list[tuple[str, Look]] = [
            ("database", lambda: doctor_home.record(self._url, now)),
            ("disk", lambda: doctor_home.disk(self._url)),
            ("policy", lambda: doctor_home.policy(self._settings, len(self._known.nodes))),
            ("bot here", lambda: doctor_home.bot_here(self._settings)),
            *self._slack(),
            ("PagerDuty", self._pagerduty.look),
            ("sources", lambda: doctor_home.sources(self._settings)),
            ("Prometheus", lambda: doctor_home.prometheus(self._settings, self._nodes, now)),
            ("inventory", self._inventory),
            *self._of_nodes(),
        ]
        found = await asyncio.gather(*(self._bounded(name, look) for name, look in looks))
        return tuple(one for several in found for one in several)

    async def _bounded(self, name: str, look: Look) -> Sequence[Examined]:
        try:
            async with asyncio.timeout(self._seconds):
                return await look()
        except TimeoutError:
            return (Examined(name, Mark.WRONG, f"did not answer within {self._seconds:g} s"),)
        except ZombieError as no:
            return (Examined(name, Mark.WRONG, no.sentence, no.try_next),)
        except OSError as no:
            return (Examined(name, Mark.WRONG, no.strerror or str(no)),)

    def _slack(self) -> list[tuple[str, Look]]:
        try:
            tokens = slack_tokens(self._settings)
        except SettingsError as no:
            missing = Examined("Slack", Mark.WRONG, no.sentence, no.try_next)
            return [("Slack", lambda: _told(missing))]
        slack = SlackExamination(tokens, now)
        rules = Policy.of(self._settings.tables)
        return [
            ("Slack bot token", slack.bot_token),
            ("Slack Socket Mode", slack.socket),
            ("approvers", lambda: slack.people(rules.approvers, rules.approver_groups)),
        ]

    async def _inventory(self) -> Sequence[Examined]:
        seen = f"{self._known.says}, of which {len(self._nodes)} are asked"
        if not self._known.nodes:
            return (Examined("inventory", Mark.WRONG, "there is no node in it", "Add one: [nodes.NAME], address = …"),)
        return (Examined("inventory", Mark.OK, seen),)

    def _of_nodes(self) -> list[tuple[str, Look]]:
        if not self._nodes:
            return []
        probes = {probe.name: probe for book in library(self._settings.playbooks).playbooks for probe in book.probes}
        acting: dict[str, Any] = {}
        acts: tuple[tuple[str, ...], ...] = ()
        looks: list[tuple[str, Look]] = []
        if Policy.of(self._settings.tables).acting:
            try:
                acting, acts = acting_login(self._settings, self._environment), acting_rights(self._settings)
            except SettingsError as no:
                wrong = Examined("login that acts", Mark.WRONG, no.sentence, no.try_next)
                looks.append(("login that acts", lambda: _told(wrong)))
        transport = self._transport or ssh_transport(self._environment)
        examination = NodeExamination(transport, tuple(probes.values()), acting, acts)

        def of(node: Node) -> Look:
            async def look() -> Sequence[Examined]:
                async with self._gate:
                    return await examination.look(node)

            return look

        return [*looks, *((f"node {node.name}", of(node)) for node in self._nodes)]


async def _told(one: Examined) -> Sequence[Examined]:
    return (one,)
