"""The cards of a chat, each with one owner: what the record says, under it the progress of readings and their verdicts.

`ChatCards` is a `Surface` of the engine and a `DiagnosisFollower`; it starts none.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from bot.chat.card import incident_card
from bot.chat.clicks import Click
from bot.chat.document import Document
from bot.chat.post_state import CARD, MessageTarget, card_target, request_id
from bot.chat.poster import Poster
from bot.chat.rate_limiter import FIRST, VERDICT
from bot.chat.remembered import BoundedDict
from bot.chat.reminders import Reminder, reminders
from bot.chat.service import is_delivered
from bot.chat.storm_board import StormBoard
from bot.chat.thread import ThreadReplies, details
from bot.chat.thread_files import REPORT, FileRequest
from bot.chat.why_replies import WhyReplies
from bot.domain.action import Action
from bot.domain.contracts import Log
from bot.domain.engine_contracts import Notices
from bot.domain.errors import LedgerError, NothingProposed
from bot.domain.house_events import HOUSE
from bot.domain.incident import Incident, newest
from bot.domain.policy import Policy
from bot.domain.post import CardPosts, CardRecord, MessageRef
from bot.domain.transitions import State
from bot.domain.verdict import Verdict
from bot.ledger import Ledger, Outbox
from bot.response.diagnosis.incident_opener import IncidentOpener
from bot.response.diagnosis.progress import ReadingProgress
from bot.response.incident_record import IncidentRequest, log_unreadable
from bot.view.context import NOTHING, ViewContext
from bot.view.plan_words import PlanWords
from bot.view.view import GroupView, group_view, is_alarm

REMEMBERED = 2000  # cards of which it is known what they show, and requests with a known place
FEW = 5  # nodes of an alert's card that all get details; of more, only unhealthy nodes do
LATE = timedelta(minutes=10)  # a node that joins a card this late is announced in the channel
PROGRESS = (State.ACTING, State.VERIFYING)
_IN_PROGRESS = "progress"  # the wording of a card whose nodes are read: no wording is like it


@dataclass(slots=True, eq=False)
class _Shown:
    """What a card shows, as far as this program knows: its last wording, and as of when.

    Shape: `open` are its incidents until all have ended, for reminders. `head` is the record's head on it once the
    incidents `closed` have ended, each by id and head. Wordings are made under `lock`, in the order of the requests.
    """

    wording: str = ""
    as_of: datetime | None = None
    open: Sequence[Incident] = ()
    head: str = ""
    closed: tuple[tuple[str, str], ...] = ()
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(slots=True)
class _ProgressOverlay:
    """What lies over a group's card while its nodes are read; by node: `progress`, and `live` verdicts."""

    group: tuple[Incident, ...]
    spot: MessageTarget
    view: ViewContext
    reading: set[str] = field(default_factory=set)  # ids of incidents
    progress: dict[str, ReadingProgress] = field(default_factory=dict)
    live: dict[str, Verdict] = field(default_factory=dict)  # with the snapshot, which the record does not keep

    @property
    def is_final(self) -> bool:
        """True when every node has its verdict."""
        return all(member.node in self.live or member.verdict is not None or not member.node for member in self.group)

    def message(self) -> Document:
        """Return the card."""
        return incident_card(group_view(self.group, self.context))

    @property
    def context(self) -> ViewContext:
        """What the card is drawn with."""
        return replace(self.view, progress=self.progress, fresh=self.live)

    def shows(self, group: tuple[Incident, ...], view: ViewContext) -> None:
        """Take a group from the record; incidents being read that are not in it yet stay."""
        self.view, known = view, {member.id for member in group}
        self.group = (*group, *(mine for mine in self.group if mine.id in self.reading - known))


