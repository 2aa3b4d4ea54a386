"""The words for an incident that every surface uses: its headline, its sentences, and the order of severity."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias, TypeVar

from bot.domain.alert import CHATS
from bot.domain.entry import is_author
from bot.domain.incident import Incident
from bot.domain.probe import Snapshot, Unread
from bot.domain.relapse import Relapse
from bot.domain.safe_text import counted, one_line, redacted_line
from bot.domain.transitions import State
from bot.domain.verdict import HEALTHY, Confidence, Status, Verdict

RESOLVED, REOPENED = "Resolved", "Reopened"
NAMELESS = "node not known yet"
PROFILE_SETTLES = (  # it takes a press of a button, by whoever may ask for a check
    "Likely, not confirmed. Profile first would settle it: perf samples every core for 10 s; it changes nothing and "
    "needs no approval."
)
UNUSUAL = "Look here first: "
UNDECIDED, NOT_READ = "Undecided", "Not read"  # what a verdict leaves open
BRAKED = "Braked: "  # begins why something waits for the brake
_TIME = re.compile(
    r"(?:(?<![\d-])(20\d\d-[01]\d-[0-3]\d) |(?<!-\d\d ))(?<![\d:.])([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))? UTC\b",
    re.ASCII,
)
_TRAITS = ("kernel", "cgroup", "driver", "distribution", "virtualisation", "cores", "up")  # others come after these
_ENDED = {
    State.RESOLVED: RESOLVED,
    State.DECLINED: "Declined",
    State.EXPIRED: "Expired",
    State.CANCELLED: "Cancelled",
    State.ESCALATED: "Escalated",
}
# An incident's alert may end while a plan waits or runs: the plan is then the news, not the alert.
_WITHOUT_PLAN = (State.OPENED, State.TRIAGED, State.UNKNOWN)


def node_words(node: str) -> str:
    """Return a node's name, or words that say it is unknown."""
    return one_line(node, 80) or NAMELESS


def cause_words(verdict: Verdict) -> str:
    """Return the cause with its confidence, and whether it is muted; without a cause what is most unusual, or nothing.

    Example: "leaked-memory-cgroups (confirmed, muted)", "likely leaked-memory-cgroups".
    """
    if verdict.cause is None:
        return f"unusual: {one_line(verdict.unusual[0].brief, 120)}" if verdict.unusual else ""
    confidence, is_sure = verdict.confidence, verdict.confidence is Confidence.CONFIRMED
    first = f"{confidence} " if confidence is not None and not is_sure else ""
    said = ["confirmed"] * is_sure + ["muted"] * verdict.is_muted
    return f"{first}{one_line(verdict.cause, 80)}" + (f" ({', '.join(said)})" if said else "")


def trait_words(snapshot: Snapshot | None) -> str:
    """Return what thresholds depend on: kernel, cgroup mode, driver, distribution, cores and uptime, as far as read."""
    traits = dict(snapshot.traits) if snapshot is not None else {}
    ordered = {name: traits.pop(name) for name in _TRAITS if name in traits}
    return " · ".join(redacted_line(said) for said in (ordered | traits).values())


def verdict_words(verdict: Verdict, can_profile: bool = False) -> tuple[Sentence, ...]:
    """Return what a verdict says in sentences: what would settle it, harm and cause, what to try, what is muted.

    Shape: `can_profile`: a button for the profile that would settle it stands below.
    """
    found: tuple[Sentence, ...] = ((verdict.summary,),)
    if verdict.found:
        cause = "Cause: " if verdict.confidence is Confidence.CONFIRMED else "Likely cause: "
        found = (Bold("Harm: "), with_full_stop(verdict.harm)), (Bold(cause), verdict.found)
    unusual: tuple[Sentence, ...] = ()
    if verdict.cause is None:
        found, unusual = (*found, *quoted_words(verdict)), unusual_words(verdict)
    # What is healthy says nothing of what is unusual: that comes first, as a symptom does elsewhere.
    if verdict.status is Status.HEALTHY and verdict.unusual:
        found = (*unusual, *(found if verdict.summary != HEALTHY else ()))
    else:
        found = (*found, *unusual)
    said: tuple[Sentence, ...] = (
        (PROFILE_SETTLES if can_profile else settled_words(verdict),),
        *found,
        (verdict.try_next,),
        (verdict.alerted if verdict.cause is None else "",),
    )
    return (*(each for each in said if plain(each).strip()), *mute_words(verdict))


