"""What a person's wish in Slack leads to: a card at once, readings that fill it, a verdict, and its details."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bot.domain.alert import SourceKind
from bot.domain.errors import InventoryError
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.response.checks import CheckDesk
from bot.response.record import Opening, Record
from bot.surfaces.slack.card import details
from bot.surfaces.slack.live_card import LiveCard
from bot.surfaces.slack.message import Message, escaped
from bot.surfaces.slack.part import Spot
from bot.surfaces.slack.poster import Poster
from bot.surfaces.slack.words import HELP, CheckRequest, HelpRequest, parse

CARD = "card"


@dataclass(frozen=True, slots=True)
class Wish:
    """One thing a person said to the bot. `key` is Slack's own id of this saying: the same twice is one wish."""

    key: str
    team: str
    user: str
    channel: str
    text: str
    thread_ts: str = ""
    answer_at: str = ""

    @property
    def by(self) -> str:
        """The person as the record names them."""
        return f"slack:{self.team}/{self.user}"


class Whisper(Protocol):
    """Answers one person in private."""

    async def __call__(self, wish: Wish, text: str) -> None: ...


class SlackDesk:
    """Takes wishes and sees them through. `allowed` tells whether checks may be asked for in a channel."""

    def __init__(
        self,
        find: Callable[[str], Node],
        playbook: Playbook,
        checks: CheckDesk,
        poster: Poster,
        record: Record,
        whisper: Whisper,
        allowed: Callable[[str], bool],
        log: Callable[..., None],
    ) -> None:
        self._find = find
        self._playbook = playbook
        self._checks = checks
        self._poster = poster
        self._record = record
        self._whisper = whisper
        self._allowed = allowed
        self._log = log
        self._underway: set[asyncio.Task[None]] = set()

    def take(self, wish: Wish) -> None:
        """Begin with a wish; returns at once, so that Slack has its acknowledgement first."""
        self._begin(self._see_through(wish), wish.key)

    async def resume(self, incidents: Sequence[Incident]) -> int:
        """Read the nodes again whose verdict an earlier run of the program left owing; return how many those are."""
        groups: dict[str, list[Incident]] = {}
        for incident in incidents:
            if incident.alert.kind is SourceKind.SLACK and incident.playbook == self._playbook.name:
                groups.setdefault(incident.group, []).append(incident)
        for group, owing in groups.items():
            channel, thread, _ = owing[0].alert.id.split("/", 2)
            spot = Spot(channel, "" if thread == "-" else thread)
            nodes, ids = [], {}
            for incident in owing:
                with contextlib.suppress(InventoryError):  # it may have left the inventory meanwhile
                    nodes.append(self._find(incident.node))
                    ids[incident.node] = incident.id
            if nodes:
                user = owing[0].alert.asked_by.rpartition("/")[2]
                self._begin(self._follow(group, user, spot, nodes, ids, again=True), group)
        return len(incidents)

    async def drain(self, seconds: float) -> None:
        """Wait for the wishes under way, so long at most."""
        if self._underway:
            await asyncio.wait(set(self._underway), timeout=seconds)

    def _begin(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=f"wish {name}")
        self._underway.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._underway.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log("wish_failed", wish=task.get_name(), error=repr(error))

    async def _see_through(self, wish: Wish) -> None:
        asked = parse(wish.text, self._find)
        if isinstance(asked, HelpRequest):
            await self._whisper(wish, f"{asked.sentence}\n{HELP}".strip())
            return
        if not self._allowed(wish.channel):
            await self._whisper(wish, "Checks may not be asked for in this channel. Ask where the on-call does.")
            return
        if asked.unknown:
            await self._whisper(wish, escaped("\n".join(asked.unknown)))
        if asked.nodes:
            await self._check(wish, asked)

    async def _check(self, wish: Wish, asked: CheckRequest) -> None:
        key = f"{wish.channel}/{wish.thread_ts or '-'}/{wish.key}"
        opening = Opening(SourceKind.SLACK, key, wish.by, wish.text, self._playbook.name)
        incidents = await self._record.opened(opening, [node.name for node in asked.nodes])
        if incidents is None:
            return  # Slack delivers at least once: this wish is being seen to already
        await self._follow(
            opening.group, wish.user, Spot(wish.channel, wish.thread_ts, wish.answer_at), asked.nodes, incidents
        )

    async def _follow(
        self, card: str, user: str, spot: Spot, nodes: Sequence[Node], incidents: Mapping[str, str], again: bool = False
    ) -> None:
        def show(message: Message, final: bool) -> None:
            self._poster.want(card, CARD, spot, message, urgent=final)

        live = LiveCard([node.name for node in nodes], user, show)
        if again:
            await self._poster.adopt(card, CARD, spot, live.message)
        else:
            self._poster.want(card, CARD, spot, live.message, urgent=True)

        async def one(place: int, node: Node) -> None:
            verdict = await self._checks.ask(
                user, node, self._playbook, live.listener(), lambda why: live.waiting(node.name, why)
            )
            live.concluded(verdict)
            await self._record.triaged(incidents[node.name], verdict, self._playbook)
            for number, message in enumerate(details(verdict), 1):
                self._poster.want(card, f"details-{place}-{number}", spot, message, urgent=True, under=CARD)

        try:
            async with asyncio.TaskGroup() as group:
                for place, node in enumerate(nodes, 1):
                    group.create_task(one(place, node))
        finally:
            self._poster.finished(card)
