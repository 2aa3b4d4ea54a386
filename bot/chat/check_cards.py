"""The cards of checks: the progress of readings, their verdicts, and the details in their threads.

It follows diagnoses and starts none. `surface.py` shows everything beyond verdicts, such as proposals and
questions, on the same card.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial

from bot.chat.card import incident_card
from bot.chat.document import Document
from bot.chat.parts import CARD, MessageTarget, spot_of
from bot.chat.pictures import Pictures
from bot.chat.poster import Poster
from bot.chat.remembered import Remembered
from bot.chat.storm_board import StormBoard
from bot.chat.thread import details
from bot.chat.why_replies import WhyReplies
from bot.domain.incident import Incident, newest
from bot.domain.verdict import Status, Verdict
from bot.response.diagnosis.progress import Underway
from bot.view.context import ViewContext
from bot.view.view import group_view, is_alarm

REMEMBERED = 5000  # cards with a known wording, and requests with a known place
FEW = 5  # nodes of an alert's card that all get details; of more, only unhealthy nodes do
LATE = timedelta(minutes=10)  # a node that joins a card this late is announced in the channel


@dataclass(slots=True)
class _Board:
    """The state of a group's card while its nodes are read; by node: `progress`, and `live` verdicts."""

    group: tuple[Incident, ...]
    spot: MessageTarget
    view: ViewContext
    reading: set[str] = field(default_factory=set)  # ids of incidents
    progress: dict[str, Underway] = field(default_factory=dict)
    live: dict[str, Verdict] = field(default_factory=dict)  # with the snapshot, which the record does not keep

    @property
    def is_final(self) -> bool:
        """True when every node has its verdict."""
        return all(member.node in self.live or member.verdict is not None or not member.node for member in self.group)

    def message(self) -> Document:
        """Return the card."""
        return incident_card(group_view(self.group, replace(self.view, progress=self.progress, fresh=self.live)))

    def shows(self, group: tuple[Incident, ...]) -> None:
        """Take a group from the record; incidents being read that are not in it yet stay."""
        known = {member.id for member in group}
        self.group = (*group, *(mine for mine in self.group if mine.id in self.reading - known))


