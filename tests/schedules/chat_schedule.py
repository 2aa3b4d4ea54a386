"""One schedule of a chat: what people do there by a seed, and what must hold when everything is over."""

from __future__ import annotations

import asyncio
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from bot.chat.post_state import CARD
from bot.domain.alert import BOT
from bot.domain.events import PlanProposed, Triaged
from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.ledger import Database, Ledger, Outbox
from bot.response.decision.preflight import approval_bindings
from bot.response.execution.node_access import NodeStatus
from bot.response.incident_record import IncidentRequest
from tests.record.ledgers import database_in_memory
from tests.schedules.chat_seats import NOTHING, ScheduledTeams
from tests.schedules.chats import ChatWorld, Program, Stored, jumping
from tests.schedules.parts import KEY, CountingNode, Wire
from tests.schedules.stage import ENDINGS, PLAYBOOK, POLICY, SETTLED, Stage
from tests.slack.memory_chat import Shown

COPY = "1600000000001"  # the id of a copy
ENDED = ("Resolved", "Expired", "Cancelled", "Escalated", "Declined")
CHAT_POLICY = replace(
    POLICY, approvers=frozenset(), kinds=frozenset({"teams", "slack"}), approval_expires=timedelta(seconds=75)
)
PEOPLE = ("alice", "bob", "bob", "gus", "eve")  # who asked, who approves, a guest, and somebody of another tenant
LONGEST, QUIET = 1800, 40  # seconds until all has its end, and that are waited for what comes late
OLD, COPIED, FORGED = 0.25, 0.1, 0.3  # clicks on an older wording, and on a copy; dialogs that are sent with a lie


@dataclass
class Sent:
    """A dialog that somebody sent: `lie` is what is wrong with it, `acknowledged` that it is said to be on record."""

    by: str
    reason: str
    lie: str = ""
    acknowledged: bool = False


