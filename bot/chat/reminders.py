"""A reminder that nobody has decided.

It comes into the card's thread when half of the time to decide is over; once for plans that were proposed together,
also across restarts and replicas. It notifies only the people whom the policy names: no group, and no channel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.chat.document import Document, line
from bot.domain.incident import Incident
from bot.domain.policy import Policy, person_of
from bot.domain.safe_text import listed, one_line
from bot.domain.transitions import State
from bot.view.words import Instant, Person, Piece, Sentence, in_chat, series

MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Reminder:
    """A reminder: the part under which it is stored, when it is due, what still waits, and until when."""

    part: str
    at: datetime
    until: datetime
    waiting: tuple[Incident, ...]

    def message(self, policy: Policy) -> Document:
        """Return what is said in the thread."""
        nodes = listed([one_line(incident.node, 80) for incident in self.waiting], MOST_NAMED)
        verb = "wait" if len(self.waiting) > 1 else "waits"
        pieces: list[Piece] = [f"Half of the time is over, and {nodes} still {verb} for a decision, until "]
        pieces += [Instant(self.until), ". After that nothing is done, and it has to be checked again."]
        pieces += series(" Who may approve: ", map(Person, _people_to_remind(self.waiting, policy)))
        said: Sentence = tuple(pieces)
        return Document(said, (line(*said),))


def reminders(group: Sequence[Incident], policy: Policy) -> Iterator[Reminder]:
    """Yield the reminders of a card whose plans still wait, due or not; a wave's plans get none.

    Shape: plans proposed within half of the time of each other share a reminder, so that many nodes do not make many.
    """
    half: timedelta = policy.approval_expires / 2
    proposed = [
        (since, incident) for incident in group if (since := incident.proposed_at) is not None and not incident.wave
    ]
    together: list[list[tuple[datetime, Incident]]] = []
    for since, incident in sorted(proposed, key=lambda each: (each[0], each[1].id)):
        if together and since - together[-1][0][0] < half:
            together[-1].append((since, incident))
        else:
            together.append([(since, incident)])
    for batch in together:
        if waiting := [(since, incident) for since, incident in batch if incident.state is State.PROPOSED]:
            first = waiting[0][0]
            still = tuple(incident for _, incident in waiting)
            yield Reminder(f"nudge-{batch[0][1].id}", first + half, first + policy.approval_expires, still)


def _people_to_remind(waiting: Sequence[Incident], policy: Policy) -> list[str]:
    """The people of a chat whom the policy names and who could say yes to all of it."""
    spoken = {said.by for incident in waiting for said in incident.endorsements}
    asked = {asker for incident in waiting for asker in incident.askers} if not policy.self_approval else set()
    away = {person_of(by) for by in (*spoken, *asked)}
    return [by for by in sorted(policy.approvers) if in_chat(by) and person_of(by) not in away][:MOST_NAMED]
