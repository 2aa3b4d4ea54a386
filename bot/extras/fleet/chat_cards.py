"""Sweeps that people ask for in a chat: a card for each, from the question to its counts, with its buttons.

A sweep is stored with the chat requests until its counts are posted: after a crash or a restart the next program begins
it again on the same card, because a sweep only reads.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from bot.chat.background import Background
from bot.chat.blocks import WHO_ELSE
from bot.chat.context import ChatContext
from bot.chat.document import Document
from bot.chat.people import Person
from bot.chat.post_state import CARD, MessageTarget, request_id
from bot.chat.poster import Poster
from bot.chat.requests import CommandRequest, Request, WorkRequest, is_selector
from bot.domain.chat_request import ChatRequest
from bot.domain.errors import CannotTell, LedgerError, NothingProposed, UsageError
from bot.domain.safe_text import one_line
from bot.extras.fleet import chat_card
from bot.extras.fleet.chat_card import OF_FLEET
from bot.extras.fleet.fleet_request import FleetRequest
from bot.extras.fleet.run import FleetRun
from bot.extras.fleet.runner import FleetRunner
from bot.seats import Chat, CureRequest, Cures

if TYPE_CHECKING:
    from bot.chat.clicks import Click

HELP = """\
/zombie fleet SELECTOR… [--cause SLUG] [--sample 5%] [--full] — which nodes have it, how common it is, and where
NODE — also a glob ray-gpu-*, labels role=gpu,az=us-east-1a, pod/NAME or job/NAME"""
RECORDED_SECONDS = 5.0
MANY_LOOKS, MANY_CHECKS = 200, 20  # more nodes than this need a person's yes first
SECONDS_A_CHECK = 8.0  # per node, with its window
LOOKS_EVERY = 1.0  # seconds between looks for a stop made in another program
STOPPED = "Stopped by a person; the answers until then are counted."


@dataclass(frozen=True, slots=True)
class FleetCardRequest:
    """What somebody wants of many nodes, the name of its card, and where that is."""

    ask: FleetRequest
    name: str
    spot: MessageTarget
    by: str
    key: str = ""

    @property
    def reads_once(self) -> bool:
        """False for what checks each node, for an incident or for a cure."""
        return self.ask.kind not in ("check", "wave")


@dataclass(slots=True, eq=False)
class FleetCards(Chat):
    """Takes requests and clicks; a click counts as a request.

    Shape: `cure` begins what *Plan* asks for; without it there is no such button.
    Units: `looks_every` is in seconds, between looks for a stop.
    """

    family = OF_FLEET
    verbs: ClassVar[Mapping[str, str]] = {"fleet": HELP}

    context: ChatContext
    runner: FleetRunner
    poster: Poster
    background: Background
    cure: Cures | None = None
    looks_every: float = LOOKS_EVERY
    _running: dict[str, asyncio.Event] = field(default_factory=dict, init=False)  # each is set when it is stopped here

    def typed(self, verb: str, words: list[str]) -> Request | None:
        """Return the request of `fleet`, or of `check` with a selector; None for anything else. Raises: UsageError."""
        if verb not in self.verbs and not (verb == "check" and any(map(is_selector, words))):
            return None
        return WorkRequest(partial(self._start_typed, FleetRequest.typed(words, verb)))

    async def _start_typed(self, ask: FleetRequest, request: CommandRequest) -> None:
        await self.start(ask, request.key, request.target, request.by)

    def is_about(self, action: str, value: str) -> bool:
        """True for a button of its cards, and for *Other nodes?* on an incident's."""
        return action == WHO_ELSE or action.startswith(OF_FLEET)

    async def start(self, ask: FleetRequest, key: str, spot: MessageTarget, by: str) -> None:
        """Begin what a person asked for; for very many nodes they have to confirm first.

        Raises: UsageError when a selector matches no node or a cause is unknown.
        """
        run, wanted = await self.runner.prepared(ask), FleetCardRequest(ask, _card_name(spot, key), spot, by, key)
        count, looks = len(run.nodes), wanted.reads_once and not run.sweep.needs_window
        if count <= (MANY_LOOKS if looks else MANY_CHECKS):
            await self._begin_any(wanted, run)
            return
        seconds = self.runner.expected_seconds(run) if wanted.reads_once else SECONDS_A_CHECK * count / 10
        await self._post(wanted, chat_card.many_card(ask, count, seconds, wanted.name, by))

    async def _begin_any(self, wanted: FleetCardRequest, run: FleetRun) -> None:
        """Begin it, however many nodes it is about."""
        ask, by = wanted.ask, wanted.by
        if ask.kind == "check":
            nodes = [node.name for node in run.nodes]
            await self.context.opener.begin(wanted.key, wanted.spot, by, f"check {ask.says}", nodes)
        elif ask.kind == "wave":
            asked = CureRequest(ask.words, ask.causes, wanted.key, wanted.spot.channel, by)
            await self._cures.begin(asked, run.nodes)
        else:
            await self._store_request(wanted)
            self._begin(wanted, run)

    async def ask(self, click: Click) -> None:
        """Do what a button on a sweep's card, or *Other nodes?*, asks for.

        Raises: NotAllowedToAsk, TooManyRequests, UsageError, CannotTell.
        """
        if click.action == WHO_ELSE:
            await self._ask_other_nodes(click)
            return
        await self.context.askers.admit(click.person)
        if click.action == chat_card.STOP:
            await self._stop(click.value, click.person)
            return
        self.context.askers.count(click.person)
        spot = MessageTarget(click.channel, click.thread_ts or click.ts)
        by = click.person.by
        if click.action == chat_card.CHECK:
            node = self.runner.known.find(click.value).name
            await self.context.opener.begin(click.key, spot, by, f"check {node}", [node])
        elif click.action == chat_card.DIFF:
            ask = FleetRequest.of(click.value)
            if not ask.causes:
                raise UsageError("There is no cause to compare by.")
            wanted = FleetCardRequest(ask, _card_name(spot, f"diff {click.key}"), spot, by)
            self.background.begin(self._compare(wanted), "comparison")
        elif click.action == chat_card.PLAN:
            await self.start(FleetRequest.of(click.value), click.key, spot, by)
        else:  # yes, so many
            wanted = FleetCardRequest(FleetRequest.of(click.value), "", spot, by, click.key)
            run = await self.runner.prepared(wanted.ask)
            if wanted.reads_once:
                name, spot = await self._card_of(click)
                wanted = replace(wanted, name=name, spot=spot)
            await self._begin_any(wanted, run)

    async def _ask_other_nodes(self, click: Click) -> None:
        """Ask which other nodes have an incident's cause, in the thread of its card.

        Raises: NotAllowedToAsk, TooManyRequests, UsageError; NothingProposed where no cause was found; CannotTell.
        """
        incident = await self.context.incident_of_click(click, click.value)
        try:
            async with asyncio.timeout(RECORDED_SECONDS):  # a verdict is shown a moment before it is on record
                while incident.verdict is None:
                    await asyncio.sleep(0.1)
                    incident = await self.context.find(incident.id)
        except TimeoutError as no:
            raise CannotTell("The verdict is not on record yet.", "Click again.") from no
        await self.context.askers.admit(click.person)
        if incident.verdict.cause is None:
            raise NothingProposed("No cause was found on this node, so there is nothing to look for on others.")
        self.context.askers.count(click.person)
        ask = self.runner.peers(incident.node, incident.verdict.cause)
        await self.start(ask, click.key, MessageTarget(click.channel, click.thread_ts or click.ts), click.person.by)

    def takes(self, kept: ChatRequest) -> bool:
        """Go on with a stored sweep; False for any other request."""
        if not kept.key.startswith(OF_FLEET):
            return False
        self.background.begin(self._continue_sweep(kept), "sweep carried on")
        return True

    async def _continue_sweep(self, kept: ChatRequest) -> None:
        try:
            body = json.loads(kept.body)
            spot = MessageTarget(str(body["channel"]), str(body["thread_ts"]))
            wanted = FleetCardRequest(FleetRequest.of(body["ask"]), kept.key, spot, str(body.get("by", "")))
        except (ValueError, KeyError, TypeError, UsageError) as no:
            self.context.log("sweep_unreadable", key=one_line(kept.key, 80), error=one_line(str(no)))
            await self._finish_request(kept.key)
            return
        try:
            run = await self.runner.prepared(wanted.ask)
        except UsageError as no:  # such as a cluster that does not answer, or nodes that are gone
            await self._post(wanted, chat_card.broken_off_card(wanted.ask, str(no), wanted.by))
            await self._finish_request(kept.key)
            return
        self.context.log("sweep_carried_on", key=one_line(kept.key, 80))
        self._begin(wanted, run)

    async def _card_of(self, click: Click) -> tuple[str, MessageTarget]:
        """Return the name and place of the clicked card. Raises: NothingProposed for a copy of it."""
        is_card = click.block.startswith(OF_FLEET) and await self.poster.is_at(click.block, click.channel, click.ts)
        if not is_card or click.block in self._running:
            raise NothingProposed("This is not the card that asked, or it has been answered.")
        return click.block, MessageTarget(click.channel, click.thread)

    @property
    def _cures(self) -> Cures:
        if self.cure is None:
            raise UsageError("The bot does not know that button.")
        return self.cure

    async def _post(self, wanted: FleetCardRequest, message: Document) -> None:
        """Post what does not change any more."""
        await self.poster.finish(wanted.name, wanted.spot, message)

    async def _store_request(self, wanted: FleetCardRequest) -> None:
        ask, spot = wanted.ask.text, wanted.spot
        body = {"ask": ask, "channel": spot.channel, "thread_ts": spot.thread_ts, "by": wanted.by}
        if ask:
            with contextlib.suppress(LedgerError):  # a failure only means that a crash ends it
                await self.context.chat_requests.keep(wanted.name, json.dumps(body))

    def _begin(self, wanted: FleetCardRequest, run: FleetRun) -> None:
        self._running[wanted.name] = asyncio.Event()
        self.background.begin(self._run_and_show(wanted, run), f"sweep {wanted.name}")

    async def _run_and_show(self, wanted: FleetCardRequest, run: FleetRun) -> None:
        """Read and show; if this is cancelled, the bot is stopping, and the next run continues it."""
        ask, name = wanted.ask, wanted.name
        try:
            ended = await self._run_until_stopped(wanted, run)
        finally:
            del self._running[name]
        self.context.log("swept", sweep=ask.says, kind="asked", **run.report.figures)
        cured = self.runner.cured if self.cure is not None else ()
        await self._post(wanted, chat_card.report_card(ask, run.report, wanted.by, ended, cured))
        await self._finish_request(name)

    async def _run_until_stopped(self, wanted: FleetCardRequest, run: FleetRun) -> str:
        """Run it until it ends or somebody stops it; return why it is incomplete, or nothing."""
        name, spot = wanted.name, wanted.spot

        def card() -> Document:
            return chat_card.running_card(wanted.ask, run.report, name, wanted.by)

        if not await self.poster.adopt(name, spot):
            # Stored, so that the card is found again after a restart; updates until the end are progress.
            await self.poster.enqueue(name, CARD, spot, card())
        reading = asyncio.create_task(self.runner.run(run, lambda _: self.poster.show(name, spot, card)))
        try:
            while not (await asyncio.wait({reading}, timeout=self.looks_every))[0]:
                if self._running[name].is_set() or await self._is_stopped_elsewhere(name):
                    return STOPPED
            await reading
        except UsageError as no:
            return str(no)
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        return ""

    async def _compare(self, wanted: FleetCardRequest) -> None:
        try:
            message = chat_card.comparison_message(await self.runner.compared(wanted.ask))
        except UsageError as no:
            message = chat_card.broken_off_card(wanted.ask, str(no), "")
        await self._post(wanted, message)

    async def _stop(self, name: str, person: Person) -> None:
        """Stop a sweep here, or tell the program that runs it to stop. Raises: NothingProposed, LedgerError."""
        if (running := self._running.get(name)) is not None:
            running.set()
        elif name.startswith(OF_FLEET) and await self.context.chat_requests.is_open(name):
            await self.context.chat_requests.keep(_stop_key(name))
        else:
            raise NothingProposed("That is no longer running.")
        self.context.log("sweep_stopped", card=one_line(name, 80), by=person.by)

    async def _is_stopped_elsewhere(self, name: str) -> bool:
        with contextlib.suppress(LedgerError):
            return await self.context.chat_requests.is_open(_stop_key(name))
        return False

    async def _finish_request(self, name: str) -> None:
        with contextlib.suppress(LedgerError):
            await self.context.chat_requests.mark_done(name)
            await self.context.chat_requests.mark_done(_stop_key(name))


def _stop_key(name: str) -> str:
    """The request to stop a sweep, which the program that runs it reads."""
    return f"{chat_card.STOP} {name}"


def _card_name(spot: MessageTarget, key: str) -> str:
    """The name of a sweep's card: the same for every delivery of a request."""
    return OF_FLEET + hashlib.sha256(request_id(spot.channel, spot.thread_ts, key).encode()).hexdigest()[:24]
