"""Trigger ids. Each allows a modal for a person, within three seconds of their action.

Defined in https://docs.slack.dev/interactivity/handling-user-interaction#modal_responses
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.demo.slack.ids import IdGenerator
from bot.demo.slack.refusal import SlackRefused
from bot.domain.contracts import Clock

LIFE = timedelta(seconds=3)
MOST_KEPT = 1000


@dataclass(slots=True)
class _Trigger:
    user: str
    made_at: datetime
    is_used: bool = False


class Triggers:
    """The recent trigger ids."""

    def __init__(self, clock: Clock, names: IdGenerator) -> None:
        self._clock = clock
        self._names = names
        self._given: dict[str, _Trigger] = {}
        self.are_dead = False  # a fault: every trigger counts as expired

    def give(self, user: str) -> str:
        """Return a new trigger id for this person's action."""
        while len(self._given) >= MOST_KEPT:
            del self._given[next(iter(self._given))]
        now = self._clock()
        trigger = f"{int(now.timestamp() * 1000)}.{len(self._given)}.{self._names.secret(8)}"
        self._given[trigger] = _Trigger(user, now)
        return trigger

    def use(self, trigger: str) -> str:
        """Use a trigger up and return its person.

        Raises: SlackRefused with `invalid_trigger_id`, `exchanged_trigger_id` or `expired_trigger_id`.
        """
        found = self._given.get(trigger)
        if found is None:
            raise SlackRefused("invalid_trigger_id")
        if found.is_used:
            raise SlackRefused("exchanged_trigger_id")
        if self.are_dead or self._clock() - found.made_at > LIFE:
            raise SlackRefused("expired_trigger_id")
        found.is_used = True
        return found.user
