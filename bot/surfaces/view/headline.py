"""The first words about a node: its name, status, cause and confidence, and how its incident ended."""

from __future__ import annotations

from bot.domain.incident import Incident
from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.domain.verdict import Verdict

RESOLVED, REOPENED = "Resolved", "Reopened"
NAMELESS = "node not known yet"
_ENDED = {
    State.RESOLVED: RESOLVED,
    State.DECLINED: "Declined",
    State.EXPIRED: "Expired",
    State.CANCELLED: "Cancelled",
    State.ESCALATED: "Escalated",
}
# The alert of an incident may end while a plan waits or runs: the plan is then the news, and not the alert.
_WITHOUT_PLAN = (State.OPENED, State.TRIAGED, State.UNKNOWN)


def node_words(node: str) -> str:
    """Return a node's name, or words that stand for it."""
    return one_line(node, 80) or NAMELESS


def cause_words(verdict: Verdict) -> str:
    """Return the cause with its confidence; empty where no cause was found.

    Example: "leaked-memory-cgroups (confirmed)".
    """
    if verdict.cause is None:
        return ""
    sure = f" ({verdict.confidence.value})" if verdict.confidence is not None else ""
    return one_line(verdict.cause, 80) + sure


def headline(node: str, verdict: Verdict | None, *, cured: bool = False) -> str:
    """Return node, status and cause as far as they are known; a node that is cured has its status no more.

    Example: "node-123: CRITICAL, leaked-memory-cgroups (confirmed)".
    """
    if verdict is None:
        return node_words(node)
    words = ["" if cured else verdict.status.value.upper(), cause_words(verdict)]
    said = ", ".join(word for word in words if word)
    return f"{node_words(node)}: {said}" if said else node_words(node)


def diagnosis(incident: Incident, verdict: Verdict | None) -> str:
    """Return what an incident is about: its node and verdict, or the incident that it takes back."""
    if incident.undoes:  # it has the old verdict: nothing was judged again
        return f"{node_words(incident.node)}: undo of incident {incident.undoes}"
    return headline(incident.node, verdict, cured=incident.state is State.RESOLVED)


def lead(incident: Incident) -> str:
    """Return the word that a headline begins with: how it ended, or that it was reopened; empty for the others."""
    if is_over_at_source(incident):
        return RESOLVED
    if incident.ended and incident.state in _ENDED:
        return _ENDED[incident.state]
    return REOPENED if incident.reopens else ""


def is_over_at_source(incident: Incident) -> bool:
    """True when the alert ended where it came from, and the bot changed nothing."""
    return incident.is_over and not incident.steps and (incident.ended or incident.state in _WITHOUT_PLAN)


def led(word: str, headline: str) -> str:
    """Return a headline after its first word, where it has one.

    Example:
    >>> led("Resolved", "node-1: HEALTHY"), led("", "node-1: HEALTHY")
    ('Resolved: node-1: HEALTHY', 'node-1: HEALTHY')
    """
    return f"{word}: {headline}" if word else headline
