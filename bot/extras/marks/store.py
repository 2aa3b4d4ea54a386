"""Marks in the ledger: entries of `house`, each written once; the doubts and the gauges that follow from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from bot.app.policy_settings import policy_as_written
from bot.domain.alert import BOT
from bot.domain.claim import Doubts
from bot.domain.contracts import Clock
from bot.domain.entry import Entry, is_author
from bot.domain.errors import NothingToMark
from bot.domain.house_events import HOUSE, PolicyChanged
from bot.domain.policy import Policy
from bot.domain.safe_text import one_line
from bot.extras.marks.marks import (
    KINDS,
    CauseDoubted,
    CauseLookedAt,
    Score,
    VerdictMarked,
    delivered_before,
    score_of,
    scores,
)
from bot.ledger.database import Database, Store, reads, writes
from bot.ledger.entries import HouseEntries, append_entry, last_policy

if TYPE_CHECKING:
    from bot.app.bot import Bot


class MarkStore(Store):
    """The marks on record. Raises: every method raises LedgerUnavailable."""

    def __init__(self, database: Database, time: Clock | None = None) -> None:
        super().__init__(database, time)
        self._marks = HouseEntries(tuple(KINDS))

    @reads
    def read(self, connection: Connection) -> tuple[Entry, ...]:
        """Return every mark and every look at a cause, oldest first."""
        return self._marks.read(connection)

    @writes
    def append(
        self, connection: Connection, event: VerdictMarked | CauseLookedAt, by: str, policy: Policy | None = None
    ) -> Entry:
        """Append it and return its entry; for a mark whose request came before, the entry that it has.

        Where its cause is in doubt by a policy, before it or by it, an entry says so, unless one does already. Of a
        policy by which others approve than by that of the bot that serves, such as one terminal's, none does.
        """
        if not is_author(by):
            raise ValueError(f"{by!r} cannot be the author of an entry")
        before = self._marks.read(connection)  # never after: what may be rolled back must not be remembered
        if isinstance(event, VerdictMarked) and (said := delivered_before(before, event, by)):
            return said
        at = self.stamp(connection)
        entry = append_entry(connection, HOUSE, None, event, by, at)
        if policy is not None and _names_who_approves_here(connection, policy):
            found = (score_of(marks, event.cause, policy) for marks in (before, (*before, entry)))
            score = next((score for score in found if score.in_doubt), None)
            if score is not None and not score.is_noted:
                append_entry(connection, HOUSE, None, CauseDoubted(event.cause, score.against, score.voices), BOT, at)
        return entry

    @writes
    def append_review(self, connection: Connection, review: CauseLookedAt, by: str, policy: Policy) -> Score:
        """Append that a person looked at a cause in doubt, and return the score that they looked at.

        Raises: NothingToMark where it is not in doubt, or no longer.
        """
        score = score_of(self._marks.read(connection), review.cause, policy)
        if not score.in_doubt:
            words = f"{score.against} wrong among {score.voices} since the last look; it takes {score.needed}"
            who = f"{one_line(review.cause, 60)} is not in doubt: the latest words of people who may approve"
            raise NothingToMark(f"{who} are {words}.", "zombie playbooks stats")
        append_entry(connection, HOUSE, None, review, by, self.stamp(connection))
        return score


def _names_who_approves_here(connection: Connection, policy: Policy) -> bool:
    """True where the same people approve as by the policy that a bot noted last; for any where none has served."""
    entry = last_policy(connection)
    noted = entry.known_event if entry is not None else None
    if not isinstance(noted, PolicyChanged):
        return True
    theirs, ours = json.loads(noted.policy or "{}"), json.loads(policy.text)
    return all(theirs.get(rule) == ours[rule] for rule in ("approvers", "approver_groups", "terminal_approvers"))


class MarkDoubts:
    """Says of a record, as it stands, which causes offer no plans."""

    def __init__(self) -> None:
        self._marks = HouseEntries(tuple(KINDS))

    def __call__(self, connection: Connection, /) -> Doubts:
        """Return why the plans of a cause are not offered, by a policy."""
        marks = self._marks.read(connection)
        return lambda policy, cause: score_of(marks, cause, policy).doubt


class MarkCounts:
    """How often the verdicts of each cause were right; a person under two names counts once."""

    gauges: Mapping[str, tuple[str, tuple[str, ...]]] = {
        "zombie_verdict_marks": ("Verdicts as people marked them, by cause.", ("cause", "said")),
        "zombie_cause_in_doubt": ("1 for a cause marked wrong too often to offer a plan.", ("cause",)),
    }

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._marks = HouseEntries(tuple(KINDS))

    def read(self, connection: Connection, /) -> Mapping[str, Mapping[tuple[str, ...], float]]:
        """Return the present values by gauge and labels."""
        said: dict[tuple[str, ...], float] = {}
        doubted: dict[tuple[str, ...], float] = {}
        for score in scores(self._marks.read(connection), self._policy):
            said |= {(score.cause, "right"): score.right, (score.cause, "wrong"): score.wrong}
            doubted[(score.cause,)] = score.in_doubt
        return {"zombie_verdict_marks": said, "zombie_cause_in_doubt": doubted}


def counts(bot: Bot) -> MarkCounts:
    """Return what is counted for `/metrics`."""
    return MarkCounts(policy_as_written(bot.settings))
