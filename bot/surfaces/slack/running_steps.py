"""The seconds of a running step, updated on its card: often at first, less often later."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.domain.incident import Incident
from bot.domain.transitions import State
from bot.surfaces.view.plan_words import lasting

PROGRESS = (State.ACTING, State.VERIFYING)


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
