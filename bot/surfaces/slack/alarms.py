"""Alarms in Slack: the nodes that they name are read, and their cards filled; a group whose nodes are owed is work.

It is a surface like the others: shown a group, it begins what nobody has begun, and shows what came of it. What is
beyond the verdicts, proposals and questions, stands on the same card by `surface.py`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from bot.domain.contracts import ProbeAnswered, Progress, ReadingStarted
from bot.domain.errors import InventoryError, LedgerError, PlaybookError
from bot.domain.incident import Incident, newest
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.domain.verdict import Status, Verdict
from bot.response.checks import CheckDesk, not_judged
from bot.response.judged import Judged
from bot.surfaces.slack.card import acting_card, alarm_card
from bot.surfaces.slack.message import TEXT, Message, clipped
from bot.surfaces.slack.part import Spot
from bot.surfaces.slack.poster import CARD, Poster
from bot.surfaces.slack.thread import details
from bot.surfaces.view.context import Underway, ViewContext
from bot.surfaces.view.plan_words import BY_NAME, PlanWords
from bot.surfaces.view.view import ALARMS

REMEMBERED = 5000  # incidents that were judged here, and cards whose wording is known
FEW = 5  # nodes of one card that all have their details; of more only those that are not well
LATE = timedelta(minutes=10)  # a node that comes so long after its card's first is told to the channel
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0  # seconds between two tries to write a verdict down
IN_STORMS = "storms"  # their readings share one person's allowance, so that people's own go on


@dataclass(slots=True)
class _Board:
    """What is known of a group's card while its nodes are read."""

    group: tuple[Incident, ...]
    spot: Spot
    progress: dict[str, Underway] = field(default_factory=dict)
    live: dict[str, Verdict] = field(default_factory=dict)  # by node, with the snapshot that the record leaves out


