"""The bot in this very process, in the simulated workspace, over nodes whose readings a test begins and ends."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from bot.app.bot import Bot as Parts
from bot.app.extras import extras_in_force, shipped
from bot.app.json_log import JsonLog
from bot.app.service import Service
from bot.app.stores import open_stores
from bot.chat.connection import ChatConnection
from bot.chat.service import Timing
from bot.demo.slack.message import Message
from bot.domain.contracts import Listener, ProbeAnswered, ReadingStarted, VerdictReached
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.transitions import State
from bot.domain.verdict import Verdict
from bot.inventory import Inventory
from bot.response.incident_record import IncidentRecord
from bot.settings import Settings
from bot.sources import SOURCES
from bot.sources.source import Source
from bot.surfaces import SURFACES, member_settings
from bot.surfaces.descriptor import SurfaceDescriptor
from bot.surfaces.slack.tokens import SlackTokens
from tests.record.ledgers import ledger_url
from tests.slack.acting_parts import Gone
from tests.slack.workspace import SlackWorkspace
from tests.unit.surfaces.verdicts import FOUNDING

T = TypeVar("T")
CHANNEL = "oncall-gpu"
# Failures are tried again soon; a call still has the time that a busy machine takes.
QUICK = Timing(
    call_limit=5.0,
    first_pause=0.02,
    longest_pause=0.2,
    edit_every=0.2,
    edits_span=0.1,
    posts_span=0.05,
    sweep_every=0.05,
    drain=5.0,
    post_drain=5.0,
    hang_up=1.0,
)
PROBES = ("cpu", "cgroups", "units")


class Readings:
    """Reads a node when the test says so; `asked` counts how often each was read, `most` how many at once."""

    def __init__(self, verdict: Callable[[str], Verdict] = lambda name: replace(FOUNDING, node=name)) -> None:
        self.asked: Counter[str] = Counter()
        self.now: set[str] = set()
        self.most = 0
        self._verdict = verdict
        self._held: tuple[str, ...] | None = None
        self._let_go = asyncio.Event()

    def hold(self, *nodes: str) -> None:
        """Let no reading end until `let_go`, or none of these nodes'."""
        self._held = nodes
        self._let_go.clear()

    def let_go(self) -> None:
        """Let all readings end."""
        self._held = None
        self._let_go.set()

    async def __call__(self, node: Node, playbook: Playbook, heard: Listener) -> Verdict:
        """Read a node, as the service does."""
        self.asked[node.name] += 1
        self.now.add(node.name)
        self.most = max(self.most, len(self.now))
        try:
            heard(ReadingStarted(node.name, PROBES, timedelta(seconds=1)))
            heard(ProbeAnswered(node.name, PROBES[0]))
            if self._held is not None and (not self._held or node.name in self._held):
                await self._let_go.wait()
            for probe in PROBES[1:]:
                heard(ProbeAnswered(node.name, probe))
            verdict = self._verdict(node.name)
            heard(VerdictReached(verdict))
            return verdict
        finally:
            self.now.discard(node.name)


class Bot:
    """A running service, and what it logged."""

    def __init__(self, service: Service, log: io.StringIO, ledger: Any, outbox: Any) -> None:
        self.service = service
        self.ledger = ledger
        self.outbox = outbox
        self._log = log

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Every line of the log."""
        return [json.loads(line) for line in self._log.getvalue().splitlines()]

    def logged(self, event: str) -> list[dict[str, Any]]:
        """Return the lines of one event."""
        return [line for line in self.lines if line["event"] == event]

    async def incidents(self) -> dict[str, str]:
        """Return the state of each node's newest incident."""
        return {one.node: one.state.value for one in reversed(await self.ledger.incidents())}

    async def owing(self) -> tuple[tuple[Incident, ...], ...]:
        """Return what a restart would owe."""
        record = IncidentRecord(self.ledger)
        groups = dict.fromkeys(one.card for one in reversed(await self.ledger.incidents(only_open=True)))
        found = [await record.incidents_of_card(card) for card in groups]
        return tuple(group for group in found if any(one.state is State.OPENED for one in group))

    @property
    def address(self) -> str:
        """Where the web edge listens."""
        return str(self.logged("listening")[0]["address"])


