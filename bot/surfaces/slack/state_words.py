"""How an incident stands, in words: a mark, a headline, and the sentence that a phone or a screen reader gets."""

from __future__ import annotations

from bot.domain.events import Cancelled, Declined, Escalated, Expired, PlanWithheld, Resolved, SampleTaken
from bot.domain.incident import Incident
from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.response.diagnosis.proposal import ACTING_IS_OFF
from bot.surfaces.slack.message import escaped
from bot.surfaces.slack.plan_blocks import SAID, approver_words, plan_words, step_sentence
from bot.surfaces.slack.rich import named, told_by, utc
from bot.surfaces.slack.telling import Telling

_MARKS = {
    State.PROPOSED: "✋",
    State.APPROVED: "👍",
    State.ACTING: "🔧",
    State.VERIFYING: "👀",
    State.UNKNOWN: "❓",
    State.RESOLVED: "✅",
    State.DECLINED: "🚫",
    State.EXPIRED: "⌛",
    State.CANCELLED: "↩️",
    State.ESCALATED: "🆘",
}
_CLOSING = {
    State.RESOLVED: "Resolved",
    State.DECLINED: "Declined",
    State.EXPIRED: "Expired",
    State.CANCELLED: "Cancelled",
    State.ESCALATED: "Escalated",
}


def mark(incident: Incident) -> str:
    """Return the sign of a state; the words beside it say the same."""
    return _MARKS.get(incident.state, "•")


def diagnosis(incident: Incident) -> str:
    """Return node, status, cause and confidence as far as they are known."""
    node, verdict = one_line(incident.node, 80) or "a node", incident.verdict
    if incident.undoes:  # nothing was judged anew
        return f"{node}: undo of incident {incident.undoes}"
    if verdict is None:
        return node
    # What was cured is not critical any more.
    words = [] if incident.state is State.RESOLVED else [verdict.status.value.upper()]
    if verdict.cause is not None:
        sure = f" ({verdict.confidence.value})" if verdict.confidence is not None else ""
        words.append(f"{one_line(verdict.cause, 80)}{sure}")
    return f"{node}: {', '.join(words)}" if words else node


def headline(incident: Incident) -> str:
    """Return the card's first words: a closed one begins with how it ended, a reopened one says so."""
    if incident.is_over and not incident.steps and (incident.ended or incident.state is State.UNKNOWN):
        return f"Resolved: {diagnosis(incident)}"  # where its alert came from, whatever was decided here
    if incident.ended and (word := _CLOSING.get(incident.state)):
        return f"{word}: {diagnosis(incident)}"
    return f"Reopened: {diagnosis(incident)}" if incident.reopens else diagnosis(incident)


def state_sentence(incident: Incident, telling: Telling) -> str:
    """Return how it stands as escaped text; the only markup in it is the name of a person."""
    words = _sentence(incident, telling)
    return words if incident.state is not State.PROPOSED else f"→ {_remedy(incident)}. {words}"


def told(incident: Incident, telling: Telling) -> str:
    """Return headline and sentence as one escaped text."""
    stop = "" if incident.state is State.PROPOSED else "."
    return f"{escaped(headline(incident))}{stop} {state_sentence(incident, telling)}"


def row(incident: Incident, telling: Telling) -> str:
    """Return an incident as one line of a table, without markup."""
    return f"{mark(incident)} {headline(incident)} — {_short(incident, telling)}"


def is_withheld(incident: Incident) -> bool:
    """True when a plan is not offered for a reason that people can do something about."""
    return incident.withheld is not None and incident.withheld.because != ACTING_IS_OFF


def _remedy(incident: Incident) -> str:
    return escaped(plan_words(incident.proposal.plan)) if incident.proposal is not None else ""