class AlarmDesk:
    """Sees alarms through: a `Surface`.

    Handed in: `find(node)` and `playbook(name)`; `begin(work, name)` has something done beside everything else, and
    drained with it; `stormy(storm)` is told that something went on in a storm.
    """

    def __init__(
        self,
        checks: CheckDesk,
        poster: Poster,
        judged: Judged,
        find: Callable[[str], Node],
        playbook: Callable[[str], Playbook],
        begin: Callable[[Coroutine[Any, Any, None], str], None],
        log: Callable[..., None],
        stormy: Callable[[str], None] = lambda storm: None,
        words: PlanWords = BY_NAME,
    ) -> None:
        self._checks = checks
        self._poster = poster
        self._judged = judged
        self._find = find
        self._playbook = playbook
        self._begin = begin
        self._log = log
        self._stormy = stormy
        self._words = words
        self._boards: dict[str, _Board] = {}
        self._reading: set[str] = set()
        self._done: OrderedDict[str, None] = OrderedDict()  # judged here: a look from before that must not begin anew
        self._shown: OrderedDict[str, str] = OrderedDict()

    async def show(self, group: Sequence[Incident]) -> None:
        """Begin what is owed to a group, and bring its card up to date.

        Raises: LedgerError when the card cannot be kept.
        """
        if not group or group[0].alert.kind not in ALARMS:
            return
        ours = newest(group)
        name, spot = group[0].summary.card, spot_of(group[0])
        owed = [one for one in ours if self._is_owed(one)]
        self._reading.update(one.id for one in owed)  # before anything is waited for: a card is kept while one is read
        try:
            if spot is not None:
                await self._card(name, spot, ours, has_news=bool(owed))
        except BaseException:
            self._reading.difference_update(one.id for one in owed)
            raise
        for one in owed:
            self._begin(self._one(name, one), f"alarm {one.id}")
        for one in ours:
            if one.state is State.TRIAGED and not one.ended and one.id not in self._reading | self._done.keys():
                await self._judged.finished(one)
        for storm in dict.fromkeys(one.storm for one in ours if one.storm):
            self._stormy(storm)

    def _is_owed(self, incident: Incident) -> bool:
        return (
            incident.state is State.OPENED
            and bool(incident.node)
            and not incident.undoes
            and incident.id not in self._reading
            and incident.id not in self._done
        )

    async def _card(self, name: str, spot: Spot, group: tuple[Incident, ...], *, has_news: bool) -> None:
        board = self._boards.get(name)
        if board is not None or has_news:
            await self._open(name, spot, group)
        elif acting_card(group, ViewContext()) is None and all(one.triage is not None for one in group):
            await self._poster.adopt(name, spot)
            await self._owe(name, spot, alarm_card(group, words=self._words), once=True)
            self._poster.finished(name)

    async def _open(self, name: str, spot: Spot, group: tuple[Incident, ...]) -> None:
        """Have the card show that its nodes are read; one that stands there already is gone on with."""
        board = self._boards.get(name)
        if board is None:
            stands = await self._poster.adopt(name, spot)
            board = self._boards.setdefault(name, _Board(group, spot))
            if not stands:
                await self._owe(name, spot, self._message(board))
        board.group = group
        self._poster.show(name, spot, lambda: self._message(board))

    async def _one(self, name: str, incident: Incident) -> None:
        try:
            playbook = self._chosen(incident)
            verdict = await self._verdict(name, incident, playbook)
            if verdict is not None:  # else the bot is stopping, and owes it
                await self._conclude(name, incident, verdict, playbook)
        finally:
            self._reading.discard(incident.id)
            board = self._boards.get(name)
            if board is not None and not any(one.id in self._reading for one in board.group):
                del self._boards[name]
                self._poster.finished(name)

    async def _verdict(self, name: str, incident: Incident, playbook: Playbook) -> Verdict | None:
        try:
            node = self._find(incident.node)
        except InventoryError:
            return not_judged(incident.node, "It left the inventory before it could be read.")
        person = IN_STORMS if incident.storm else f"alarm {name}"
        return await self._checks.ask(
            person,
            node,
            playbook,
            lambda event: self._heard(name, event),
            lambda why: self._progress(name, Underway(node.name, waiting=why)),
        )

    async def _conclude(self, name: str, incident: Incident, verdict: Verdict, playbook: Playbook) -> None:
        """Show a verdict, and only then put it on record: what the record lacks is read again after a restart."""
        board = self._boards.get(name)
        try:
            if board is not None:
                board.live[verdict.node] = verdict
                if self._is_final(board):
                    await self._owe(name, board.spot, self._message(board))
                    await self._told_again(name, board)
                else:
                    self._poster.show(name, board.spot, lambda: self._message(board))
                await self._details(name, board, incident, verdict)
        except LedgerError as error:
            self._log("record_failed", incident=incident.id, error=one_line(str(error)))
        finally:
            self._done[incident.id] = None
            while len(self._done) > REMEMBERED:
                self._done.popitem(last=False)
            await self._on_record(incident, verdict, playbook)

    async def _on_record(self, incident: Incident, verdict: Verdict, playbook: Playbook) -> None:
        """Write the verdict down, however long the ledger cannot be asked: nobody else will."""
        pause = FIRST_PAUSE
        while True:
            try:
                await self._judged.triaged(incident.id, verdict, playbook)
                return
            except LedgerError as error:
                self._log("record_failed", incident=incident.id, error=one_line(str(error)), again_in_seconds=pause)
            await asyncio.sleep(pause)
            pause = min(LONGEST_PAUSE, pause * 2)

    def _chosen(self, incident: Incident) -> Playbook:
        """The incident's playbook, or the usual one where that is not there any more."""
        try:
            return self._playbook(incident.playbook)
        except PlaybookError as no:
            self._log("playbook_gone", incident=incident.id, error=one_line(no.sentence))
            return self._playbook("")

    async def _told_again(self, name: str, board: _Board) -> None:
        """Tell the channel, in the card's thread, what is back or came late: of an edited card nobody hears."""
        began_at = min(one.opened_at for one in board.group)
        read_here = [one for one in board.group if one.node in board.live]
        again = [one for one in read_here if one.reopens]
        late = [one for one in read_here if not one.reopens and one.opened_at - began_at > LATE]
        if again or late:
            new = f"Also on this card: {', '.join(one.node for one in late[:FEW])}. " if late else ""
            message = Message(clipped(new + self._message(board).text, TEXT), broadcast=True)
            await self._poster.owe(name, f"again-{(again or late)[0].id}", board.spot, message, under=CARD)

    async def _details(self, name: str, board: _Board, incident: Incident, verdict: Verdict) -> None:
        if len(board.group) > FEW and verdict.status is Status.HEALTHY:
            return
        for number, message in enumerate(details(verdict, incident.id), 1):
            await self._poster.owe(name, f"details-{incident.id}-{number}", board.spot, message, under=CARD)

    def _message(self, board: _Board) -> Message:
        return alarm_card(board.group, board.progress, board.live, self._words)

    def _is_final(self, board: _Board) -> bool:
        return all(one.node in board.live or one.verdict is not None or not one.node for one in board.group)

    def _heard(self, name: str, event: Progress) -> None:
        match event:
            case ReadingStarted(node=node, probes=probes):
                self._progress(name, Underway(node, asked=len(probes)))
            case ProbeAnswered(node=node):
                board = self._boards.get(name)
                before = board.progress.get(node, Underway(node)) if board is not None else Underway(node)
                self._progress(name, Underway(node, before.answered + 1, before.asked))

    def _progress(self, name: str, underway: Underway) -> None:
        board = self._boards.get(name)
        if board is not None and underway.node not in board.live:
            board.progress[underway.node] = underway
            self._poster.show(name, board.spot, lambda: self._message(board))

    async def _owe(self, name: str, spot: Spot, message: Message, *, once: bool = False) -> None:
        body = json.dumps([message.text, list(message.blocks)], sort_keys=True)
        wording = hashlib.sha256(body.encode()).hexdigest()
        if once and self._shown.get(name) == wording:
            return
        await self._poster.owe(name, CARD, spot, message)
        self._shown[name] = wording
        self._shown.move_to_end(name)
        while len(self._shown) > REMEMBERED:
            self._shown.popitem(last=False)


def spot_of(incident: Incident) -> Spot | None:
    """Return where an alarm's card belongs; None where it has none: it came in a storm, or no channel is set."""
    if incident.alert.kind not in ALARMS or incident.storm or not incident.channel:
        return None
    return Spot(incident.channel, patient=True)
