"""Slack as a surface: a card for each group of incidents, kept in step with the record."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from bot.domain.action import Action
from bot.domain.contracts import ActingLedger, Log, Outbox
from bot.domain.engine_contracts import Notices
from bot.domain.errors import LedgerError
from bot.domain.house_events import HOUSE
from bot.domain.incident import Incident, newest
from bot.domain.pagerduty import OnCallSource
from bot.domain.policy import Policy
from bot.domain.post import CardPosts, CardRecord, MessageRef
from bot.domain.transitions import State
from bot.response.execution.usual import UsualTimes
from bot.response.record import readable, undoable
from bot.surfaces.remembered import Remembered
from bot.surfaces.slack.calls import FIRST
from bot.surfaces.slack.card import acting_card
from bot.surfaces.slack.card_times import PROGRESS, Reminder, reminders, seconds_moved
from bot.surfaces.slack.message import Message, stands_so, wording_of
from bot.surfaces.slack.parts import CARD, MessageTarget, spot_of
from bot.surfaces.slack.poster import Poster
from bot.surfaces.slack.report_file import REPORT
from bot.surfaces.slack.thread import ThreadReplies
from bot.surfaces.slack.thread_files import FileRequest
from bot.surfaces.view.context import ViewContext
from bot.surfaces.view.plan_words import PlanWords
from bot.surfaces.view.standing import group_of, needs_a_person

REMEMBERED = 2000  # groups whose last wording is known


class SlackSurface:
    """Shows groups of incidents in Slack: a `Surface`.

    Shape: `notices` says why an approved plan does not begin yet, `actions` whether what was done can be taken back;
    `usual` says how long a reboot takes, `on_call` who is told of on cards that need a person.
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
        links: Mapping[str, str] | None = None,
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
        self._links = links or {}
        self._usual = usual
        self._on_call = on_call
        self.words = PlanWords(actions)
        self._shown: OrderedDict[str, str] = OrderedDict()  # the last wording of each card, the latest at the end
        self._as_of: dict[str, datetime] = {}
        self._heads: dict[str, str] = {}
        self._thread = ThreadReplies(poster, outbox, ledger, self.words)
        self._checking: dict[str, str] = {}
        self._open: Remembered[str, Sequence[Incident]] = Remembered(REMEMBERED)  # as last shown, for the clock
        self._seconds_at: Remembered[str, datetime] = Remembered(REMEMBERED)  # up to when a card's seconds are counted
        self._reminded: Remembered[str, None] = Remembered(REMEMBERED)
        self._locks: dict[str, asyncio.Lock] = {}

    async def show(self, group: Sequence[Incident]) -> None:
        """Bring a group's card and its thread up to date; nothing is posted twice.

        Raises: LedgerError when the record cannot be read.
        """
        if group:
            await self._show(group)

    async def draw_again(self, card: CardRecord) -> None:
        """Show a card whose last wording never reached Slack. Raises: LedgerError when the record cannot be read."""
        if card.posts.standing is None:
            self._shown.pop(card.card, None)
            await self._show(card.incidents, card)

    async def _show(self, group: Sequence[Incident], read: CardRecord | None = None) -> None:
        """Show a group; `read` is its card as it was just read, if it was."""
        name, group = group_of(group[0]), newest(group)
        as_of = max(incident.updated_at for incident in group)
        async with self._alone(name):
            if as_of < self._as_of.get(name, as_of):
                return  # something newer was shown while this waited
            self._as_of[name] = as_of
            self._open[name] = () if all(incident.ended for incident in group) else group
            spot = await self._spot(group)
            message = await self._drawn(name, group, read) if spot is not None else None
            if spot is None or message is None or self._shown.get(name) == (wording := wording_of(message)):
                return
            if name not in self._shown:
                read = read or await self.read(name)
                if stands_so(read.posts, wording):  # an earlier run has posted it
                    self._remember(name, wording)
                    await self._thread.show(name, spot, group, read)
                    return
            stands = await self._poster.adopt(name, spot, read.posts if read is not None else None)
            if stands and all(incident.state in PROGRESS for incident in group):
                self._poster.show(name, spot, lambda: message)  # each step as it happens, if there is room
            else:
                await self._poster.enqueue(name, CARD, spot, message, rank=FIRST)
            self._remember(name, wording)
            if len(group) == 1 and (triage := group[0].triage) is not None and triage.growth is not None:
                self._poster.illustrate(name, spot, group[0].id, group[0].node, triage.growth)
            await self._thread.show(name, spot, group, read)
            self._poster.finished(name)

    @contextlib.asynccontextmanager
    async def checking(self, card: CardRecord, incidents: Sequence[str], by: str) -> AsyncIterator[None]:
        """While the block runs, show on the card that this person said yes and these nodes are being read again."""
        ours = [incident_id for incident_id in incidents if incident_id not in self._checking]
        self._checking |= dict.fromkeys(ours, by)
        try:
            await self._progress(card)
            yield
        finally:
            for incident_id in ours:
                self._checking.pop(incident_id, None)
            with contextlib.suppress(LedgerError):  # the next change of the card puts this right
                after = await self.read(card.card)
                if after.incidents:
                    await self._show(after.incidents, after)

    async def report(self, incident: Incident) -> str:
        """Send an ended incident's report into its card's thread; return what to tell the person who asked.

        Raises: LedgerError when the record cannot be read.
        """
        name = group_of(incident)
        spot = await self._spot(await self.group(name))
        sent = await self._poster.attach(name, spot, FileRequest(REPORT, incident.id)) if spot is not None else None
        if sent is None:
            return f"To write the report: zombie report {incident.id}"
        return "The report comes into this card's thread." if sent else "The report is in this card's thread."

    async def tick(self, now: datetime, mine: Collection[str]) -> None:
        """Update on these cards how long their steps have run, where that has changed.

        Raises: LedgerError when the record cannot be read.
        """
        for name, group in [*self._open.items()]:
            if name in mine and seconds_moved(group, now, self._seconds_at.get(name)):
                self._seconds_at[name] = now
                await self.show(await self.group(name))

    async def remind(self, now: datetime, mine: Collection[str]) -> None:
        """Remind, in these cards' threads, of plans that have waited for half of their time to decide.

        Raises: LedgerError when the record cannot be read.
        """
        for name in [name for name, group in self._open.items() if name in mine and self._due(group, now)]:
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

    def _due(self, group: Sequence[Incident], now: datetime) -> list[Reminder]:
        found = reminders(group, self._policy)
        return [each for each in found if each.at <= now and each.part not in self._reminded]

    # --- what is shown

    async def _progress(self, card: CardRecord) -> None:
        """Show what is not on record yet."""
        name, whole = card.card, newest(card.incidents)
        if not whole:
            return
        as_of = max(incident.updated_at for incident in whole)
        async with self._alone(name):
            if as_of < self._as_of.get(name, as_of):
                return  # something newer was shown while this waited, and with it who is being checked
            try:
                spot = await self._spot(whole)
                message = await self._drawn(name, whole, card) if spot is not None else None
                if spot is None or message is None or self._shown.get(name) == (wording := wording_of(message)):
                    return
                await self._poster.adopt(name, spot, card.posts)
                # Stored like a decision: as mere progress it would stay on the card for good if the bot stopped now.
                await self._poster.enqueue(name, CARD, spot, message, rank=FIRST)
                self._remember(name, wording)
            except LedgerError:
                return  # without the ledger the decision will be refused anyway
            self._poster.finished(name)

    async def _drawn(self, name: str, group: Sequence[Incident], read: CardRecord | None) -> Message | None:
        """Return the card, with the record's head once all have ended; None while it shows verdicts alone."""
        context = await self._telling(name, group)
        message = acting_card(group, context)
        if message is None or not all(incident.ended for incident in group):
            return message
        if name not in self._heads:
            self._heads[name] = (read.head if read is not None else await self._ledger.head(HOUSE)).noted
        return acting_card(group, replace(context, head=self._heads[name]))

    async def _telling(self, name: str, group: Sequence[Incident]) -> ViewContext:
        rebooting = [each for each in group if (action := self._running_action(each)) is not None and action.reboots]
        waits = {
            incident.id: self._notices.waits_for(incident.id) for incident in group if self._may_be_held_up(incident)
        }
        return ViewContext(
            self._policy,
            self.words,
            checking={each.id: self._checking[each.id] for each in group if each.id in self._checking},
            waits_for=waits,
            undoable=frozenset(each.id for each in group if each.ended and undoable(each, self._actions)),
            links=self._links,
            usual=await self._usual.under_way(rebooting) if self._usual is not None and rebooting else {},
            now=self._seconds_at.get(name),
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
        if spot is None and (place := await self.place(group_of(first))) is not None:
            spot = MessageTarget(place.channel)
        return spot

    @contextlib.asynccontextmanager
    async def _alone(self, name: str) -> AsyncIterator[None]:
        """Let the wordings of a card be made one at a time, in the order of the requests."""
        if len(self._locks) > REMEMBERED:
            self._locks = {card: lock for card, lock in self._locks.items() if lock.locked()}
        async with self._locks.setdefault(name, asyncio.Lock()):
            yield

    def _remember(self, name: str, wording: str) -> None:
        self._shown[name] = wording
        self._shown.move_to_end(name)
        while len(self._shown) > REMEMBERED:
            forgotten, _ = self._shown.popitem(last=False)
            self._heads.pop(forgotten, None)
            self._as_of.pop(forgotten, None)
            self._thread.forget(forgotten)
