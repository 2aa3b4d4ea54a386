"""Programs that serve in a chat of a scheduled world: real cards, decisions and record, in time that nobody waits for.

The chat's own code needs an event loop, so here the world is one: its clock jumps to whatever is due next. Programs die
as by SIGKILL at any boundary; what they have sent arrives all the same, and another goes on with what is on disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import selectors
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextvars import Context, ContextVar, copy_context
from datetime import datetime, timedelta
from typing import Any

from bot.actions import ACTIONS
from bot.app.chat import ChatHandlers
from bot.chat.cards import ChatCards
from bot.chat.poster import Poster
from bot.chat.service import Timing
from bot.domain.contracts import Log
from bot.domain.errors import LedgerError, LedgerUnavailable
from bot.ledger import Database, Leases, Outbox
from bot.ledger.chat_requests import ChatRequestStore
from bot.ledger.inbox import Inbox
from bot.response.decision.preflight import Preflight
from bot.response.decision.responder import Responder
from bot.response.execution.node_access import NodeAccess
from bot.view.context import ViewContext
from tests.schedules.stage import Stage
from tests.schedules.whole_look import WholeLook
from tests.schedules.world import BEGAN_AT, Killed
from tests.slack.acting_parts import desk

DEADLY = 0.0015  # of a program's boundaries end it
TICK = 5.0  # seconds between two looks of a program
FAILS = 0.01  # of the ledger's verbs fail, before or after they are through


class Jumps(selectors.DefaultSelector):
    """Waits for nothing: the time that an event loop would wait has passed at once."""

    passed = 0.0

    def select(self, timeout: float | None = None) -> Any:
        assert timeout is not None, "everybody waits for somebody else"
        self.passed += timeout
        return super().select(0)


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to what is due next; each task belongs to the program that began it."""

    def __init__(self) -> None:
        self.jumps = Jumps()
        super().__init__(self.jumps)
        self.set_task_factory(self._begin)  # type: ignore[arg-type]
        self.failures: list[BaseException] = []
        self.set_exception_handler(self._failed)

    def time(self) -> float:
        return self.jumps.passed

    def _failed(self, _: object, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, Killed | None):  # a killed task has an exception that nobody asks for
            self.failures.append(error)

    @staticmethod
    def _begin(loop: Any, work: Coroutine[Any, Any, Any], context: Context | None = None) -> asyncio.Task[Any]:
        task = asyncio.Task(work, loop=loop, context=context)
        owner = OWNER.get() if context is None else context.get(OWNER)
        if owner is not None:
            owner.tasks.append(task)
        return task


class Due(list[Any]):
    """What happens at its time, whatever becomes of whoever began it."""

    def append(self, each: tuple[datetime, Callable[[], None]]) -> None:
        at, happen = each
        loop = asyncio.get_running_loop()
        loop.call_at((at - BEGAN_AT).total_seconds(), happen, context=NOBODY)

    def __iadd__(self, more: Any) -> Any:  # type: ignore[misc]
        for each in more:
            self.append(each)
        return self


