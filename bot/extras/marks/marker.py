"""Records whether people say that a verdict was right, and that a person looked at a cause in doubt."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from bot.domain.allowance import Allowance
from bot.domain.contracts import Clock
from bot.domain.duration import span_words
from bot.domain.entry import Entry
from bot.domain.errors import NothingToMark, TooManyRequests
from bot.domain.incident import Incident
from bot.domain.policy import Approval, Policy
from bot.domain.safe_text import one_line
from bot.domain.verdict import Status, Verdict
from bot.extras.marks.marks import CauseLookedAt, Score, VerdictMarked, named, score_of
from bot.extras.marks.store import MarkStore
from bot.response.decision.guards import check_may_approve

RIGHT, WRONG, BACK = "right", "wrong", "back"  # what a person says, or takes back
WAS = 300  # characters of what it was
_CAUSE = re.compile(r"[a-z][a-z0-9-]*\Z")
PER_PERSON = Allowance(30, timedelta(minutes=10))


@dataclass(frozen=True, slots=True)
class MarkResult:
    """What stands on record after a mark: whether it counts, and the cause's score."""

    mark: VerdictMarked
    score: Score
    counts: bool = True


def can_be_marked(verdict: Verdict) -> bool:
    """True for a verdict that can be right or wrong: the node was reached."""
    return verdict.status is not Status.UNREACHABLE


def verdict_to_mark(incident: Incident) -> Verdict:
    """Return the verdict that is marked. Raises: NothingToMark while it is not closed, or has no verdict."""
    if not incident.ended:
        raise NothingToMark("It is not over yet.", "Mark it once the card is closed.")
    if incident.verdict is None or not can_be_marked(incident.verdict):
        raise NothingToMark("The node was not reached, so there is no verdict to mark.")
    return incident.verdict


@dataclass(frozen=True, slots=True)
class VerdictMarker:
    """Takes marks. The surface has checked before whether the person may mark."""

    policy: Policy
    marks: MarkStore
    clock: Clock

    async def mark(
        self,
        incident: Incident,
        right: bool,
        by: str,
        *,
        request: str = "",
        os_user: str = "",
        groups: Collection[str] = (),
        approvers: int = 0,
        was: str = "",
        taken_back: bool = False,
    ) -> MarkResult:
        """Record whether the verdict of a closed incident was right, and what it `was` if not; or take that back.

        Shape: a person has one mark for each incident: the later mark replaces the earlier. A repeated `request` adds
        nothing. `groups` are those that the person is in now; `approvers` is how many people could approve now, 0 where
        that is not known.
        Raises: NothingToMark while it is not closed, or has no verdict; TooManyRequests; LedgerError.
        """
        verdict = verdict_to_mark(incident)
        event = VerdictMarked(
            incident.id,
            named(verdict),
            right,
            incident.node,
            incident.triage.case if incident.triage is not None else "",
            request[:200],
            os_user,
            tuple(sorted(self.policy.approver_groups.intersection(groups))),
            one_line(was.strip(), WAS),
            taken_back,
            approvers,
        )
        self._check_rate_limit(await self.marks.read(), by)
        await self.marks.append(event, by, self.policy)
        score = score_of(await self.marks.read(), event.cause, self.policy)
        return MarkResult(event, score, bool(self.policy.counted(by)))

    async def record_cause_review(self, cause: str, approval: Approval) -> str:
        """Record that a person looked at a cause in doubt, and return the answer.

        Raises: NotAnApprover for who may not approve; NothingToMark where it is not in doubt; LedgerError.
        """
        check_may_approve(self.policy, approval)
        event = CauseLookedAt(cause, one_line(approval.reason.strip(), 500), approval.os_user)
        score = await self.marks.append_review(event, approval.by, self.policy)
        said = f"{score.against} of {score.voices} people who may approve said that {cause} was wrong."
        return f"{said} Counting starts again; its plans are offered again."

    def _check_rate_limit(self, marks: tuple[Entry, ...], by: str) -> None:
        """Count by the record, so that it holds in all programs and after a restart. Raises: TooManyRequests."""
        person, kind = self.policy.person, VerdictMarked.__name__
        own = [entry for entry in marks if entry.kind == kind and person(entry.by) == person(by)]
        if len(own) >= PER_PERSON.most and self.clock() - own[-PER_PERSON.most].at < PER_PERSON.within:
            raise TooManyRequests(
                f"You marked {PER_PERSON.most} verdicts within {span_words(PER_PERSON.within)}, which is the limit.",
                "Mark this verdict later.",
            )


def reply_words(incident: Incident, marked: MarkResult) -> str:
    """Return the answer to a mark: what is on record, the cause's score, and what the person may do next."""
    mark, score = marked.mark, marked.score
    was = f", and it was: {mark.was}" if mark.was else ""
    sentence = f"On record: the verdict {mark.cause} on {incident.node} was {RIGHT if mark.right else WRONG}{was}."
    if mark.taken_back:
        sentence = f"Taken back: what you said of the verdict {mark.cause} on {incident.node} no longer counts."
    sentence += f" {mark.cause}: {score.right} of {score.right + score.wrong} right."
    if score.in_doubt:
        sentence += f" {score.doubt}"
    if mark.right or mark.taken_back:
        return sentence
    expected = mark.was if _CAUSE.match(mark.was) else "CAUSE|none"
    return f"{sentence} To keep it as a test: zombie playbooks keep {incident.id} --dir DIR --expect {expected}"