@dataclass
class ChatPlay:
    """A node, its incident, its card in the chat, and whoever does something with it."""

    seed: int
    database: Database
    chat: Any = ScheduledTeams
    world: ChatWorld = field(init=False)
    sent: list[Sent] = field(default_factory=list)
    copied: list[str] = field(default_factory=list)  # who got a dialog from a copy of the card
    programs: list[Program] = field(default_factory=list)
    logged: list[str] = field(default_factory=list)
    state: str = ""

    def __post_init__(self) -> None:
        self.world = world = ChatWorld(self.seed)
        self.ledger = Ledger(self.database, world.clock)
        self.node, self.seat = f"c{self.seed}", self.chat(world, lambda: self.programs)
        simulated: Any = world
        nodes = {self.node: CountingNode(simulated, self.node, world.random.choice(ENDINGS[:6]))}
        recorder: Any = Stored(world, self.ledger)
        policy = replace(CHAT_POLICY, approver_groups=frozenset({self.seat.group}))
        self.stage = Stage(simulated, self.ledger, policy, nodes, Wire(simulated, nodes, 0.02), recorder)
        where = f"{self.seat.channel}/-/cmd-{self.seed}"
        opening = IncidentRequest(self.seat.kind, where, self.seat.by("alice"), "check", PLAYBOOK.name)
        self.card, self.id = opening.group, opening.incident(self.node)
        self._offered = opening

    # --- what happens

    async def played(self) -> None:
        """Let it happen, to its end."""
        async with asyncio.timeout(LONGEST):
            await self._played()

    async def _played(self) -> None:
        self._propose()
        world = self.world
        serving = [asyncio.create_task(self._serving(slot)) for slot in range(world.random.choice((1, 2, 2)))]
        meddling = [asyncio.create_task(self._meddles(who)) for who in PEOPLE]
        await asyncio.wait(meddling)
        while not self.incident.ended:  # noqa: ASYNC110 - asks a database
            await asyncio.sleep(2)
        world.is_over = True
        await asyncio.sleep(QUIET)
        for task in (*serving, *meddling):
            task.cancel()
        for program in list(self.programs):
            program.die()
        failed = [each.exception() for each in meddling if each.done() and not each.cancelled()]
        assert not any(failed), failed

    def _propose(self) -> None:
        opening, verdict = self._offered, self.stage.verdict(self.node)
        assert verdict.plan is not None
        node = self.stage.nodes[self.node]
        seen = NodeStatus(node.boot_id, node.machine_id, KEY)
        bound = approval_bindings(verdict, self.stage.find(self.node), seen, PLAYBOOK, self.stage.policy)
        self.ledger.append.now(self.id, 0, opening.opening_event(self.node), opening.by)
        self.ledger.append.now(self.id, 1, Triaged(verdict, PLAYBOOK.name, 1), BOT)
        self.ledger.append.now(self.id, 2, PlanProposed.of(verdict.plan, bound), BOT)

    async def _serving(self, slot: int) -> None:
        """Let a program serve, and another one after its death."""
        for life in range(10):
            program = Program(f"{self.seed}-{slot}-{life}", self.stage, self.database, self.seat.connected)
            self.programs.append(program)
            await program.gone.wait()
            self.programs.remove(program)
            self.logged += program.logged
            await asyncio.sleep(self.world.random.choice((2, 5, 20)))

    async def _meddles(self, who: str) -> None:
        random = self.world.random
        for _ in range(random.choice((1, 2, 3))):
            await asyncio.sleep(random.uniform(1, 40))
            action = random.choice(("approve", "approve", "decline"))
            shown = self._some_card()
            if shown is None or not self.seat.can(shown, action):
                continue
            try:
                if (view := await self.seat.asks(who, shown, action)) is None:
                    continue
                if shown.ts == COPY:
                    self.copied.append(who)
                await asyncio.sleep(random.choice((1, 4, 15, 60)))
                await self._sends(who, view)
            except TimeoutError:
                self.logged.append(f"{who} reaches nobody")

    def _some_card(self) -> Shown | None:
        """Return the card as it stands, or as an old client has it, or a copy of it that somebody has made."""
        wordings: list[Shown] = [
            each for each in self.seat.seen if each.channel == self.seat.channel and not each.thread_ts
        ]
        if not wordings:
            return None
        random = self.world.random
        shown = copy.copy(random.choice(wordings) if random.random() < OLD else wordings[-1])
        if random.random() < COPIED:
            shown.ts = COPY
        return shown

    async def _sends(self, who: str, view: Any) -> None:
        """Send a dialog, as it was opened or with a lie."""
        random = self.world.random
        lie = random.choice(self.seat.lies) if random.random() < FORGED else ""
        sent = Sent(who, f"{lie or 'said'} {len(self.sent)} of {who}", lie)
        self.sent.append(sent)
        sent.by, sent.acknowledged = await self.seat.sends(who, view, sent.reason, lie)

    # --- what must hold

    @property
    def incident(self) -> Incident:
        return fold(self.ledger.read.now(self.id))

    def faults(self) -> Iterator[str]:
        """Yield what must not have happened."""
        for fault in (*self._on_the_node(), *self._on_record(), *self._in_the_chat()):
            yield f"seed {self.seed}: {fault}"

    def _on_the_node(self) -> Iterator[str]:
        node, incident = self.stage.nodes[self.node], self.incident
        if incident.state not in SETTLED:
            yield f"it has no end: {incident.state}"
        if sum(node.reboots.values()) > 1 or node.stopped > 1:
            yield f"it was rebooted {sum(node.reboots.values())} times, and its unit stopped {node.stopped} times"
        if incident.approval is None and (node.asked or node.stopped):
            yield "it was acted on without a yes"

    def _on_record(self) -> Iterator[str]:
        said, incident = {each.reason: each for each in self.sent}, self.incident
        words = Counter[str]()
        for word in dict.fromkeys((*incident.endorsements, incident.approval, incident.decision)):
            if word is None or word.by == BOT:
                continue
            reason = str(getattr(word.event, "reason", ""))
            words[reason] += 1
            if (each := said.get(reason)) is None or each.lie or word.by != self.seat.by(each.by):
                yield f"“{reason}” of {word.by} is on record"
            elif each.by in ("gus", "eve") or (each.by == "alice" and word is incident.approval):
                yield f"{each.by} decided"
        if double := [reason for reason, times in words.items() if times > 1]:
            yield f"on record twice: {double}"
        refused = Counter(by.rpartition("/")[2] for by in self.world.refused)
        for each in self.sent:
            who = self.seat.ids[each.by]
            told = [one.text for one in self.seat.posted if one.only_for == who]
            told += [words for reason, words in self.seat.answers if reason == each.reason]
            if (
                each.acknowledged
                and each.reason not in words
                and not refused[who]
                and not any(NOTHING in one for one in told)
            ):
                yield f"“{each.reason}” was acknowledged and led to nothing"
        for name in sorted(set(PEOPLE)):
            mine, clicks = [each for each in self.sent if each.by == name], self.seat.told[self.seat.ids[name]]
            heard = sum(each.reason in words for each in mine) + refused[self.seat.ids[name]]
            # A program that dies, or cannot note that it has begun, leaves it to the next.
            if heard > len(mine) + clicks + self.world.deaths + self.world.failed["keep"]:
                yield f"{name} sent {len(mine)} dialogs and clicked {clicks} times, which had {heard} outcomes"

    def _in_the_chat(self) -> Iterator[str]:
        cards = [each for each in self.seat.posted if each.channel == self.seat.channel and not each.thread_ts]
        cards = [each for each in cards if not each.only_for]
        place = Outbox(self.database).place.now(self.card, CARD)
        card = next((each for each in cards if place is not None and each.ts == place.ts), None)
        if card is None:
            yield "it has no card"
        elif not card.text.startswith(ENDED) or self.seat.can(card, "approve"):
            yield f"its card is stale: {card.text}"
        # A card is posted again where nobody knows, or could note, that it stands.
        if len(cards) > 1 + self.seat.unanswered + self.world.deaths + sum(
            self.world.failed[verb] for verb in ("keep", "mark_delivered")
        ):
            yield f"it has {len(cards)} cards"
        yield from (f"a copy of the card opened a dialog for {who}" for who in self.copied)
        yield from self.seat.slow


def play(seed: int, chat: Any = ScheduledTeams) -> tuple[ChatPlay, list[str]]:
    """Play one schedule over a database of its own; return it, and what must not have happened."""
    with database_in_memory() as database, jumping() as loop:
        asyncio.set_event_loop(loop)
        one = ChatPlay(seed, database, chat)
        loop.run_until_complete(one.played())
        assert not loop.failures, loop.failures
        one.state = str(one.incident.state)
        return one, list(one.faults())
