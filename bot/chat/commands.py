"""What a person types to the bot: parsed, answered in private with the checks of clicks, or begun as a check."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from bot.chat.background import Background
from bot.chat.blocks import near_name_buttons
from bot.chat.context import TOLD, ChatContext, brake_words
from bot.chat.private_replies import refusal_words
from bot.chat.remembered import RecentDeliveries
from bot.chat.requests import (
    CheckRequest,
    CommandRequest,
    ExtraQuestion,
    HelpRequest,
    KnownNodes,
    Request,
    Subcommand,
    Typed,
    WorkRequest,
    help_document,
    parse,
    unknown_words,
    wrong_channel_words,
)
from bot.chat.stored_checks import encode_check
from bot.domain.errors import LedgerError, Refused, UnknownIncident, UsageError
from bot.domain.incident import IncidentSummary
from bot.domain.safe_text import redacted_text
from bot.response.decision.braking import pull_words
from bot.view.words import attention_key, node_words, utc

REQUESTS_REMEMBERED = 1000
MOST_LISTED = 30
NOT_KNOWN = "CannotTell: The ledger cannot be read or written now, so nothing was done. Try again."


@dataclass(slots=True, eq=False)
class Commands:
    """Takes what people type, each delivery once.

    Shape: `channels` is where checks may be asked for, anywhere if empty, and always in a direct message, because they
    only look. `others` take what extras are asked.
    """

    context: ChatContext
    background: Background
    known: KnownNodes
    channels: Collection[str]
    others: Sequence[Typed] = ()
    _seen: RecentDeliveries = field(default_factory=lambda: RecentDeliveries(REQUESTS_REMEMBERED))

    def take(self, request: CommandRequest) -> None:
        """Begin to handle a request; returns at once, so that the chat gets its acknowledgement first."""
        if self._seen.note_if_new(request.key):  # chats deliver at least once, also while the ledger cannot be written
            self.background.begin(self._handle_once(request), f"request {request.key}")

    async def _handle_once(self, request: CommandRequest) -> None:
        # The search for near names takes time.
        asked = await asyncio.to_thread(parse, request.text, self.known, self.others)
        try:
            if not await self.context.chat_requests.keep(request.key, self._stored_check(request, asked)):
                return
        except LedgerError:
            # Without a ledger checks are read and the brake is tried. Anything else could be a repetition.
            if isinstance(asked, Subcommand) and not asked.on:
                await self.context.ephemeral.say(request, (NOT_KNOWN,))
                return
        await self._handle(request, asked)
        with contextlib.suppress(LedgerError):
            await self.context.chat_requests.mark_done(request.key)

    def _stored_check(self, request: CommandRequest, asked: Request) -> str:
        """What the next run needs to begin a check that a crash breaks off; empty for anything else."""
        if not isinstance(asked, CheckRequest) or not asked.nodes or not self._is_here(request):
            return ""
        return encode_check(request, [node.name for node in asked.nodes])

    def _is_here(self, request: CommandRequest) -> bool:
        return not self.channels or request.channel in self.channels or request.direct

    async def _handle(self, request: CommandRequest, asked: Request) -> None:
        ephemeral = self.context.ephemeral
        if isinstance(asked, HelpRequest):
            await ephemeral.answer(request, help_document(asked.sentence, self.others))
        elif isinstance(asked, Subcommand | ExtraQuestion):
            await self.reply(request, asked)
        elif not self._is_here(request):
            await ephemeral.say(request, wrong_channel_words(self.channels))
        elif isinstance(asked, WorkRequest):
            if await self._admit_or_tell(request, True):
                try:
                    await asked.begin(request)
                except UsageError as no:  # it may quote what was typed
                    await ephemeral.quote(request, redacted_text(str(no)))
        elif await self._admit_or_tell(request, asked.nodes):
            if asked.unknown:
                quoted = ephemeral.quote(request, unknown_words(asked), list(near_name_buttons(asked.near)))
                self.background.begin(quoted, f"answer to {request.key}")
            if asked.nodes:
                await self.context.opener.begin(
                    request.key, request.target, request.by, request.text, [node.name for node in asked.nodes]
                )

    async def _admit_or_tell(self, request: CommandRequest, counts: object) -> bool:
        """Return whether this person may ask for checks; a person who may not is told so, without any node's name.

        Shape: where `counts` is empty, nothing is read and nothing is counted.
        """
        try:
            await self.context.askers.admit(request.person)
            if counts:
                self.context.askers.count(request.person)
        except Refused as no:
            await self.context.note("check", request.by, no)
            await self._tell_person(request, refusal_words(no))
            return False
        return True

    # --- what needs no node to be read

    async def reply(self, request: CommandRequest, asked: Subcommand | ExtraQuestion) -> None:
        """Do what was asked, and answer the person in private."""
        about = asked.about if isinstance(asked, ExtraQuestion) else asked.incident
        try:
            if isinstance(asked, ExtraQuestion):
                words = await asked.answer(request.person)
            else:
                words = await self._run_subcommand(request, asked)
        except UnknownIncident as no:
            words = refusal_words(no)
        except TOLD as no:
            await self.context.tell(no, asked.verb, request.person, request.channel, request.thread_ts, about)
            return
        await self._tell_person(request, words)

    async def _tell_person(self, request: CommandRequest, words: str) -> None:
        await self.context.ephemeral.tell(request.by, request.channel, request.thread_ts, words, request.answer_at)

    async def _run_subcommand(self, request: CommandRequest, asked: Subcommand) -> str:
        person, responder = request.person, self.context.responder
        if asked.verb == "status":
            await self.context.check_reader(person)
            return await self._status()
        if asked.verb == "brake" and asked.on:
            return await self.context.pull_brake(person, asked.reason, request.key)
        pull, asked_at = asked.pull, request.asked_at
        if asked.verb == "brake" and not pull and asked_at is None:  # what comes while the chat is asked is not meant
            present = await self.context.ledger.brake_pull()
            pull, asked_at = (0, responder.clock()) if present is None else (present.seq, None)
        approval = await self.context.people.approval(
            person, self.context.policy, asked.reason, by_group=asked.verb == "brake"
        )
        try:
            if asked.verb == "brake":
                return brake_words(await responder.brake(False, approval, pull=pull, asked_at=asked_at))
            if asked.verb == "cancel":
                await responder.cancel(asked.incident, approval)
                self.context.notices.decided(asked.incident)
                return f"Incident {asked.incident} is cancelled."
            opened = await responder.undo(asked.incident, approval)
        except Refused as no:  # the responder has recorded it
            return refusal_words(no)
        self.context.notices.decided(opened.id)
        return f"Proposed as incident {opened.id}; another person has to approve it."

    async def _status(self) -> str:
        summaries = await self.context.ledger.incidents(only_open=True)
        braked = await self.context.ledger.brake_pull()
        words = [f"{len(summaries)} open incidents." if summaries else "Nothing is open."]
        ordered = sorted(summaries, key=lambda summary: (attention_key(summary.state), summary.node))
        words += [status_line(summary) for summary in ordered[:MOST_LISTED]]
        if len(ordered) > MOST_LISTED:
            words.append(f"And {len(ordered) - MOST_LISTED} more: zombie incidents")
        if braked is not None:
            words.append(f"The brake is on: {pull_words(braked)} (pull #{braked.seq})")
        else:
            words.append("The brake is off.")
        return "\n".join(words)


def status_line(summary: IncidentSummary) -> str:
    """Return an incident as a line of a list."""
    cause = f", {summary.cause}" if summary.cause else ""
    return f"• {node_words(summary.node)}: {summary.state.value}{cause} — {summary.id}, since {utc(summary.opened_at)}"