def quoted_words(verdict: Verdict) -> tuple[Sentence, ...]:
    """Return the kernel's last line about what no cause explains: it names the part that a summary cannot."""
    said = (line.partition(" kernel: ")[2] for item in verdict.evidence for line in reversed(item.source))
    line = one_line(next(filter(None, said), ""), 200)
    if not line or any(line in each.here for each in verdict.unusual):
        return ()
    return ((Bold("The kernel's last line about it: "), f"“{line}”"),)


def unusual_words(verdict: Verdict) -> tuple[Sentence, ...]:
    """Return what the node's peers do not share, a sentence each, or that all is usual; nothing if none were compared.

    It says where to look, and is no cause.
    """
    if not verdict.unusual:
        said = "Nothing unusual" if verdict.status is Status.HEALTHY else "Otherwise nothing unusual"
        return ((f"{said} among {verdict.compared}.",),) if verdict.compared else ()
    first, *more = (with_full_stop(one_line(each.says, 240)) for each in verdict.unusual)
    return ((Bold(UNUSUAL), first), *((f"Also: {each}",) for each in more))


def settled_words(verdict: Verdict) -> str:
    """Return what would settle a verdict that is only likely; empty for any other.

    Example: "Likely, not confirmed: a profile of core 17 would settle it."
    """
    said = verdict.settled_by and f"{verdict.confidence}, not confirmed: {verdict.settled_by} would settle it."
    return f"{said[:1].upper()}{said[1:]}"


def mute_words(verdict: Verdict) -> tuple[Sentence, ...]:
    """Return a sentence for each muted cause that was found: until when, by whom and why.

    Example: "failed-units is muted until 2026-11-29 12:00 UTC by terminal:ann: it is replaced on Monday. No plan is
    offered for it."
    """
    return tuple(
        (
            f"{one_line(mute.cause, 80)} is muted until ",
            Instant(mute.until, dated=True),
            " by ",
            Person(mute.by),
            f": {with_full_stop(one_line(mute.reason, 300))} No plan is offered for it.",
        )
        for mute in verdict.muted
    )


def open_points(verdict: Verdict) -> Iterator[tuple[str, Sequence[tuple[str, str]]]]:
    """Yield what a verdict leaves open, ruled out, and found unusual beside its cause: a title, and rows of names."""
    for title, rows in (
        (UNDECIDED, [(each.cause, each.says_beside(verdict.unread)) for each in verdict.undecided]),
        (NOT_READ, [(each.probe, each.reason) for each in verdict.unread]),
        ("Ruled out", [(each.cause, each.because) for each in verdict.ruled_out if each.applies]),
        ("Does not apply here", [(each.cause, each.because) for each in verdict.ruled_out if not each.applies]),
        ("Unusual", [(each.name, each.beside) for each in verdict.unusual if verdict.cause is not None]),
    ):
        if rows:
            yield title, rows


def remainder_words(verdict: Verdict) -> Iterator[str]:
    """Yield what a verdict leaves open and how many causes it ruled out, and what was not read, without the reasons.

    Example: "Undecided: io-stall. 22 other causes ruled out, 6 do not apply.", "Not read: containers."
    """
    causes = [f"Undecided: {', '.join(each.cause for each in verdict.undecided)}."] if verdict.undecided else []
    if verdict.ruled_out:
        many = sum(each.applies for each in verdict.ruled_out)
        other = "other " if verdict.cause is not None or verdict.undecided else ""
        said = f"{counted(many, other + 'cause')} ruled out"
        if never := len(verdict.ruled_out) - many:
            said += f", {never} {'does' if never == 1 else 'do'} not apply"
        causes.append(f"{said}.")
    if causes:
        yield " ".join(causes)
    if verdict.unread:
        yield f"Not read: {', '.join(each.probe for each in verdict.unread)}."


