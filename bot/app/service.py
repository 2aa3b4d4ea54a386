"""The serving bot: Slack, ledger, engine, transports and web edge, from start to stop."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

from bot.app.acting import acting
from bot.app.alerts import alerts, rules_of
from bot.app.checking import checking
from bot.app.json_log import JsonLog
from bot.app.listings import Renewal
from bot.app.machines import note_machines
from bot.app.mcp import serving_mcp
from bot.app.metrics import metering
from bot.app.pagerduty import serving_pagerduty
from bot.app.parts import inventory
from bot.app.policy_settings import note_policy
from bot.app.reports import ReportMaker
from bot.app.slack_desk import slack_desk
from bot.app.slack_posting import check_cards, slack_posting
from bot.app.stores import Stores
from bot.app.upkeep import Upkeep
from bot.domain.engine_contracts import Surface
from bot.domain.errors import LedgerError
from bot.engine import Engine, NoticeBoard
from bot.inventory import Inventory
from bot.response.diagnosis.scheduler import Diagnose
from bot.response.lifecycle import Lifecycle
from bot.response.record import IncidentRecord
from bot.settings import Settings
from bot.sources import SOURCES
from bot.sources.source import Source
from bot.surfaces import SURFACES
from bot.surfaces.mcp.member import PATH
from bot.surfaces.member import SurfaceMember
from bot.surfaces.slack.calls import Timing
from bot.surfaces.slack.member import SlackTokens
from bot.surfaces.web import WebEdge

RETRY_SECONDS = (1.0, 2.0, 5.0, 10.0, 30.0)


class Service:
    """The parts of a running bot.

    Shape: `diagnose` reads a node, by default over SSH. Any number of services may share a database: the engine makes
    sure that each incident has a single owner.
    """

    def __init__(
        self,
        settings: Settings,
        known: Inventory,
        tokens: SlackTokens,
        stores: Stores,
        environment: Mapping[str, str],
        json_log: JsonLog,
        *,
        diagnose: Diagnose | None = None,
        timing: Timing | None = None,
        sources: Sequence[Source] = SOURCES,
        surfaces: Sequence[SurfaceMember] = SURFACES,
    ) -> None:
        """Put the parts together, each from those before it."""
        log = self._log = json_log.log
        self._json_log, self._known, self._stores = json_log, known, stores
        self._timing = timing = timing or Timing()
        notices, arrivals = NoticeBoard(), asyncio.Event()
        record = IncidentRecord(stores.ledger, log)
        self._acting = acts = acting(
            settings, known, stores.ledger, environment, runner=stores.runner, cases=stores.kept_cases
        )
        playbooks = acts.playbooks
        metered = metering(settings, json_log, stores)
        made = ReportMaker(stores.database, stores.threads, playbooks, known)
        self._posting = posting = slack_posting(tokens, stores, made, timing, json_log, metered.counted)
        self._slack = slack = posting.connection
        self._pagerduty = pagerduty = serving_pagerduty(settings, stores, posting.poster, log, arrivals)
        rules = rules_of(settings, playbooks, sources)
        cards = check_cards(posting, stores, rules, known, playbooks, settings.links, log)
        self._checking = checks = checking(settings, known, stores, acts, record, (cards,), log, diagnose)
        self._mcp = serving_mcp(settings, known, playbooks, checks.scheduler, stores.ledger, stores.kept_cases, log)
        self._alerts = heard = alerts(
            settings,
            known,
            stores,
            rules,
            notices,
            arrivals,
            log,
            counted=metered.counted,
            pagerduty=pagerduty,
            people=slack.people(()),
            sources=sources,
        )
        self._desk = desk = slack_desk(
            settings,
            known,
            stores,
            environment,
            posting,
            cards,
            acts,
            checks,
            heard,
            pagerduty,
            notices,
            timing,
            log,
        )
        shown: list[Surface] = [cards, desk.acting.surface, metered.incident_log]
        if pagerduty is not None:
            shown.append(pagerduty.surface)
        shown += [opened for member in surfaces if (opened := member.opened(settings)) is not None]
        self._engine = Engine(
            Lifecycle(record, checks.diagnosis, acts.remediation, acts.policy.kinds).advance,
            stores.ledger,
            stores.leases,
            record,
            shown,
            log,
            timing.clock,
            notices=notices,
        )
        self._upkeep = Upkeep(
            desk.acting.submissions, desk.acting.surface, self._engine, posting.poster, log, timing.sweep_every
        )
        told = [heard.intake.knows, *([checks.history.knows] if checks.history is not None else [])]
        self._renewal = Renewal(known, lambda: inventory(Path(known.origin), environment), stores.ledger, log, told)
        metered.looks_at(len(known.nodes), checks.scheduler, self)
        gets = (("/metrics", metered.scrape.answer),)
        mcp = [(PATH, self._mcp.answer)] if self._mcp is not None else []
        posts = [*slack.routes(), *heard.posts, *mcp]
        self._web = WebEdge(
            settings.listen, self.why_not, posts, gets, log=log, unauthorized=metered.metrics.unauthorized
        )
        self.address = ""  # where the web edge listens, once it does
        self._not_yet = "starting"
        self._stopping = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def run(self) -> None:
        """Start, serve until SIGTERM or Ctrl-C, and end cleanly."""
        loop = asyncio.get_running_loop()
        self._json_log.hear(loop)
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

        Raises: SettingsError when Slack rejects a token, or the listen address cannot be used.
        """
        if self._mcp is not None:
            await self._mcp.start()
        self.address = await self._web.start()
        self._log("listening", address=self.address, nodes=len(self._known.nodes), runner=self._stores.runner)
        for name, fault in self._acting.playbooks.left_out.items():
            self._log("playbook_left_out", playbook=name, says=str(fault))
        await note_policy(self._acting.policy, self._stores.ledger, self._log)
        await self._renewal.begin()
        self._begin(self._renewal.run(), "inventory")
        await note_machines(self._known, self._stores.ledger, self._log)
        self._desk.hear(self._slack.listeners)
        self._begin(self._desk.captures.keeper.run(), "captures")
        self._engine.start()  # approved plans go on even without Slack
        self._desk.waves.start()
        self._alerts.start()
        if self._pagerduty is not None:
            self._pagerduty.start()
        return await self._unless_stopped(self._come_in())

    async def stop(self) -> None:
        """Accept nothing more, finish what can be finished, leave the rest to others, and disconnect."""
        self._stopping.set()
        self._log("stopping")
        await self._slack.stop_listening()
        await asyncio.gather(
            self._alerts.stop(self._timing.post_drain),
            self._posting.work.drain(self._timing.drain),
            self._checking.diagnosis.drain(self._timing.drain),
            self._posting.watching.drain(0),
            self._desk.waves.stop(self._timing.drain),
            self._engine.drain(self._timing.drain),
        )
        if self._mcp is not None:
            await self._mcp.stop()
        for task in self._tasks:
            task.cancel()
        await self._posting.poster.drain(self._timing.post_drain)
        if self._pagerduty is not None:
            await self._pagerduty.stop()
        await self._engine.leave()
        await self._acting.cluster.close()
        if self._checking.history is not None:
            await self._checking.history.close()
        await self._slack.stop()
        await self._web.stop()
        self._log("stopped")

    # --- start

    async def _come_in(self) -> None:
        """Wait for Slack, however long that takes."""
        attempt = 0
        while trouble := await self._slack.start():
            wait = RETRY_SECONDS[min(attempt, len(RETRY_SECONDS) - 1)]
            because = f"Slack cannot be reached: {trouble}"
            if because != self._not_yet:
                self._log("waiting", because=because)
            self._not_yet = because
            await asyncio.sleep(wait)
            attempt += 1
        self._not_yet = ""
        self._log("ready", by="socket" if self._slack.by_socket else "http")
        self._begin(self._upkeep.run(), "upkeep")
        self._begin(self._desk.sweeps.run(), "scheduled sweeps")

    def _begin(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self._tasks.append(asyncio.create_task(work, name=name))

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

    async def why_not(self) -> str:
        """Return why the bot is not ready; empty while it is."""
        if self._stopping.is_set():
            return "stopping"
        if self._not_yet:
            return self._not_yet
        if not self._slack.is_connected:
            return "not connected to Slack"
        try:
            await self._stores.outbox.waiting()
        except LedgerError as error:
            return str(error)
        return ""
