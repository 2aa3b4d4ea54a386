"""Everything that a report of one incident is made of, put together before a word of it is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from bot.domain.case import Head
from bot.domain.entry import Entry, kind_of
from bot.domain.incident import Incident
from bot.surfaces.report.moment import Moment
from bot.surfaces.report.parts import Picture
from bot.surfaces.view.plan_words import BY_NAME, PlanWords


@dataclass(frozen=True, slots=True)
class Kept:
    """What a node said just before it was rebooted, one command's answer; `text` is without secrets."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Account:
    """One incident as a report tells it.

    Shape: `head` is where the record stood at its end, as `SEQ:HASH`, and `broken` what does not hold of the record.
    `case` is the head of what the node said, None where that is kept no more. `why` are the changes that would change
    the verdict, a sentence each; `no_why` says why there are none. `labels` are the node's, as far as they are known.
    `before_reboot` is what was kept before a step that destroys it. `others` are the incidents of the same alert.
    `profiles` are pictures of profiles that were taken from its card, and of what captures caught.
    `moments` are what happened beside the record: what the node's kernel said, what captures caught.
    """

    incident: Incident
    entries: tuple[Entry, ...]
    program: str
    made_at: datetime
    words: PlanWords = BY_NAME
    head: str = ""
    broken: str = ""
    case: Head | None = None
    why: tuple[str, ...] = ()
    no_why: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    pictures: tuple[Picture, ...] = ()
    profiles: tuple[Picture, ...] = ()
    before_reboot: tuple[Kept, ...] = ()
    others: tuple[str, ...] = ()
    moments: tuple[Moment, ...] = ()

    @property
    def ended_at(self) -> datetime | None:
        """When the incident ended; what a source tells of it afterwards does not count."""
        ending = self.incident.ending
        if ending is None:
            return None
        return next((entry.at for entry in reversed(self.entries) if entry.kind == kind_of(ending)), None)

    def at(self, *kinds: type[object]) -> datetime | None:
        """When the first entry of one of these kinds was made."""
        names = {kind.__name__ for kind in kinds}
        return next((entry.at for entry in self.entries if entry.kind in names), None)
