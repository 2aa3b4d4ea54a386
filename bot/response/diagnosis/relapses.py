"""What a node had before, from its earlier incidents: for the line on its card, and to withhold a second reboot."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.actions import ACTIONS
from bot.domain.events import PlanWithheld
from bot.domain.incident import Incident
from bot.domain.playbook import Playbook
from bot.domain.relapse import Relapse
from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.domain.verdict import Status, Verdict

WITHIN = timedelta(days=30)
_REBOOTS = frozenset(name for name, action in ACTIONS.items() if action.reboots)


@dataclass(slots=True)
class _Times:
    """Counts how often a node had a cause, from the first incident to the last."""

    began: list[datetime] = field(default_factory=list)
    returned_after: list[timedelta] = field(default_factory=list)
    is_sick: bool = False
    cured_at: datetime | None = None

    def note_sick(self, at: datetime) -> None:
        """Count a time, unless the cause was there all along: two alerts of the same case count once."""
        if not self.is_sick:
            self.began.append(at)
            if self.cured_at is not None:
                self.returned_after.append(at - self.cured_at)
        self.is_sick, self.cured_at = True, None

    def note_cured(self, cured_at: datetime | None = None) -> None:
        """Note that the cause was seen to be gone."""
        self.is_sick, self.cured_at = False, cured_at

    @property
    def mean_gap(self) -> timedelta:
        """The mean time from a remedy to the return, or between two starts where there was no remedy."""
        if self.returned_after:
            return sum(self.returned_after, timedelta(0)) / len(self.returned_after)
        return (self.began[-1] - self.began[0]) / (len(self.began) - 1) if len(self.began) > 1 else timedelta(0)


def relapse_of(incident: Incident, verdict: Verdict, past: Iterable[Incident], machine_id: str = "") -> Relapse | None:
    """Return how often the node had the verdict's cause before; None for the first time.

    A cause that was never seen to be gone counts once, however many alerts came: gone means a proved remedy, a healthy
    verdict, or an alert that its source ended. `past` is in order of time; only the same machine under the same name
    counts, because copied images share a machine-id and names are reused.
    """
    times, cures, undone = _Times(), list[Incident](), set[str]()
    for earlier in past:
        if earlier.undoes and earlier.state is State.RESOLVED:
            undone.add(earlier.undoes)
        if earlier.node != verdict.node or not _may_be_same_machine(earlier, machine_id) or earlier.undoes:
            continue
        if earlier.verdict is None:
            continue
        if earlier.verdict.status is Status.HEALTHY:
            times.note_cured(times.cured_at)
        if earlier.verdict.cause != verdict.cause:
            continue
        times.note_sick(earlier.opened_at)
        if earlier.was_carried_out:
            cures.append(earlier)
        if earlier.state is State.RESOLVED and earlier.steps:
            times.note_cured(earlier.steps[-1].ended_at)
        elif earlier.is_over:
            times.note_cured()
    times.note_sick(incident.opened_at)
    if len(times.began) < 2:
        return None
    cure = verdict.plan.cure if verdict.plan is not None else ""
    proved = [earlier for earlier in cures if earlier.state is State.RESOLVED]
    return Relapse(
        times=len(times.began),
        within=WITHIN,
        apart=times.mean_gap,
        cured=bool(times.returned_after),
        rebooted=bool(times.returned_after) and all(_rebooted_at(earlier) is not None for earlier in proved),
        tried=tuple(earlier.id for earlier in cures if _cure_digest(earlier) == cure and earlier.id not in undone),
    )


def no_second_reboot_within(verdict: Verdict, playbook: Playbook) -> timedelta | None:
    """Return within which time the verdict's plan is not offered again; None where nothing keeps it back."""
    if verdict.plan is None or not any(step.action in _REBOOTS for step in verdict.plan.steps):
        return None
    return next((used.cause.reboot_lasts for used in playbook.causes if used.cause.name == verdict.cause), None)


def withheld_after_reboot(
    incident: Incident,
    verdict: Verdict,
    playbook: Playbook,
    begun: Sequence[Incident],
    unreadable: Collection[str] = (),
) -> PlanWithheld | None:
    """Return why the verdict's plan is not offered: it reboots, and an earlier reboot for this cause did not last.

    Shape: `begun` are the incidents with this cause in which a plan was begun, oldest first. Here the machine counts
    under every name, because a reboot too many is worse than a reboot too few; for the same reason what cannot be read
    counts as a reboot.
    """
    if (lasts := no_second_reboot_within(verdict, playbook)) is None:
        return None
    if unreadable:
        named = f"incident {one_line(min(unreadable), 40)} cannot be read"
        return PlanWithheld(f"It is not known whether a reboot for {verdict.cause} was carried out before: {named}.")
    for earlier in reversed(begun):
        at = _rebooted_at(earlier)
        if at is None or earlier.verdict is None or earlier.verdict.cause != verdict.cause:
            continue
        if (ago := incident.opened_at - at) < lasts:
            return PlanWithheld(
                f"A reboot for {verdict.cause} was carried out {max(ago.days, 0)} days ago, in incident {earlier.id}, "
                f"and did not last. It is offered once in {lasts.days} days. {verdict.lasting_fix}".rstrip()
            )
    return None


def _may_be_same_machine(earlier: Incident, machine_id: str) -> bool:
    seen = earlier.triage.machine_id if earlier.triage is not None else ""
    return not (seen and machine_id) or seen.lower() == machine_id


def _cure_digest(earlier: Incident) -> str | None:
    return earlier.proposal.plan.cure if earlier.proposal is not None else None


def _rebooted_at(earlier: Incident) -> datetime | None:
    """When the incident's reboot began; None without a reboot. An undo has no verdict of its own."""
    steps = earlier.proposal.plan.steps if earlier.proposal is not None else ()
    began = (
        record.started_at
        for record, step in zip(earlier.steps, steps, strict=False)
        if record.had_its_try and step.action in _REBOOTS
    )
    return next(began, None)