class ChatCards:
    """Shows groups of incidents in a chat: a `Surface`.

    Shape: `notices` says what holds up an approved plan, `actions` whether what was done can be taken back;
    `view` is what all cards have in common. `why` adds to a verdict's details what would have changed it.
    """

    def __init__(
        self,
        poster: Poster,
        outbox: Outbox,
        ledger: Ledger,
        policy: Policy,
        log: Log,
        notices: Notices,
        actions: Mapping[str, Action],
        view: ViewContext = NOTHING,
        storms: StormBoard | None = None,
        why: WhyReplies | None = None,
    ) -> None:
        self._poster = poster
        self._outbox = outbox
        self._ledger = ledger
        self._policy = policy
        self._log = log
        self._notices = notices
        self._storms = storms
        self.why = why
        self.words = PlanWords(actions)
        self.view = replace(view, policy=policy, words=self.words)
        self._thread = ThreadReplies(poster, outbox, ledger, self.words)
        self._cards: BoundedDict[str, _Shown] = BoundedDict(REMEMBERED)
        self._boards: dict[str, _ProgressOverlay] = {}  # of cards whose nodes are read
        self._asked_at: BoundedDict[str, MessageTarget] = BoundedDict(REMEMBERED)
        self._checking: dict[str, str] = {}
        self._working: dict[str, str] = {}
        self._reminded: BoundedDict[str, None] = BoundedDict(REMEMBERED)

    async def draw_again(self, card: CardRecord) -> None:
        """Show a card whose last wording never reached the chat. Raises: LedgerError when the record cannot be read."""
        if card.posts.standing is None:
            self._shown_card(card.card).wording = ""
            await self.show(card.incidents, card)

    async def show(self, group: Sequence[Incident], read: CardRecord | None = None, *, is_news: bool = True) -> None:
        """Bring a group's card and its thread up to date; nothing is posted twice.

        Shape: `read` is its card as it was just read, if it was. Without news on the record, as while a yes is checked,
        nothing is said in the thread.
        Raises: LedgerError when the record cannot be read.
        """
        if not group:
            return
        name, group = group[0].card, newest(group)
        if self._storms is not None:
            for storm in dict.fromkeys(member.storm for member in group if member.storm):
                self._storms.keep_storm_shown(storm)
        shown, as_of = self._shown_card(name), max(incident.updated_at for incident in group)
        async with shown.lock:
            if shown.as_of is not None and as_of < shown.as_of:
                return  # something newer was shown while this waited
            shown.as_of = as_of
            shown.open = () if all(incident.ended for incident in group) else group
            spot = await self._card_target(group)
            context = self._context_of(group) if spot is not None else self.view
            if (board := self._boards.get(name)) is not None:
                board.shows(group, context)
                context, group = board.context, board.group
            view = group_view(group, context)
            if view.shows_verdicts:
                await self._show_verdicts(name, spot, group, view, again=not is_news)
                return
            if spot is None:
                return
            message = self._poster.chat.draw(
                incident_card(await self._with_record_head(shown, group, view, context, read))
            )
            if not shown.wording:  # an earlier run may have posted it
                read = read or await self.read(name)
                shown.wording = message.wording if is_delivered(read.posts, message.wording) else ""
            if shown.wording != message.wording:
                stands = await self._poster.adopt(name, spot, read.posts if read is not None else None)
                if stands and all(incident.state in PROGRESS for incident in group):
                    self._poster.show(name, spot, lambda: message)  # each step as it happens, if there is room
                else:
                    await self._poster.enqueue(name, CARD, spot, message, rank=FIRST)
                shown.wording = message.wording
            if is_news:  # also where the card says so already, as it does where others of its nodes are read
                await self._thread.show(name, spot, group, read)
            if board is None:
                self._poster.mark_finished(name)

    async def _show_verdicts(
        self, name: str, spot: MessageTarget | None, group: Sequence[Incident], view: GroupView, *, again: bool
    ) -> None:
        """Show verdicts alone; a person's check changes only with its readings and its growth, else if told `again`."""
        has_grown = len(group) == 1 and group[0].triage is not None and group[0].triage.growth is not None
        if not (has_grown or again or is_alarm(group[0].alert)):
            return
        board = self._boards.get(name)
        if board is not None and not has_grown:
            self._poster.show(name, board.spot, board.message)
        elif spot is not None and all(member.triage is not None for member in group):
            await self._poster.adopt(name, spot)
            await self._post_surely(name, spot, incident_card(view), once=True)
            if board is None:
                self._poster.mark_finished(name)

    # --- while nodes are read

    def expect(self, group: str, spot: MessageTarget) -> None:
        """Note where the card of a request belongs, and where the asker is answered in private."""
        self._asked_at[group] = spot

    async def begun(self, group: Sequence[Incident], reading: Sequence[Incident]) -> None:
        """Show on the card that nodes are read; an existing card is continued.

        Raises: LedgerError when neither can it be known whether the card is posted nor the card be stored.
        """
        name = group[0].card
        spot = self._asked_at.get(name) or _first_target(reading)  # in a storm, not even on a card that is there
        if spot is None:
            return
        self._poster.prepare()
        board, stands = self._boards.get(name), True
        if board is None:
            # Of what is not on record nothing was posted, and a person's check needs no ledger.
            stands = any(member.seq for member in group) and await self._poster.adopt(name, spot)
            if (board := self._boards.get(name)) is None:
                board = self._boards[name] = _ProgressOverlay(tuple(group), spot, self.view)
                self._poster.hold(name)  # what is on record may be done with before the nodes are read
        board.reading |= {member.id for member in reading}
        board.shows(tuple(group), board.view)
        self._shown_card(name).wording = _IN_PROGRESS
        if stands:
            self._poster.show(name, board.spot, board.message)
            return
        try:
            await self._post_surely(name, board.spot, board.message())
        except LedgerError:
            for member in reading:
                self.ended(member)
            raise

    def moved(self, underway: ReadingProgress) -> None:
        """Show how far the reading of a node is."""
        name, node = underway.incident.card, underway.incident.node
        board = self._boards.get(name)
        if board is not None and node not in board.live:
            board.progress[node] = underway
            self._poster.show(name, board.spot, board.message)

    async def concluded(self, incident: Incident, verdict: Verdict) -> None:
        """Show a verdict and its details; the last verdict has to arrive, so it is not mere progress."""
        name = incident.card
        board = self._boards.get(name)
        if board is None:
            return
        board.live[verdict.node] = verdict
        if not board.is_final:
            self._poster.show(name, board.spot, board.message)
        else:
            await self._post_surely(name, board.spot, board.message())
            if verdict.heat is not None and len(board.group) == 1:
                await self._poster.illustrate(name, board.spot, incident.id, verdict.node, verdict.heat)
            if is_alarm(incident.alert):
                await self._announce_return(name, board)
        of_many = is_alarm(incident.alert) and len(board.group) > FEW
        if not (of_many and verdict.is_ordinary):
            draw = partial(details, verdict, incident.id, self._poster.chat.fits, of_several=len(board.group) > 1)
            replies = draw()
            for reply in replies:
                await self._poster.enqueue(name, reply.part, board.spot, reply.message, under=CARD)
            if self.why is not None and len(board.group) <= FEW:
                self.why.begin(name, board.spot, verdict, replies, draw)

    def ended(self, incident: Incident) -> None:
        """Release a card once none of its nodes is being read."""
        name = incident.card
        board = self._boards.get(name)
        if board is not None:
            board.reading.discard(incident.id)
            if not board.reading:
                del self._boards[name]
                self._poster.let_go(name)
                self._poster.mark_finished(name)

    async def _announce_return(self, name: str, board: _ProgressOverlay) -> None:
        """Announce in the card's thread what came back or came late: chats do not notify about edits."""
        began_at = min(member.opened_at for member in board.group)
        read_here = [member for member in board.group if member.node in board.live and not member.has_begun]
        again = [member for member in read_here if member.reopens]
        late = [member for member in read_here if not member.reopens and member.opened_at - began_at > LATE]
        if again or late:
            new = f"Also on this card: {', '.join(member.node for member in late[:FEW])}. " if late else ""
            said = board.message().text
            message = Document((new, *(said if isinstance(said, tuple) else ())), broadcast=True)
            await self._poster.enqueue(name, f"again-{(again or late)[0].id}", board.spot, message, under=CARD)

    async def _post_surely(self, name: str, spot: MessageTarget, card: Document, *, once: bool = False) -> None:
        """Show what has to arrive; `once`: where it does not stand so."""
        message, shown = self._poster.chat.draw(card), self._shown_card(name)
        if once and shown.wording == message.wording:
            return
        await self._poster.enqueue(name, CARD, spot, message, rank=VERDICT)
        shown.wording = message.wording

    # --- while somebody decides, and reminders

    @contextlib.asynccontextmanager
    async def checking(self, card: CardRecord, incidents: Sequence[str], by: str) -> AsyncIterator[None]:
        """While the block runs, show on the card that this person said yes and these nodes are being read again.

        What comes of it is shown like everything on record; for those of which nothing was `checked`, it ends here.
        """
        ours = [incident_id for incident_id in incidents if incident_id not in self._checking]
        self._checking |= dict.fromkeys(ours, by)
        try:
            # Stored like a decision: as mere progress it would stay on the card for good if the bot stopped now.
            with contextlib.suppress(LedgerError):  # without the ledger the decision will be refused anyway
                await self.show(card.incidents, card, is_news=False)
            yield
        finally:
            if [incident_id for incident_id in ours if self._checking.pop(incident_id, None) is not None]:
                with contextlib.suppress(LedgerError):  # the next change of the card puts this right
                    await self.show(await self.group(card.card))

    @contextlib.asynccontextmanager
    async def working(self, incident: Incident, words: str) -> AsyncIterator[None]:
        """While the block runs, say on an incident's card what is done for whoever pressed a button."""
        self._working[incident.id] = words
        await self.show_again(incident)
        try:
            yield
        finally:
            self._working.pop(incident.id, None)
            await self.show_again(incident)

    async def show_again(self, incident: Incident) -> None:
        """Show an incident's card as it stands on record now; without the ledger its next change does so."""
        with contextlib.suppress(LedgerError):
            await self.show(await self.group(incident.card), is_news=False)

    def note_decided(self, incident: Incident) -> None:
        """Note that a decision is on record: its node is no longer being read again, and its card will follow.

        Where another yes is needed it ends with the block: the engine may have drawn that entry, and draws none twice.
        """
        if incident.state is not State.PROPOSED:
            self._checking.pop(incident.id, None)

    async def report(self, incident: Incident) -> str:
        """Send an ended incident's report into its card's thread; return what to tell the person who asked.

        Raises: LedgerError when the record cannot be read.
        """
        name = incident.card
        spot = await self._card_target(await self.group(name))
        sent = await self._poster.attach(name, spot, FileRequest(REPORT, incident.id)) if spot is not None else None
        if sent is None:
            return f"To write the report: zombie report {incident.id}"
        return "The report comes into this card's thread." if sent else "The report is in this card's thread."

    async def resume_storms(self) -> None:
        """Take up the messages of storms that nobody shows. Raises: LedgerError when the record cannot be read."""
        if self._storms is not None:
            await self._storms.resume()

    async def remind(self, now: datetime, mine: Collection[str]) -> None:
        """Remind, in these cards' threads, of plans that have waited for half of their time to decide.

        Raises: LedgerError when the record cannot be read.
        """
        for name in [
            name for name, shown in self._cards.items() if name in mine and self._due_reminders(shown.open, now)
        ]:
            group = await self.group(name)
            spot = await self._card_target(group) if group else None
            if spot is None:
                continue
            for reminder in self._due_reminders(group, now):
                if await self._outbox.place(name, reminder.part) is None:
                    await self._poster.enqueue(name, reminder.part, spot, reminder.message(self._policy), under=CARD)
                self._reminded[reminder.part] = None  # here, or by an earlier run

    async def group(self, name: str) -> tuple[Incident, ...]:
        """Return a card's incidents; none without such a card. Raises: LedgerError when the record cannot be read."""
        return newest(log_unreadable(*await self._ledger.group(name), self._log))

    async def read(self, name: str, *, of_incident: bool = False) -> CardRecord:
        """Return all that a card is drawn from; with `of_incident`, the card with the incident of that id.

        Raises: LedgerError when the record cannot be read.
        """
        card = await self._ledger.card(name, CARD, of_incident=of_incident)
        log_unreadable(card.incidents, card.unreadable, self._log)
        return card

    async def place(self, name: str, posts: CardPosts | None = None) -> MessageRef | None:
        """Return the place of a card; `posts`, if just read. Raises: LedgerError when the outbox cannot be read."""
        return await self._poster.place(name, posts)

    async def check_click(self, click: Click, card: str, posts: CardPosts | None = None) -> None:
        """Return for a click on the card itself; `posts` are the card's, where they were just read.

        Raises: NothingProposed for a click on a copy; LedgerError.
        """
        if not click.in_home and not await self._poster.is_at(card, click.channel, click.ts, posts):
            raise NothingProposed("This is not the card of that incident; use the buttons on the card itself.")

    def _due_reminders(self, group: Sequence[Incident], now: datetime) -> list[Reminder]:
        return [each for each in reminders(group, self._policy) if each.at <= now and each.part not in self._reminded]

    # --- what is shown

    def _shown_card(self, name: str) -> _Shown:
        """Return what a card shows; the cards asked for last are remembered."""
        if name not in self._cards:
            self._cards[name] = _Shown()
        self._cards.move_to_end(name)
        return self._cards[name]

    async def _with_record_head(
        self, shown: _Shown, group: Sequence[Incident], view: GroupView, context: ViewContext, read: CardRecord | None
    ) -> GroupView:
        """Return the view, with the record's head once all have ended."""
        if not view.ended:
            return view
        closed = tuple((incident.id, incident.head) for incident in group)
        if shown.closed != closed:  # reopened, or its alert is over now: what it says is behind the earlier head
            shown.head = (read.head if read is not None else await self._ledger.head(HOUSE)).noted
            shown.closed = closed
        return group_view(group, replace(context, head=shown.head))

    def _context_of(self, group: Sequence[Incident]) -> ViewContext:
        return replace(
            self.view,
            checking=self._checking,
            working=self._working,
            waits_for={each.id: self._notices.waits_for(each.id) for each in group},
            undoes={each.id: words for each in group if (words := self.words.plan(self.words.undo(each)))},
        )

    # --- where it is shown

    async def _card_target(self, group: Sequence[Incident]) -> MessageTarget | None:
        """Where a group's card belongs: as its opening says, or with the incident that it undoes."""
        first = group[0]
        if first.undoes:
            undone = await self._ledger.incident(first.undoes)
            if undone is None:
                return None
            beside = await self._card_target((undone,))
            return MessageTarget(beside.channel) if beside is not None else None
        spot = _first_target(group)
        if spot is None and (place := await self.place(first.card)) is not None:
            spot = MessageTarget(place.channel)
        return spot


def _first_target(group: Sequence[Incident]) -> MessageTarget | None:
    """Where the first of these that has a card has it: some nodes of a group may have come in a storm."""
    return next((spot for member in group if (spot := card_target(member)) is not None), None)


@dataclass(frozen=True, slots=True)
class CheckOpener:
    """Opens checks. `playbook` is the name of the playbook to use."""

    requests: IncidentOpener
    cards: ChatCards
    playbook: str

    async def begin(self, key: str, spot: MessageTarget, by: str, said: str, nodes: Sequence[str]) -> None:
        """Begin a check; `key` is the chat's id of the request, and `said` what was asked for, in words."""
        opening = IncidentRequest(
            by.partition(":")[0], request_id(spot.channel, spot.thread_ts, key), by, said, self.playbook
        )
        self.cards.expect(opening.group, spot)
        await self.requests.open_and_read(opening, nodes)