@asynccontextmanager
async def built(
    slack: Any,
    folder: Path,
    readings: Readings,
    *,
    timing: Timing = QUICK,
    toml: str = "",
    nodes: int = 100,
    environment: Mapping[str, str] = MappingProxyType({}),
    sources: Sequence[Source] = SOURCES,
    surfaces: Sequence[SurfaceDescriptor] = SURFACES,
    chat: ChatConnection | None = None,
) -> AsyncIterator[Bot]:
    """Put a service together that has not started; its state stays in the folder. A blank variable is not there.

    `chat` is another chat than Slack; what its people see is in the place of the workspace.
    """
    (folder / "zombie.toml").write_text(toml)
    (folder / "nodes.toml").write_text(
        "".join(f'[nodes.node-{number}]\naddress = "127.0.0.1"\n' for number in range(1, nodes + 1))
    )
    variables = {
        "SLACK_BOT_TOKEN": slack.bot_token,
        "SLACK_APP_TOKEN": slack.app_token,
        "SLACK_API_URL": slack.api_url,
        "ZOMBIE_LISTEN": "127.0.0.1:0",
        **environment,
    }
    settings = Settings.load(
        {},
        {name: value for name, value in variables.items() if value},
        folder,
        members={**shipped().settings, **member_settings(sources, surfaces)},
    )
    log = io.StringIO()
    with open_stores(ledger_url(folder / "zombie.db"), extras=shipped().on) as kept:
        ledger: Any = Gone(kept.ledger)
        outbox: Any = Gone(kept.outbox)
        known = Inventory.load(folder / "nodes.toml")
        service = Service(
            Parts(
                settings,
                known,
                SlackTokens.of(*settings.slack.access) if chat is None else None,
                replace(kept, ledger=ledger, outbox=outbox),
                {},
                JsonLog(log),
                diagnose=readings,
                chat=chat,
                timing=timing,
                sources=sources,
                surfaces=surfaces,
                extras=extras_in_force((), {}, folder).on,
            )
        )
        yield Bot(service, log, ledger, outbox)


@asynccontextmanager
async def serving(slack: Any, folder: Path, readings: Readings, **settings: Any) -> AsyncIterator[Bot]:
    """A service that has started; it is stopped when the block ends, as by SIGTERM."""
    async with built(slack, folder, readings, **settings) as bot:
        try:
            assert await bot.service.start()
            yield bot
        finally:
            readings.let_go()
            await bot.service.stop()


def cards(slack: SlackWorkspace, channel: str = CHANNEL) -> list[Message]:
    """Return the bot's messages in a channel that everybody sees and that are no replies."""
    return [
        message
        for message in slack.messages(channel)
        if message.user == "U0ZOMBIE01" and message.thread_ts in (None, message.ts)
    ]


@asynccontextmanager
async def being_read(slack: SlackWorkspace, folder: Path, readings: Readings, **settings: Any) -> AsyncIterator[Bot]:
    """A service while it reads node-1 for alice, as its card says, until the readings are let go."""
    async with serving(slack, folder, readings, **settings) as bot:
        readings.hold()
        await slack.say("alice", CHANNEL, "/zombie check node-1")
        await card_saying(slack, "reading")
        yield bot


async def card_saying(slack: SlackWorkspace, words: str, channel: str = CHANNEL) -> Message:
    """Wait for a card whose text holds these words, and return it."""
    return await slack.until(
        lambda: next((card for card in cards(slack, channel) if words in card.text), None), what=f"a card: {words}"
    )


async def reply_saying(slack: SlackWorkspace, words: str, user: str = "alice", channel: str = CHANNEL) -> Message:
    """Wait for a message that holds these words and that person sees."""
    return await slack.until(
        lambda: next((one for one in slack.messages(channel, user) if words in one.text), None), what=words
    )


async def eventually(ask: Callable[[], Awaitable[T]], wanted: T, within: float = 60.0) -> None:
    """Ask again and again until the answer is the wanted one."""
    answer = await ask()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(within):
            while answer != wanted:
                await asyncio.sleep(0.01)
                answer = await ask()
    assert answer == wanted