@dataclass(slots=True, eq=False)
class CheckCards:
    """Keeps the cards of checks: a `Follower` of diagnoses, and a `Surface`.

    Shape: `why` adds to the details what would have changed a verdict; None: nobody does. `pictures` get ready while
    nodes are read. `view` is what all cards have in common.
    """

    poster: Poster
    storms: StormBoard
    view: ViewContext
    why: WhyReplies | None = None
    pictures: Pictures | None = None
    _boards: dict[str, _Board] = field(default_factory=dict)
    _asked_at: Remembered[str, MessageTarget] = field(default_factory=lambda: Remembered(REMEMBERED))
    _shown: Remembered[str, str] = field(default_factory=lambda: Remembered(REMEMBERED))

    def expect(self, group: str, spot: MessageTarget) -> None:
        """Note where the card of a request belongs, and where the asker is answered in private."""
        self._asked_at[group] = spot

    # --- from the record

    async def show(self, group: Sequence[Incident]) -> None:
        """Bring the card of an alert's group up to date; a person's check changes only with its readings.

        Only how fast something grows is known once the verdict is on record, and is told on a person's card too.
        Raises: LedgerError when the card cannot be kept.
        """
        if not group:
            return
        ours = newest(group)
        has_grown = len(ours) == 1 and ours[0].triage is not None and ours[0].triage.growth is not None
        if not (has_grown or is_alarm(group[0].alert)):
            return
        name, spot = group[0].card, spot_of(group[0])
        board = self._boards.get(name)
        if board is not None:
            board.shows(ours)
        if board is not None and not has_grown:
            self.poster.show(name, board.spot, board.message)
        elif spot is not None and all(member.triage is not None for member in ours):
            view = group_view(ours, self.view)
            if view.shows_verdicts:  # `surface.py` shows everything else
                await self.poster.adopt(name, spot)
                await self._owe(name, spot, incident_card(view), once=True)
                if board is None:
                    self.poster.finished(name)
        for storm in dict.fromkeys(member.storm for member in ours if member.storm):
            self.storms.heard(storm)

    # --- while nodes are read

    async def begun(self, group: Sequence[Incident], reading: Sequence[Incident]) -> None:
        """Show on the card that nodes are read; an existing card is continued."""
        name = group[0].card
        spot = self._asked_at.get(name) or spot_of(group[0])
        if spot is None:
            return
        if self.pictures is not None:
            self.pictures.prepare()
        board, stands = self._boards.get(name), True
        if board is None:
            stands = await self.poster.adopt(name, spot)
            if (board := self._boards.get(name)) is None:
                board = self._boards[name] = _Board(tuple(group), spot, self.view)
                self.poster.hold(name)  # `surface.py` may be done with the card before its nodes are read
        board.reading |= {member.id for member in reading}
        board.shows(tuple(group))
        if stands:
            self.poster.show(name, board.spot, board.message)
        else:
            await self._owe(name, board.spot, board.message())

    def moved(self, underway: Underway) -> None:
        """Show how far the reading of a node is."""
        name, node = underway.incident.card, underway.incident.node
        board = self._boards.get(name)
        if board is not None and node not in board.live:
            board.progress[node] = underway
            self.poster.show(name, board.spot, board.message)

    async def concluded(self, incident: Incident, verdict: Verdict) -> None:
        """Show a verdict and its details; the last verdict has to arrive, so it is not mere progress."""
        name = incident.card
        board = self._boards.get(name)
        if board is None:
            return
        board.live[verdict.node] = verdict
        if not board.is_final:
            self.poster.show(name, board.spot, board.message)
        else:
            if verdict.heat is not None and len(board.group) == 1:  # begun at once; the card does not wait for it
                self.poster.illustrate(name, board.spot, incident.id, verdict.node, verdict.heat)
            await self._owe(name, board.spot, board.message())
            if is_alarm(incident.alert):
                await self._told_again(name, board)
        of_many = is_alarm(incident.alert) and len(board.group) > FEW
        if not (of_many and verdict.status is Status.HEALTHY):
            of_several = len(board.group) > 1
            fits = self.poster.chat.fits
            blocks = details(verdict, incident.id, fits, of_several=of_several)
            for reply in blocks:
                await self.poster.enqueue(name, reply.part, board.spot, reply.message, under=CARD)
            if self.why is not None and len(board.group) <= FEW:
                again = partial(details, verdict, incident.id, fits, of_several=of_several)
                self.why.begin(name, board.spot, verdict, blocks, again, lambda: name in self._boards)

    def ended(self, incident: Incident) -> None:
        """Release a card once none of its nodes is being read."""
        name = incident.card
        board = self._boards.get(name)
        if board is not None:
            board.reading.discard(incident.id)
            if not board.reading:
                del self._boards[name]
                self.poster.let_go(name)
                self.poster.finished(name)

    async def _told_again(self, name: str, board: _Board) -> None:
        """Announce in the card's thread what came back or came late: Slack does not notify about edits."""
        began_at = min(member.opened_at for member in board.group)
        read_here = [member for member in board.group if member.node in board.live]
        again = [member for member in read_here if member.reopens]
        late = [member for member in read_here if not member.reopens and member.opened_at - began_at > LATE]
        if again or late:
            new = f"Also on this card: {', '.join(member.node for member in late[:FEW])}. " if late else ""
            said = board.message().text
            message = Document((new, *(said if isinstance(said, tuple) else ())), broadcast=True)
            await self.poster.enqueue(name, f"again-{(again or late)[0].id}", board.spot, message, under=CARD)

    async def _owe(self, name: str, spot: MessageTarget, message: Document, *, once: bool = False) -> None:
        wording = self.poster.chat.draw(message).wording
        if once and self._shown.get(name) == wording:
            return
        await self.poster.enqueue(name, CARD, spot, message)
        self._shown[name] = wording
