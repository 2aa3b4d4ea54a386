"""Who may let a plan run, and how much may be done. What nobody wrote down is not allowed. An approval is one yes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from bot.domain.alert import person_of
from bot.domain.claim import Limits
from bot.domain.defaults import APPROVAL_EXPIRES, APPROVALS, REBOOT_DEADLINE, VALIDATION, WAVE_EXPIRES

SAME_AGAIN = timedelta(hours=24)  # a node is not cured by the same plan twice within that time
_TERMINAL = "terminal:"


@dataclass(frozen=True, slots=True)
class Policy:
    """Every rule that acting is bound by.

    Shape: people and groups are written `KIND:NAME`. `same_person` says by which other name an approver is known, so
    that nobody asks under one and approves under the other. `kinds` are the kinds of people that we know; whoever is of
    another is a stranger. `units` are the only ones that may be stopped, `start_units` those that may be started.
    `quiet` are spans of the day, UTC, in minutes.
    `wave_expires` is how long a wave's approval lasts.
    `approvals` is how many people have to say yes, `approvals_for_several` how many where one check or alert is about
    several nodes. `unnamed_kind` is left out where `text` names people: records from before there were kinds have none.
    """

    acting: bool = False
    approvers: frozenset[str] = frozenset()
    approver_groups: frozenset[str] = frozenset()
    same_person: Mapping[str, str] = field(default_factory=dict)
    kinds: frozenset[str] = frozenset()
    self_approval: bool = False
    approval_expires: timedelta = APPROVAL_EXPIRES
    units: frozenset[str] = frozenset()
    start_units: frozenset[str] = frozenset()
    validation: timedelta = VALIDATION
    reboot_deadline: timedelta = REBOOT_DEADLINE
    limits: Limits = Limits()
    quiet: tuple[tuple[int, int], ...] = ()
    approvals: int = APPROVALS
    approvals_for_several: int = APPROVALS
    unnamed_kind: str = ""
    wave_expires: timedelta = WAVE_EXPIRES

    @property
    def names_anybody(self) -> bool:
        """True when there is somebody who could say yes."""
        return bool(self.approvers or self.approver_groups)

    @property
    def most_voices(self) -> int | None:
        """How many people could say yes, one under two names counted once; None where a group tells."""
        if self.approver_groups:
            return None
        return len({self.same_person.get(who, who) for who in self.approvers})

    def person(self, who: str) -> str:
        """Return the one name of a person under which they count, by whatever name the record has them.

        Example:
        >>> Policy(same_person={"terminal:ann": "chat:U1"}).person("terminal:ann")
        'chat:U1'
        """
        person = person_of(who)
        return self.same_person.get(person, person)

    def names_of(self, who: str) -> frozenset[str]:
        """Return every name of a person, as the record writes them and as the policy does.

        Example:
        >>> sorted(Policy(same_person={"terminal:ann": "chat:U1"}).names_of("terminal:ann"))
        ['chat:U1', 'terminal:ann']
        """
        person = person_of(who)
        return frozenset((who, person, self.same_person.get(person, person)))

    def people_of(self, who: str, os_user: str = "") -> frozenset[str]:
        """Return every name of whoever said something: those of the name they gave, and of the login behind it.

        Two who share one of these are one person: in a terminal a name is only claimed, and the login is not.

        Example:
        >>> sorted(Policy(same_person={"terminal:ann": "chat:U1"}).people_of("terminal:bob", "ann"))
        ['chat:U1', 'terminal:ann', 'terminal:bob']
        """
        return self.names_of(who) | (self.names_of(f"{_TERMINAL}{os_user}") if os_user else frozenset())

    def approvals_needed(self, nodes: int, strange: bool) -> int:
        """Return how many have to say yes; `strange`: a person raised it of whom nobody knows who they are.

        Example:
        >>> Policy(approvals_for_several=2).approvals_needed(3, strange=False)
        2
        """
        return max(self.approvals, self.approvals_for_several if nodes > 1 else 1, 2 if strange else 1)

    @property
    def digest(self) -> str:
        """SHA-256, in hex, over every rule: an approval names it, so that rules cannot change under it."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def text(self) -> str:
        """Every rule as one line of JSON."""
        in_terminal = {who for who in self.approvers if who.startswith(_TERMINAL)}
        tied = {who.removeprefix(_TERMINAL): self._short(self.same_person.get(who, "")) for who in sorted(in_terminal)}
        rules = {
            "acting": self.acting,
            "approvers": sorted(map(self._short, self.approvers - in_terminal)),
            "approver_groups": sorted(map(self._short, self.approver_groups)),
            "terminal_approvers": tied,
            "self_approval": self.self_approval,
            "approval_expires": self.approval_expires.total_seconds(),
            "units": sorted(self.units),
            "validation": self.validation.total_seconds(),
            "reboot_deadline": self.reboot_deadline.total_seconds(),
            "limits": [
                self.limits.at_once,
                self.limits.per_hour,
                dict(sorted(self.limits.per_label.items())),
                self.limits.percent,
            ],
            "quiet": self.quiet,
            "approvals": [self.approvals, self.approvals_for_several],
        }
        if self.start_units:  # records from before it was there have none
            rules["start_units"] = sorted(self.start_units)
        if self.wave_expires != WAVE_EXPIRES:
            rules["wave_expires"] = self.wave_expires.total_seconds()
        return json.dumps(rules, separators=(",", ":"), sort_keys=True)

    def _short(self, who: str) -> str:
        kind, _, name = who.partition(":")
        return name if kind == self.unnamed_kind else who


@dataclass(frozen=True, slots=True)
class Approval:
    """Somebody's wish to let a plan run.

    Shape: `by` is the person as the record writes people; `digest` names what they saw, empty where their way shows
    exactly what stands on record. `groups` are the groups they were found in at that moment. `os_user` is the login
    behind a name that was only claimed.
    """

    by: str
    reason: str
    digest: str = ""
    groups: frozenset[str] = frozenset()
    os_user: str = ""


class Voices(Protocol):
    """Says how whoever said yes before stands now."""

    async def again(self, by: str, /) -> Approval:
        """Return the person with the groups that they are in at this moment.

        Raises: NotAnApprover for one who may say nothing any more; CannotTell when nobody can be asked.
        """
        ...
