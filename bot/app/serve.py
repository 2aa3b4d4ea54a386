"""`serve`, put together: Slack, the ledger, the way to the nodes and the web edge, from start to a clean end."""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import aiohttp

from bot.actions import ACTIONS
from bot.app.check import DEADLINE_BEYOND_WINDOW
from bot.app.journal import Journal
from bot.app.parts import library, now, ssh_transport
from bot.domain.batch import Sampling
from bot.domain.contracts import Listener
from bot.domain.errors import LedgerError, SettingsError
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.verdict import Verdict
from bot.inventory import Inventory
from bot.ledger import AwaitedLedger, AwaitedOutbox, Database, Ledger, Outbox
from bot.response.checks import CheckDesk
from bot.response.record import Record
from bot.response.triage import Triage
from bot.settings import Settings
from bot.surfaces.slack.connection import SlackConnection, SlackTokens
from bot.surfaces.slack.desk import SlackDesk, Wish
from bot.surfaces.slack.home import home_view
from bot.surfaces.slack.listeners import listen
from bot.surfaces.slack.message import Message
from bot.surfaces.slack.poster import Poster
from bot.surfaces.web import WebEdge

DRAIN_SECONDS = 20.0
RETRY_SECONDS = (1, 2, 5, 10, 30)


def serve(settings: Settings, known: Inventory, database_url: str, environment: Mapping[str, str]) -> int:
    """Run until SIGTERM or Ctrl-C and return the exit status.

    Raises: SettingsError when a token is missing or not taken; LedgerUnavailable when the ledger cannot be opened.
    """
    tokens = slack_tokens(settings)
    with Database.open(database_url) as database, ThreadPoolExecutor(4, "ledger") as threads:
        ledger = AwaitedLedger(Ledger(database), threads)
        outbox = AwaitedOutbox(Outbox(database), threads)
        asyncio.run(Service(settings, known, tokens, ledger, outbox, environment, Journal()).run())
    return 0


class Service:
    """The parts of a running bot."""

    def __init__(
        self,
        settings: Settings,
        known: Inventory,
        tokens: SlackTokens,
        ledger: AwaitedLedger,
        outbox: AwaitedOutbox,
        environment: Mapping[str, str],
        journal: Journal,
    ) -> None:
        self._journal = journal
        self._settings = settings
        self._known = known
        self._outbox = outbox
        self._transport = ssh_transport(environment)
        self._checks = CheckDesk(self._diagnose, at_once=settings.parallel)
        self._slack = SlackConnection(tokens, self._journal.logger("slack"))
        self._record = Record(ledger, self._journal.log)
        self._poster = Poster(self._slack.client, outbox, self._slack.answer, time.monotonic, now, self._journal.log)
        channels = frozenset(settings.tables.get("slack", {}).get("channels", ()))
        self._desk = SlackDesk(
            known.find,
            library(settings.playbooks).get(settings.playbook),
            self._checks,
            self._poster,
            self._record,
            self._whisper,
            lambda channel: not channels or channel in channels or channel.startswith("D"),
            self._journal.log,
        )
        self._web = WebEdge(settings.get("listen"), self._why_not_ready, self._slack.routes())
        self._connected = False
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Start, serve until SIGTERM or Ctrl-C, and end cleanly."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopping.set)
        try:
            if await self.start():
                await self._stopping.wait()
        finally:
            await self.stop()

    async def start(self) -> bool:
        """Start everything; False when the bot was stopped before Slack could be reached.

        Raises: SettingsError when Slack does not take the tokens, or the address to listen on cannot be had.
        """
        address = await self._web.start()
        self._journal.log("listening", address=address, nodes=len(self._known.nodes))
        listen(self._slack.app, self._desk.take, self._home)
        if not await self._connect():
            return False
        self._journal.log("ready", by="socket" if self._slack.by_socket else "http")
        await self._take_up()
        return True

    async def stop(self) -> None:
        """Take nothing more, finish what can be finished, and hang up."""
        self._stopping.set()
        self._journal.log("stopping")
        await self._slack.stop_listening()
        await self._desk.drain(DRAIN_SECONDS)
        await self._poster.drain(5)
        await self._slack.stop()
        await self._web.stop()
        self._journal.log("stopped")

    async def _connect(self) -> bool:
        """Connect to Slack, however long it takes; False when the bot was stopped meanwhile."""
        for attempt in range(1_000_000):
            try:
                await self._slack.start()
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                wait = RETRY_SECONDS[min(attempt, len(RETRY_SECONDS) - 1)]
                self._journal.log("slack_unreachable", error=repr(error), again_in_seconds=wait)
                try:
                    async with asyncio.timeout(wait):
                        await self._stopping.wait()
                    return False
                except TimeoutError:
                    continue
            self._connected = True
            return True
        return False

    async def _take_up(self) -> None:
        """Go on where an earlier run of the program was ended."""
        try:
            posts = await self._poster.resume()
            checks = await self._desk.resume(await self._record.owing())
            if posts or checks:
                self._journal.log("resumed", posts=posts, checks=checks)
        except LedgerError as error:
            self._journal.log("ledger_unavailable", error=str(error))

    async def _diagnose(self, node: Node, playbook: Playbook, heard: Listener) -> Verdict:
        sampling = Sampling(self._settings.samples)
        deadline = self._settings.deadline or sampling.window + DEADLINE_BEYOND_WINDOW
        verdict = await Triage(self._transport, ACTIONS, now, sampling, deadline, heard).diagnose(node, playbook)
        self._journal.log(
            "checked", node=node.name, status=verdict.status.value, cause=verdict.cause or "",
            took_seconds=round(verdict.took.total_seconds(), 3),
        )  # fmt: skip
        return verdict

    async def _whisper(self, wish: Wish, text: str) -> None:
        if wish.answer_at:
            await self._slack.answer(wish.answer_at, Message(text))
            return
        await self._slack.client.chat_postEphemeral(
            channel=wish.channel, user=wish.user, text=text, thread_ts=wish.thread_ts or None
        )

    async def _home(self, user: str) -> None:
        view = home_view(len(self._known.nodes), self._checks.running, await self._outbox.waiting())
        await self._slack.client.views_publish(user_id=user, view=view)

    async def _why_not_ready(self) -> str:
        if self._stopping.is_set():
            return "stopping"
        if not self._connected or not await self._slack.connected():
            return "not connected to Slack"
        try:
            await self._outbox.waiting()
        except LedgerError as error:
            return str(error)
        return ""


def slack_tokens(settings: Settings) -> SlackTokens:
    """Return the tokens in force.

    Raises: SettingsError when the bot's token is missing, or the API's base is neither https nor loopback.
    """
    bot = settings.get("slack_bot_token")
    if not bot:
        raise SettingsError(
            "SLACK_BOT_TOKEN is not set.",
            "Set it to the xoxb-… token of “OAuth & Permissions”: SLACK_BOT_TOKEN=xoxb-1234-… zombie serve. "
            "Without a Slack at hand: zombie demo",
        )
    url = str(settings.get("slack_api_url"))
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_loopback(parts.hostname or "")):
        raise SettingsError("SLACK_API_URL is neither https nor on loopback.", "Leave it out for Slack itself.")
    base = url if url.endswith("/") else url + "/"
    app, secret = settings.get("slack_app_token"), settings.get("slack_signing_secret")
    return SlackTokens(str(bot), str(app or ""), str(secret or ""), base)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