def headline(node: str, verdict: Verdict | None, *, cured: bool = False) -> str:
    """Return node, status and cause as far as known; a cured node's old status is left out.

    Example: "node-123: CRITICAL, leaked-memory-cgroups (confirmed)".
    """
    if verdict is None:
        return node_words(node)
    words = ["" if cured else verdict.status.value.upper(), cause_words(verdict)]
    said = ("; " if verdict.is_only_unusual else ", ").join(word for word in words if word)
    return f"{node_words(node)}: {said}" if said else node_words(node)


def diagnosis(incident: Incident, verdict: Verdict | None) -> str:
    """Return what an incident is about: its node and verdict, or the incident that it undoes."""
    if incident.undoes:  # it carries the old verdict: the node was not judged again
        return f"{node_words(incident.node)}: undo of incident {incident.undoes}"
    end = f", at the end {one_line(incident.beside, 80)}" if incident.beside else ""
    return headline(incident.node, verdict, cured=incident.state is State.RESOLVED) + end


def first_word(incident: Incident) -> str:
    """Return the first word of a headline: how it ended, or that it was reopened; else empty."""
    if is_over_at_source(incident):
        return RESOLVED
    if incident.ended and incident.state in _ENDED:
        return _ENDED[incident.state]
    return REOPENED if incident.reopens else ""


def is_over_at_source(incident: Incident) -> bool:
    """True when the alert ended at its source and the bot changed nothing."""
    return incident.is_over and not incident.has_begun and (incident.ended or incident.state in _WITHOUT_PLAN)


def with_first_word(word: str, headline: str) -> str:
    """Return a headline with its first word in front, where there is such a word.

    Example:
    >>> with_first_word("Resolved", "node-1: HEALTHY"), with_first_word("", "node-1: HEALTHY")
    ('Resolved: node-1: HEALTHY', 'node-1: HEALTHY')
    """
    return f"{word}: {headline}" if word else headline


@dataclass(frozen=True, slots=True)
class Person:
    """A person, as the record names them: `slack:T024/U123`, `terminal:ann`."""

    by: str


@dataclass(frozen=True, slots=True)
class Group:
    """A group of approvers, as the policy names it: `slack:S024`."""

    id: str


@dataclass(frozen=True, slots=True)
class Instant:
    """A point in time; `exact` shows the seconds too, `dated` the day."""

    at: datetime
    exact: bool = False
    dated: bool = False


@dataclass(frozen=True, slots=True)
class Bold:
    """Words that stand out."""

    words: str


@dataclass(frozen=True, slots=True)
class Code:
    """A name or a command among words."""

    words: str


