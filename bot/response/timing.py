"""Until when something may still happen in an incident, and when to look at it again."""

from __future__ import annotations

from datetime import datetime, timedelta

from bot.domain.contracts import Clock, Seconds
from bot.domain.incident import Incident
from bot.domain.policy import Policy

POLL, LONGEST_POLL = timedelta(seconds=2), timedelta(seconds=5)


class SteadyClock:
    """A clock that never runs backwards: a system clock that is put back extends nothing.

    Shape: `elapsed` are monotonic seconds. A system clock that is put forward is believed: what expires by that is
    not done, which is the safe side.
    """

    def __init__(self, clock: Clock, elapsed: Seconds) -> None:
        self._clock = clock
        self._elapsed = elapsed
        self._began_at, self._began = clock(), elapsed()

    def __call__(self) -> datetime:
        """Return the time."""
        return max(self._clock(), self._began_at + timedelta(seconds=self._elapsed() - self._began))


def now_of(clock: Clock, incident: Incident) -> datetime:
    """Return the time for an incident: a clock that was put back revives nothing that expired."""
    return max(clock(), incident.updated_at)


def decided_within(policy: Policy, incident: Incident) -> timedelta:
    """Return how long a proposal may wait for a yes; a wave's proposal waits as long as the wave's approval lasts."""
    return policy.approval_expires + (policy.wave_expires if incident.wave else timedelta(0))


def lives_until(policy: Policy, incident: Incident) -> datetime | None:
    """Return until when the next step may begin, counted from the decision or from the end of the step before.

    Shape: a decision recorded after the proposal has expired starts nothing.
    """
    since = lives_since(incident)
    if incident.approval is None or since is None:
        return None
    if incident.proposed_at is not None and incident.approval.at >= incident.proposed_at + decided_within(
        policy, incident
    ):
        return incident.approval.at
    # The look that confirms the cure may come late, by as much as the node was watched.
    late = incident.validation.window if incident.validation is not None else timedelta(0)
    return since + late + policy.approval_expires


def lives_since(incident: Incident) -> datetime | None:
    """Return since when the next step may begin: the decision, the end of the step before, or that of the watch."""
    if incident.approval is None:
        return None
    ends = [step.ended_at for step in incident.steps] + [incident.validation_ends_at]
    return max([incident.approval.at, *(at for at in ends if at is not None)])


def pause_of(since: datetime, now: datetime) -> timedelta:
    """Return the pause before the next look: short at first, longer for what takes minutes."""
    return min(max(POLL, (now - since) / 10), LONGEST_POLL)
