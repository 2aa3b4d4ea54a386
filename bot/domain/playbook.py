"""A playbook: the probes to ask, the causes to evaluate with their thresholds, and the remedies to offer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from bot.domain.builtin_playbooks import SiteRows
from bot.domain.cause import Cause, Threshold, Tuning
from bot.domain.probe import Probe, Snapshot
from bot.domain.three_valued_logic import Truth
from bot.domain.verdict import Confidence, Status


@dataclass(frozen=True, slots=True)
class Condition:
    """A simple condition that a playbook defines, and what it means when it is true.

    Shape: `holds` returns True, False, or Unknown if it uses an unread value. `status` None: it is only a remark.
    `probes` are the probes that it names.
    """

    name: str
    when: str
    says: str
    holds: Callable[[Snapshot], Truth]
    probes: tuple[str, ...]
    status: Status | None = None
    cause: str | None = None
    confidence: Confidence = Confidence.LIKELY
    shows: Callable[[Snapshot], tuple[str, ...]] = lambda snapshot: ()


@dataclass(frozen=True, slots=True)
class ConfiguredCause:
    """A cause as a playbook uses it."""

    cause: Cause
    thresholds: Mapping[str, Threshold]
    remedy: tuple[str, ...] = ()  # names of the actions that may be offered, in order
    lasting_fix: str = ""
    allow: tuple[str, ...] = ()  # names or patterns that the cause lets pass; empty: no list
    tuning: Tuning = field(init=False, compare=False, repr=False)  # the thresholds' values, and the names to let pass

    def __post_init__(self) -> None:
        object.__setattr__(self, "tuning", Tuning(self.thresholds, self.allow))  # made once: each result asks for it

    @property
    def has_own_figures(self) -> bool:
        """True where the playbook judges by other figures than the cause's own."""
        return dict(self.tuning) != dict(Tuning(self.cause.thresholds))


@dataclass(frozen=True, slots=True)
class Playbook:
    """The order of `causes` is the order of explanation: the first cause found names the verdict."""

    name: str
    title: str
    version: int
    probes: tuple[Probe, ...]
    must_read: tuple[str, ...]
    causes: tuple[ConfiguredCause, ...]
    conditions: tuple[Condition, ...] = ()
    description: str = ""
    origin: str = ""  # the file it was read from
    labels: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, int] = field(init=False, compare=False, repr=False)  # each cause's in the order of explanation

    def __post_init__(self) -> None:
        names = [used.cause.name for used in self.causes]
        object.__setattr__(self, "places", {name: at for at, name in reversed(list(enumerate(names)))})

    @property
    def digest(self) -> str:
        """SHA-256, in hex, over all that decides a verdict: playbooks that judge alike have the same digest.

        Shape: titles, reasons and descriptions are not part of it, nor are readings made beforehand, nor the program
        with its causes and tables, which has its own version. A site's causes and tables are.
        """
        body = {
            "probes": [
                [probe.name, probe.definition, [[c.name, c.argv, c.alternatives, c.as_root] for c in probe.commands]]
                for probe in self.probes
                if not probe.told
            ],
            "must_read": self.must_read,
            "causes": [
                [
                    *(used.cause.name, dict(used.tuning), used.remedy, used.lasting_fix, *used.allow),
                    *filter(None, [used.cause.definition]),
                ]
                for used in self.causes
            ],
            "conditions": [[c.name, c.when, c.says, c.status, c.cause, c.confidence] for c in self.conditions],
        }
        whole = [self.name, self.version, body, *SiteRows.definitions()]
        written = json.dumps(whole, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(written.encode()).hexdigest()


class Playbooks(Protocol):
    """The playbooks, by name."""

    def get(self, name: str, /) -> Playbook:
        """Return the playbook of that name; without a name, the default. Raises: PlaybookError when there is none."""
