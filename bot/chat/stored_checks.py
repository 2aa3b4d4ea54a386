"""Checks that were asked for and not begun: kept while they are handled, so that a crash does not lose them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta

from bot.chat.background import Background
from bot.chat.context import TOLD, ChatContext
from bot.chat.people import Person
from bot.chat.post_state import MessageTarget
from bot.chat.requests import CommandRequest
from bot.domain.chat_request import ChatRequest
from bot.domain.duration import duration_text
from bot.domain.errors import LedgerError
from bot.domain.json_form import NotOfForm, read
from bot.domain.safe_text import one_line, redacted_text

AS_CHECK = "check"
LATEST = timedelta(minutes=15)  # nobody waits any longer for a check, and the node may be another's by then


@dataclass(frozen=True, slots=True)
class StoredCheck:
    """A check as it is kept: who asked for which nodes, in which words, and where."""

    person: Person
    by: str
    said: str
    nodes: tuple[str, ...]
    channel: str
    thread_ts: str
    answer_at: str = field(repr=False)  # who has it can answer there


def encode_check(request: CommandRequest, nodes: Sequence[str]) -> str:
    """Return what is kept of a request to check these nodes."""
    check = StoredCheck(
        request.person,
        request.by,
        redacted_text(request.text),
        tuple(nodes),
        request.channel,
        request.thread_ts,
        request.answer_at,
    )
    return json.dumps({AS_CHECK: asdict(check)}, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class StoredChecks:
    """Begins what an earlier run or another replica was asked for and did not begin."""

    context: ChatContext
    background: Background

    def takes(self, kept: ChatRequest) -> bool:
        """Begin a kept check, of a person who still may ask; False for any other request."""
        try:
            check = read(StoredCheck, json.loads(kept.body)[AS_CHECK])
        except (ValueError, KeyError, TypeError, RecursionError, NotOfForm):
            return False
        self.background.begin(self._begin_stored_check(kept, check), "check carried on")
        return True

    async def _begin_stored_check(self, kept: ChatRequest, check: StoredCheck) -> None:
        askers = self.context.askers
        late = self.context.responder.clock() - kept.kept_at > LATEST
        self.context.log("check_carried_on", key=one_line(kept.key, 80), late=late)
        try:
            if late:
                asked = f"You asked for “{one_line(check.said, 200)}” more than {duration_text(LATEST)} ago"
                words = f"{asked}, and I was away. "
                await self.context.ephemeral.tell(check.by, check.channel, check.thread_ts, f"{words}Ask again.")
            else:
                await askers.admit(check.person)
                askers.count(check.person)
                spot = MessageTarget(check.channel, check.thread_ts, check.answer_at)
                await self.context.opener.begin(kept.key, spot, check.by, check.said, check.nodes)
        except TOLD as no:
            await self.context.tell(no, AS_CHECK, check.person, check.channel, check.thread_ts)
        with contextlib.suppress(LedgerError):
            await self.context.chat_requests.mark_done(kept.key)
