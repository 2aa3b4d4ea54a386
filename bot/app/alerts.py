"""Alerts, put together: the sources that are set up, and what becomes of what they bring."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from bot.app.alert_rules import channel_of, webhooks
from bot.app.pagerduty import PagerDutyParts, asker_of
from bot.app.parts import now
from bot.app.stores import Stores
from bot.domain.contracts import Log
from bot.domain.engine_contracts import Notices
from bot.domain.errors import InventoryError
from bot.domain.incident import Incident
from bot.inventory import Inventory
from bot.response.intake.alert_recorder import AlertRecorder
from bot.response.intake.intake import Intake, Rules
from bot.settings import Settings
from bot.sources import SOURCES
from bot.sources.source import Source
from bot.surfaces.hooks import Counted, Hooks
from bot.surfaces.slack.people import People
from bot.surfaces.web import Handler


@dataclass(slots=True)
class Alerts:
    """What a service needs of it: `posts` are for the web edge."""

    posts: list[tuple[str, Handler]]
    intake: Intake
    book: AlertRecorder
    known: Inventory
    notices: Notices
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def start(self) -> None:
        """Begin to see to what was brought."""
        self._tasks.append(asyncio.create_task(self.intake.run(), name="intake"))

    async def stop(self, seconds: float) -> None:
        """Begin with nothing more, and let what is under way come to its end, so long at most."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        await self.intake.drain(seconds)

    async def pick(self, incident_id: str, node: str, by: str) -> Incident:
        """Take a person's word for which node is meant.

        Raises: InventoryError when it is none of ours; UnknownIncident, ImpossibleEvent.
        """
        if not self.known.knows(node):
            raise InventoryError(f"{node!r} is not in the inventory.")
        incident = await self.book.picked(incident_id, node, by)
        self.notices.changed(incident.summary.card)
        return incident


def alerts(
    settings: Settings,
    known: Inventory,
    books: Stores,
    rules: Rules,
    notices: Notices,
    arrivals: asyncio.Event,
    log: Log,
    *,
    counted: Counted | None = None,
    pagerduty: PagerDutyParts | None = None,
    people: People | None = None,
    sources: Sequence[Source] = SOURCES,
) -> Alerts:
    """Put it together.

    Shape: `arrivals` is set when something new was kept. `pagerduty` and `people` say more of a page, where there are
    such.
    """
    book = AlertRecorder(books.ledger, books.cases)
    intake = Intake(
        books.inbox,
        books.cases,
        book,
        rules,
        known.nodes,
        notices,
        arrivals,
        now,
        log,
        signals_of=pagerduty.signals if pagerduty is not None else None,
        person_of=asker_of(pagerduty, people) if people is not None else None,
    )
    found = webhooks(settings, sources)
    if found and not channel_of(rules):
        log("alerts_unseen", because="[slack] alerts_channel is not set: what alerts lead to has no card in Slack")
    posts = Hooks(books.inbox, now, log, arrivals, counted).posts(found)
    return Alerts(posts, intake, book, known, notices)
