"""Was a verdict right? People's marks on closed incidents, counted by cause; and when a cause is in doubt.

They are entries of `house`. A field added later has a default, so that older entries can still be read.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from bot.domain.entry import Entry, OwnEvent, event_of
from bot.domain.errors import UnreadableEntry
from bot.domain.policy import Policy
from bot.domain.verdict import Verdict

ENOUGH = 3  # people; fewer may be one person's mistake, or one stolen login
TRUSTED = 0.8  # the share of people who say right below which a cause offers no plans
_NOBODY = Policy()


@dataclass(frozen=True, slots=True)
class VerdictMarked(OwnEvent):
    """A person said whether the verdict of a closed incident was right; a later mark of theirs replaces this.

    Shape: `cause` is the verdict's, or its status if it has no cause. `case` is the content hash of what the node said,
    if that is kept. `request` is the request's id, so that a repeated delivery adds nothing; `os_user` is the login
    that typed the command. `groups` are the person's groups at that moment that may approve. `was` is what it was
    instead, in their words. One that is `taken_back` says nothing any more. `approvers` is how many people could
    approve then, 0 where a group decides whose members are not known.
    """

    incident: str
    cause: str
    right: bool
    node: str = ""
    case: str = ""
    request: str = ""
    os_user: str = ""
    groups: tuple[str, ...] = ()
    was: str = ""
    taken_back: bool = False
    approvers: int = 0


@dataclass(frozen=True, slots=True)
class CauseLookedAt(OwnEvent):
    """A person looked at a cause in doubt: its plans are offered again, and marks are counted from zero."""

    cause: str
    reason: str
    os_user: str = ""


@dataclass(frozen=True, slots=True)
class CauseDoubted(OwnEvent):
    """With the mark before it a cause came into doubt, and it stays so until a person has looked at it.

    Shape: `against` of `voices` people who may approve said wrong then. It is on record, so that whoever leaves, and
    whatever is said or the policy names later, lifts no doubt.
    """

    cause: str
    against: int
    voices: int


KINDS: Mapping[str, type[Any]] = {event.__name__: event for event in (VerdictMarked, CauseLookedAt, CauseDoubted)}


@dataclass(frozen=True, slots=True)
class VerdictMark:
    """A person's present mark on a verdict.

    Shape: `seq` is the number of its entry. `person` is the one name that they count under.
    """

    incident: str
    cause: str
    right: bool
    by: str
    at: datetime
    seq: int
    case: str = ""
    person: str = ""


@dataclass(frozen=True, slots=True)
class Score:
    """How often verdicts of a cause were marked right and wrong.

    Shape: `right` and `wrong` count the marks since somebody last looked at the cause (`looked_at`, None for never);
    `ever_right` and `ever_wrong` count all marks. `against` are the people who may approve whose latest word since then
    is wrong, among `voices` of them with a latest word; `needed` is how many of them put it in doubt, 0 for nobody can.
    Of a cause whose doubt is on record (`is_noted`) the first two are as they were then.
    """

    cause: str
    right: int = 0
    wrong: int = 0
    ever_right: int = 0
    ever_wrong: int = 0
    looked_at: datetime | None = None
    against: int = 0
    voices: int = 0
    needed: int = 0
    is_noted: bool = False

    @property
    def precision(self) -> float | None:
        """The share of right verdicts since the last look at the cause; None without marks."""
        marks = self.right + self.wrong
        return self.right / marks if marks else None

    @property
    def in_doubt(self) -> bool:
        """True when so many people who may approve say wrong that its plans are no longer offered.

        Example:
        >>> Score("io-stall", against=3, voices=14, needed=3).in_doubt
        True
        >>> Score("io-stall", against=3, voices=15, needed=3).in_doubt
        False
        >>> Score("io-stall", wrong=99, against=2, voices=2, needed=3).in_doubt
        False
        """
        is_heard = self.needed > 0 and self.against >= self.needed
        return self.is_noted or (is_heard and self.voices - self.against < TRUSTED * self.voices)

    @property
    def doubt(self) -> str:
        """Why its plans are not offered, and what would change that; empty if they are offered."""
        if not self.in_doubt:
            return ""
        word = "the word, when that was noted," if self.is_noted else "the latest word"
        return (
            f"{self.cause} was wrong by {word} of {self.against} of {self.voices} people who may approve: "
            f"it offers nothing until one who may approve has looked at it (/zombie looked-at {self.cause} REASON, "
            f"or zombie playbooks looked-at {self.cause} --reason TEXT)."
        )


def named(verdict: Verdict) -> str:
    """Return the name a verdict is counted under: its cause, or its status if it has no cause."""
    return verdict.cause or verdict.status.value


def marks_of(entries: Iterable[Entry], policy: Policy = _NOBODY) -> tuple[VerdictMark, ...]:
    """Return each person's present mark on each verdict, oldest first; a later mark replaces an earlier mark.

    Nobody counts twice under two names, and whom the policy does not count is left out.
    """
    found: dict[tuple[str, str], VerdictMark] = {}
    for entry, event in _mark_events(entries):
        if isinstance(event, VerdictMarked) and (person := policy.counted(entry.by)):
            key = event.incident, person
            found.pop(key, None)  # so that it moves to its latest position
            if event.taken_back:
                continue
            found[key] = VerdictMark(
                event.incident, event.cause, event.right, entry.by, entry.at, entry.seq, event.case, person
            )
    return tuple(found.values())


def uncounted(entries: Iterable[Entry], policy: Policy) -> int:
    """Return how many words on verdicts stand on record and do not count."""
    marked = {
        (each.incident, entry.by): each for entry, each in _mark_events(entries) if isinstance(each, VerdictMarked)
    }
    return sum(not each.taken_back and not policy.counted(by) for (_, by), each in marked.items())


def scores(entries: Sequence[Entry], policy: Policy = _NOBODY) -> tuple[Score, ...]:
    """Return the score of every cause that was marked or looked at, sorted by name."""
    looked, noted, heard = dict[str, Entry](), dict[str, CauseDoubted](), dict[str, _Hearing]()
    for entry, event in _mark_events(entries):
        match event:
            case CauseLookedAt(cause=cause):
                looked[cause] = entry
                noted.pop(cause, None)
                heard.pop(cause, None)
            case CauseDoubted(cause=cause):
                noted[cause] = event
            case VerdictMarked(cause=cause):
                heard.setdefault(cause, _Hearing(policy)).hear(event, entry.by)
    marks = dict[str, list[VerdictMark]]()
    for mark in marks_of(entries, policy):
        marks.setdefault(mark.cause, []).append(mark)
    found = []
    for cause in sorted({*marks, *looked, *noted}):
        late = [mark.right for mark in marks.get(cause, ()) if cause not in looked or mark.seq > looked[cause].seq]
        ever = [mark.right for mark in marks.get(cause, ())]
        score = replace(
            heard.get(cause, _Hearing(policy)).score(cause),
            right=late.count(True),
            wrong=late.count(False),
            ever_right=ever.count(True),
            ever_wrong=ever.count(False),
            looked_at=looked[cause].at if cause in looked else None,
        )
        if (doubt := noted.get(cause)) is not None:
            score = replace(score, against=doubt.against, voices=doubt.voices, is_noted=True)
        found.append(score)
    return tuple(found)


def score_of(entries: Sequence[Entry], cause: str, policy: Policy = _NOBODY) -> Score:
    """Return the score of a cause."""
    unmarked = _Hearing(policy).score(cause)
    return next((score for score in scores(entries, policy) if score.cause == cause), unmarked)


def delivered_before(entries: Iterable[Entry], mark: VerdictMarked, by: str) -> Entry | None:
    """Return the entry that a request of this person has already; None for a new one, and for one without an id."""
    for entry, earlier in _mark_events(entry for entry in entries if entry.by == by):
        if isinstance(earlier, VerdictMarked) and earlier.request == mark.request != "":
            return entry
    return None


class _Hearing:
    """What those who may approve said of one cause since a person last looked at it."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._words: dict[str, dict[str, tuple[bool, str]]] = {}  # of each person, by incident, the latest last
        self._told = ENOUGH  # how many could approve, when a chat last said so

    def hear(self, mark: VerdictMarked, by: str) -> None:
        """Count a word; one that may not approve takes back what the same name said of the same verdict, no more."""
        words = self._words.setdefault(self._policy.counted(by), {})
        may = self._policy.may_approve(by, mark.groups)
        _, said_by = words.get(mark.incident, (False, by))
        if may or mark.taken_back or said_by == by:
            words.pop(mark.incident, None)
        if may and not mark.taken_back:
            words[mark.incident] = mark.right, by
            of_group = by.partition(":")[0] in {group.partition(":")[0] for group in self._policy.approver_groups}
            self._told = mark.approvers or (ENOUGH if of_group else self._told)  # others can tell nothing of it

    def score(self, cause: str) -> Score:
        """Return how many say wrong by their latest words, and how many it takes; no marks are counted."""
        latest = [next(reversed(words.values()))[0] for person, words in self._words.items() if person and words]
        several = self._policy.most_approvers({})
        if several is None:  # of a group whose members come and go: one at a time perhaps, but who spoke is known
            several = max(len(latest), self._told)
        return Score(cause, against=latest.count(False), voices=len(latest), needed=min(ENOUGH, several))


def _mark_events(entries: Iterable[Entry]) -> Iterator[tuple[Entry, object]]:
    for entry in entries:
        if entry.kind in KINDS:
            with contextlib.suppress(UnreadableEntry):  # a newer program wrote it
                yield entry, event_of(entry.kind, entry.body, events=KINDS)