@dataclass(frozen=True, slots=True)
class Link:
    """Words that link to an address from the settings."""

    words: str
    address: str


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel of a chat, by its id there."""

    id: str


Piece: TypeAlias = str | Person | Group | Instant | Bold
Styled: TypeAlias = Piece | Code | Link | Channel
Sentence: TypeAlias = tuple[Piece, ...]
P = TypeVar("P", bound=Styled)


def in_chat(by: str) -> bool:
    """True for a person of a chat, named as in the record.

    Example:
    >>> in_chat("slack:T024/U123"), in_chat("terminal:ann")
    (True, False)
    """
    return by.partition(":")[0] in CHATS and is_author(by)


def plain(sentence: Sequence[Styled]) -> str:
    """Return a sentence as plain text.

    Example:
    >>> plain(("Approved by ", Person("terminal:ann"), "."))
    'Approved by terminal:ann.'
    """
    return "".join(_plain_piece(piece) for piece in sentence)


def joined(sentences: Iterable[Sentence]) -> Sentence:
    """Join sentences with a blank between them; empty sentences are left out."""
    pieces: list[Piece] = []
    for sentence in sentences:
        if sentence:
            pieces += [" "] * bool(pieces) + list(sentence)
    return tuple(pieces)


def series(lead: str, pieces: Iterable[P], between: str = ", ") -> tuple[P | str, ...]:
    """Return pieces one after another, behind words that lead to them; nothing where there are no pieces.

    Example:
    >>> plain(series("Asked by ", (Person("terminal:ann"), Person("terminal:bob")))), series("Asked by ", ())
    ('Asked by terminal:ann, terminal:bob', ())
    """
    found = [each for piece in pieces for each in (between, piece)]
    return (lead, *found[1:]) if found else ()


def parse_leading_person(words: str, before: str = "") -> Sentence:
    """Return a sentence of the record; a person's name at its start becomes a `Person`.

    Shape: `before` are words of one's own that go before why something waits, where a brake names its person too: after
    anything else a node's words may follow.

    Example:
    >>> parse_leading_person("slack:T024/U123 called it off.")
    (Person(by='slack:T024/U123'), ' called it off.')
    >>> parse_leading_person("Braked: slack:T024/U123 pulled the brake.", "It waits: ")
    ('It waits: Braked: ', Person(by='slack:T024/U123'), ' pulled the brake.')
    >>> parse_leading_person("The node is gone.")
    ('The node is gone.',)
    """
    lead = BRAKED if before and words.startswith(BRAKED) else ""
    by, space, rest = words.removeprefix(lead).partition(" ")
    if is_author(by) and ":" in by:
        return (*filter(None, (before + lead,)), Person(by), space + rest)
    return tuple(filter(None, (before + words,)))


def with_instants(sentence: Sentence, day: datetime) -> Sentence:
    """Return a sentence in which times that end with UTC are instants, of that day where they name none.

    So a card has one clock: its reader's.

    Example:
    >>> day = datetime.fromisoformat("2026-11-22T03:00:00+00:00")
    >>> [str(getattr(each, "at", each)) for each in with_instants(("Until 09:45 UTC, not 2026-11-20 09:45 UTC.",), day)]
    ['Until ', '2026-11-22 09:45:00+00:00', ', not ', '2026-11-20 09:45:00+00:00', '.']
    """
    return tuple(
        each for piece in sentence for each in (_instants_in(piece, day) if isinstance(piece, str) else (piece,))
    )


def _instants_in(words: str, day: datetime) -> Iterator[Piece]:
    done = 0
    for found in _TIME.finditer(words):
        hour, minute, second = (int(part or 0) for part in found.groups()[1:])
        try:
            of = datetime.fromisoformat(f"{found[1]}T00:00+00:00") if found[1] else day
        except ValueError:  # no date at all, such as 2026-02-31
            continue
        yield words[done : found.start()]
        at = of.replace(hour=hour, minute=minute, second=second, microsecond=0)
        yield Instant(at, exact=found[4] is not None, dated=found[1] is not None)
        done = found.end()
    yield words[done:]


def with_full_stop(words: str) -> str:
    """Return a sentence of the record with a full stop, where it has none; empty stays empty.

    Example:
    >>> with_full_stop("It is too late"), with_full_stop("Is it?"), with_full_stop("")
    ('It is too late.', 'Is it?', '')
    """
    return words if not words or words[-1] in ".!?…”" else f"{words}."


def utc(at: datetime) -> str:
    """Return an instant as `09:45 UTC`."""
    return f"{at:%H:%M} UTC"


def _plain_piece(piece: Styled) -> str:
    match piece:
        case Person(by=by):
            return one_line(by, 140)
        case Group(id=group):
            return f"group {one_line(group, 60)}"
        case Instant(at=at, dated=dated):
            return f"{at:%Y-%m-%d} {utc(at)}" if dated else utc(at)
        case Bold(words=words) | Code(words=words) | Link(words=words) | Channel(id=words):
            return words
    return piece


T = TypeVar("T", bound=StrEnum)

_ORDINALS = {2: "Second", 3: "Third", 4: "Fourth", 5: "Fifth"}


def relapse_words(relapse: Relapse | None) -> str:
    """Say in a line that a node had the same cause before; empty for the first time.

    Example:
    >>> relapse_words(Relapse(3, timedelta(days=30), timedelta(days=9, hours=2), cured=True, rebooted=True))
    'Third time in 30 days; it comes back about 9 days after a reboot.'
    """
    if relapse is None:
        return ""
    hours = round(relapse.apart / timedelta(hours=1))
    apart = f"{round(hours / 24)} days" if hours >= 48 else f"{hours} hours" if hours > 1 else "an hour"
    after = "after a reboot" if relapse.rebooted else "after the remedy"
    rhythm = f"it comes back about {apart} {after}" if relapse.cured else f"about {apart} apart"
    time = _ORDINALS.get(relapse.times, f"{relapse.times}th")
    return f"{time} time in {relapse.within.days} days; {rhythm}."


def tried_words(relapse: Relapse | None) -> str:
    """Say that the remedy did not last, where it was carried out twice or more; else empty.

    Example:
    >>> tried_words(Relapse(3, timedelta(days=30), tried=("7k3m9x2qpv", "8a2b1c9d0e")))
    'This remedy was carried out 2 times in 30 days (7k3m9x2qpv, 8a2b1c9d0e) and did not last: see to the lasting fix.'
    """
    if relapse is None or len(relapse.tried) < 2:
        return ""
    named = one_line(", ".join(relapse.tried[-3:]), 100)
    many = f"{len(relapse.tried)} times in {relapse.within.days} days ({named})"
    return f"This remedy was carried out {many} and did not last: see to the lasting fix."


WORST_FIRST = (Status.CRITICAL, Status.DEGRADED, Status.UNKNOWN, Status.UNREACHABLE, Status.HEALTHY)
NEEDS_PERSON_FIRST = (
    State.UNKNOWN,
    State.ESCALATED,
    State.PROPOSED,
    State.ACTING,
    State.APPROVED,
    State.VERIFYING,
    State.CANCELLED,
    State.EXPIRED,
    State.DECLINED,
    State.RESOLVED,
    State.TRIAGED,
    State.OPENED,
)


def severity_key(status: Status | None, confidence: Confidence | None = None) -> tuple[int, int]:
    """Return a sort key: the worst status first, the surest verdict first among equals, unread nodes last."""
    place = WORST_FIRST.index(status) if status is not None else len(WORST_FIRST)
    return place, -(confidence.rank if confidence is not None else 0)


def attention_key(state: State) -> int:
    """Return a sort key: incidents that need a person come first."""
    return NEEDS_PERSON_FIRST.index(state)


def count_by_kind(kinds: Iterable[T], order: Sequence[T]) -> list[tuple[int, T]]:
    """Return how many items each kind has, in that order.

    Example:
    >>> count_by_kind([Status.HEALTHY, Status.CRITICAL, Status.HEALTHY], WORST_FIRST)
    [(1, <Status.CRITICAL: 'critical'>), (2, <Status.HEALTHY: 'healthy'>)]
    """
    found = list(kinds)
    return [(count, kind) for kind in order if (count := found.count(kind))]


def status_counts(statuses: Iterable[Status]) -> str:
    """Return how many nodes have each status, the worst first.

    Example:
    >>> status_counts([Status.HEALTHY, Status.CRITICAL])
    '1 critical, 1 healthy'
    """
    return ", ".join(f"{count} {status.value}" for count, status in count_by_kind(statuses, WORST_FIRST))


def rights_hint(unread: Iterable[Unread]) -> str:
    """Say what to do about readings that the login was not allowed to take; else empty.

    Example:
    >>> rights_hint([Unread("nic", "the answer never came")])
    ''
    """
    if any("sudo is not installed" in reading.reason for reading in unread):
        return "Only root may read these: install sudo on the node, then run node-setup.sh there again."
    if not any("sudo refused" in reading.reason or "permission denied" in reading.reason for reading in unread):
        return ""
    return "zombie sudoers prints the lines that let the login on the node read these too."
