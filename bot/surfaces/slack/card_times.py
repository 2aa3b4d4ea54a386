"""What changes on a card with the clock: the seconds of a running step, and a reminder that nobody has decided.

The seconds change often at first, less often later. The reminder comes into the card's thread when half of the time to
decide is over; once for plans that were proposed together, also across restarts and replicas. It notifies only the
people whom the policy names: no group, and no channel.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.domain.incident import Incident
from bot.domain.policy import Policy
from bot.domain.safe_text import listed, one_line
from bot.domain.transitions import State
from bot.surfaces.slack.blocks import drawn, line, marked_up, slack_user
from bot.surfaces.slack.message import TEXT, Message, clipped
from bot.surfaces.view.plan_words import lasting
from bot.surfaces.view.words import Instant, Person, Piece, Sentence

MOST_NAMED = 5
PROGRESS = (State.ACTING, State.VERIFYING)


@dataclass(frozen=True, slots=True)
class Reminder:
    """A reminder: the part under which it is stored, when it is due, what still waits, and until when."""

    part: str
    at: datetime
    until: datetime
    waiting: tuple[Incident, ...]

    def message(self, policy: Policy) -> Message:
        """Return what is said in the thread."""
        nodes = listed([one_line(incident.node, 80) for incident in self.waiting], MOST_NAMED)
        verb = "wait" if len(self.waiting) > 1 else "waits"
        pieces: list[Piece] = [f"Half of the time is over, and {nodes} still {verb} for a decision, until "]
        pieces += [Instant(self.until), ". After that nothing is done, and it has to be checked again."]
        for number, by in enumerate(_called(self.waiting, policy)):
            pieces += [", " if number else " Who may approve: ", Person(by)]
        said: Sentence = tuple(pieces)
        return Message(clipped(marked_up(said), TEXT), (line(*drawn(said)),))


class ReminderTimes:
    """Remembers when to look at which card; rebuilt from what is shown after a restart."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._due: dict[str, datetime] = {}
        self._said: dict[str, set[str]] = {}

    def heard(self, name: str, group: Sequence[Incident]) -> None:
        """Note the state of a card."""
        found = list(reminders(group, self._policy))
        times = [reminder.at for reminder in found if reminder.part not in self._said.get(name, ())]
        self._due.pop(name, None)
        if times:
            self._due[name] = min(times)
        elif not found:
            self._said.pop(name, None)

    def due(self, now: datetime, mine: Collection[str]) -> list[str]:
        """Return the cards among these that are due."""
        return [name for name, at in self._due.items() if at <= now and name in mine]

    def said(self, name: str, part: str) -> None:
        """Note that a reminder was sent, here or by an earlier run."""
        self._said.setdefault(name, set()).add(part)


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


def _called(waiting: Sequence[Incident], policy: Policy) -> list[str]:
    """The people in Slack whom the policy names and who could say yes to all of it."""
    spoken = {said.by for incident in waiting for said in incident.endorsements}
    asked = {asker for incident in waiting for asker in incident.askers} if not policy.self_approval else set()
    away = {slack_user(by) for by in (*spoken, *asked)}
    return [by for by in sorted(policy.approvers) if slack_user(by) and slack_user(by) not in away][:MOST_NAMED]


@dataclass(slots=True)
class RunningSteps:
    """Remembers on which cards a step runs, and the seconds shown; rebuilt from what is shown after a restart.

    Shape: by card, `since` is when its steps began, `looked_at` the instant up to which their seconds are counted.
    """

    since: dict[str, tuple[datetime, ...]] = field(default_factory=dict)
    looked_at: dict[str, datetime] = field(default_factory=dict)

    def heard(self, name: str, group: Sequence[Incident]) -> None:
        """Note the state of a card; a card that also waits for people is left alone until it changes."""
        steps = [step for incident in group if (step := incident.step_under_way) is not None]
        if steps and all(incident.ended or incident.state in PROGRESS for incident in group):
            self.since[name] = tuple(step.started_at for step in steps)
        else:
            self.since.pop(name, None)
            self.looked_at.pop(name, None)

    def due(self, now: datetime, mine: Collection[str]) -> list[str]:
        """Return the cards among these whose shown seconds are out of date."""
        return [
            name
            for name, starts in self.since.items()
            if name in mine and _said(starts, now) != _said(starts, self.looked_at.get(name))
        ]

    def looked(self, name: str, now: datetime) -> None:
        """Count a card's seconds up to this instant."""
        self.looked_at[name] = now


def _said(starts: Sequence[datetime], now: datetime | None) -> list[timedelta]:
    return [lasting(since, now) for since in starts]
