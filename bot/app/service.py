"""`serve`: the serving bot from start to stop, what begins when, and what is waited for."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from bot.app.alerts import webhooks
from bot.app.bot import Bot
from bot.app.factories import inventory
from bot.app.json_log import JsonLog
from bot.app.listings import Renewal
from bot.app.machines import log_shared_machines
from bot.app.policy_settings import note_policy
from bot.app.stores import open_stores
from bot.app.upkeep import Upkeep
from bot.chat.background import Background
from bot.chat.connection import NoChat
from bot.domain.engine_contracts import Surface
from bot.domain.errors import LedgerError, SettingsError, ZombieError
from bot.domain.safe_text import one_line
from bot.domain.secret_forms import compile_forms
from bot.engine import Engine
from bot.inventory import Inventory
from bot.response.lifecycle import Lifecycle
from bot.seats import Drains, Extra, Serves, loaded
from bot.settings import Settings
from bot.sources.pagerduty_settings import PagerDutySettings
from bot.surfaces.slack.tokens import SlackTokens
from bot.surfaces.teams.settings import TeamsSettings
from bot.surfaces.web import WebEdge

RETRY_SECONDS = (1.0, 2.0, 5.0, 10.0, 30.0)
# A transaction gives the interpreter up and takes it back some fifteen times; beside a thread that computes, each costs
# this long. Python's own 5 ms made the answer to an alert wait for half a second in a storm.
SWITCH_SECONDS = 0.0005
# A short command looks for garbage rarely, and then among 100,000 objects: every answer waits for that.
ALLOCATIONS_BETWEEN_LOOKS = 2_000


def serve(
    settings: Settings,
    known: Inventory,
    database_url: str,
    environment: Mapping[str, str],
    extras: Sequence[Extra] = (),
) -> int:
    """Run until SIGTERM or Ctrl-C and return the exit status; without a chat where alerts come.

    Raises: SettingsError when a token is missing or rejected; LedgerUnavailable when the ledger cannot be opened.
    """
    has_slack, in_teams = any(settings.slack.access[:3]), settings.of(TeamsSettings).is_set
    has_chat = has_slack or in_teams
    if has_slack and in_teams:
        raise SettingsError("Slack and Teams are both set up.", "Set up one: a bot and its record serve one chat.")
    has_alerts = bool(webhooks(settings)) or settings.of(PagerDutySettings).poll
    if not has_chat and not has_alerts:
        for extra in extras:
            if extra.serves_alone:
                status: int | None = loaded(extra.serves_alone)(settings, known, database_url, environment)
                if status is not None:
                    return status
    tokens = SlackTokens.of(*settings.slack.access) if has_slack or not (has_chat or has_alerts) else None
    json_log = JsonLog(secrets=settings.secrets)
    with json_log.library_logs(), open_stores(database_url, settings.retention.deliveries, extras) as stores:
        sys.setswitchinterval(SWITCH_SECONDS)
        compile_forms()
        gc.freeze()  # what is loaded is no garbage
        gc.set_threshold(ALLOCATIONS_BETWEEN_LOOKS)
        asyncio.run(_run(Bot(settings, known, tokens, stores, environment, json_log, extras=tuple(extras))))
    return 0


async def _run(bot: Bot) -> None:
    await Service(bot).run()


class Service:
    """A running bot."""

    def __init__(self, bot: Bot) -> None:
        """Put it together. Raises: SettingsError, PlaybookError when the settings cannot be used."""
        self._bot, log = bot, bot.log
        metered, acts, checks, chat_handlers = bot.metered, bot.acting, bot.check_service, bot.chat_handlers
        self._chat = bot.posting.connection
        shown: list[Surface] = [bot.cards, metered.incident_log]
        if bot.pagerduty is not None:
            shown.append(bot.pagerduty.surface)
        shown += [opened for member in bot.surfaces if (opened := member.opened(bot.settings)) is not None]
        self._engine = Engine(
            Lifecycle(bot.record, checks.diagnosis, acts.remediation, acts.policy.kinds).advance,
            bot.stores.ledger,
            bot.stores.leases,
            bot.record,
            shown,
            log,
            bot.timing.clock,
            notices=bot.notices,
        )
        self._upkeep = Upkeep(
            chat_handlers.decisions,
            bot.cards,
            self._engine,
            bot.posting.poster,
            log,
            bot.timing.sweep_every,
        )
        told = [bot.alerts.intake.knows, *(more.knows for more in checks.more)]
        self._renewal = Renewal(
            bot.known, lambda: inventory(Path(bot.known.origin), bot.environment), bot.stores.ledger, log, told
        )
        metered.set_sources(len(bot.known.nodes), checks.scheduler, self.not_ready_reason)
        self._extras: list[Serves] = bot.seated("serves")
        gets = (("/metrics", metered.scrape.answer),)
        posts = [*self._chat.routes(), *bot.alerts.posts, *(post for extra in self._extras for post in extra.posts)]
        self._web = WebEdge(
            bot.settings.listen, self.not_ready_reason, posts, gets, log=log, unauthorized=metered.metrics.unauthorized
        )
        self.address = ""  # where the web edge listens, once it does
        self._not_yet = "starting"
        self._stopping = asyncio.Event()
        self._background = Background(log)

    async def run(self) -> None:
        """Start, serve until SIGTERM or Ctrl-C, and end cleanly."""
        loop = asyncio.get_running_loop()
        self._bot.json_log.log_task_failures(loop)
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
        """Start everything; False when the bot was stopped before its chat could be reached.

        Raises: SettingsError when a chat rejects a token, or the listen address cannot be used.
        """
        doing, stopped = asyncio.create_task(self._start()), asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait((doing, stopped), return_when=asyncio.FIRST_COMPLETED)
            if doing.done():
                await doing
            return doing.done() and not self._stopping.is_set()
        finally:  # what was begun after that, `stop` would not end
            for task in (doing, stopped):
                task.cancel()
            await asyncio.gather(doing, stopped, return_exceptions=True)

    async def _start(self) -> None:
        for extra in tuple(self._extras):
            try:
                await extra.start()
            except ZombieError:
                raise
            except Exception as no:  # noqa: BLE001 - whatever is wrong with an extra, the bot serves without it
                self._extras.remove(extra)
                self._bot.log("extra_left_out", extra=type(extra).__name__, error=one_line(repr(no), 300))
        self.address = await self._web.start()
        self._bot.log(
            "listening", address=self.address, nodes=len(self._bot.known.nodes), runner=self._bot.stores.runner
        )
        for name, fault in self._bot.acting.playbooks.left_out.items():
            self._bot.log("playbook_left_out", playbook=name, says=str(fault))
        for name, says in self._bot.acting.playbooks.rules_left_out.items():
            self._bot.log("rule_left_out", rule=name, says=says)
        await note_policy(self._bot.acting.policy, self._bot.stores.ledger, self._bot.log)
        await self._renewal.begin()
        self._background.begin(self._renewal.run(), "inventory")
        await log_shared_machines(self._bot.known, self._bot.stores.ledger, self._bot.log)
        self._bot.chat_handlers.hear(self._chat)
        self._engine.start()  # approved plans go on even while the chat is away
        self._bot.alerts.start()
        if self._bot.pagerduty is not None:
            self._bot.pagerduty.start()
        await self._connect_chat()

    async def stop(self) -> None:
        """Accept nothing more, finish what can be finished, leave the rest to others, and disconnect."""
        self._stopping.set()
        self._bot.log("stopping")
        await self._chat.stop_listening()
        await asyncio.gather(
            self._bot.alerts.stop(self._bot.timing.post_drain),
            self._bot.posting.work.drain(self._bot.timing.drain),
            self._bot.check_service.diagnosis.drain(self._bot.timing.drain),
            self._bot.posting.watching.drain(0),
            *(work.drain(self._bot.timing.drain) for work in self._extras if isinstance(work, Drains)),
            self._engine.drain(self._bot.timing.drain),
        )
        for extra in self._extras:
            try:
                await extra.stop()
            except Exception as no:  # noqa: BLE001 - what else is owed at the end is not the extra's to keep
                self._bot.log("extra_not_stopped", extra=type(extra).__name__, error=one_line(repr(no), 300))
        await self._background.drain(0)
        await self._bot.posting.poster.drain(self._bot.timing.post_drain)
        if self._bot.pagerduty is not None:
            await self._bot.pagerduty.stop()
        await self._engine.leave()
        await self._bot.acting.cluster.close()
        for more in self._bot.check_service.more:
            await more.close()
        await self._chat.stop()
        await self._web.stop()
        self._bot.log("stopped")

    # --- start

    async def _connect_chat(self) -> None:
        """Wait for the chat, however long that takes."""
        attempt = 0
        while trouble := await self._chat.start():
            wait = RETRY_SECONDS[min(attempt, len(RETRY_SECONDS) - 1)]
            because = f"{self._chat.word} cannot be reached: {trouble}"
            if because != self._not_yet:
                self._bot.log("waiting", because=because)
            self._not_yet = because
            await asyncio.sleep(wait)
            attempt += 1
        self._not_yet = ""
        self._bot.log("ready", by=self._chat.by)
        if not isinstance(self._chat, NoChat):  # what others are owed in theirs is for a program that is there
            self._background.begin(self._upkeep.run(), "upkeep")

    # --- while it runs

    async def not_ready_reason(self) -> str:
        """Return why the bot is not ready; empty while it is."""
        if self._stopping.is_set():
            return "stopping"
        if self._not_yet:
            return self._not_yet
        if not self._chat.is_connected:
            return f"not connected to {self._chat.word}"
        try:
            await self._bot.stores.outbox.waiting()
            await asyncio.to_thread(self._bot.stores.database.check)
        except LedgerError:  # whoever reaches the port learns neither its host nor its login; the log has them
            return "the ledger cannot be used, and the log says why"
        return ""
