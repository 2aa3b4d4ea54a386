"""A team with a fleet: sweeps that read when the test says so, and waves over nodes that count what is done to them."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from bot.actions import ACTIONS
from bot.app.factories import library
from bot.chat.background import Background
from bot.chat.context import ChatContext
from bot.chat.people import ChatApproverLookup
from bot.domain.batch import Sampling
from bot.domain.errors import LedgerUnavailable
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.extras.fleet.chat_cards import FleetCards
from bot.extras.fleet.fleet_request import FleetRequest
from bot.extras.fleet.run import FleetRun, Hears
from bot.extras.fleet.runner import FleetRunner
from bot.extras.fleet.sweep import Found, NodeAnswer, NodeOutcome, Sweep
from bot.extras.waves.chat_cards import WaveCards
from bot.extras.waves.chat_decisions import WaveDecisions
from bot.extras.waves.store import WaveStore
from bot.extras.waves.wave import Wave
from bot.extras.waves.wave_run import WaveRun
from bot.extras.waves.wave_service import WaveService
from bot.ledger import Database
from bot.seats import Chat, CureRequest
from bot.surfaces.slack.connection import SlackConnection
from bot.view.plan_words import PlanWords
from tests.schedules.stage import PLAYBOOK
from tests.slack.acting_team import ActingTeam

LEAK = "leaked-memory-cgroups"
SOON = 0.05  # seconds


class HeldReader:
    """Answers for the first node at once, and for the others when the test lets it."""

    def __init__(self) -> None:
        self.let_go = asyncio.Event()

    async def read(self, nodes: Sequence[Node], heard: Hears) -> None:
        leak = Found(LEAK, "degraded", "possible", "68,700 dying memory cgroups")
        found = [
            NodeAnswer(node.name, NodeOutcome.ANSWERED, "degraded", LEAK, "possible", found=(leak,)) for node in nodes
        ]
        heard(found[0])
        await self.let_go.wait()
        for answer in found[1:]:
            heard(answer)


class House:
    """The playbook by which a fleet is asked."""

    def __init__(self) -> None:
        self._playbook = library().get("node-health")

    def get(self, name: str = "", /) -> Playbook:
        assert name in ("", self._playbook.name)
        return self._playbook


class StagedFleet(FleetRunner):
    """Asks the nodes of the stage."""

    async def select(self, ask: FleetRequest) -> tuple[Node, ...]:
        stage: Any = self.known
        return tuple(stage.find(name) for name in (set(ask.words) & set(stage.nodes) or stage.nodes))


class Fleet:
    """What makes the cards for `acting_team`; `reader` reads the nodes of every sweep."""

    def __init__(self) -> None:
        self.reader = HeldReader()
        self.checks = asyncio.Event()  # nodes are checked for a wave while it is set
        self.checks.set()
        self.watching = Background(lambda *_, **__: None)  # what shows waves, until the test is over
        self.desk: WaveService
        self.team: ActingTeam
        self.cards: WaveCards

    def __call__(self, team: ActingTeam, connection: SlackConnection, database: Database) -> None:
        people = connection.people(team.responder.policy.approver_groups)
        kept: Any = WaveStore(database, team.world.clock)
        lookup = ChatApproverLookup(people, team.responder.policy)
        self.team, chance = team, random.Random(7)
        self.desk = WaveService(
            team.responder.policy,
            team.responder.record,
            team.ledger,
            kept,
            team.world.clock,
            chance,
            lookup,
            _log(team),
        )
        words, work, chat_requests = PlanWords(ACTIONS), self._work, team.chat_requests
        self.cards = WaveCards(
            self.desk, self._start, words, team.poster, work, self.watching, _log(team), chat_requests, SOON
        )

    def chats(self, context: ChatContext) -> list[Chat]:
        """What takes clicks on the cards of sweeps and waves."""
        cards = FleetCards(context, self._fleet_desk(), self.team.poster, self._work, self.cards, SOON)
        self.team.fleet = cards
        return [cards, WaveDecisions(context, self.cards)]

    @property
    def _work(self) -> Any:
        return self.team

    def _fleet_desk(self) -> FleetRunner:
        def run_of(nodes: Sequence[Node], selected: int, sweep: Sweep) -> FleetRun:
            return FleetRun(tuple(nodes), selected, sweep, self.reader)

        stage: Any = self.team.stage
        means: Any = SimpleNamespace(sweep=run_of, sampling=Sampling(5))  # nothing is compared here
        return StagedFleet(stage, House(), means, {}, asyncio.Semaphore(2), random.Random(7))

    async def _start(self, name: str, cure: CureRequest, nodes: Sequence[Node]) -> Wave:
        await self.checks.wait()
        for node in nodes:
            self.team.stage.propose(f"i{name[5:11]}{node.name}".replace("-", ""), node.name, name)
        found = [
            await self.team.find(incident.id)
            for incident in await self.team.ledger.incidents()
            if incident.id[0] == "i"
        ]
        return await self.desk.propose(name, cure, found, PLAYBOOK.name)

    async def waves(self) -> list[Wave]:
        """Return every wave on record."""
        return [await self.desk.find(name) for name in await self.desk.waves.ids()]

    async def carry_on(self) -> None:
        """Stand in for the program that serves: carry every wave and its incidents on until they have ended."""
        team = self.team
        run = WaveRun(self.desk, team.responder, team.stage, "runner-1")
        while waves := [wave for wave in await self.waves() if not wave.ended]:
            for wave in waves:
                try:
                    await run.advance(wave.id)
                    for turn in (await self.desk.find(wave.id)).under_way:
                        if (await team.find(turn.member.incident)).state != "proposed":
                            await team.remediation.advance(turn.member.incident)
                except LedgerUnavailable:
                    continue
            await team.world.sleep(1)


def _log(team: ActingTeam) -> Any:
    def log(event: str, **fields: Any) -> None:
        team.log.write(json.dumps({"event": event, **fields}, default=str) + "\n")

    return log
