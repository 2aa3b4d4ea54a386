"""Alerts, put together: the sources that are set up, what becomes of what they bring, and how it is shown in Slack."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from bot.actions import ACTIONS
from bot.app.acting import Acting
from bot.app.alert_rules import channel_of, rules_of, sources
from bot.app.books import Books
from bot.app.pagerduty import PagerDutyParts
from bot.app.parts import now
from bot.domain.alarm_contracts import Storm
from bot.domain.contracts import Surface
from bot.domain.errors import InventoryError
from bot.domain.incident import Incident
from bot.inventory import Inventory
from bot.response.alarm_book import AlarmBook
from bot.response.checks import CheckDesk
from bot.response.intake import Intake, PersonOf, stormy
from bot.response.judged import Judged
from bot.settings import Settings
from bot.surfaces.hooks import Counted, Hooks
from bot.surfaces.slack.alarms import AlarmDesk
from bot.surfaces.slack.poster import Poster
from bot.surfaces.slack.storm_board import StormBoard
from bot.surfaces.view.plan_words import PlanWords
from bot.surfaces.web import Handler


@dataclass(slots=True)
class Alerts:
    """What a service needs of it.

    Shape: `posts` are for the web edge, `surfaces` for the engine, before Slack's own.
    """

    posts: list[tuple[str, Handler]]
    surfaces: tuple[Surface, ...]
    intake: Intake
    book: AlarmBook
    known: Inventory
    see: Callable[[str], Awaitable[None]]
    beside: set[asyncio.Task[None]]
    stopped: asyncio.Event
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def start(self) -> None:
        """Begin to see to what was brought."""
        self._tasks.append(asyncio.create_task(self.intake.run(), name="intake"))

    async def stop(self, seconds: float) -> None:
        """Begin with nothing more, and let what is under way come to its end, so long at most."""
        self.stopped.set()
        tasks = (*self._tasks, *self.beside)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._tasks.clear()
        await self.intake.drain(seconds)

    async def pick(self, incident_id: str, node: str, by: str) -> Incident:
        """Take a person's word for which node is meant.

        Raises: InventoryError when it is none of ours; UnknownIncident, ImpossibleEvent.
        """
        if not self.known.knows(node):
            raise InventoryError(f"{node!r} is not in the inventory.")
        incident = await self.book.picked(incident_id, node, by)
        await self.see(incident.summary.card)
        return incident


def alerts(
    settings: Settings,
    known: Inventory,
    books: Books,
    acting: Acting,
    checks: CheckDesk,
    poster: Poster,
    log: Callable[..., None],
    *,
    begin: Callable[[Coroutine[Any, Any, None], str], None],
    see: Callable[[str], Awaitable[None]],
    counted: Counted | None = None,
    pagerduty: Callable[[], PagerDutyParts | None] = lambda: None,
    person_of: PersonOf | None = None,
) -> Alerts:
    """Put it together.

    Shape: `begin(work, name)` has something done beside everything else, and drained with it; `see(group)` has a group
    shown that went on. `pagerduty` is asked once something has to be, so that it may be put together after this.

    Raises: SettingsError when a route starts a playbook that is not there.
    """
    rules = rules_of(settings, acting.playbooks)
    nodes = known.nodes
    book = AlarmBook(books.ledger, books.cases)

    async def signals(case: str) -> Any:
        parts = pagerduty()
        return await parts.signals(case) if parts is not None else ()

    intake = Intake(
        books.inbox, books.cases, book, rules, lambda: nodes, see, now, log, signals_of=signals, person_of=person_of
    )
    beside: set[asyncio.Task[None]] = set()
    stopped = asyncio.Event()

    def begin_beside(work: Coroutine[Any, Any, None], name: str) -> None:
        if stopped.is_set():
            work.close()
            return
        task = asyncio.create_task(work, name=name)
        beside.add(task)
        task.add_done_callback(beside.discard)

    async def asked(storm: str) -> Storm:
        return await books.cases.storm(storm, rules.brakes)

    labelled = {node.name: node.labels for node in nodes}
    board = StormBoard(
        asked, books.leases, poster, channel_of(rules), stormy(rules.brakes), lambda node: labelled.get(node, {}),
        begin_beside, log,
    )  # fmt: skip
    desk = AlarmDesk(
        checks,
        poster,
        Judged(books.ledger, acting.offer, log),
        known.find,
        lambda name: acting.playbooks.get(name or settings.playbook),
        begin,
        log,
        board.heard,
        PlanWords(ACTIONS),
    )
    hooks = Hooks(books.inbox, now, log, intake.kick, counted)
    found = sources(settings)
    if found and not channel_of(rules):
        log("alerts_unseen", because="[slack] alerts_channel is not set: what alerts lead to has no card in Slack")
    return Alerts(hooks.posts(found), (desk,), intake, book, known, see, beside, stopped)
