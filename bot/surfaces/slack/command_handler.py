"""What a person types to the bot: parsed, answered in private, or passed on as a request."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from bot.domain.chat_request import ChatRequests
from bot.domain.errors import LedgerError, Refused, UsageError
from bot.domain.safe_text import redacted_text
from bot.surfaces.remembered import Seen
from bot.surfaces.slack.askers import Askers
from bot.surfaces.slack.background import Background
from bot.surfaces.slack.blocks import meant_blocks
from bot.surfaces.slack.check_opener import CheckOpener
from bot.surfaces.slack.command_replies import CommandReplies
from bot.surfaces.slack.ephemeral import Ephemeral
from bot.surfaces.slack.kept_checks import kept_text
from bot.surfaces.slack.message import markup
from bot.surfaces.slack.requests import (
    CheckRequest,
    CommandRequest,
    HelpRequest,
    KnownNodes,
    Question,
    Request,
    Subcommand,
    Typed,
    WorkRequest,
    help_text,
    not_here,
    parse,
    unknown_words,
)
from bot.surfaces.slack.suggestions import ASKS, find_node_block

REQUESTS_REMEMBERED = 1000
NOT_KNOWN = "CannotTell: The ledger cannot be read or written now, so nothing was done. Try again."


@dataclass(slots=True, eq=False)
class CommandHandler:
    """Takes what people type, each delivery once.

    Shape: `channels` is where checks may be asked for, anywhere if empty, and always in a direct message, because they
    only look. `opener` begins them; `others` take what extras are asked. `chat_requests` know what any program has
    taken before.
    """

    known: KnownNodes
    opener: CheckOpener
    replies: CommandReplies
    ephemeral: Ephemeral
    background: Background
    channels: Collection[str]
    askers: Askers
    chat_requests: ChatRequests
    others: Sequence[Typed] = ()
    _seen: Seen = field(default_factory=lambda: Seen(REQUESTS_REMEMBERED))

    def take(self, request: CommandRequest) -> None:
        """Begin to handle a request; returns at once, so that Slack gets its acknowledgement first."""
        if self._seen.is_new(request.key):  # Slack delivers at least once
            self.background.begin(self._once(request), f"request {request.key}")

    async def _once(self, request: CommandRequest) -> None:
        # The search for near names takes time.
        asked = await asyncio.to_thread(parse, request.text, self.known, self.others)
        try:
            body = self._kept(request, asked)
            if not await self.chat_requests.keep(request.key, body):
                return
        except LedgerError:
            # Without a ledger checks are read and the brake is tried. Anything else could be a repetition.
            if isinstance(asked, Subcommand) and not asked.on:
                await self.ephemeral.say(request, NOT_KNOWN)
                return
        await self._handle(request, asked)
        with contextlib.suppress(LedgerError):
            await self.chat_requests.done(request.key)

    def _kept(self, request: CommandRequest, asked: Request) -> str:
        """What the next run needs to begin a check that a crash breaks off; empty for anything else."""
        if not isinstance(asked, CheckRequest) or not asked.nodes or not self._is_here(request.channel):
            return ""
        return kept_text(request, [node.name for node in asked.nodes])

    def _is_here(self, channel: str) -> bool:
        return not self.channels or channel in self.channels or channel.startswith("D")

    async def _handle(self, request: CommandRequest, asked: Request) -> None:
        if isinstance(asked, HelpRequest):
            says = help_text(self.others)
            if asked.sentence:  # it may quote what was typed
                await self.ephemeral.quote(request, asked.sentence, [markup(says)])
            else:
                await self.ephemeral.say(request, says)
        elif isinstance(asked, Subcommand | Question):
            await self.replies.reply(request, asked)
        elif not self._is_here(request.channel):
            await self.ephemeral.say(request, not_here(self.channels))
        elif isinstance(asked, WorkRequest):
            if await self._may_ask(request, True):
                await self._begin(request, asked)
        elif await self._may_ask(request, asked.nodes):
            if asked.asks:
                await self.ephemeral.quote(request, ASKS, [find_node_block()])
            if asked.unknown:
                quoted = self.ephemeral.quote(request, unknown_words(asked), meant_blocks(asked.near))
                self.background.begin(quoted, f"answer to {request.key}")
            if asked.nodes:
                nodes = [node.name for node in asked.nodes]
                await self.opener.begin(request.key, request.target, request.by, request.text, nodes)

    async def _may_ask(self, request: CommandRequest, counts: object) -> bool:
        """Return whether this person may ask for checks; a person who may not is told so, without any node's name.

        Shape: where `counts` is empty, nothing is read and nothing is counted.
        """
        try:
            await self.askers.admit(request.person)
            if counts:
                self.askers.count(request.person)
        except Refused as no:
            await self.replies.refuse(request, "check", no)
            return False
        return True

    async def _begin(self, request: CommandRequest, asked: WorkRequest) -> None:
        try:
            await asked.begin(request)
        except UsageError as no:  # it may quote what was typed
            await self.ephemeral.quote(request, redacted_text(str(no)))
