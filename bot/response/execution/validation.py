"""Watches a node after its plan is done: does the cure hold, and how did each figure change."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import TypeAlias

from bot.causes import CAUSES
from bot.domain.action import Action, Proof
from bot.domain.contracts import NodeDirectory
from bot.domain.duration import span_words
from bot.domain.errors import CannotRead, HostKeyRejected, Unreachable, UsageError
from bot.domain.events import (
    BESIDE,
    REFUTED,
    Escalated,
    IncidentEvent,
    QuestionAsked,
    Resolved,
    SampleTaken,
    StepSkipped,
)
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, RuledOut, ShortLog, Status, Undecided, Verdict
from bot.probes.host import HostReading
from bot.response.decision.guards import units_of
from bot.response.decision.preflight import machine_drift
from bot.response.diagnosis.figures import before_and_after_table, figures, read_then
from bot.response.execution.node_access import NodeAccess, NodeStatus
from bot.response.execution.watched_growth import WatchedGrowth, watched_growth
from bot.response.incident_record import facts_before, facts_proving, plan_of, undoable, untrusted_node_question

Diagnose: TypeAlias = Callable[[Node, str], Awaitable[Verdict]]  # a node by a playbook's name

MOST_BETWEEN = timedelta(seconds=60)
SAMPLES_A_WINDOW = 5
UNREADABLE = "not-readable"  # a failed look: it neither confirms nor refutes
_TRY_NEXT = "The plan was carried out and did not fix it. Look at it by hand, or replace it."
_CHECK_AGAIN = "The plan was carried out. Once what is missing can be read, check the node again."


async def next_sample(
    incident: Incident,
    now: datetime,
    nodes: NodeDirectory,
    reach: NodeAccess,
    diagnose: Diagnose,
) -> tuple[timedelta, IncidentEvent | None]:
    """Return the next event of a watched incident, or the time until the next look."""
    assert incident.validation is not None
    assert incident.validation_ends_at is not None
    window, ends_at = incident.validation.window, incident.validation_ends_at
    last = incident.samples[-1] if incident.samples else None
    if last is not None and last.refutes:
        return timedelta(0), Escalated(f"The cure does not hold: {_sample_words(last)}.", _TRY_NEXT)
    if incident.cure_has_held and not incident.steps_left:
        contained = _contains(incident, reach.actions)
        return timedelta(0), _escalated_after_containment(incident, reach.actions) if contained else resolved(incident)
    looked_at = incident.sampled_at or ends_at - window  # what is recorded meanwhile, such as an answer, is no look
    if last is not None and not last.holds and looked_at >= ends_at + window:
        return timedelta(0), Escalated(f"It is not known whether the cure holds: {_sample_words(last)}.", _CHECK_AGAIN)
    every = min(max(window / SAMPLES_A_WINDOW, timedelta(seconds=1)), MOST_BETWEEN)
    due = looked_at + every
    due = min(due, ends_at) if looked_at < ends_at else due
    if now < due:
        return due - now, None
    # A look that shows nothing leaves a gap. What has to be known begins with the last step: the node may have been up
    # for minutes before its cluster, or this program, let the watch begin.
    since = looked_at if last is not None and last.holds else incident.steps[-1].started_at
    return timedelta(0), await _sample(incident, nodes, reach, diagnose, now - since)


async def why_not_watchable(incident: Incident, node: Node, reach: NodeAccess) -> str | QuestionAsked:
    """Say why the node cannot be watched yet: it does not answer, or is not Ready in its cluster; empty if it can."""
    plan, bound = plan_of(incident)
    done, waiting = plan.steps[: len(incident.steps)], plan.steps[len(incident.steps) :]
    try:
        seen = await reach.look(node)
        if others := machine_drift(bound, node, seen):
            return untrusted_node_question(f"Another machine answers: {'; '.join(others)}.")
        return await reach.cluster_trouble(node, done, seen, waiting)
    except HostKeyRejected as no:
        return untrusted_node_question(no.sentence)
    except (Unreachable, CannotRead) as no:
        return no.sentence


async def _sample(
    incident: Incident, nodes: NodeDirectory, reach: NodeAccess, diagnose: Diagnose, gap: timedelta
) -> SampleTaken | QuestionAsked:
    assert incident.proposal is not None
    plan = incident.proposal.plan
    done, waiting = plan.steps[: len(incident.steps)], plan.steps[len(incident.steps) :]
    try:
        node = nodes.find(incident.node)
        seen = await reach.look(node, done)
        others = machine_drift(incident.proposal.binds, node, seen)
        if others:
            return untrusted_node_question(f"Another machine answers: {'; '.join(others)}.")
        if incident.undoes:  # an undo restores the earlier state, sick or well
            return _sample_event(_undone_effects(incident, reach, seen), f"{incident.node} is as it was before")
        if _contains(incident, reach.actions):  # it may still be sick: a person has to end that
            return _sample_event(_undone_effects(incident, reach, seen), f"{incident.node} is kept from new work")
        unready = await reach.cluster_trouble(node, done, seen, waiting)
        verdict = await diagnose(node, incident.playbook)
    except HostKeyRejected as no:
        return untrusted_node_question(no.sentence)
    except (Unreachable, CannotRead, UsageError) as no:  # as where the playbook is gone
        return SampleTaken(False, (Evidence(UNREADABLE, "look", no.sentence),))
    assert incident.verdict is not None
    if verdict.status in (Status.UNREACHABLE, Status.UNKNOWN):
        return SampleTaken(False, (Evidence(UNREADABLE, "verdict", verdict.summary),))
    if unready and any(reach.actions[step.action].starts_a_unit for step in plan.steps):
        return SampleTaken(False, (Evidence(UNREADABLE, "look", f"{unready}; a unit was started there just now"),))
    shown = {step.args.get("unit", ""): facts for step, facts in zip(done, seen.facts, strict=True)}
    measured = figures(verdict, units_of(plan), shown)
    cause, growth = incident.verdict.cause, watched_growth(incident, measured)
    lines = tuple(f"{name}={value}" for name, value in measured.items())
    if growth is not None and growth.is_unclear:
        unclear = f"{growth.says}, and the node started {span_words(growth.uptime)} ago"
        return SampleTaken(False, (Evidence(UNREADABLE, "verdict", unclear, lines),))
    goes_on = _goes_on(incident, verdict, growth, reach.actions)
    if not goes_on and (not_told := _why_unknown(incident, verdict, goes_on, gap)):
        return SampleTaken(False, (Evidence(UNREADABLE, "verdict", not_told),))
    against = [*_undone_effects(incident, reach, seen), *filter(None, (unready,))]
    if goes_on:
        says = growth.says if growth is not None and growth.goes_on else verdict.summary
        against.append(f"{cause} is still there: {says}")
    beside = measured["verdict"] if _is_news(verdict, incident.verdict) else ""
    return _sample_event(against, verdict.summary, lines, beside)


def _sample_event(against: list[str], says: str, lines: tuple[str, ...] = (), beside: str = "") -> SampleTaken:
    said = tuple(Evidence(REFUTED, "look", line) for line in against)
    found = (Evidence(BESIDE, "verdict", beside),) if beside else ()
    return SampleTaken(not against, said or (Evidence("figures", "verdict", says, lines), *found))


def _is_news(verdict: Verdict, approved: Verdict) -> bool:
    """True if the verdict surely has another cause, which whoever said yes was told to be ruled out, or open.

    Shape: not where people know and accept it. A symptom without a cause is none: nobody can accept it.
    """
    were_absent = {*(each.cause for each in approved.ruled_out), *(each.cause for each in approved.undecided)}
    is_sure = verdict.confidence is not Confidence.POSSIBLE
    return verdict.cause in were_absent and is_sure and not verdict.is_muted


def _undone_effects(incident: Incident, reach: NodeAccess, seen: NodeStatus) -> list[str]:
    """Steps whose effect is gone."""
    assert incident.proposal is not None
    against = []
    done = incident.proposal.plan.steps[: len(incident.steps)]
    for record, step, facts in zip(incident.steps, done, seen.facts, strict=True):
        action = reach.actions[step.action]
        if action.reboots:
            settled = facts_proving(record)
            if settled and settled != facts:
                against.append("the node was booted again")
            continue
        if action.by_calls is not None:
            against += filter(None, (action.by_calls.lasts(step.args, facts_before(record, facts), facts),))
            continue
        skipped = isinstance(record.outcome, StepSkipped)
        if action.judge(step.args, facts_before(record, facts), facts) is not Proof.PROVEN:
            states = ", ".join(f"{name}={value}" for name, value in facts.items() if name.endswith("State"))
            against.append(f"{action.title_of(step.args)} {'is not so' if skipped else 'does not hold'}: {states}")
    return against


def _why_unknown(incident: Incident, verdict: Verdict, goes_on: bool | None, gap: timedelta) -> str:
    """Say why nothing is known of the cause: it is undecided, or nobody rules it out.

    It may be there behind another fault, people may have accepted it meanwhile, or the playbook asks for it no more.
    """
    assert incident.verdict is not None
    cause = incident.verdict.cause
    if verdict.cause == cause:
        return f"{cause} is not ruled out: {verdict.summary}" if goes_on is None else ""
    answers: tuple[Undecided | RuledOut, ...] = (*verdict.undecided, *verdict.ruled_out)
    answer = next((each for each in answers if each.cause == cause), None)
    if answer is None:
        is_well = verdict.status is Status.HEALTHY
        return f"{cause} is not ruled out: {'nothing judges it now' if is_well else verdict.summary}"
    if isinstance(answer, Undecided) and not _covers(answer, verdict.snapshot, gap):
        return f"{cause} cannot be judged: {answer.says}"
    if isinstance(answer, RuledOut) and not answer.applies:
        return f"{cause} cannot be judged any more: {answer.because}"
    if lost := _silent_suspects(incident.verdict, verdict.snapshot):
        return f"{cause} cannot be judged any more: no answer of {', '.join(lost)}"
    return ""


def _covers(answer: Undecided, snapshot: Snapshot | None, gap: timedelta) -> bool:
    """True if only the log is short, and shows the time since the look before, or all but the boot's messages.

    Shape: with what a look may take, as neither was made in a moment.
    """
    host = None if snapshot is None else snapshot.get(HostReading)
    if host is None or isinstance(host, Unread) or not isinstance(answer, ShortLog):
        return False
    return answer.since <= max(MOST_BETWEEN, host.uptime - gap - MOST_BETWEEN)


def _silent_suspects(before: Verdict, snapshot: Snapshot | None) -> tuple[str, ...]:
    """The devices that were blamed and do not answer now: what is ruled out of the others says nothing of them."""
    cause = CAUSES.get(before.cause or "")
    if cause is None or cause.answering is None or snapshot is None:
        return ()
    there = cause.answering(snapshot)
    return tuple(suspect for suspect in before.suspects if suspect not in there)


def _goes_on(
    incident: Incident, verdict: Verdict, growth: WatchedGrowth | None, actions: Mapping[str, Action]
) -> bool | None:
    """Whether the cause goes on; None if that is not known.

    It does where its count grows at its old pace, however few there are yet. What it has left goes with a reboot only:
    where the plan has none, it is over once that grows so no more.
    """
    assert incident.verdict is not None
    assert incident.proposal is not None
    if growth is not None and growth.goes_on:
        return True
    if verdict.cause is None or verdict.cause != incident.verdict.cause:
        return False
    counts = (cause := CAUSES.get(verdict.cause)) is not None and cause.grows is not None
    reboots = any(actions[step.action].reboots for step in incident.proposal.plan.steps)
    if counts and verdict.plan is None and not reboots:
        return None if growth is None else False
    return None if verdict.confidence is Confidence.POSSIBLE else True


def _contains(incident: Incident, actions: Mapping[str, Action]) -> bool:
    """True if nothing was done against the cause itself."""
    assert incident.proposal is not None
    return all(actions[step.action].contains for step in incident.proposal.plan.steps)


def _escalated_after_containment(incident: Incident, actions: Mapping[str, Action]) -> Escalated:
    """End an incident whose node gets no new work but is not cured: a person has to do the rest."""
    assert incident.proposal is not None
    assert incident.verdict is not None
    plan = incident.proposal.plan
    said = (
        record.outcome.because if isinstance(record.outcome, StepSkipped) else actions[step.action].title_of(step.args)
        for step, record in zip(plan.steps, incident.steps, strict=True)
    )
    held = sum(sample.holds for sample in incident.samples)
    readings = f"{held} of {len(incident.samples)} readings confirm it"
    what = "Carried out, but no cure" if incident.has_begun else "Nothing was done, and no cure"
    because = f"{what}: {', '.join(said)}; {readings}. {incident.verdict.cause} has to be ended by a person."
    undo = f" Afterwards: zombie undo {incident.id}" if undoable(incident, actions) else ""
    return Escalated(because, f"{plan.lasting_fix}{undo}".strip())


def _sample_words(sample: SampleTaken) -> str:
    return "; ".join(seen.says.rstrip(".") for seen in sample.seen)


def resolved(incident: Incident) -> Resolved:
    """Return the end of an incident whose cure has held."""
    assert incident.proposal is not None
    assert incident.validation is not None
    held = sum(sample.holds for sample in incident.samples)
    beside = incident.samples[-1].beside
    is_so = "as it was before" if incident.undoes else f"cured so far{f', but at the end {beside}' if beside else ''}"
    readings = f"{held} of {len(incident.samples)} readings within {span_words(incident.validation.window)}"
    summary = f"{incident.node} is {is_so}: read again after the last step, {readings} confirm it"
    note = f" ({incident.validation.note.rstrip('.')})" if incident.validation.note else ""
    return Resolved(
        f"{summary}{note}.", before_and_after_table(incident.proposal.figures, read_then(incident.samples[-1]))
    )
