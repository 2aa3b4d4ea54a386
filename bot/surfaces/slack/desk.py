"""What a person's wish in Slack leads to: a card at once, readings that fill it, a verdict, and its details."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Sequence
from dataclasses import replace
from typing import Any

from bot.domain.alert import SourceKind
from bot.domain.errors import InventoryError
from bot.domain.incident import Incident
from bot.response.checks import not_judged
from bot.response.record import Opening
from bot.surfaces.slack.answers import Whisper
from bot.surfaces.slack.case import Case, Rooms
from bot.surfaces.slack.part import Spot
from bot.surfaces.slack.requests import (
    CheckRequest,
    HelpRequest,
    Known,
    Order,
    Wish,
    help_words,
    not_here,
    parse,
    unknown_words,
)

WISHES_REMEMBERED = 1000
ONLY_LOOKS = "This bot only looks: there is nothing to approve, cancel or undo."


class SlackDesk:
    """Takes wishes and sees them through.

    Shape: `channels` is where checks may be asked for, anywhere if empty; in a direct message they always may, for they
    only look.
    """

    def __init__(
        self,
        known: Known,
        rooms: Rooms,
        whisper: Whisper,
        channels: Collection[str],
        log: Callable[..., None],
        order: Callable[[Wish, Order], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        """`order` sees through what is not about reading nodes; without it nothing of that can be asked for."""
        self._order = order
        self._known = known
        self._rooms = rooms
        self._whisper = whisper
        self._channels = channels
        self._log = log
        self._underway: set[asyncio.Task[None]] = set()
        self._seen: dict[str, None] = {}

    def take(self, wish: Wish) -> None:
        """Begin with a wish; returns at once, so that Slack has its acknowledgement first."""
        if wish.key in self._seen:
            return  # Slack delivers at least once: this one is being seen to already
        self._seen[wish.key] = None
        if len(self._seen) > WISHES_REMEMBERED:
            del self._seen[next(iter(self._seen))]
        self.begin(self._see_through(wish), f"wish {wish.key}")

    def begin(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Have something done beside everything else; its failure is logged."""
        task = asyncio.create_task(work, name=name)
        self._underway.add(task)
        task.add_done_callback(self._ended)

    def resume(self, groups: Sequence[Sequence[Incident]]) -> int:
        """Go on with the checks that an earlier run of the program left owing; return how many those are."""
        ours = [group for group in groups if group[0].alert.kind is SourceKind.SLACK]
        for group in ours:
            self.begin(self._go_on(group), f"resumed {group[0].group}")
        return len(ours)

    async def drain(self, seconds: float) -> None:
        """Begin no further reading, wait for those under way, so long at most, and leave the rest to the next run."""
        self._rooms.checks.close()
        if self._underway:
            await asyncio.wait(set(self._underway), timeout=seconds)
        late = set(self._underway)
        for task in late:
            task.cancel()
        await self._rooms.checks.abandon()
        await asyncio.gather(*late, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._underway.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log("wish_failed", wish=task.get_name(), error=repr(error))

    async def _see_through(self, wish: Wish) -> None:
        asked = await asyncio.to_thread(parse, wish.text, self._known)  # near names take their time
        if isinstance(asked, HelpRequest):
            await self._whisper.say(wish, help_words(asked))
        elif isinstance(asked, Order):
            if self._order is None:
                await self._whisper.say(wish, ONLY_LOOKS)
            else:
                await self._order(wish, asked)
        elif self._channels and wish.channel not in self._channels and not wish.channel.startswith("D"):
            await self._whisper.say(wish, not_here(self._channels))
        else:
            if asked.unknown:
                self.begin(self._whisper.say(wish, unknown_words(asked)), f"whisper {wish.key}")
            if asked.nodes:
                await self._check(wish, asked)

    async def _check(self, wish: Wish, asked: CheckRequest) -> None:
        key = f"{wish.channel}/{wish.thread_ts or '-'}/{wish.key}"
        opening = Opening(SourceKind.SLACK, key, wish.by, wish.text, self._rooms.playbook.name)
        if not await self._rooms.record.opened(opening, asked.nodes[0].name):
            return  # it is on record already, from before a restart
        spot = Spot(wish.channel, wish.thread_ts, wish.answer_at)
        await Case(self._rooms, opening, spot, [node.name for node in asked.nodes]).begin(asked.nodes)

    async def _go_on(self, incidents: Sequence[Incident]) -> None:
        """Read the nodes again whose verdict is owed; the card keeps what the others came to."""
        opening = replace(Opening.of(incidents[0]), playbook=self._rooms.playbook.name)
        channel, thread, _ = opening.id.split("/", 2)
        spot = Spot(channel, "" if thread == "-" else thread)
        known = [incident.verdict for incident in incidents if incident.verdict is not None]
        nodes, gone = [], []
        for incident in incidents:
            if incident.verdict is None:
                try:
                    nodes.append(self._known.find(incident.node))
                except InventoryError:
                    gone.append(not_judged(incident.node, "It left the inventory before it could be read."))
        case = Case(self._rooms, opening, spot, [incident.node for incident in incidents], known)
        await case.go_on(nodes, gone)
