"""Sweeps that people ask for in Slack: a card for each, from the question to its counts, with its buttons.

A sweep is stored with the chat requests until its counts are posted: after a crash or a restart the next program begins
it again on the same card, because a sweep only reads.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from bot.domain.chat_request import ChatRequest, ChatRequests
from bot.domain.contracts import Log
from bot.domain.errors import LedgerError, NothingProposed, UsageError
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.safe_text import one_line
from bot.response.fleet.answer import NodeAnswer
from bot.response.fleet.ask import FleetAsk
from bot.response.fleet.fleet_runner import MANY_CHECKS, FleetRunner
from bot.response.fleet.run import FleetRun
from bot.surfaces.slack import fleet_card
from bot.surfaces.slack.askers import Askers
from bot.surfaces.slack.background import Background
from bot.surfaces.slack.check_opener import CheckOpener
from bot.surfaces.slack.message import Message
from bot.surfaces.slack.parts import CARD, MessageTarget, request_id
from bot.surfaces.slack.people import Person
from bot.surfaces.slack.poster import Poster

if TYPE_CHECKING:
    from bot.surfaces.slack.listeners import Click

PREFIX = "fleet-"
SECONDS_A_CHECK = 8.0  # per node, with its window
LOOKS_EVERY = 1.0  # seconds between looks for a stop made in another program
STOPPED = "Stopped by a person; the answers until then are counted."


class Cure(Protocol):
    """Proposes a cure for many nodes, on a card of its own."""

    async def begin(self, ask: FleetAsk, nodes: Sequence[Node], key: str, channel: str, by: str) -> None:
        """Begin; the same `key` is the same request. Raises: LedgerError."""
        ...


@dataclass(slots=True, eq=False)
class FleetCards:
    """Takes requests and clicks. `askers` says who may ask; a click counts as a request.

    Shape: `cure` begins what *Plan* asks for; without it there is no such button.
    Units: `looks_every` is in seconds, between looks for a stop.
    """

    desk: FleetRunner
    poster: Poster
    opener: CheckOpener
    askers: Askers
    background: Background
    log: Log
    chat_requests: ChatRequests
    cure: Cure | None = None
    looks_every: float = LOOKS_EVERY
    _running: dict[str, tuple[asyncio.Task[None], list[str]]] = field(default_factory=dict)

    async def ask(self, ask: FleetAsk, key: str, spot: MessageTarget, by: str) -> None:
        """Begin what a person asked for; for very many nodes they have to confirm first.

        Raises: UsageError when a selector matches no node or a cause is unknown.
        """
        run = await self.desk.prepared(ask)
        if ask.kind == "check":
            if len(run.nodes) <= MANY_CHECKS:
                await self._check(ask, run, key, spot, by)
            else:
                await self._confirm(ask, run, SECONDS_A_CHECK * len(run.nodes) / 10, key, spot, by)
        elif self.desk.is_many(run):
            await self._confirm(ask, run, self.desk.takes(run), key, spot, by)
        else:
            name = _named(spot, key)
            await self._keep(name, ask, spot, by)
            self._begin(name, ask, run, spot, by)

    async def clicked(self, click: Click) -> None:
        """Do what a button on a sweep's card, or *Who else?*, asks for.

        Raises: NotAllowedToAsk, TooManyRequests, UsageError, CannotTell.
        """
        await self.askers.admit(click.person)
        if click.action == fleet_card.STOP:
            await self._stop(click.value, click.person)
            return
        self.askers.count(click.person)
        spot = MessageTarget(click.channel, click.thread_ts or click.ts)
        by = click.person.by
        if click.action == fleet_card.CHECK:
            node = self.desk.nodes.find(click.value).name
            await self.opener.begin(click.key, spot, by, f"check {node}", [node])
        elif click.action == fleet_card.DIFF:
            ask = FleetAsk.of(click.value)
            if not ask.causes:
                raise UsageError("There is no cause to compare by.")
            self.background.begin(self._compare(ask, click.key, spot), "comparison")
        else:
            ask = FleetAsk.of(click.value)
            run = await self.desk.prepared(ask)
            if ask.kind == "check":
                await self._check(ask, run, click.key, spot, by)
                return
            if click.action == fleet_card.PLAN:
                await self.propose(ask, click.key, spot, by)
                return
            if ask.kind == "wave":  # confirmed
                await self._planner.begin(ask, run.nodes, click.key, click.channel, by)
                return
            name, spot = await self._card_of(click)
            await self._keep(name, ask, spot, by)
            self._begin(name, ask, run, spot, by)

    async def who_else(self, click: Click, incident: Incident) -> None:
        """Ask which other nodes have an incident's cause, in the thread of its card.

        Raises: NotAllowedToAsk, TooManyRequests, UsageError; NothingProposed where no cause was found.
        """
        await self.askers.admit(click.person)
        verdict = incident.verdict
        if verdict is None or verdict.cause is None:
            raise NothingProposed("No cause was found on this node, so there is nothing to look for on others.")
        self.askers.count(click.person)
        ask = self.desk.peers(incident.node, verdict.cause)
        await self.ask(ask, click.key, MessageTarget(click.channel, click.thread_ts or click.ts), click.person.by)

    def takes(self, kept: ChatRequest) -> bool:
        """Go on with a stored sweep; False for any other request."""
        if not kept.key.startswith(PREFIX):
            return False
        self.background.begin(self._again(kept), "sweep carried on")
        return True

    async def _again(self, kept: ChatRequest) -> None:
        try:
            body = json.loads(kept.body)
            ask = FleetAsk.of(body["ask"])
            spot = MessageTarget(str(body["channel"]), str(body["thread_ts"]))
            run = await self.desk.prepared(ask)
        except (ValueError, KeyError, TypeError, UsageError) as no:
            self.log("sweep_unreadable", key=one_line(kept.key, 80), error=one_line(str(no)))
            await self._done(kept.key)
            return
        self.log("sweep_carried_on", key=one_line(kept.key, 80))
        self._begin(kept.key, ask, run, spot, str(body.get("by", "")))

    async def _card_of(self, click: Click) -> tuple[str, MessageTarget]:
        """Return the name and place of the clicked card. Raises: NothingProposed for a copy of it."""
        place = await self.poster.place(click.block) if click.block.startswith(PREFIX) else None
        if place is None or (place.channel, place.ts) != (click.channel, click.ts) or click.block in self._running:
            raise NothingProposed("This is not the card that asked, or it has been answered.")
        return click.block, MessageTarget(click.channel, click.thread)

    async def propose(self, ask: FleetAsk, key: str, spot: MessageTarget, by: str) -> None:
        """Propose a wave, on a card that the whole channel sees; for very many nodes the person has to confirm first.

        Raises: UsageError where a selector matches no node; LedgerError.
        """
        planner, run = self._planner, await self.desk.prepared(ask)
        if len(run.nodes) <= MANY_CHECKS:
            await planner.begin(ask, run.nodes, key, spot.channel, by)
        else:
            await self._confirm(ask, run, SECONDS_A_CHECK * len(run.nodes) / 10, key, spot, by)

    @property
    def _planner(self) -> Cure:
        if self.cure is None:
            raise UsageError("The bot does not know that button.")
        return self.cure

    async def _confirm(
        self, ask: FleetAsk, run: FleetRun, seconds: float, key: str, spot: MessageTarget, by: str
    ) -> None:
        """Ask whether so many nodes are meant."""
        name = _named(spot, key)
        await self._post(name, spot, fleet_card.many_card(ask, len(run.nodes), seconds, name, by))

    async def _post(self, name: str, spot: MessageTarget, message: Message) -> None:
        """Post what does not change any more."""
        await self.poster.enqueue(name, CARD, spot, message)
        self.poster.finished(name)

    async def _check(self, ask: FleetAsk, run: FleetRun, key: str, spot: MessageTarget, by: str) -> None:
        await self.opener.begin(key, spot, by, f"check {ask.says}", [node.name for node in run.nodes])

    async def _keep(self, name: str, ask: FleetAsk, spot: MessageTarget, by: str) -> None:
        body = {"ask": ask.text, "channel": spot.channel, "thread_ts": spot.thread_ts, "by": by}
        if ask.text:
            with contextlib.suppress(LedgerError):  # a failure only means that a crash ends it
                await self.chat_requests.keep(name, json.dumps(body))

    def _begin(self, name: str, ask: FleetAsk, run: FleetRun, spot: MessageTarget, by: str) -> None:
        stopped: list[str] = []
        task = asyncio.create_task(self._sweep(name, ask, run, spot, by, stopped), name=f"sweep {name}")
        self._running[name] = task, stopped
        self.background.begin(self._until(name, task), f"sweep {name}")

    async def _until(self, name: str, task: asyncio.Task[None]) -> None:
        """Wait for a sweep; if this is cancelled first, the bot is stopping, and the next run continues it."""
        try:
            while not (await asyncio.wait({task}, timeout=self.looks_every))[0]:
                if await self._is_stopped_elsewhere(name):
                    self._stop_here(name)
        finally:
            self._running.pop(name, None)
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            elif not task.cancelled() and (error := task.exception()) is not None:
                self.log("sweep_failed", card=name, error=repr(error))

    async def _sweep(
        self, name: str, ask: FleetAsk, run: FleetRun, spot: MessageTarget, by: str, stopped: list[str]
    ) -> None:
        if not await self.poster.adopt(name, spot):
            # Stored, so that the card is found again after a restart; updates until the end are progress.
            await self.poster.enqueue(name, CARD, spot, fleet_card.running_card(ask, run.report, name, by))

        def heard(_: NodeAnswer) -> None:
            self.poster.show(name, spot, lambda: fleet_card.running_card(ask, run.report, name, by))

        ended = ""
        try:
            await self.desk.run(run, heard)
        except asyncio.CancelledError:
            if not stopped:
                raise  # the bot is stopping
            ended = stopped[0]
        except UsageError as no:
            ended = str(no)
        self.log("swept", sweep=ask.says, kind="asked", **run.report.figures)
        card = fleet_card.report_card(ask, run.report, by, ended, self.desk.cured if self.cure is not None else ())
        await self._post(name, spot, card)
        await self._done(name)

    async def _compare(self, ask: FleetAsk, key: str, spot: MessageTarget) -> None:
        name = _named(spot, f"diff {key}")
        try:
            message = fleet_card.comparison_message(await self.desk.compared(ask))
        except UsageError as no:
            message = fleet_card.broken_off_card(ask, str(no), "")
        await self._post(name, spot, message)

    async def _stop(self, name: str, person: Person) -> None:
        """Stop a sweep here, or tell the program that runs it to stop. Raises: NothingProposed, LedgerError."""
        if not self._stop_here(name):
            if not (name.startswith(PREFIX) and await self.chat_requests.is_open(name)):
                raise NothingProposed("That is no longer running.")
            await self.chat_requests.keep(_stop_of(name))
        self.log("sweep_stopped", card=one_line(name, 80), by=person.by)

    def _stop_here(self, name: str) -> bool:
        running = self._running.get(name)
        if running is None:
            return False
        task, stopped = running
        if not stopped:
            stopped.append(STOPPED)
            task.cancel()
        return True

    async def _is_stopped_elsewhere(self, name: str) -> bool:
        with contextlib.suppress(LedgerError):
            return await self.chat_requests.is_open(_stop_of(name))
        return False

    async def _done(self, name: str) -> None:
        with contextlib.suppress(LedgerError):
            await self.chat_requests.done(name)
            await self.chat_requests.done(_stop_of(name))


def _stop_of(name: str) -> str:
    """The request to stop a sweep, which the program that runs it reads."""
    return f"{fleet_card.STOP} {name}"


def _named(spot: MessageTarget, key: str) -> str:
    """The name of a sweep's card: the same for every delivery of a request."""
    return PREFIX + hashlib.sha256(request_id(spot.channel, spot.thread_ts, key).encode()).hexdigest()[:24]
