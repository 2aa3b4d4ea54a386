"""A chat as a surface: a card for each group of incidents, kept in step with the record."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from bot.chat.card import acting_card
from bot.chat.card_times import PROGRESS, Reminder, reminders, seconds_moved
from bot.chat.clicks import Click
from bot.chat.parts import CARD, MessageTarget, spot_of
from bot.chat.poster import Poster
from bot.chat.remembered import Remembered
from bot.chat.report_file import REPORT
from bot.chat.service import Message, stands_so
from bot.chat.thread import ThreadReplies
from bot.chat.thread_files import FileRequest
from bot.chat.turns import FIRST
from bot.domain.action import Action
from bot.domain.contracts import ActingLedger, Log, Outbox
from bot.domain.engine_contracts import Notices
from bot.domain.errors import LedgerError, NothingProposed
from bot.domain.house_events import HOUSE
from bot.domain.incident import Incident, newest
from bot.domain.pagerduty import OnCallSource
from bot.domain.policy import Policy
from bot.domain.post import CardPosts, CardRecord, MessageRef
from bot.domain.transitions import State
from bot.response.execution.usual import UsualTimes
from bot.response.record import readable, undoable
from bot.view.context import NOTHING, ViewContext
from bot.view.plan_words import PlanWords
from bot.view.standing import needs_a_person

REMEMBERED = 2000  # cards of which it is known what they show


@dataclass(slots=True, eq=False)
class _Shown:
    """What a card shows, as far as this program knows: its last wording, and as of when.

    Shape: `open` are its incidents until all have ended, for the clock. `seconds_at` is up to when its seconds are
    counted, `head` the record's head on it once it is closed. Wordings are made under `lock`, in the order of the
    requests.
    """

    wording: str = ""
    as_of: datetime | None = None
    open: Sequence[Incident] = ()
    seconds_at: datetime | None = None
    head: str = ""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class ChatSurface:
    """Shows groups of incidents in a chat: a `Surface`.

    Shape: `notices` says why an approved plan does not begin yet, `actions` whether what was done can be taken back;
    `usual` says how long a reboot takes, `on_call` who is told of on cards that need a person. `view` is what all
    cards have in common.
    """

    def __init__(
        self,
        poster: Poster,
        outbox: Outbox,
        ledger: ActingLedger,
        policy: Policy,
        log: Log,
        notices: Notices,
        actions: Mapping[str, Action],
        view: ViewContext = NOTHING,
        usual: UsualTimes | None = None,
        on_call: OnCallSource | None = None,
    ) -> None:
        self._poster = poster
        self._outbox = outbox
        self._ledger = ledger
        self._policy = policy
        self._log = log
        self._notices = notices
        self._actions = actions
        self._usual = usual
        self._on_call = on_call
        self.words = PlanWords(actions)
        self.view = replace(view, policy=policy, words=self.words)
        self._thread = ThreadReplies(poster, outbox, ledger, self.words)
        self._cards: Remembered[str, _Shown] = Remembered(REMEMBERED)
        self._checking: dict[str, str] = {}
        self._reminded: Remembered[str, None] = Remembered(REMEMBERED)

    async def draw_again(self, card: CardRecord) -> None:
        """Show a card whose last wording never reached Slack. Raises: LedgerError when the record cannot be read."""
        if card.posts.standing is None:
            self._card(card.card).wording = ""
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
        shown, as_of = self._card(name), max(incident.updated_at for incident in group)
        async with shown.lock:
            if shown.as_of is not None and as_of < shown.as_of:
                return  # something newer was shown while this waited
            shown.as_of = as_of
            shown.open = () if all(incident.ended for incident in group) else group
            spot = await self._spot(group)
            message = await self._drawn(shown, group, read) if spot is not None else None
            if spot is None or message is None or shown.wording == (wording := message.wording):
                return
            if not shown.wording:
                read = read or await self.read(name)
                if stands_so(read.posts, wording):  # an earlier run has posted it
                    shown.wording = wording
                    await self._thread.show(name, spot, group, read)
                    return
            stands = await self._poster.adopt(name, spot, read.posts if read is not None else None)
            if stands and all(incident.state in PROGRESS for incident in group):
                self._poster.show(name, spot, lambda: message)  # each step as it happens, if there is room
            else:
                await self._poster.enqueue(name, CARD, spot, message, rank=FIRST)
            shown.wording = wording
            if is_news:
                await self._thread.show(name, spot, group, read)
            self._poster.finished(name)

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

    def checked(self, incident: Incident) -> None:
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
        spot = await self._spot(await self.group(name))
        sent = await self._poster.attach(name, spot, FileRequest(REPORT, incident.id)) if spot is not None else None
        if sent is None:
            return f"To write the report: zombie report {incident.id}"
        return "The report comes into this card's thread." if sent else "The report is in this card's thread."

    async def tick(self, now: datetime, mine: Collection[str]) -> None:
        """Update on these cards how long their steps have run, where that has changed.

        Raises: LedgerError when the record cannot be read.
        """
        for name, shown in [*self._cards.items()]:
            if name in mine and seconds_moved(shown.open, now, shown.seconds_at):
                shown.seconds_at = now
                await self.show(await self.group(name))

    async def remind(self, now: datetime, mine: Collection[str]) -> None:
        """Remind, in these cards' threads, of plans that have waited for half of their time to decide.

        Raises: LedgerError when the record cannot be read.
        """
        for name in [name for name, shown in self._cards.items() if name in mine and self._due(shown.open, now)]:
            group = await self.group(name)
            spot = await self._spot(group) if group else None
            if spot is None:
                continue
            for reminder in self._due(group, now):
                if await self._outbox.place(name, reminder.part) is None:
                    await self._poster.adopt(name, spot)
                    await self._poster.enqueue(name, reminder.part, spot, reminder.message(self._policy), under=CARD)
                    self._poster.finished(name)
                self._reminded[reminder.part] = None  # here, or by an earlier run

    async def group(self, name: str) -> tuple[Incident, ...]:
        """Return a card's incidents; none without such a card. Raises: LedgerError when the record cannot be read."""
        return newest(readable(*await self._ledger.group(name), self._log))

    async def read(self, name: str, *, of_incident: bool = False) -> CardRecord:
        """Return all that a card is drawn from; with `of_incident`, the card with the incident of that id.

        Raises: LedgerError when the record cannot be read.
        """
        card = await self._ledger.card(name, CARD, of_incident=of_incident)
        readable(card.incidents, card.unreadable, self._log)
        return card

    async def place(self, name: str, posts: CardPosts | None = None) -> MessageRef | None:
        """Return the place of a card; `posts`, if just read. Raises: LedgerError when the outbox cannot be read."""
        return await self._poster.place(name, posts)

    async def check_click(self, click: Click, card: str, posts: CardPosts | None = None) -> None:
        """Return for a click on the card itself; `posts` are the card's, where they were just read.

        Raises: NothingProposed for a click on a copy; LedgerError.
        """
        if click.in_home:
            return
        place = await self.place(card, posts)
        if place is None or (place.channel, place.ts) != (click.channel, click.ts):
            raise NothingProposed("This is not the card of that incident; use the buttons on the card itself.")

    def _due(self, group: Sequence[Incident], now: datetime) -> list[Reminder]:
        found = reminders(group, self._policy)
        return [each for each in found if each.at <= now and each.part not in self._reminded]

    # --- what is shown

    def _card(self, name: str) -> _Shown:
        """Return what a card shows; the cards asked for last are remembered."""
        if name not in self._cards:
            self._cards[name] = _Shown()
        self._cards.move_to_end(name)
        return self._cards[name]

    async def _drawn(self, shown: _Shown, group: Sequence[Incident], read: CardRecord | None) -> Message | None:
        """Return the card, with the record's head once all have ended; None while it shows verdicts alone."""
        context = await self._telling(shown, group)
        if all(incident.ended for incident in group):
            shown.head = shown.head or (read.head if read is not None else await self._ledger.head(HOUSE)).noted
            context = replace(context, head=shown.head)
        card = acting_card(group, context)
        return self._poster.chat.draw(card) if card is not None else None

    async def _telling(self, shown: _Shown, group: Sequence[Incident]) -> ViewContext:
        rebooting = [each for each in group if (action := self._running_action(each)) is not None and action.reboots]
        waits = {
            incident.id: self._notices.waits_for(incident.id) for incident in group if self._may_be_held_up(incident)
        }
        return replace(
            self.view,
            checking={each.id: self._checking[each.id] for each in group if each.id in self._checking},
            waits_for=waits,
            undoable=frozenset(each.id for each in group if each.ended and undoable(each, self._actions)),
            usual=await self._usual.under_way(rebooting) if self._usual is not None and rebooting else {},
            now=shown.seconds_at,
            on_call=await self._on_call.read() if self._on_call is not None and needs_a_person(group) else None,
        )

    def _may_be_held_up(self, incident: Incident) -> bool:
        """True while no step runs, or the running step goes in rounds that each have news."""
        if incident.state not in (State.APPROVED, State.ACTING):
            return False
        if incident.step_under_way is None:
            return True
        action = self._running_action(incident)
        return action is not None and action.by_calls is not None

    def _running_action(self, incident: Incident) -> Action | None:
        """Return what the step under way does; None where none is, or this program does not know it."""
        under_way, proposal = incident.step_under_way, incident.proposal
        if under_way is None or proposal is None:
            return None
        return self._actions.get(proposal.plan.steps[under_way.number - 1].action)

    # --- where it is shown

    async def _spot(self, group: Sequence[Incident]) -> MessageTarget | None:
        """Where a group's card belongs: as its opening says, or with the incident that it undoes."""
        first = group[0]
        if first.undoes:
            undone = await self._ledger.incident(first.undoes)
            if undone is None:
                return None
            beside = await self._spot((undone,))
            return MessageTarget(beside.channel) if beside is not None else None
        spot = spot_of(first)
        if spot is None and (place := await self.place(first.card)) is not None:
            spot = MessageTarget(place.channel)
        return spot
