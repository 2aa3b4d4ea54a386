"""Slack as a surface: a card for each group of incidents, kept in step with the record."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime

from bot.domain.action import Action
from bot.domain.call import is_call
from bot.domain.contracts import ActingLedger, Outbox
from bot.domain.engine_contracts import Notices
from bot.domain.errors import LedgerError, UnknownIncident
from bot.domain.house_events import HOUSE
from bot.domain.incident import Incident, newest
from bot.domain.pagerduty import OnCallSource
from bot.domain.policy import Policy
from bot.domain.post import MessageRef
from bot.domain.transitions import State
from bot.response.execution.usual import UsualTimes
from bot.response.record import IncidentRecord, undoable
from bot.surfaces.slack.calls import FIRST
from bot.surfaces.slack.card import acting_card
from bot.surfaces.slack.message import Message, wording_of
from bot.surfaces.slack.parts import CARD, MessageTarget, spot_of
from bot.surfaces.slack.poster import Poster
from bot.surfaces.slack.reminders import ReminderTimes, reminders
from bot.surfaces.slack.report_file import REPORT
from bot.surfaces.slack.running_steps import PROGRESS, RunningSteps
from bot.surfaces.slack.thread_files import FileRequest
from bot.surfaces.slack.thread_replies import ThreadReplies
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
        record: IncidentRecord,
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
        self._record = record
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
        self._reminders = ReminderTimes(policy)
        self._running = RunningSteps()
        self._locks: dict[str, asyncio.Lock] = {}

    async def show(self, group: Sequence[Incident]) -> None:
        """Bring a group's card and its thread up to date; nothing is posted twice.

        Raises: LedgerError when the record cannot be read.
        """
        if not group:
            return
        group = newest(group)
        name = group_of(group[0])
        self._reminders.heard(name, group)
        if any(incident.steps for incident in group):
            self._running.heard(name, group)
        as_of = max(incident.updated_at for incident in group)
        async with self._alone(name):
            if as_of < self._as_of.get(name, as_of):
                return  # something newer was shown while this waited
            self._as_of[name] = as_of
            spot = await self._spot(group)
            message = acting_card(group, await self._telling(name, group)) if spot is not None else None
            if spot is None or message is None or self._shown.get(name) == (wording := wording_of(message)):
                return
            if name not in self._shown and await self._stands_so(name, wording):  # an earlier run has posted it
                self._remember(name, wording)
                await self._thread.show(name, spot, group)
                return
            stands = await self._poster.adopt(name, spot)
            if stands and all(
                incident.state in PROGRESS for incident in group
            ):  # each step as it happens, if there is room
                self._poster.show(name, spot, lambda: message)
            else:
                await self._poster.enqueue(name, CARD, spot, message, rank=FIRST)
            self._remember(name, wording)
            if len(group) == 1 and (triage := group[0].triage) is not None and triage.growth is not None:
                self._poster.illustrate(name, spot, group[0].id, group[0].node, triage.growth)
            await self._thread.show(name, spot, group)
            self._poster.finished(name)

    @contextlib.asynccontextmanager
    async def checking(self, group: Sequence[Incident], by: str) -> AsyncIterator[None]:
        """While the block runs, show on the card that this person said yes and the nodes are being read again."""
        ours = [incident.id for incident in group if incident.id not in self._checking]
        self._checking |= dict.fromkeys(ours, by)
        try:
            await self._progress(group)
            yield
        finally:
            for incident_id in ours:
                self._checking.pop(incident_id, None)
            with contextlib.suppress(LedgerError):  # the next change of the card puts this right
                await self.show(await self.group(group_of(group[0])))

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
        for name in self._running.due(now, mine) if self._running.since else ():
            group = await self.group(name)
            self._running.looked(name, now)
            self._running.heard(name, group)
            await self.show(group)

    async def remind(self, now: datetime, mine: Collection[str]) -> None:
        """Remind, in these cards' threads, of plans that have waited for half of their time to decide.

        Raises: LedgerError when the record cannot be read.
        """
        for name in self._reminders.due(now, mine):
            group = await self.group(name)
            spot = await self._spot(group) if group else None
            for reminder in reminders(group, self._policy):
                if spot is None or reminder.at > now:
                    continue
                if await self._outbox.place(name, reminder.part) is None:
                    await self._poster.adopt(name, spot)
                    await self._poster.enqueue(name, reminder.part, spot, reminder.message(self._policy), under=CARD)
                    self._poster.finished(name)
                self._reminders.said(name, reminder.part)
            self._reminders.heard(name, group)

    async def group(self, name: str) -> tuple[Incident, ...]:
        """Return a card's incidents from the record; none where there is no such card.

        Raises: LedgerError when the record cannot be read.
        """
        return newest(await self._record.together(name))

    async def place(self, name: str) -> MessageRef | None:
        """Return the place of a card. Raises: LedgerError when the outbox cannot be read."""
        return await self._poster.place(name)

    # --- what is shown

    async def _stands_so(self, name: str, wording: str) -> bool:
        content = await self._outbox.standing(name, CARD)
        if content is None:
            return False
        return wording_of(Message(str(content.get("text", "")), tuple(content.get("blocks", ())))) == wording

    async def _progress(self, group: Sequence[Incident]) -> None:
        """Show what is not on record yet."""
        name = group_of(group[0])
        async with self._alone(name):
            try:
                whole = await self.group(name)
                spot = await self._spot(whole)
                message = acting_card(whole, await self._telling(name, whole)) if spot is not None else None
                if spot is None or message is None or self._shown.get(name) == (wording := wording_of(message)):
                    return
                await self._poster.adopt(name, spot)
                # Stored like a decision: as mere progress it would stay on the card for good if the bot stopped now.
                await self._poster.enqueue(name, CARD, spot, message, rank=FIRST)
                self._remember(name, wording)
            except LedgerError:
                return  # without the ledger the decision will be refused anyway
            self._poster.finished(name)

    async def _telling(self, name: str, group: Sequence[Incident]) -> ViewContext:
        if name not in self._heads and _ended(group):
            self._heads[name] = (await self._ledger.head(HOUSE)).noted
        is_running = any(incident.step_under_way is not None for incident in group)
        waits = {incident.id: self._notices.waits_for(incident.id) for incident in group if _may_be_held_up(incident)}
        return ViewContext(
            self._policy,
            self.words,
            self._heads.get(name, ""),
            self._of(group, self._checking),
            waits,
            frozenset(incident.id for incident in group if incident.ended and undoable(incident, self._actions)),
            links=self._links,
            usual=await self._usual.under_way(group, self._actions) if self._usual is not None and is_running else {},
            now=self._running.looked_at.get(name),
            on_call=await self._on_call.read() if self._on_call is not None and needs_a_person(group) else None,
        )

    @staticmethod
    def _of(group: Sequence[Incident], told: Mapping[str, str]) -> dict[str, str]:
        return {incident.id: told[incident.id] for incident in group if incident.id in told}

    # --- where it is shown

    async def _spot(self, group: Sequence[Incident]) -> MessageTarget | None:
        """Where a group's card belongs: as its opening says, or with the incident that it undoes."""
        first = group[0]
        if first.undoes:
            try:
                undone = await self._record.find(first.undoes)
            except UnknownIncident:
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


def _may_be_held_up(incident: Incident) -> bool:
    """True while no step runs, or the running step goes in rounds that each have news."""
    if incident.state not in (State.APPROVED, State.ACTING) or incident.proposal is None:
        return False
    if (under_way := incident.step_under_way) is None:
        return True
    commands = incident.proposal.plan.steps[under_way.number - 1].commands
    return bool(commands) and all(map(is_call, commands))


def _ended(group: Sequence[Incident]) -> bool:
    return all(incident.ended for incident in group)
