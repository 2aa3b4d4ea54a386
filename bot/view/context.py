"""What a view needs beside the record: the policy, words for plans, and what is happening now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.domain.incident import Incident
from bot.domain.policy import Policy
from bot.domain.verdict import Verdict
from bot.response.diagnosis.progress import ReadingProgress
from bot.view.plan_words import PlanWords


@dataclass(frozen=True, slots=True)
class ClosingQuestion:
    """What an extra asks about each verdict of a closed card, with two answers.

    Shape: `action` names the buttons. An answer is the word with which its button's value begins, before a dash and the
    incident, and its label. `is_about` says about which verdicts it is asked.
    """

    action: str
    yes: tuple[str, str]
    no: tuple[str, str]
    is_about: Callable[[Verdict], bool]


@dataclass(frozen=True, slots=True)
class ViewContext:
    """All inputs of a view except the incidents, so that making a view is a pure function.

    Shape: without a `policy` the view does not say who may approve, and until when. `head` is the record's, as
    `SEQ:HASH`, for cards that close. By incident: `checking` is who said yes while the node is read again, `working`
    what a pressed button does now, `waits_for` what holds up an approved plan; `undoes` what an undo would bring back,
    where it can. By node: `progress` says how far the
    reading is, `fresh` is a verdict that is not on record yet. `links` are the templates of `[links]` by name. `absent`
    are buttons of extras that are left out; `asks` are their questions on a closed card. `chat` is where people decide.
    """

    policy: Policy | None = None
    words: PlanWords = PlanWords()
    head: str = ""
    checking: Mapping[str, str] = field(default_factory=dict)
    working: Mapping[str, str] = field(default_factory=dict)
    waits_for: Mapping[str, str] = field(default_factory=dict)
    undoes: Mapping[str, str] = field(default_factory=dict)
    progress: Mapping[str, ReadingProgress] = field(default_factory=dict)
    fresh: Mapping[str, Verdict] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    absent: frozenset[str] = frozenset()
    asks: tuple[ClosingQuestion, ...] = ()
    chat: str = "Slack"

    def decides_until(self, *incidents: Incident) -> datetime | None:
        """Return until when the incidents' plans can be decided, by the first that lapses."""
        proposed = [incident.proposed_at for incident in incidents if incident.proposed_at is not None]
        return self._after_approval_time(min(proposed, default=None))

    def begins_until(self, incident: Incident) -> datetime | None:
        """Return until when an approved plan may begin."""
        return self._after_approval_time(incident.approval.at if incident.approval is not None else None)

    def answers_until(self, incident: Incident) -> datetime | None:
        """Return until when an open question can be answered."""
        return self._after_approval_time(incident.asked_at)

    def _after_approval_time(self, since: datetime | None) -> datetime | None:
        expires: timedelta | None = self.policy.approval_expires if self.policy is not None else None
        return since + expires if since is not None and expires is not None else None


NOTHING = ViewContext()
