"""The serving bot: Slack, ledger, engine, transports and web edge, from start to stop.

Longer than 300 lines: it is a list of parts, each made from those before it.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bot.actions import ACTIONS
from bot.app.acting import acting
from bot.app.alerts import alerts, channel_of, rules_of
from bot.app.explaining import Explainer
from bot.app.fleet import fleet_runner
from bot.app.json_log import JsonLog
from bot.app.listings import Renewal
from bot.app.machines import note_machines
from bot.app.mcp import serving_mcp
from bot.app.metric_history import InventoryHistory, with_history
from bot.app.metrics import metering
from bot.app.pagerduty import serving_pagerduty
from bot.app.parts import inventory, now, ssh_transport
from bot.app.policy_settings import note_policy
from bot.app.reports import ReportMaker
from bot.app.slack_acting import slack_acting
from bot.app.slack_captures import slack_captures
from bot.app.slack_files import slack_files
from bot.app.slack_waves import slack_waves
from bot.app.stores import Stores
from bot.app.sweeps import Sweeps, scheduled
from bot.app.upkeep import Upkeep, post_digest
from bot.app.waves import WaveKeeper, wave_parts
from bot.domain.engine_contracts import Surface
from bot.domain.errors import LedgerError
from bot.engine import Engine, NoticeBoard
from bot.inventory import Inventory
from bot.response.diagnosis.diagnosis import Diagnosis
from bot.response.diagnosis.recorder import VerdictRecorder
from bot.response.diagnosis.requests import CheckRequests
from bot.response.diagnosis.scheduler import AT_ONCE, CheckScheduler, Diagnose
from bot.response.intake.intake import why_nothing_in_storm
from bot.response.lifecycle import Lifecycle
from bot.response.record import IncidentRecord
from bot.settings import Settings
from bot.sources import SOURCES
from bot.sources.source import Source
from bot.surfaces import SURFACES
from bot.surfaces.mcp.member import PATH
from bot.surfaces.member import SurfaceMember
from bot.surfaces.slack.approver_lookup import SlackApproverLookup
from bot.surfaces.slack.askers import Askers, groups_among
from bot.surfaces.slack.background import Background
from bot.surfaces.slack.calls import Timing
from bot.surfaces.slack.check_cards import CheckCards
from bot.surfaces.slack.check_opener import CheckOpener
from bot.surfaces.slack.command_handler import CommandHandler
from bot.surfaces.slack.connection import SlackConnection
from bot.surfaces.slack.ephemeral import Ephemeral
from bot.surfaces.slack.fleet_cards import FleetCards
from bot.surfaces.slack.member import SLACK, SlackTokens
from bot.surfaces.slack.pictures import Pictures
from bot.surfaces.slack.poster import Poster
from bot.surfaces.slack.storm_board import StormBoard
from bot.surfaces.slack.why_replies import WhyReplies
from bot.surfaces.view.plan_words import PlanWords
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
        self._timing = timing or Timing()
        notices, arrivals = NoticeBoard(), asyncio.Event()
        self._background, self._storming = Background(log), Background(log)
        self._acting = acting(
            settings, known, stores.ledger, environment, runner=stores.runner, cases=stores.kept_cases
        )
        policy, playbooks = self._acting.policy, self._acting.playbooks

        self._metering = metering(settings, json_log, stores)
        counted = self._metering.counted
        self._slack = SlackConnection(tokens, self._timing, now, log, json_log.logger("slack"), counted)
        pictures = Pictures(self._slack.uploads, stores.outbox, self._timing, now, log)
        made = ReportMaker(stores.database, stores.threads, playbooks, known)
        files = slack_files(made, self._slack, stores.outbox, self._timing, log)
        self._poster = Poster(self._slack.calls, stores.outbox, self._timing, now, log, pictures, files)
        self._pagerduty = serving_pagerduty(settings, stores, self._poster, log, arrivals)
        rules = rules_of(settings, playbooks, sources)
        storms = StormBoard(
            stores.cases,
            rules.brakes,
            stores.leases,
            self._poster,
            channel_of(rules),
            why_nothing_in_storm(rules.brakes),
            known.labels,
            self._storming,
            log,
        )
        explainer = Explainer(playbooks)
        whys = WhyReplies(explainer.sentences, self._poster, self._background, pictures)
        cards = CheckCards(self._poster, storms, PlanWords(ACTIONS), settings.links, whys, pictures)

        read, self._history = with_history(diagnose or self._acting.triage.diagnose, settings, known)
        self._scheduler = CheckScheduler(read, log, settings.parallel or AT_ONCE, settings.slack.each_at_once)
        self._mcp = serving_mcp(settings, known, playbooks, self._scheduler, stores.ledger, stores.kept_cases, log)
        record = IncidentRecord(stores.ledger, log)
        recorder = VerdictRecorder(
            stores.ledger,
            self._acting.proposer,
            log,
            stores.kept_cases,
            stores.readings,
            None if self._history is None else InventoryHistory(self._history, known),
        )
        self._diagnosis = Diagnosis(
            self._scheduler,
            record,
            recorder,
            known,
            playbooks,
            log,
            (cards,),
            people=policy.kinds,
        )

        self._alerts = alerts(
            settings,
            known,
            stores,
            rules,
            notices,
            arrivals,
            log,
            counted=counted,
            pagerduty=self._pagerduty,
            people=self._slack.people(()),
            sources=sources,
        )
        asking = Askers(
            self._slack,
            self._slack.people({f"{SLACK}:{group}" for group in groups_among(settings.policy.askers)}),
            self._timing.clock,
            settings.policy.askers,
            settings.slack.checks_per_person,
        )
        opener = CheckOpener(
            CheckRequests(stores.ledger, stores.leases, self._diagnosis, now, log), cards, playbooks.get().name
        )
        desk = fleet_runner(settings, known, playbooks, ssh_transport(environment), environment, stores.ledger)
        self._sweeps = Sweeps(
            scheduled(settings.sweeps, playbooks.get()),
            desk,
            stores.chat_requests,
            stores.readings,
            stores.sweeps,
            partial(post_digest, self._poster),
            now,
            log,
        )
        lookup = SlackApproverLookup(self._slack.people(policy.approver_groups), policy)
        kept = wave_parts(
            self._acting, known, stores.ledger, stores.waves, cases=stores.kept_cases, lookup=lookup, log=log
        )
        waves = slack_waves(kept, self._poster, self._background, self._storming, log, stores.chat_requests)
        fleet = FleetCards(desk, self._poster, opener, asking, self._background, log, stores.chat_requests, waves)
        self._captures = slack_captures(
            settings,
            known,
            stores,
            environment,
            playbooks,
            self._slack,
            self._poster,
            self._background,
            self._storming,
            log,
        )
        self._slack_acting = slack_acting(
            self._slack,
            self._poster,
            stores.outbox,
            stores.ledger,
            policy,
            self._acting.responder,
            self._timing,
            log,
            self._background,
            notices,
            self._scheduler,
            deliveries=stores.inbox,
            known=known,
            askers=asking,
            picker=self._alerts,
            profiles=self._captures.profiles,
            opener=opener,
            pagerduty=self._pagerduty,
            chat_requests=stores.chat_requests,
            fleet=fleet,
            links=settings.links,
            captures=self._captures.cards,
        )
        self._waves = WaveKeeper(kept.run, stores.waves, stores.leases, log, self._timing.clock)
        self._desk = CommandHandler(
            known,
            opener,
            self._slack_acting.orders,
            Ephemeral(self._slack.calls, self._timing, log),
            self._background,
            settings.slack.channels,
            asking,
            stores.chat_requests,
            fleet,
            self._captures.profiles,
            self._captures.cards,
        )
        shown: list[Surface] = [cards, self._slack_acting.surface, self._metering.incident_log]
        if self._pagerduty is not None:
            shown.append(self._pagerduty.surface)
        shown += [opened for member in surfaces if (opened := member.opened(settings)) is not None]
        self._engine = Engine(
            Lifecycle(record, self._diagnosis, self._acting.remediation, policy.kinds).advance,
            stores.ledger,
            stores.leases,
            record,
            shown,
            log,
            self._timing.clock,
            notices=notices,
        )
        self._upkeep = Upkeep(
            self._slack_acting.submissions,
            self._slack_acting.surface,
            self._engine,
            self._poster,
            log,
            self._timing.sweep_every,
        )
        heard = [self._alerts.intake.knows, *([self._history.knows] if self._history is not None else [])]
        self._renewal = Renewal(known, lambda: inventory(Path(known.origin), environment), stores.ledger, log, heard)
        self._metering.looks_at(len(known.nodes), self._scheduler, self)
        gets = (("/metrics", self._metering.scrape.answer),)
        mcp = [(PATH, self._mcp.answer)] if self._mcp is not None else []
        posts = [*self._slack.routes(), *self._alerts.posts, *mcp]
        self._web = WebEdge(
            settings.listen, self.why_not, posts, gets, log=log, unauthorized=self._metering.metrics.unauthorized
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
        acting = self._slack_acting
        self._slack.listeners.bind(self._desk, acting.home, acting.clicks, acting.submissions)
        self._begin(self._captures.keeper.run(), "captures")
        self._engine.start()  # approved plans go on even without Slack
        self._waves.start()
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
            self._background.drain(self._timing.drain),
            self._diagnosis.drain(self._timing.drain),
            self._storming.drain(0),
            self._waves.stop(self._timing.drain),
            self._engine.drain(self._timing.drain),
        )
        if self._mcp is not None:
            await self._mcp.stop()
        for task in self._tasks:
            task.cancel()
        await self._poster.drain(self._timing.post_drain)
        if self._pagerduty is not None:
            await self._pagerduty.stop()
        await self._engine.leave()
        await self._acting.cluster.close()
        if self._history is not None:
            await self._history.close()
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
        self._begin(self._sweeps.run(), "scheduled sweeps")

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
