"""Keeps the messages in a chat up to date, and their files, whatever the chat answers.

Each part has a worker that posts or edits it until the chat has its newest wording; an outdated wording is never sent.
A file is uploaded once. What has to arrive is stored in the outbox first, and so survives a restart.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

from bot.chat.document import Document, plain_document
from bot.chat.pictures import PICTURE, Pictures, picture_request
from bot.chat.post_state import CARD, MessageTarget, PendingDelivery, PostState, PostStates, Say, as_post, restored_post
from bot.chat.rate_limiter import LAST, VERDICT, ChannelTurns, RateLimiter
from bot.chat.service import (
    ChatService,
    Delivered,
    Message,
    MessageGone,
    NoAccess,
    Outcome,
    PicturesRefused,
    Rejected,
    RetryLater,
    Timing,
    Uploaded,
    is_delivered,
    message_of,
)
from bot.chat.thread_files import FileRequest, ThreadFileKind
from bot.domain.contracts import Clock, Log
from bot.domain.core_heat import CoreHeat
from bot.domain.errors import LedgerError, ZombieError
from bot.domain.post import CardPosts, MessageRef, StoredPost
from bot.domain.safe_text import one_line
from bot.ledger import Outbox

EDITS = 40  # a minute; Slack allows 50 for a whole app, and other programs may edit too
BEING_POSTED = 1.0  # seconds that a click waits for a card that is being posted
FILES = "files"  # takes the place of a file's channel
FILES_AT_ONCE = 2  # in a storm nothing else may wait for pictures
FILE_TRIES = 3
MOMENT = 0.5  # seconds that other work of a card leaves the processor to its pictures


@contextlib.contextmanager
def logging_outbox_failure(log: Log, card: str) -> Iterator[None]:
    """Do what is worth no trouble where the outbox cannot be asked."""
    try:
        yield
    except LedgerError as error:
        log("outbox_unavailable", card=card, error=one_line(str(error)))


class Poster:
    """Posts and edits the parts of cards, and uploads their files."""

    def __init__(
        self,
        chat: ChatService,
        outbox: Outbox,
        timing: Timing,
        now: Clock,
        log: Log,
        pictures: Pictures | None = None,
        files: Sequence[ThreadFileKind] = (),
    ) -> None:
        """Without `pictures` the cards keep their strips; `files` are the kinds of files that are sent."""
        kinds: Sequence[ThreadFileKind] = (*files, pictures) if pictures is not None else files
        self._kinds = {kind.prefix: kind for kind in kinds}
        self._uploads = asyncio.Semaphore(FILES_AT_ONCE)
        self.chat = chat
        self._pictures = pictures
        self._outbox = outbox
        self._timing = timing
        self._now = now
        self._log = log
        self._parts = PostStates()
        # Every open card needs an edit for its verdict: progress may use the rest.
        self._edits = RateLimiter(EDITS, timing.edits_span, timing.clock, lambda: self._parts.open)
        self._posts = ChannelTurns(timing)
        self._unsure = set[str]()  # cards of which the outbox could not say whether they are posted

    @property
    def parts(self) -> int:
        """How many parts are remembered; parts of finished cards are forgotten once posted."""
        return sum(1 for _ in self._parts)

    def show(self, card: str, target: MessageTarget, say: Say) -> None:
        """Show a card's progress, if its turn comes before the progress is outdated."""
        part = self._parts.part(card, CARD, target, say)
        part.want(say)
        self._start_worker(part)

    async def enqueue(
        self,
        card: str,
        name: str,
        target: MessageTarget,
        said: Document | Message | FileRequest,
        *,
        under: str = "",
        rank: int = VERDICT,
    ) -> None:
        """Send a part that has to arrive: once this returns, it is sent even after a restart.

        Shape: `under` is the part in whose thread it goes, also of a card that is finished and forgotten.
        Raises: LedgerError when it cannot be stored, and it is not known whether the card is posted: to send it all the
        same could make a second one, or a reply beside it.
        """
        sent = self.chat.draw(said) if isinstance(said, Document) else said
        with self._parts.in_use(card):  # or it could be forgotten while it is stored, and be posted twice
            stored = await self._store_post(card, name, target, sent, under)
            if under:
                self._restore(card, target, stored.above, under)  # else the part would stand beside its card
            elif self._parts.get(card, name) is None:
                self._parts.open_again(card)
            self._restore(card, target, stored.place, name, under)  # else there would be a second of it
            if isinstance(sent, FileRequest) and self._parts.get(card, under) is None:
                return  # the outbox hands it out once its card stands
            say = sent if isinstance(sent, FileRequest) else lambda: sent
            part = self._parts.part(card, name, target, say, under)
            part.want(say, PendingDelivery(stored.id, rank))
            if part.pending is not None and part.place is not None:
                self._edits.let_through()  # a verdict goes before the progress that it replaces
            self._start_worker(part)

    async def illustrate(self, card: str, target: MessageTarget, incident: str, node: str, drawn: CoreHeat) -> None:
        """Replace an incident's strip with a picture once it is uploaded; the card does not wait for it.

        Raises: LedgerError as `enqueue` does.
        """
        asked = picture_request(incident, node, drawn)
        if self._pictures is not None and self._parts.get(card, asked.part) is None:
            await self.enqueue(card, asked.part, target, asked, under=CARD)

    async def wait_for_pictures(self, card: str) -> None:
        """Wait until a card's pictures are uploaded, for a moment at most."""
        workers = [part.worker for part in self._parts if part.card == card and part.name.startswith(PICTURE)]
        if under_way := [worker for worker in workers if worker is not None and not worker.done()]:
            await asyncio.wait(under_way, timeout=MOMENT)

    def prepare(self) -> None:
        """Get ready for pictures: a node is being read."""
        if self._pictures is not None:
            self._pictures.prepare()

    async def attach(self, card: str, target: MessageTarget, asked: FileRequest) -> bool | None:
        """Make a file and send it into a card's thread, in the background.

        Shape: False where it is there already, None where this program sends no such files.
        Raises: LedgerError when the outbox cannot be read.
        """
        if asked.prefix not in self._kinds:
            return None
        known = self._parts.get(card, asked.part)
        if known is not None and known.is_busy:
            return True
        if await self.has_file(card, asked):
            return False
        await self.enqueue(card, asked.part, target, asked, under=CARD)
        return True

    async def has_file(self, card: str, asked: FileRequest) -> bool:
        """True once the chat has that file of a card. Raises: LedgerError when the outbox cannot be read."""
        return await self._outbox.place(card, asked.part) is not None

    async def adopt(self, card: str, target: MessageTarget, posts: CardPosts | None = None) -> bool:
        """Go on with a card that an earlier run may have posted; True if it did.

        Shape: `posts` are the card's, where they were just read; None: the outbox is asked.
        """
        self._parts.open_again(card)
        if (known := self._parts.get(card)) is not None:
            return known.place is not None or known.pending is None  # it is posted, or is about to be
        place = posts.places.get(CARD) if posts is not None else await self._place_on_record(card)
        return self._restore(card, target, place)

    def hold(self, card: str) -> None:
        """Remember a card until `let_go`, even if another part of the bot says that it is finished.

        A card that was forgotten between two of its wordings would be posted a second time.
        """
        self._parts.hold(card)

    def let_go(self, card: str) -> None:
        """Take back a `hold`."""
        self._parts.let_go(card)

    async def _place_on_record(self, card: str) -> MessageRef | None:
        self._unsure.add(card)
        place = None
        with logging_outbox_failure(self._log, card):
            place = await self._outbox.place(card, CARD)
            self._unsure.discard(card)
        return place

    def _restore(
        self, card: str, target: MessageTarget, place: MessageRef | None, name: str = CARD, under: str = ""
    ) -> bool:
        """Remember a part that an earlier run has posted there; True if it is remembered now."""
        if self._parts.get(card, name) is not None:
            return True
        if place is None:
            return False
        part = PostState(card, name, target, lambda: Message(""), under, self._parts.get(card, under), place)
        part.settled.set()
        self._parts.add(part)
        return True

    async def is_standing(self, card: str, said: Document) -> bool:
        """Return whether a card says this already, and nothing else waits. Raises: LedgerError."""
        return is_delivered(await self._outbox.card(card, CARD), self._as_message(said).wording)

    async def place(self, card: str, posts: CardPosts | None = None) -> MessageRef | None:
        """Return the place of a card; waits for a card that is just being posted. `posts`, where they were just read.

        Raises: LedgerError when the outbox is needed and cannot be read.
        """
        part = self._parts.get(card)
        if part is None:
            stood = posts.places.get(CARD) if posts is not None else None
            return stood or await self._outbox.place(card, CARD)  # it may have been posted since
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(BEING_POSTED):
                await part.settled.wait()
        return part.place

    async def finish(self, card: str, target: MessageTarget, said: Document) -> None:
        """Send the last wording of a card. Raises: LedgerError as `enqueue` does."""
        await self.enqueue(card, CARD, target, said)
        self.mark_finished(card)

    async def is_at(self, card: str, channel: str, ts: str, posts: CardPosts | None = None) -> bool:
        """True for the message that is the card, False for a copy of it; `posts` and raises as `place`."""
        place = await self.place(card, posts)
        return place is not None and (place.channel, place.ts) == (channel, ts)

    def mark_finished(self, card: str) -> None:
        """Note that a card will not change again, so that it can be forgotten once posted."""
        self._parts.finish(card)
        self._edits.let_through()

    async def sweep(self) -> int:
        """Send posts of the outbox that are due and have no worker; return how many.

        Raises: LedgerError when the outbox cannot be read.
        """
        taken_up, busy = 0, {part for part in self._parts if part.is_busy}
        for due in await self._outbox.claim_due_posts(self._now()):
            part, restored = self._parts.get(due.post.incident, due.post.part), restored_post(due, self._kinds)
            if part is None:
                part = restored
                self._parts.add(part)
            elif part in busy or part.is_busy:
                continue  # it is being sent, or was when the outbox was asked
            else:
                part.want(restored.say, restored.pending)  # what stands there is not what was stored last
            self._start_worker(part)
            taken_up += 1
        return taken_up

    async def drain(self, seconds: float) -> None:
        """Wait at most so many seconds until the chat has the messages that have to arrive.

        Shape: the rest and unfinished files stay in the outbox, and the next run need not wait for them.
        """
        workers = {part.worker: part for part in self._parts if part.worker is not None}
        pending = [worker for worker, part in workers.items() if part.pending is not None and not part.is_file]
        if pending:
            await asyncio.wait(pending, timeout=seconds)
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        with contextlib.suppress(LedgerError):
            for part in workers.values():
                if part.pending is not None and part.pending.post_id:
                    await self._outbox.mark_failed(part.pending.post_id, self._now(), "the bot ended")

    def _as_message(self, said: Document | Message) -> Message:
        return said if isinstance(said, Message) else self.chat.draw(said)

    # --- parts and their workers

    def _start_worker(self, part: PostState) -> None:
        if not part.is_busy:
            part.worker = asyncio.create_task(
                self._work_on_part(part), name=f"{self.chat.logged} {part.card} {part.name}"
            )
            part.worker.add_done_callback(lambda task: self._worker_ended(part, task))

    def _worker_ended(self, part: PostState, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log(f"{self.chat.logged}_worker_failed", part=task.get_name(), error=one_line(repr(error), 500))
            self._settle(part, nowhere=part.place is None)  # the outbox has it, and a later sweep tries again
        self._parts.forget(part)

    def _settle(self, part: PostState, *, nowhere: bool = False) -> None:
        part.nowhere = part.nowhere or nowhere
        part.settled.set()

    async def _work_on_part(self, part: PostState) -> None:
        while part.sent < part.version and not part.nowhere:
            if part.above is not None:  # before each try: a card may be deleted and posted again
                await part.above.settled.wait()
                if part.above.in_private or part.above.nowhere:
                    await self._give_up(part, "its card is not in the channel")
                    return
            await self._wait_for_turn(part)
            if part.above is not None and not part.above.settled.is_set():
                continue
            version, pending = part.version, part.pending
            if isinstance(part.say, FileRequest):
                outcome = await self._upload(part, part.say)
            else:
                shown = await self._with_pictures(part, self._as_message(part.say()))
                if pending is None and part.place is not None and shown == part.stands:
                    part.sent = version  # the picture came in time for the previous wording
                    continue
                outcome = await self._send(part, shown)
            match outcome:
                case Delivered(place):
                    await self._delivered(part, version, pending, place)
                case MessageGone() | NoAccess():
                    await self._try_other_place(part, outcome)
                case Rejected(error) if isinstance(part.say, FileRequest):
                    await self._go_without(part, part.say, error)
                case RetryLater() | Rejected():
                    await self._retry_later(part, version, pending, outcome)
                case PicturesRefused():
                    pass  # and try again at once with its strip

    async def _wait_for_turn(self, part: PostState) -> None:
        """Wait until the part may be sent: within the chat's limits, and progress not too often."""
        if part.was_gone or (part.in_private and part.sent):  # no second message for mere progress
            await part.wait_until_pending()
        if part.in_private or part.is_file:
            return
        if part.place is None:
            await self._posts.of(part.resolved_target.channel).wait_for_turn(lambda: part.post_rank)
        else:
            await part.wait_between_edits(self._timing.edit_every, self._timing.clock)
            await self._edits.wait_for_turn(lambda: part.pending.rank if part.pending is not None else LAST)

    async def _send(self, part: PostState, message: Message) -> Outcome:
        if part.in_private:
            outcome = await self.chat.respond(part.target.answer_at, message, for_card=True)
        elif part.place is None:
            outcome = await self.chat.post(part.resolved_target.channel, part.resolved_target.thread_ts, message)
        else:
            outcome = await self.chat.edit(part.place, message)
        if isinstance(outcome, Delivered):
            part.stands = message
        elif isinstance(outcome, PicturesRefused):
            self._log(f"{self.chat.logged}_refused", card=part.card, part="picture", error=outcome.error)
            assert self._pictures is not None
            self._pictures.note_refused_pictures(part.card, message, self._redraw)
        elif isinstance(outcome, RetryLater) and outcome.seconds and not part.in_private:
            (self._posts.of(part.resolved_target.channel) if part.place is None else self._edits).pause(outcome.seconds)
        return outcome

    # --- files and pictures

    async def _upload(self, part: PostState, asked: FileRequest) -> Outcome:
        """Make a file and upload it, unless the chat has it: into its card's thread, and a picture nowhere."""
        kind, target = self._kinds.get(asked.prefix), part.resolved_target
        if part.place is not None:
            return Delivered(part.place)
        if kind is None:
            return Rejected("The extra that makes it is left out.")
        is_picture = kind is self._pictures
        async with self._uploads:
            try:
                made = await kind.make(asked.name, asked.content)
            except ZombieError as no:
                return Rejected(no.sentence)
            channel, thread = ("", "") if is_picture else (target.channel, target.thread_ts)
            outcome = await self.chat.upload(made.name, made.content, made.alt_text, channel=channel, thread=thread)
        if isinstance(outcome, RetryLater) and part.failures + 1 < FILE_TRIES:
            return outcome
        if not isinstance(outcome, Uploaded):
            return Rejected(f"The chat rejected the file ({outcome.error}).")
        if self._pictures is not None and is_picture:
            self._pictures.note_uploaded(part.card, asked.name, outcome.file, made.alt_text)
            with logging_outbox_failure(self._log, part.card):
                await self._redraw(part.card)
        # The file's id stands in the field of a message's time stamp.
        return Delivered(MessageRef(target.channel if is_picture else FILES, outcome.file))

    async def _go_without(self, part: PostState, asked: FileRequest, because: str) -> None:
        """Give a file up; where something is lost by that, its card's thread says so."""
        kind = self._kinds.get(asked.prefix)
        await self._give_up(part, because, kind.word if kind is not None else "file")
        if kind is not None and (words := kind.instead(asked.name, because)):
            await self.enqueue(part.card, f"no-{part.name}", part.target, plain_document(words), under=CARD)

    async def _with_pictures(self, part: PostState, message: Message) -> Message:
        if self._pictures is None or part.name != CARD or part.in_private:
            return message
        return await self._pictures.drawn_into(part.card, message)

    async def _redraw(self, card: str) -> None:
        """Send a card again unchanged: there is a picture for it now."""
        part = self._parts.get(card)
        if part is None or not part.version:
            posts = await self._outbox.card(card, CARD)
            place = posts.places.get(CARD)
            if posts.standing is None or place is None:
                return  # a later wording waits, and will include the picture
            self._restore(card, MessageTarget(place.channel), place)
            message, part = message_of(posts.standing), self._parts.get(card)
            if part is None or part.version:
                return  # it changed meanwhile, and includes it
            part.say = lambda: message
        if part.in_private or part.nowhere or part.was_gone:
            return  # a picture alone is not worth a new message
        part.edited_at = float("-inf")  # it comes once, so it need not wait for other changes
        part.want(part.say)
        self._start_worker(part)

    # --- outcomes

    async def _delivered(
        self, part: PostState, version: int, pending: PendingDelivery | None, place: MessageRef | None
    ) -> None:
        part.sent, part.edited_at, part.was_gone = version, self._timing.clock(), False
        part.place, part.failures = place or part.place, 0
        self._settle(part)
        await self._note_delivery_end(part, pending, place, "answered in private")
        if isinstance(part.say, FileRequest) and (kind := self._kinds.get(part.say.prefix)) is not None:
            self._log(f"{kind.word}_sent", name=part.say.name)

    async def _note_delivery_end(
        self, part: PostState, pending: PendingDelivery | None, place: MessageRef | None, because: str
    ) -> None:
        """Note the end of a delivery in the outbox; until then it is pending, and a restart sends it again.

        Shape: it is tried until it is on record, for a part that was forgotten before would be posted a second time. A
        later wording goes first: it stays pending, and its end notes this one too.
        """
        failures = 0
        while pending is not None and pending.post_id:
            try:
                if place is not None:
                    await self._outbox.mark_delivered(pending.post_id, place.channel, place.ts)
                else:
                    await self._outbox.mark_dropped(pending.post_id, because)
                break
            except LedgerError as error:
                self._log("outbox_unavailable", card=part.card, error=one_line(str(error)))
            failures += 1
            if part.sent < part.version or await part.wait_for_wording(self._pause_after(failures)):
                return
        if part.pending is pending:
            part.pending = None

    async def _retry_later(
        self, part: PostState, version: int, pending: PendingDelivery | None, outcome: RetryLater | Rejected
    ) -> None:
        error, part.failures = outcome.error, part.failures + 1
        asked = outcome.seconds if isinstance(outcome, RetryLater) else self._timing.longest_pause
        pause = max(asked, self._pause_after(part.failures))
        self._log(f"{self.chat.logged}_failed", card=part.card, part=part.name, error=error, again_in_seconds=pause)
        newest = part.newest_id  # before anything is awaited: meanwhile another program may store a newer one
        with logging_outbox_failure(self._log, part.card):
            newest = newest or await self._outbox.last_id(part.card, part.name)
            if pending is not None and pending.post_id:
                await self._outbox.mark_failed(pending.post_id, self._now() + timedelta(seconds=pause), error)
        await asyncio.sleep(pause)
        with logging_outbox_failure(self._log, part.card):  # what is sent without it, it hears of when it stands
            if newest and newest != await self._outbox.last_id(part.card, part.name) and part.pending is pending:
                part.sent, part.pending = version, None  # another program has a newer wording, and sends that

    def _pause_after(self, failures: int) -> float:
        return min(self._timing.longest_pause, self._timing.first_pause * 2.0 ** min(failures - 1, 16))

    async def _try_other_place(self, part: PostState, outcome: MessageGone | NoAccess) -> None:
        """Try another place where this place is closed; without another place only the ledger has it."""
        self._log(f"{self.chat.logged}_gone", card=part.card, part=part.name, error=outcome.error)
        if part.in_private:
            await self._give_up(part, "the command's address takes no more answers")
        elif isinstance(outcome, NoAccess):
            if part.under or not part.target.answer_at:
                await self._give_up(part, outcome.error)
            else:
                part.in_private, part.place = True, None
        elif part.place is not None:
            part.place, part.was_gone = None, True
            part.settled.clear()
        elif part.target.thread_ts and not part.under:
            part.target = replace(part.target, thread_ts="")
        elif part.above is None or part.above.settled.is_set():
            await self._give_up(part, outcome.error)

    async def _give_up(self, part: PostState, because: str, word: str = "") -> None:
        self._log(f"{word or self.chat.logged}_given_up", card=part.card, part=part.name, because=because)
        part.failures = 0
        self._settle(part, nowhere=True)
        await self._note_delivery_end(part, part.pending, None, because)

    async def _store_post(
        self, card: str, name: str, target: MessageTarget, said: Message | FileRequest, under: str
    ) -> StoredPost:
        try:
            stored = await self._outbox.keep(as_post(card, name, target, said, under))
        except LedgerError as error:
            if card in self._unsure or (under and self._parts.get(card, under) is None):
                raise
            self._log("outbox_unavailable", card=card, error=one_line(str(error)))
            return StoredPost("")  # sent all the same; only a restart would lose it
        self._unsure.discard(card)
        return stored
