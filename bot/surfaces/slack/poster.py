"""Brings what should stand in Slack and what does stand there together, whatever Slack answers meanwhile.

A part of a card (the card itself, a page of its details) is wanted in some wording; one worker a part posts or edits it
until Slack has taken the newest wording. Wordings that were overtaken are never sent. What matters is kept in the
outbox before it is sent, so that it survives a restart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.domain.safe_text import one_line
from bot.surfaces.slack.buckets import FIRST, LAST, Bucket
from bot.surfaces.slack.card import plain
from bot.surfaces.slack.message import Message

EDIT_EVERY_SECONDS = 2.0
CALL_LIMIT_SECONDS = 12.0
LONGEST_PAUSE_SECONDS = 60.0
# Wordings that Slack will never take, however often: the text alone says the verdict whole.
REFUSED_WORDING = frozenset({"invalid_blocks", "msg_blocks_too_long", "msg_too_long", "no_text"})
# The message is not there any more, or not ours to edit: say it again as a new one.
GONE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed", "is_inactive"})
# We are not in that channel: the person who asked can still be answered, at the command's own address.
NOT_THERE = frozenset({"channel_not_found", "not_in_channel", "is_archived", "restricted_action"})
NEVER = frozenset({"invalid_auth", "not_authed", "account_inactive", "token_revoked", "missing_scope"})
INVITE = "Invite me to this channel (/invite) to have this as a card."


@dataclass(frozen=True, slots=True)
class Place:
    """Where a part of a card belongs; `answer_at` is the address that answers a slash command."""

    channel: str
    thread_ts: str = ""
    answer_at: str = ""


@dataclass(frozen=True, slots=True)
class Posted:
    """Where a part stands in Slack."""

    channel: str
    ts: str


class Outbox(Protocol):
    """What has to arrive in Slack even if we are gone meanwhile."""

    async def keep(self, card: str, part: str, place: Place, message: Message, posted: Posted | None) -> None:
        """Remember the newest wording of a part that is not in Slack yet."""
        ...

    async def taken(self, card: str, part: str, posted: Posted | None) -> None:
        """Note that Slack has the newest wording."""
        ...


class Answer(Protocol):
    """Answers a slash command at its own address, up to five times in half an hour."""

    async def __call__(self, url: str, message: Message) -> None: ...


@dataclass(slots=True)
class _Part:
    place: Place
    wanted: Message
    urgent: bool
    revision: int = 1
    sent: int = 0
    posted: Posted | None = None
    edited_at: float = float("-inf")
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    standing: asyncio.Event = field(default_factory=asyncio.Event)  # set once it is posted
    worker: asyncio.Task[None] | None = None
    after: _Part | None = None


class Poster:
    """Keeps Slack's messages as they should be. `clock` is monotonic seconds; `log(event, **fields)` takes a line."""

    def __init__(
        self,
        client: AsyncWebClient,
        outbox: Outbox,
        answer: Answer,
        clock: Callable[[], float],
        log: Callable[..., None],
    ) -> None:
        self._client = client
        self._outbox = outbox
        self._answer = answer
        self._clock = clock
        self._log = log
        self._parts: dict[tuple[str, str], _Part] = {}
        self._edits = Bucket(40 / 60, 20, clock)
        self._posts: dict[str, Bucket] = {}

    def want(
        self,
        card: str,
        part: str,
        place: Place,
        message: Message,
        *,
        urgent: bool,
        in_thread_of: str | None = None,
        posted: Posted | None = None,
    ) -> None:
        """Want a part of a card in this wording; `urgent` is what must arrive, the rest is progress.

        `in_thread_of` names the part whose thread it belongs into; `posted` tells where it stands since before.
        """
        key = (card, part)
        known = self._parts.get(key)
        if known is None:
            known = self._parts[key] = _Part(place, message, urgent, posted=posted)
            known.after = self._parts.get((card, in_thread_of)) if in_thread_of else None
            if posted is not None:
                known.standing.set()
        else:
            known.wanted, known.revision, known.urgent = message, known.revision + 1, known.urgent or urgent
        known.changed.set()
        if known.worker is None or known.worker.done():
            known.worker = asyncio.create_task(self._work(card, part, known), name=f"slack {card} {part}")

    def place_of(self, card: str, part: str) -> Posted | None:
        """Return where a part stands, None while Slack has not taken it."""
        known = self._parts.get((card, part))
        return None if known is None else known.posted

    async def drain(self, seconds: float) -> None:
        """Wait until everything wanted is in Slack, so long at most; what is not stays in the outbox."""
        workers = [part.worker for part in self._parts.values() if part.worker is not None and not part.worker.done()]
        if workers:
            await asyncio.wait(workers, timeout=seconds)
        for worker in workers:
            worker.cancel()

    def forget(self, card: str) -> None:
        """Drop what is known of a card whose parts all stand; called once nothing of it will change any more."""
        for key in [key for key in self._parts if key[0] == card]:
            del self._parts[key]

    async def _work(self, card: str, part: str, state: _Part) -> None:
        if state.after is not None:
            await state.after.standing.wait()
        failures = 0
        while state.sent < state.revision:
            await self._unhurried(state)
            state.changed.clear()
            revision, message = state.revision, state.wanted
            if state.urgent:
                await self._outbox.keep(card, part, self._place(state), message, state.posted)
            pause = await self._try(card, part, state, message)
            if pause is None:
                state.sent, failures = max(state.sent, revision), 0
                state.edited_at = self._clock()
                state.standing.set()
                if state.sent == state.revision:
                    await self._outbox.taken(card, part, state.posted)
            else:
                failures += 1
                await asyncio.sleep(min(LONGEST_PAUSE_SECONDS, max(pause, 0.25 * 2 ** min(failures, 8))))

    async def _unhurried(self, state: _Part) -> None:
        """Let progress come together for a moment; a verdict does not wait."""
        while state.posted is not None and not state.urgent:
            wait = state.edited_at + EDIT_EVERY_SECONDS - self._clock()
            if wait <= 0:
                return
            state.changed.clear()
            try:
                async with asyncio.timeout(wait):
                    await state.changed.wait()
            except TimeoutError:
                return

    async def _try(self, card: str, part: str, state: _Part, message: Message) -> float | None:
        """Send once; return None when Slack has it, else how long to wait before the next try."""
        place = self._place(state)
        try:
            async with asyncio.timeout(CALL_LIMIT_SECONDS + LONGEST_PAUSE_SECONDS):
                await self._turn(state, place)
            async with asyncio.timeout(CALL_LIMIT_SECONDS):
                await self._send(state, place, message)
        except SlackApiError as error:
            return await self._refused(card, part, state, message, error)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            self._log("slack_unreachable", card=card, part=part, error=one_line(repr(error)))
            return 1.0
        return None

    async def _turn(self, state: _Part, place: Place) -> None:
        if state.posted is not None:
            await self._edits.take(FIRST if state.urgent else LAST)
        else:
            bucket = self._posts.setdefault(place.channel, Bucket(1.0, 5, self._clock))
            await bucket.take(FIRST)

    async def _send(self, state: _Part, place: Place, message: Message) -> None:
        body: dict[str, Any] = {"text": message.text}
        if message.blocks:
            body["blocks"] = list(message.blocks)
        if state.posted is not None:
            await self._client.chat_update(
                channel=state.posted.channel, ts=state.posted.ts, parse="none", link_names=False, **body
            )
            return
        if place.thread_ts:
            body["thread_ts"] = place.thread_ts
        answered = await self._client.chat_postMessage(
            channel=place.channel, parse="none", link_names=False, mrkdwn=False, unfurl_links=False,
            unfurl_media=False, **body,
        )  # fmt: skip
        state.posted = Posted(str(answered["channel"]), str(answered["ts"]))

    async def _refused(
        self, card: str, part: str, state: _Part, message: Message, error: SlackApiError
    ) -> float | None:
        name = str(error.response.get("error", "")) or f"http_{error.response.status_code}"
        self._log("slack_refused", card=card, part=part, error=name)
        if name in ("ratelimited", "rate_limited") or error.response.status_code == 429:
            wait = _retry_after(error)
            if state.posted is not None:
                self._edits.pause(wait)
            return wait
        if name in REFUSED_WORDING and message.blocks:
            if state.wanted is message:
                state.wanted = plain(message)
            return 0.0
        if name in GONE and state.posted is not None:
            state.posted = None
            return 0.0
        if name in NOT_THERE and state.place.answer_at:
            if state.urgent:
                await self._answer(state.place.answer_at, Message(f"{message.text}\n{INVITE}"))
            return None
        if name in NEVER or name in NOT_THERE:
            return LONGEST_PAUSE_SECONDS
        return 1.0

    def _place(self, state: _Part) -> Place:
        if state.after is not None and state.after.posted is not None:
            thread = state.after.place.thread_ts or state.after.posted.ts
            return Place(state.after.posted.channel, thread, state.place.answer_at)
        return state.place


def _retry_after(error: SlackApiError) -> float:
    headers = error.response.headers
    try:
        return float(headers.get("Retry-After") or headers.get("retry-after") or 1)
    except (TypeError, ValueError):
        return 1.0