class ChatWorld:
    """Time and chance of an event loop that jumps; in it programs die at boundaries."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.began_at, self.due = BEGAN_AT, Due()
        self.deaths = 0
        self.failed = Counter[str]()  # verbs of stores
        self.fails: dict[type, float] = {}  # how many of a store's verbs fail, where it is more than usual
        self.refused: list[str] = []  # to whom something was refused, as somebody put on record, or tried to
        self.is_over = False

    @property
    def now(self) -> datetime:
        return BEGAN_AT + timedelta(seconds=asyncio.get_running_loop().time())

    def clock(self) -> datetime:
        return self.now

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def boundary(self) -> None:
        program = OWNER.get()
        if program is not None and not self.is_over and self.deaths < 4 and self.chance(DEADLY):
            self.deaths += 1
            program.die()
        await asyncio.sleep(self.random.choice((0.001, 0.003, 0.02)))
        if program is not None and program.is_dead:
            raise Killed


class Stored:
    """A store whose verbs may fail before or after they are through, and between which a program may die."""

    def __init__(self, world: ChatWorld, store: object) -> None:
        self._world, self._store = world, store

    def __getattr__(self, verb: str) -> Any:
        does = getattr(self._store, verb).now

        async def done(*given: Any, **named: Any) -> Any:
            if verb == "record_refusal":
                self._world.refused.append(given[1])
            await self._world.boundary()
            self._may_fail(verb, "The database is locked.")
            answer = does(*given, **named)
            await self._world.boundary()
            self._may_fail(verb, "The connection to the database broke.")
            return answer

        return done

    def _may_fail(self, verb: str, why: str) -> None:
        if not self._world.is_over and self._world.chance(self._world.fails.get(type(self._store), FAILS)):
            self._world.failed[verb] += 1
            raise LedgerUnavailable(why)


class Program:
    """One `serve`: it listens in the chat, decides, acts, and brings cards up to date, until it is killed."""

    def __init__(self, name: str, stage: Stage, database: Database, connection: Callable[[Timing, Log], Any]) -> None:
        self.name, self.stage = name, stage
        self.world: Any = stage.world
        self.is_dead = False
        self.tasks: list[asyncio.Task[Any]] = []
        self.context = copy_context()
        self.context.run(OWNER.set, self)
        self.gone = asyncio.Event()
        self.logged: list[str] = []
        self.shown: dict[str, datetime] = {}
        self.desk = self.context.run(self._put_together, database, connection)
        self.start(self._serve())

    def _put_together(self, database: Database, connection: Callable[[Timing, Log], Any]) -> ChatHandlers:
        world, stage = self.world, self.stage
        timing = Timing(clock=asyncio.get_running_loop().time)
        self.connection = connection(timing, self.log)
        self.leases = Leases(database, self.name, time=world.clock)
        ledger = stage.recorder
        outbox: Any = Stored(world, Outbox(database, leases=self.leases))
        self.outbox = outbox
        requests = Stored(world, ChatRequestStore(self.leases))
        reach = NodeAccess(stage.wire, ACTIONS)
        preflight = Preflight(reach, stage, WholeLook(reach, stage.diagnose))
        responder = Responder(stage.policy, stage.record, ledger, reach, stage, preflight, world.clock)
        self.remediation = stage.remediation()
        self.poster = Poster(self.connection.calls, outbox, timing, world.clock, self.log)
        view = ViewContext()
        cards = ChatCards(self.poster, outbox, ledger, stage.policy, self.log, self, ACTIONS, view)
        return desk(
            self, self.connection, self.poster, cards, responder, ledger, self.outbox, requests,
            Inbox(self.leases),
            policy=stage.policy, view=view, timing=timing, log=self.log, names=tuple(stage.nodes),
        )  # fmt: skip

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        return asyncio.get_running_loop().create_task(work, context=self.context)

    def die(self) -> None:
        """Stop as by SIGKILL: whatever runs ends here, and nothing that it began gets past its next boundary."""
        self.is_dead = True
        self.gone.set()
        for task in self.tasks:
            task.cancel()

    # --- what is asked of a program by its parts

    def log(self, event: str, **more: Any) -> None:
        self.logged.append(f"{self.world.now:%H:%M:%S} {self.name} {event} {more}")

    def begin(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        return asyncio.create_task(work, name=name)

    def take(self, request: object) -> None:
        raise AssertionError("nobody types here")

    def decided(self, incident_id: str, /) -> None:
        """The next look is soon enough."""

    def changed(self, group: str, /) -> None:
        raise AssertionError("no alert comes here")

    def waits_for(self, incident_id: str, /) -> str:
        return ""

    # --- what it does

    async def _serve(self) -> None:
        while why := await self.connection.start():
            self.log("not yet", why=why)
            await asyncio.sleep(1)
        listening: Any = self
        self.connection.listen(listening, self.desk.home, self.desk.decisions)
        advancing: dict[str, asyncio.Task[None]] = {}
        while True:
            await self.world.boundary()
            with contextlib.suppress(LedgerError):
                self.leases.beat.now()
                self.leases.claim.now()
                await self.desk.decisions.resume_unfinished()
                await self.poster.sweep()
                for group in sorted(self.leases.mine.now()):
                    if group not in advancing or advancing[group].done():
                        advancing[group] = asyncio.create_task(self._advance(group))
            await asyncio.sleep(TICK)

    async def _advance(self, group: str) -> None:
        """Do the next thing about a group, and show what is new on record."""
        with contextlib.suppress(LedgerError):
            found = await self.desk.cards.group(group)
            if not all(incident.ended for incident in found):
                await asyncio.gather(*(self.remediation.advance(incident.id) for incident in found))
                found = await self.desk.cards.group(group)
            if (as_of := max(incident.updated_at for incident in found)) != self.shown.get(group):
                await self.desk.cards.show(found)
                self.shown[group] = as_of


OWNER: ContextVar[Program | None] = ContextVar("OWNER", default=None)
NOBODY = copy_context()


@contextlib.contextmanager
def jumping() -> Iterator[JumpingLoop]:
    """A loop of its own, and what is left in it is ended."""
    loop = JumpingLoop()
    try:
        yield loop
    finally:
        loop.run_until_complete(_ended(loop))
        loop.close()


async def _ended(loop: asyncio.AbstractEventLoop) -> None:
    left = asyncio.all_tasks(loop) - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
