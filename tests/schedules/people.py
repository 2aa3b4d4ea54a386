"""What people and their chat do in a scheduled world: late, twice, from old dialogs, and while others go on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from bot.domain.entry import instant_text
from bot.domain.errors import LedgerUnavailable, NotAnApprover, Refused
from bot.domain.events import GIVE_UP, GO_ON
from bot.domain.fold import fold
from bot.domain.policy import Approval
from bot.ledger import Database, Leases
from bot.ledger.chat_requests import ChatRequestStore
from tests.schedules.stage import Stage

OLD_CARD = "of an older card"
ABOUT = "about #"  # and the number of the pull that the dialog showed
ASKED = "asked at "  # and when the question was asked that the dialog showed


@dataclass
class People:
    """Whoever moves the brake, answers and approves; `left` are those who may say nothing any more."""

    stage: Stage
    database: Database
    left: set[str] = field(default_factory=set)
    replicas: int = 0

    async def again(self, by: str, /) -> Approval:
        """Say how whoever said yes before stands now."""
        if by in self.left:
            raise NotAnApprover(f"{by} has left.")
        return Approval(by, "")

    def meddles(self, incident: str) -> None:
        """Let a person call it off, or answer whatever it may ask, at some moment."""
        world = self.stage.world

        async def meddle() -> None:
            responder, request = self.stage.responder(), Approval("terminal:bob", "enough")
            answer = world.random.choice(("", GO_ON, GIVE_UP))
            for _ in range(12 if answer else 1):  # until there is something to answer
                await world.sleep(world.random.uniform(0, 20))
                try:
                    await (
                        responder.answer(incident, answer, request) if answer else responder.cancel(incident, request)
                    )
                except (Refused, LedgerUnavailable) as no:
                    self.stage.refusals[type(no).__name__] += 1
                else:
                    return

        world.start(f"bob meddles with {incident}", meddle)

    def answer_by_dialogs(self, incident: str) -> None:
        """Let people answer what it asks, each by a dialog that was opened about some question and is sent later."""
        for person in ("ann", "bob"):
            self.stage.world.start(f"{person} answers {incident}", partial(self._answer_by_dialog, incident, person))

    async def _answer_by_dialog(self, incident: str, person: str) -> None:
        world = self.stage.world
        for _ in range(200):
            await world.sleep(world.random.uniform(2, 12))
            asked_at = (told := fold(self.stage.ledger.read.now(incident))).asked_at
            if told.ended:
                return
            if asked_at is None:
                continue
            await world.sleep(world.random.choice((1, 10, 200, 300)))  # a runner looks again after some minutes
            answer = world.random.choice((GO_ON, GO_ON, GIVE_UP))
            request = Approval(f"terminal:{person}", f"{ASKED}{instant_text(asked_at)}")
            await self._tried(partial(self.stage.responder().answer, incident, answer, request, asked_at))

    def approves_by_chat(self, incident: str, name: str) -> None:
        """Let a yes be delivered, and delivered again."""
        self.delivered(f"yes-{incident}-{name}", lambda key: self.stage.decides(incident, Approval(name, "it is sick")))

    def approves_an_older_plan(self, incident: str, node: str) -> None:
        """Let a person say yes to a card from before the node's last boot."""
        seen = self.stage.plan(node, "0" * 36).digest
        request = Approval("terminal:bob", OLD_CARD, digest=seen)
        self.delivered(f"old-{incident}", lambda key: self.stage.decides(incident, request))

    def say_yes_and_leave(self, incident: str) -> None:
        """Let one say yes and leave, and then the others say theirs."""
        world = self.stage.world

        async def voices() -> None:
            for by in ("terminal:ann", "terminal:bob", "terminal:cleo"):
                if by not in self.left:
                    await self.stage.decides(incident, Approval(by, "it is sick"))
                    await world.sleep(world.random.uniform(0, 10))
                self.left.add("terminal:ann")

        world.start(f"they approve {incident}", voices)

    def move_the_brake(self, name: str) -> None:
        """Let it be pulled once or twice, released by dialogs that were opened at some time, and at last for good."""
        world = self.stage.world
        for number in range(world.random.choice((1, 2))):
            self.delivered(f"pull-{name}-{number}", self._pull)
        for number in range(2):
            world.start(f"dialog {number} of {name}", self._release_by_dialog)
        world.start(f"the brake of {name} is released", self._release_at_last)

    def delivered(self, key: str, request: Callable[[str], Awaitable[None]]) -> None:
        """Let the chat bring a wish one to three times, each time to another replica, or to one that was restarted."""
        for number in range(self.stage.world.random.choice((1, 2, 3))):
            self.stage.world.start(f"delivery {number} of {key}", partial(self._deliver, key, request))

    async def _deliver(self, key: str, request: Callable[[str], Awaitable[None]]) -> None:
        world = self.stage.world
        await world.sleep(world.random.uniform(0, 45))
        self.replicas += 1
        leases = Leases(self.database, f"replica {self.replicas} of {key}", time=lambda: world.now)
        chat_requests = ChatRequestStore(leases)
        leases.beat.now()
        await world.boundary()
        if not chat_requests.keep.now(key):
            return
        await world.boundary()
        await request(key)
        await world.boundary()
        chat_requests.mark_done.now(key)

    async def _pull(self, key: str) -> None:
        await self._tried(lambda: self.stage.responder().brake(True, Approval("terminal:bob", key), request=key))

    async def _release_by_dialog(self) -> None:
        world = self.stage.world
        await world.sleep(world.random.uniform(0, 60))
        if (pulled := self.stage.ledger.brake_pull.now()) is None:
            return
        await world.sleep(world.random.uniform(0, 40))
        await self._release(pulled.seq)

    async def _release_at_last(self) -> None:
        world = self.stage.world
        await world.sleep(world.random.uniform(60, 200))
        for _ in range(100):
            await world.sleep(5)
            if (pulled := self.stage.ledger.brake_pull.now()) is not None:
                await self._release(pulled.seq)
            elif world.now - world.began_at > timedelta(seconds=300):  # nothing that was delivered pulls it any more
                return

    async def _release(self, pull: int) -> None:
        request = Approval("terminal:ann", f"{ABOUT}{pull}")
        await self._tried(lambda: self.stage.responder().brake(False, request, pull=pull))

    async def _tried(self, request: Callable[[], Awaitable[object]]) -> None:
        for _ in range(5):
            try:
                await request()
            except Refused as no:
                self.stage.refusals[no.name] += 1
            except LedgerUnavailable:
                await self.stage.world.sleep(1)
                continue
            return
