"""The bot as it serves: Slack, the ledger, the engine, the way to the nodes and the web edge, from start to end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bot.actions import ACTIONS
from bot.app.acting import acting
from bot.app.alerts import alerts
from bot.app.books import Books
from bot.app.journal import Journal
from bot.app.metrics import metering
from bot.app.pagerduty import asker_of, serving_pagerduty
from bot.app.parts import now
from bot.app.past import informed
from bot.app.policing import note_policy
from bot.app.slack_acting import slack_acting
from bot.domain.contracts import Listener, Surface
from bot.domain.errors import LedgerError
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.verdict import Verdict
from bot.engine import Engine
from bot.inventory import Inventory
from bot.response.checks import CheckDesk, Diagnose
from bot.response.record import Record
from bot.response.shown import without_secrets
from bot.response.triage import Triage
from bot.settings import Settings
from bot.surfaces.slack.alarms import spot_of
from bot.surfaces.slack.answers import Whisper
from bot.surfaces.slack.case import Rooms
from bot.surfaces.slack.connection import SlackConnection, SlackTokens
from bot.surfaces.slack.desk import SlackDesk
from bot.surfaces.slack.home import Deeds, home_view
from bot.surfaces.slack.listeners import listen
from bot.surfaces.slack.poster import Poster
from bot.surfaces.slack.timing import Timing
from bot.surfaces.view.plan_words import PlanWords
from bot.surfaces.web import WebEdge

RETRY_SECONDS = (1.0, 2.0, 5.0, 10.0, 30.0)
EACH_AT_ONCE = 10  # readings of one person


class Service:
    """The parts of a running bot.

    Shape: `diagnose` reads a node, over SSH unless told otherwise. Any number of them may run on one database: the
    engine sees to it that each incident is seen to by one.
    """

    def __init__(
        self,
        settings: Settings,
        known: Inventory,
        tokens: SlackTokens,
        books: Books,
        environment: Mapping[str, str],
        journal: Journal,
        *,
        diagnose: Diagnose | None = None,
        timing: Timing | None = None,
    ) -> None:
        self._journal = journal
        self._known = known
        self._books = books
        self._timing = timing or Timing()
        self._acting = acting(settings, known, books.ledger, environment, runner=books.runner)
        self._read, self._forget_past = informed(diagnose or _by(self._acting.triage), settings, known)
        table = settings.tables.get("slack", {})
        each_at_once = table.get("each_at_once", EACH_AT_ONCE)
        self._checks = CheckDesk(self._diagnose, journal.log, settings.parallel, each_at_once)
        self._metering = metering(settings, journal, books)
        self._slack = SlackConnection(
            tokens, self._timing, now, journal.log, journal.logger("slack"), self._metering.counted
        )
        self._record = Record(books.ledger, journal.log, self._acting.offer, books.leases)
        self._poster = Poster(self._slack.calls, books.outbox, self._timing, now, journal.log)
        self._deeds = slack_acting(
            self._slack, self._poster, books.outbox, books.ledger, self._acting.policy, self._acting.responder,
            self._timing, journal.log,
            begin=lambda work, name: self._desk.begin(work, name),
            changed=lambda incident_id: self._engine.kick(incident_id),
            waits_for=lambda incident_id: self._engine.waits_for(incident_id),
            show_home=self._open_home,
            spot_of=spot_of,
            pick=lambda incident_id, node, by: self._alerts.pick(incident_id, node, by),
            enable=self._enable,
        )  # fmt: skip
        playbook = self._acting.playbooks.get(settings.playbook)
        self._desk = SlackDesk(
            known,
            Rooms(self._checks, self._poster, self._record, playbook, words=PlanWords(ACTIONS)),
            Whisper(self._slack.calls, self._timing, journal.log),
            frozenset(table.get("channels", ())),
            journal.log,
            self._deeds.orders.see_through,
        )
        self._alerts = alerts(
            settings, known, books, self._acting, self._checks, self._poster, journal.log,
            begin=self._desk.begin, see=self._see, counted=self._metering.counted, pagerduty=lambda: self._pagerduty,
            person_of=asker_of(lambda: self._pagerduty, self._slack.people(())),
        )  # fmt: skip
        self._pagerduty = serving_pagerduty(settings, books, self._poster, journal.log, self._alerts.intake.kick)
        self._engine = Engine(
            self._acting.remediation.advance,
            books.ledger,
            books.leases,
            self._record.together,
            self._surfaces(),
            journal.log,
            self._timing.clock,
            claimed=self._go_on,
        )
        self._metering.looks_at(len(known.nodes), lambda: self._checks.running, self._why_not_ready)
        gets = (("/metrics", self._metering.scrape.answer),)
        posts = [*self._slack.routes(), *self._alerts.posts]
        self._web = WebEdge(settings.get("listen"), self._why_not_ready, posts, gets)
        self.address = ""  # where the web edge listens, once it does
        self._not_yet = "starting"
        self._ready = asyncio.Event()
        self._stopping = asyncio.Event()
        self._beside: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Start, serve until SIGTERM or Ctrl-C, and end cleanly."""
        loop = asyncio.get_running_loop()
        self._journal.hear(loop)
        loop.add_signal_handler(signal.SIGTERM, self._stopping.set)
        loop.add_signal_handler(signal.SIGINT, self._interrupted)
        try:
            if await self.start():
                await self._stopping.wait()
        finally:
            await self.stop()

    def _interrupted(self) -> None:
        self._stopping.set()
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)  # a second Ctrl-C does not wait

    async def start(self) -> bool:
        """Start everything; False when the bot was stopped before Slack could be reached.

        Raises: SettingsError when Slack does not take the tokens, or the address to listen on cannot be had.
        """
        self.address = await self._web.start()
        self._journal.log("listening", address=self.address, nodes=len(self._known.nodes), runner=self._books.runner)
        await note_policy(self._acting.policy, self._books.ledger, self._journal.log)
        listen(self._slack.app, self._desk.take, self._open_home, self._deeds.clicks)
        self._engine.start()  # what was approved is carried on, whether Slack can be reached or not
        self._alerts.start()
        if self._pagerduty is not None:
            self._pagerduty.start()
        return await self._unless_stopped(self._come_in())

    async def stop(self) -> None:
        """Take nothing more, finish what can be finished, leave the rest to the others, and hang up."""
        self._stopping.set()
        self._journal.log("stopping")
        await self._slack.stop_listening()
        await asyncio.gather(
            self._alerts.stop(self._timing.post_drain),
            self._desk.drain(self._timing.drain),
            self._engine.drain(self._timing.drain),
        )
        for task in self._beside:
            task.cancel()
        await self._poster.drain(self._timing.post_drain)
        if self._pagerduty is not None:
            await self._pagerduty.stop()
        await self._engine.leave()
        await self._acting.cluster.close()
        await self._forget_past()
        await self._slack.stop()
        await self._web.stop()
        self._journal.log("stopped")

    # --- start

    async def _come_in(self) -> None:
        """Wait for Slack, however long that takes."""
        attempt = 0
        while trouble := await self._slack.start():
            wait = RETRY_SECONDS[min(attempt, len(RETRY_SECONDS) - 1)]
            because = f"Slack cannot be reached: {trouble}"
            if because != self._not_yet:
                self._journal.log("waiting", because=because)
            self._not_yet = because
            await asyncio.sleep(wait)
            attempt += 1
        self._not_yet = ""
        self._ready.set()
        self._journal.log("ready", by="socket" if self._slack.by_socket else "http")
        self._begin(self._sweep(), "sweep")

    async def _unless_stopped(self, work: Coroutine[Any, Any, None]) -> bool:
        doing, stopped = asyncio.create_task(work), asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait((doing, stopped), return_when=asyncio.FIRST_COMPLETED)
            if doing.done():
                await doing
            return doing.done() and not self._stopping.is_set()
        finally:
            for task in (doing, stopped):
                task.cancel()
            await asyncio.gather(doing, stopped, return_exceptions=True)

    # --- while it runs

    async def _go_on(self, group: str) -> None:
        """Go on with the checks of a group that whoever saw to it left owing.

        Raises: LedgerError when the ledger cannot be asked.
        """
        if not await self._unless_stopped(self._until_ready()):
            return
        owing: Sequence[Incident] = await self._record.owing(group)
        if owing and self._desk.resume([owing]):
            self._journal.log("resumed", group=group, checks=1)

    def _surfaces(self) -> tuple[Surface, ...]:
        pages = (self._pagerduty.surface,) if self._pagerduty is not None else ()
        return (*self._alerts.surfaces, self._deeds.surface, self._metering.witness, *pages)

    async def _see(self, group: str) -> None:
        await self._engine.see(group)

    async def _until_ready(self) -> None:
        await self._ready.wait()

    async def _sweep(self) -> None:
        """Post what the outbox still holds."""
        while True:
            try:
                if posts := await self._poster.sweep():
                    self._journal.log("taken_up", posts=posts)
            except LedgerError as error:
                self._journal.log("ledger_unavailable", error=str(error))
            await asyncio.sleep(self._timing.sweep_every)

    def _begin(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    async def _diagnose(self, node: Node, playbook: Playbook, heard: Listener) -> Verdict:
        verdict = without_secrets(await self._read(node, playbook, heard))
        self._journal.log(
            "checked", node=node.name, status=verdict.status.value, cause=verdict.cause or "",
            took_seconds=round(verdict.took.total_seconds(), 3),
        )  # fmt: skip
        return verdict

    async def _enable(self) -> str:
        parts = self._pagerduty
        return await parts.enable() if parts is not None else "PagerDuty is not talked to: no token is set."

    def _open_home(self, user: str) -> None:
        self._desk.begin(self._home(user), f"home {user}")

    async def _home(self, user: str) -> None:
        try:
            waiting, deeds = await self._books.outbox.waiting(), await self._deeds.home.deeds(user)
        except LedgerError:
            waiting, deeds = None, None
        await self._slack.publish_home(user, self._home_view(waiting, deeds))

    def _home_view(self, waiting: int | None, deeds: Deeds | None) -> dict[str, Any]:
        trouble = self._pagerduty.trouble if self._pagerduty is not None else ""
        return home_view(len(self._known.nodes), self._checks.running, waiting, deeds, trouble)

    async def _why_not_ready(self) -> str:
        if self._stopping.is_set():
            return "stopping"
        if self._not_yet:
            return self._not_yet
        if not self._slack.is_connected:
            return "not connected to Slack"
        try:
            await self._books.outbox.waiting()
        except LedgerError as error:
            return str(error)
        return ""


def _by(triage: Triage) -> Diagnose:
    async def diagnose(node: Node, playbook: Playbook, heard: Listener) -> Verdict:
        return await replace(triage, heard=heard).diagnose(node, playbook)

    return diagnose
