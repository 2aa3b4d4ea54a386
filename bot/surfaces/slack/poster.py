"""Brings what should stand in Slack and what does stand there together, whatever Slack answers meanwhile.

One worker a part posts or edits it until Slack has its newest wording; wordings that were overtaken are never sent.
What has to arrive is in the outbox before it is sent, and so survives a restart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, TypeAlias

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.domain.contracts import Outbox
from bot.domain.errors import LedgerError
from bot.domain.post import Place
from bot.domain.safe_text import one_line
from bot.surfaces.slack.buckets import FIRST, LAST, Bucket
from bot.surfaces.slack.card import plain
from bot.surfaces.slack.message import Message
from bot.surfaces.slack.part import Part, Spot, kept_part

CALL_LIMIT_SECONDS = 12.0
LONGEST_PAUSE_SECONDS = 60.0
EDITS_A_MINUTE, EDITS_AT_ONCE = 40, 20  # Slack allows about 50 a minute for the whole app
POSTS_A_SECOND, POSTS_AT_ONCE = 1.0, 5  # a channel
# Wordings that Slack will never take, however often: the text alone says the verdict whole.
REFUSED_WORDING = frozenset({"invalid_blocks", "msg_blocks_too_long", "msg_too_long", "invalid_blocks_format"})
# The message is not there any more, or not ours to edit: say it again as a new one.
GONE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed", "thread_not_found"})
# We are not in that channel: the person who asked can still be answered, at the command's own address.
NOT_THERE = frozenset({"channel_not_found", "not_in_channel", "is_archived", "restricted_action"})
INVITE = "Invite me to this channel (/invite) and ask again to have this as a card."

Answer: TypeAlias = Callable[[str, Message], Awaitable[None]]


class Poster:
    """Keeps Slack's messages as they should be.

    `answer` replies at a slash command's own address; `clock` is monotonic seconds, `now` the time of day;
    `log(event, **fields)` takes a line.
    """

    def __init__(
        self,
        client: AsyncWebClient,
        outbox: Outbox,
        answer: Answer,
        clock: Callable[[], float],
        now: Callable[[], datetime],
        log: Callable[..., None],
    ) -> None:
        self._client = client
        self._outbox = outbox
        self._answer = answer
        self._clock = clock
        self._now = now
        self._log = log
        self._parts: dict[tuple[str, str], Part] = {}
        self._edits = Bucket(EDITS_A_MINUTE / 60, EDITS_AT_ONCE, clock)
        self._posts: dict[str, Bucket] = {}
        self._tidying: set[asyncio.Task[None]] = set()

    @property
    def parts(self) -> int:
        """How many parts are remembered; those of finished cards are not."""
        return len(self._parts)

    def want(self, card: str, name: str, spot: Spot, message: Message, *, urgent: bool, under: str = "") -> None:
        """Want a part of a card in this wording; `under` names the part into whose thread it belongs."""
        part = self._parts.get((card, name))
        if part is None:
            part = Part(card, name, spot, message, urgent, self._parts.get((card, under)))
            self._parts[card, name] = part
        else:
            part.rewrite(message, urgent)
        self._begin(part)

    async def adopt(self, card: str, name: str, spot: Spot, message: Message) -> None:
        """Go on with a part that an earlier run of the program may have posted, from where it stands."""
        place = await self._outbox.place(card, name)
        if (card, name) not in self._parts and place is not None:
            part = self._parts[card, name] = Part(card, name, spot, message, urgent=False, place=place)
            part.settled.set()
            self._begin(part)
        else:
            self.want(card, name, spot, message, urgent=True)

    def finished(self, card: str) -> None:
        """Say that nothing of a card will change any more, so that it can be forgotten once it stands."""
        task = asyncio.create_task(self._forget(card))
        self._tidying.add(task)
        task.add_done_callback(self._tidying.discard)

    async def resume(self) -> int:
        """Send what an earlier run of the program could not; return how much that was."""
        due = await self._outbox.due(self._now())
        for one in due:
            part = kept_part(one)
            if (part.card, part.name) not in self._parts:
                self._parts[part.card, part.name] = part
                self._begin(part)
        return len(due)

    async def drain(self, seconds: float) -> None:
        """Wait until everything wanted is in Slack, so long at most; what is not stays in the outbox."""
        workers = [part.worker for part in self._parts.values() if part.worker is not None and not part.worker.done()]
        if workers:
            await asyncio.wait(workers, timeout=seconds)
        for task in (*workers, *self._tidying):
            task.cancel()

    def _begin(self, part: Part) -> None:
        if part.worker is None or part.worker.done():
            part.worker = asyncio.create_task(self._work(part), name=f"slack {part.card} {part.name}")
            part.worker.add_done_callback(self._worked)

    def _worked(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log("slack_worker_failed", part=task.get_name(), error=one_line(repr(error), 500))

    async def _forget(self, card: str) -> None:
        parts = [part for part in self._parts.values() if part.card == card]
        await asyncio.gather(*(part.worker for part in parts if part.worker is not None), return_exceptions=True)
        for part in parts:
            self._parts.pop((part.card, part.name), None)

    async def _work(self, part: Part) -> None:
        if part.under is not None:
            await part.under.settled.wait()
            if part.under.nowhere:
                part.nowhere = True
                return
        failures = 0
        while part.sent < part.revision and not part.nowhere:
            await part.unhurried(self._clock)
            revision, message = part.revision, part.wanted
            await self._keep(part)
            pause = await self._try(part, message)
            if pause is None:
                part.sent, part.edited_at, failures = max(part.sent, revision), self._clock(), 0
                part.settled.set()
                await self._taken(part)
            else:
                failures += 1
                await asyncio.sleep(min(LONGEST_PAUSE_SECONDS, max(pause, 0.25 * 2 ** min(failures, 8))))

    async def _keep(self, part: Part) -> None:
        if not part.urgent:
            return
        try:
            part.post_id = await self._outbox.keep(part.post())
        except LedgerError as error:  # it is sent all the same; only a restart would lose it
            self._log("outbox_unavailable", card=part.card, error=one_line(str(error)))

    async def _taken(self, part: Part) -> None:
        post_id, part.post_id = part.post_id, ""
        if not post_id:
            return
        try:
            if part.place is not None:
                await self._outbox.taken(post_id, part.place.channel, part.place.ts)
            else:
                await self._outbox.dropped(post_id, "answered in private")
        except LedgerError as error:
            self._log("outbox_unavailable", card=part.card, error=one_line(str(error)))

    async def _failed(self, part: Part, pause: float, error: str) -> float:
        self._log("slack_failed", card=part.card, part=part.name, error=error)
        if part.post_id:
            try:
                await self._outbox.failed(part.post_id, self._now() + timedelta(seconds=pause), error)
            except LedgerError:
                self._log("outbox_unavailable", card=part.card)
        return pause

    async def _try(self, part: Part, message: Message) -> float | None:
        """Send once; return None when that is settled, else how long to wait before the next try."""
        try:
            if part.place is not None:
                await self._edits.take(FIRST if part.urgent else LAST)
                if not part.urgent:
                    message = part.wanted  # it may have waited long for its turn
            else:
                await self._posts.setdefault(part.at.channel, Bucket(POSTS_A_SECOND, POSTS_AT_ONCE, self._clock)).take(
                    FIRST
                )
            async with asyncio.timeout(CALL_LIMIT_SECONDS):
                await self._send(part, message)
        except SlackApiError as error:
            return await self._refused(part, message, error)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            return await self._failed(part, 1.0, one_line(repr(error)))
        return None

    async def _send(self, part: Part, message: Message) -> None:
        # An empty list takes the blocks of an earlier wording away.
        body: dict[str, Any] = {"text": message.text, "blocks": list(message.blocks), "parse": "none"}
        if part.place is not None:
            await self._client.chat_update(channel=part.place.channel, ts=part.place.ts, link_names=False, **body)
            return
        spot = part.at
        if spot.thread_ts:
            body["thread_ts"] = spot.thread_ts
        answered = await self._client.chat_postMessage(
            channel=spot.channel, mrkdwn=False, link_names=False, unfurl_links=False, unfurl_media=False, **body
        )
        part.place = Place(str(answered["channel"]), str(answered["ts"]))

    async def _refused(self, part: Part, message: Message, error: SlackApiError) -> float | None:
        response = error.response
        body = response.data if isinstance(response.data, dict) else {}
        name = str(body.get("error") or f"http_{response.status_code}")
        if response.status_code == 429 or name in ("ratelimited", "rate_limited"):
            wait = _retry_after(response.headers)
            if part.place is not None:
                self._edits.pause(wait)
            return await self._failed(part, wait, name)
        if name in REFUSED_WORDING and message.blocks:
            self._log("slack_refused", card=part.card, part=part.name, error=name)
            if part.wanted is message:
                part.wanted = plain(message)
            return 0.0
        if name in GONE and part.place is not None:
            self._log("slack_gone", card=part.card, part=part.name, error=name)
            part.place = None
            return 0.0
        if name in NOT_THERE and part.spot.answer_at and part.under is None:
            await self._in_private(part, message)
            if not part.urgent:  # the progress is told once; the verdict is worth a second answer
                await part.turned_urgent()
                await self._in_private(part, part.wanted)
            part.nowhere = True
            part.settled.set()
            return None
        return await self._failed(part, LONGEST_PAUSE_SECONDS if name in NOT_THERE else 1.0, name)

    async def _in_private(self, part: Part, message: Message) -> None:
        try:
            await self._answer(part.spot.answer_at, Message(f"{message.text}\n{INVITE}"))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            self._log("slack_answer_failed", card=part.card, error=one_line(repr(error)))


def _retry_after(headers: Any) -> float:
    try:
        return float(headers.get("Retry-After") or headers.get("retry-after") or 1)
    except (TypeError, ValueError):
        return 1.0
