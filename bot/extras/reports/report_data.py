"""Everything that a report of an incident needs, collected before it is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from bot.domain.case import CaseHeader
from bot.domain.entry import Entry, kind_of
from bot.domain.incident import Incident
from bot.seats import Moment, Picture
from bot.view.plan_words import BY_NAME, PlanWords
from bot.view.words import in_chat


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """A command's answer, kept from just before a node was rebooted; `text` is without secrets."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class ReportData:
    """The data of a report about an incident.

    Shape: `head` is the record's head at the end, as `SEQ:HASH`; `broken` says what is wrong with the record.
    `case` is the head of what the node said, None once that is no longer kept. `why` are the changes that would change
    the verdict, a sentence each; `no_why` says why there are none. `labels` are the node's, as far as known.
    `before_reboot` is what was kept before a step that destroys it. `others` are the incidents of the same alert.
    `profiles` are pictures that extras add, such as of what a core ran.
    `names` are people's, by how the record names them, as far as known.
    `moments` happened outside the record: what the node's kernel logged, and what extras add.
    """

    incident: Incident
    entries: tuple[Entry, ...]
    program: str
    made_at: datetime
    words: PlanWords = BY_NAME
    head: str = ""
    broken: str = ""
    case: CaseHeader | None = None
    why: tuple[str, ...] = ()
    no_why: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    pictures: tuple[Picture, ...] = ()
    profiles: tuple[Picture, ...] = ()
    before_reboot: tuple[StoredAnswer, ...] = ()
    others: tuple[str, ...] = ()
    moments: tuple[Moment, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def ended_at(self) -> datetime | None:
        """When the incident ended; later news from its source does not count."""
        ending = self.incident.ending
        if ending is None:
            return None
        return next((entry.at for entry in reversed(self.entries) if entry.kind == kind_of(ending)), None)

    @property
    def people(self) -> tuple[str, ...]:
        """Everybody of a chat whom the record of the incident names."""
        return tuple(
            dict.fromkeys(by for by in (*(entry.by for entry in self.entries), *self.incident.askers) if in_chat(by))
        )

    def at(self, *kinds: type[object]) -> datetime | None:
        """When the first entry of any of these kinds was made."""
        names = {kind.__name__ for kind in kinds}
        return next((entry.at for entry in self.entries if entry.kind in names), None)
