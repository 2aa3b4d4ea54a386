"""A world in which time runs fast, a ledger that can be taken away, and the part of a bot that a chat talks to."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from bot.app.chat import ChatHandlers, chat_handlers
from bot.chat.context import ChatContext
from bot.chat.service import Timing
from bot.domain.contracts import Log
from bot.domain.errors import LedgerUnavailable
from bot.domain.policy import Policy
from bot.seats import Chat
from bot.settings import Settings
from bot.view.context import ViewContext

FASTER = 60  # times as fast as the real clock


class FastWorld:
    """A world in which a minute takes a second, and nothing goes wrong by itself."""

    def __init__(self) -> None:
        self.began_at = datetime.now(UTC)
        self.random = random.Random(1)
        self.due: list[Any] = []
        self.later = timedelta(0)
        self.looking = asyncio.Event()  # nodes answer while it is set
        self.looking.set()

    @property
    def now(self) -> datetime:
        return self.began_at + (datetime.now(UTC) - self.began_at) * FASTER + self.later

    def clock(self) -> datetime:
        return self.now

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / FASTER)

    async def boundary(self) -> None:
        await self.looking.wait()

    def chance(self, share: float) -> bool:
        return False


class Gone:
    """A ledger or an outbox that can be taken away for a while, whole or for one verb."""

    def __init__(self, inner: Any) -> None:
        self.is_gone = False
        self._inner = inner
        self._gone_for = ""

    def lose(self, verb: str) -> None:
        """Take one verb away."""
        assert hasattr(self._inner, verb)
        self._gone_for = verb

    def is_back(self) -> None:
        """Give all of it back."""
        self.is_gone, self._gone_for = False, ""

    def __getattr__(self, verb: str) -> Any:
        async def fails(*_: object, **__: object) -> None:
            raise LedgerUnavailable("The database is locked.")

        return fails if self.is_gone or verb == self._gone_for else getattr(self._inner, verb)


@dataclass(frozen=True)
class Names:
    """The names of the nodes."""

    names: tuple[str, ...]


def desk(
    work: Any,
    connection: Any,
    poster: Any,
    cards: Any,
    responder: Any,
    ledger: Any,
    outbox: Any,
    chat_requests: Any,
    inbox: Any,
    *,
    policy: Policy,
    view: ViewContext,
    timing: Timing,
    log: Log,
    names: tuple[str, ...],
    chats: Callable[[ChatContext], Sequence[Chat]] = lambda _: (),
) -> ChatHandlers:
    """Return what takes what a chat delivers, without the rest of a bot; `work` begins what goes on behind it."""
    bot: Any = SimpleNamespace(
        settings=Settings(),
        stores=SimpleNamespace(outbox=outbox, leases=None, ledger=ledger, inbox=inbox, chat_requests=chat_requests),
        posting=SimpleNamespace(connection=connection, poster=poster, work=work, view=view),
        acting=SimpleNamespace(policy=policy, responder=responder),
        check_service=SimpleNamespace(scheduler=work, diagnosis=None),
        cards=cards,
        playbooks=SimpleNamespace(get=lambda: SimpleNamespace(name="node-health")),
        timing=timing,
        log=log,
        notices=work,
        known=Names(names),
        alerts=SimpleNamespace(pick=None),
        pagerduty=None,
        seated=lambda seat, context: chats(context),
    )
    return chat_handlers(bot)