def _sentence(incident: Incident, telling: Telling) -> str:
    match incident.state:
        case State.PROPOSED:
            if who := telling.checking.get(incident.id):
                return f"checking… {named(who)} said yes, and the node is looked at again."
            return escaped(approver_words(telling, [incident]))
        case State.APPROVED:
            why = one_line(telling.waits_for.get(incident.id, ""), SAID)
            waits = f"It waits: {why}" if why else "It begins."
            return f"{_decided(incident, 'Approved')} {escaped(waits)}"
        case State.ACTING:
            why = telling.waits_for.get(incident.id, "") if incident.step_under_way is None else ""
            waits = f"It waits: {one_line(why, SAID)} " if why else ""
            return f"Acting. {escaped(waits + step_sentence(incident))} {_decided(incident, 'Approved')}"
        case State.VERIFYING:
            return f"{escaped(_watched(incident))} {escaped(step_sentence(incident))}"
        case State.UNKNOWN:
            asked = incident.question.question if incident.question is not None else ""
            until = telling.answers_until(incident)
            return escaped(f"A question: {one_line(asked, SAID)}" + (f" Until {utc(until)}." if until else ""))
    return _ending(incident)


def _ending(incident: Incident) -> str:
    match incident.ending:
        case Resolved(summary=summary):
            return f"{escaped(one_line(summary, SAID))} {_decided(incident, 'Approved')}"
        case Declined():
            return _decided(incident, "Declined")
        case Cancelled(because=because, differences=differences):
            return " ".join([_because(because), *(escaped(one_line(one, SAID) + ".") for one in differences[:4])])
        case Escalated(because=because, try_next=try_next):
            return f"{_because(because)} {escaped(one_line(try_next, SAID))}".strip()
        case Expired(because=because):
            return escaped(one_line(because, SAID))
        case PlanWithheld(because=because):
            return escaped(f"What would help is not offered: {one_line(because, SAID)}")
    return ""


def _because(because: str) -> str:
    by, rest = told_by(one_line(because, SAID))
    return (named(by) if by else "") + escaped(rest)


def _decided(incident: Incident, word: str) -> str:
    decision = incident.decision
    if decision is None:
        return ""
    said = escaped(one_line(decision.event.reason, SAID))
    return f"{word} by {named(decision.by)} at {utc(decision.at)}" + (f": “{said}”." if said else ".")


def _watched(incident: Incident) -> str:
    until = incident.validation_ends_at
    words = "All steps are through; the node is watched" + (f" until {utc(until)}." if until is not None else ".")
    return f"{words} {looks(incident)}".strip()


def looks(incident: Incident) -> str:
    """Return what was seen while the node is watched."""
    if not incident.samples:
        return ""
    last: SampleTaken = incident.samples[-1]
    held = "the cure holds" if last.holds else "the cure does not hold"
    number = len(incident.samples)
    return f"{number} look{'s' if number > 1 else ''} so far: at the last one {held}."


def _short(incident: Incident, telling: Telling) -> str:
    if incident.id in telling.checking and incident.state is State.PROPOSED:
        return "checking…"
    if incident.state is State.PROPOSED and incident.proposal is not None:
        return f"waits for approval: {plan_words(incident.proposal.plan)}"
    if incident.state is State.ACTING and incident.proposal is not None:
        step, steps = min(len(incident.steps), len(incident.proposal.plan.steps)), len(incident.proposal.plan.steps)
        return f"acting, step {max(step, 1)} of {steps}"
    match incident.state:
        case State.OPENED:
            return "is read"
        case State.APPROVED:
            return one_line(f"approved{'; waits: ' + why if (why := telling.waits_for.get(incident.id)) else ''}", 120)
        case State.VERIFYING:
            return "watched"
        case State.UNKNOWN:
            return "a question is open"
        case State.TRIAGED if incident.withheld is not None:
            return f"not offered: {one_line(incident.withheld.because, 120)}"
        case State.TRIAGED:
            return "nothing to decide"
    because = getattr(incident.ending, "because", "") or getattr(incident.ending, "summary", "")
    return one_line(because or incident.state.value, 120)
