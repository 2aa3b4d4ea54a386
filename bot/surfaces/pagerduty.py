"""PagerDuty as a surface: a note on each page that led to incidents, edited as they go on.

Posts wait in the outbox, in order, until PagerDuty has them. A note is found again by its mark, so neither a lost
answer nor a restart makes a second note. Nothing here ever changes the status of a page.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from bot.chat.remembered import BoundedDict
from bot.domain.contracts import Clock, Log
from bot.domain.errors import PagerDutyFailed, PagerDutyRefused, PagerDutyUnavailable
from bot.domain.house_events import HOUSE
from bot.domain.incident import Incident
from bot.domain.pagerduty import Note, OutgoingAlert
from bot.domain.post import DuePost, Post
from bot.domain.safe_text import one_line
from bot.ledger import Ledger, Outbox
from bot.response.repeating import repeat
from bot.sources.pagerduty_client import PagerDutyClient
from bot.surfaces import PAGES
from bot.surfaces.pagerduty_note import facts, is_read, mark, note_text, pages_of, unfixed_alert, without_head
from bot.view.context import NOTHING, ViewContext

PARTS = PAGES.parts  # the prefix of its posts' names in the outbox
RAISED = f"{PARTS}raised"
SEND_SECONDS = 20.0  # less than the outbox's lease on a post
LOOK_SECONDS = 1.0
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=1), timedelta(seconds=30)
REFUSED_PAUSE = timedelta(seconds=60)  # a wrong token or a missing scope: a person has to mend it
SET_ASIDE_AFTER, SET_ASIDE = 40, timedelta(minutes=10)  # a post that always fails must not block the rest
PROGRESS_EVERY = timedelta(seconds=10)  # while nodes of a page are still being read; their end is sent at once
REMEMBERED = 2000
AddressOf: TypeAlias = Callable[[str], Awaitable[str]]  # of the card with that name, empty where there is none


@dataclass(slots=True, eq=False)
class PagerDutySurface:
    """Keeps the notes up to date with the incidents: a `Surface`.

    Shape: `outbox` hands out PagerDuty's posts only, each by itself. `fields` are the names of custom fields by what
    they are to hold (`verdict`, `status`, `cause`, `nodes`, `state`, `incident`). `raises`: there is a routing key, and
    a node acted on but not fixed raises an alert; `writes`: there is a token, and pages get notes. `context` has
    the policy and the words for plans.
    """

    pagerduty: PagerDutyClient
    outbox: Outbox
    ledger: Ledger
    now: Clock
    log: Log
    _: KW_ONLY
    fields: Mapping[str, str] = field(default_factory=dict)
    raises: bool = False
    writes: bool = True
    context: ViewContext = NOTHING
    # What was last kept of each part.
    _kept: BoundedDict[tuple[str, str], str] = field(default_factory=lambda: BoundedDict(REMEMBERED))
    _raised: set[str] = field(default_factory=set)
    # When reading for a page began, or when progress was last sent.
    _progress: dict[str, datetime] = field(default_factory=dict)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _closed_until: datetime | None = None
    card_of: AddressOf | None = None  # a group's card, once the chat is connected
    trouble: str = ""  # what PagerDuty refuses at present, as a sentence

    async def show(self, group: Sequence[Incident]) -> None:
        """Bring PagerDuty up to date: once this returns, it happens even after a restart.

        Raises: LedgerError when it cannot be kept.
        """
        pages = pages_of(group) if self.writes else {}
        head = (await self.ledger.head(HOUSE)).noted if pages and all(incident.ended for incident in group) else ""
        card = await self.card_of(group[0].card) if pages and self.card_of is not None else ""
        for page, incidents in pages.items():
            first = min(_of_page(group, incidents, page), key=lambda incident: (incident.opened_at, incident.id)).id
            text = note_text(incidents, first, head, self.context, card)
            if text and (is_read(incidents) or self._claim_progress_turn(page)):
                known = facts(incidents, self.context)
                values = {self.fields[name]: fact for name, fact in known.items() if name in self.fields}
                await self._store_post(
                    Post(first, _note_part(page), page, {"text": text, "fields": values}), without_head(text)
                )
        for incident in group:
            if self.raises and (raised := unfixed_alert(incident, self.context)) is not None:
                await self._queue_alert(incident, raised)
        self._wake.set()

    async def run(self) -> None:
        """Send what waits, until cancelled."""
        await repeat(self.send_due, LOOK_SECONDS, self.log, "pagerduty_failed", self._wake)

    async def send_due(self) -> int:
        """Send what is due, in order; return how many posts PagerDuty took.

        Raises: LedgerError when the outbox cannot be asked.
        """
        sent = 0
        while self._closed_until is None or self.now() >= self._closed_until:
            due = await self.outbox.claim_due_posts(self.now())
            for post in due:
                sent += await self._send(post)
            if not due:
                break
        return sent

    # --- what waits to be sent

    def _claim_progress_turn(self, page: str) -> bool:
        """True when it is time to report how far the reading of many nodes is: each report costs three calls."""
        now = self.now()
        if len(self._progress) > REMEMBERED:
            self._progress.clear()
        if now - self._progress.setdefault(page, now) < PROGRESS_EVERY:
            return False
        self._progress[page] = now
        return True

    async def _store_post(self, post: Post, wording: str) -> None:
        key = (post.incident, post.part)
        if self._kept.get(key) == (whole := f"{wording}\n{sorted(post.content['fields'].items())}"):
            return
        await self.outbox.keep(post)
        self._kept[key] = whole

    async def _queue_alert(self, incident: Incident, raised: OutgoingAlert) -> None:
        """Queue an alert, once in an incident's life: a person may have resolved it meanwhile."""
        if incident.id in self._raised:
            return
        if await self.outbox.place(incident.id, RAISED) is None:
            content = {
                "key": raised.key,
                "summary": raised.summary,
                "source": raised.source,
                "severity": raised.severity,
                "details": dict(raised.details),
            }
            await self.outbox.keep(Post(incident.id, RAISED, "events", {"raised": content}))
        self._raised.add(incident.id)

    # --- what is sent

    async def _send(self, due: DuePost) -> bool:
        try:
            async with asyncio.timeout(SEND_SECONDS):
                ts = await self._deliver_post(due)
        except asyncio.CancelledError:  # stopped: free the post, or the next run waits for its lease to end
            await asyncio.shield(self.outbox.mark_failed(due.id, self.now(), "stopped"))
            raise
        except (PagerDutyUnavailable, TimeoutError) as error:
            asked = error.retry_after_seconds if isinstance(error, PagerDutyUnavailable) else 0.0
            await self._retry_later(due, error, timedelta(seconds=asked))
        except PagerDutyRefused as error:
            if error.status in (401, 403):
                await self._retry_later(due, error, REFUSED_PAUSE)
            else:
                self.log("pagerduty_refused", page=due.post.channel, incident=due.post.incident, error=str(error))
                await self.outbox.mark_dropped(due.id, str(error))
        else:
            self.trouble = ""
            await self.outbox.mark_delivered(due.id, due.post.channel, ts)
            return True
        return False

    async def _retry_later(self, due: DuePost, error: PagerDutyFailed | TimeoutError, asked: timedelta) -> None:
        """Try again later, the failed post before any other, so that the order stays."""
        says = one_line(str(error) or "PagerDuty took too long.")
        pause = max(asked, min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(due.attempts, 10)))
        now = self.now()
        if not self.trouble:
            self.log("pagerduty_unavailable", page=due.post.channel, error=says)
        self._closed_until, self.trouble = now + pause, says
        set_aside = due.attempts and not due.attempts % SET_ASIDE_AFTER
        await self.outbox.mark_failed(due.id, now + SET_ASIDE if set_aside else now, says)

    async def _deliver_post(self, due: DuePost) -> str:
        """Do what a post asks for, unless it is done already; return the note's id or the alert's key."""
        post = due.post
        if post.part == RAISED:
            raised = OutgoingAlert(**post.content["raised"])
            await self.pagerduty.raise_alert(raised)
            return raised.key
        page = await self.pagerduty.page(post.channel)  # before writing: does the page exist, and in which state
        stood = due.place.ts if due.place is not None else ""
        note = await self._write_note(page.id, post.incident, str(post.content["text"]), stood)
        if values := post.content.get("fields"):
            await self._set_fields(page.id, values)
        return note

    async def _write_note(self, page_id: str, incident: str, text: str, stood: str) -> str:
        found = _note_with_mark(await self.pagerduty.notes(page_id), mark(incident), stood)
        if found is None:
            return (await self.pagerduty.add_note(page_id, text)).id
        if without_head(found.content) != without_head(text):
            try:
                await self.pagerduty.edit_note(page_id, found.id, text)
            except PagerDutyRefused as error:
                if error.status == 404:  # somebody removed it just now
                    raise PagerDutyUnavailable("The note was removed meanwhile.") from error
                raise
        return found.id

    async def _set_fields(self, page_id: str, values: Mapping[str, Any]) -> None:
        """Set custom fields; a field that the account lacks does not hold up the note."""
        try:
            known = await self.pagerduty.custom_fields(page_id)
            changed = {name: str(value) for name, value in values.items() if name in known and known[name] != value}
            if missing := sorted(values.keys() - known.keys()):
                self.log("pagerduty_field_missing", page=page_id, fields=missing)
            if changed:
                await self.pagerduty.set_custom_fields(page_id, changed)
        except PagerDutyRefused as error:
            self.log("pagerduty_refused", page=page_id, error=str(error))


def _of_page(group: Sequence[Incident], shown: Sequence[Incident], page: str) -> Sequence[Incident]:
    """Every incident of the group from this page, also those replaced by a newer incident of the same node."""
    return [incident for incident in group if page in pages_of([incident])] or shown


def _note_with_mark(notes: Sequence[Note], wanted: str, stood: str) -> Note | None:
    """The note with the mark: the note known from before, rather than a person's copy of it."""
    marked = [note for note in notes if note.content.rstrip().endswith(wanted)]
    return next((note for note in marked if note.id == stood), marked[0] if marked else None)


def _note_part(page: str) -> str:
    return f"{PARTS}note-{hashlib.sha256(page.encode()).hexdigest()[:12]}"
