"""Who may approve a plan, and how much may be done. Anything not allowed in the settings is forbidden."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from bot.domain.defaults import APPROVAL_EXPIRES, APPROVALS, AT_ONCE, REBOOT_DEADLINE, VALIDATION, WAVE_EXPIRES

if TYPE_CHECKING:
    from bot.domain.incident import Incident

SAME_AGAIN = timedelta(hours=24)  # the same plan is not run on a node twice within that time
_TERMINAL = "terminal:"


def person_of(who: str) -> str:
    """Return a person without the workspace they were seen in.

    Example:
    >>> person_of("slack:T024/U123"), person_of("terminal:ann")
    ('slack:U123', 'terminal:ann')
    """
    kind, colon, name = who.partition(":")
    return f"{kind}{colon}{name.rpartition('/')[2]}"


@dataclass(frozen=True, slots=True)
class Limits:
    """How many nodes may be acted on; None: no limit.

    Shape: `per_label` limits, by label, how many nodes with the same value may be acted on at once. `percent` is of all
    known `nodes`; if their number is not known, it allows nothing.
    """

    at_once: int = AT_ONCE
    per_hour: int | None = None
    per_label: Mapping[str, int] = field(default_factory=dict)
    percent: int | None = None
    nodes: int = 0

    @property
    def most_at_once(self) -> int:
        """The smallest number that the limits at once allow."""
        if self.percent is None:
            return self.at_once
        return min(self.at_once, self.nodes * self.percent // 100)


@dataclass(frozen=True, slots=True)
class Policy:
    """Every rule for acting.

    Shape: people and groups are written `KIND:NAME`. `same_person` maps an approver's other name to theirs, so that
    nobody asks under a name and approves under another. `kinds` are the known kinds of people; a person of another kind
    is a stranger. Only `units` may be stopped, and only `start_units` started. `quiet` are spans of the day, UTC, in
    minutes. `proven_only`: only proven cures. `wave_expires` is how long a wave's approval lasts. `approvals` is how
    many people must approve, `approvals_for_several` how many if a check or alert is about several nodes. `text` leaves
    `unnamed_kind` out of people's names, as older records have no kinds.
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
    proven_only: bool = False
    wave_expires: timedelta = WAVE_EXPIRES

    @property
    def names_anybody(self) -> bool:
        """True when somebody could approve."""
        return bool(self.approvers or self.approver_groups)

    def most_approvers(self, members: Mapping[str, Collection[str]]) -> int | None:
        """Return how many people could approve, each counted once under all names; None if a group may name more.

        Example:
        >>> policy = Policy(approvers=frozenset({"chat:U1"}), approver_groups=frozenset({"chat:S1"}))
        >>> policy.most_approvers({"chat:S1": ["chat:U1", "chat:U2"]}), policy.most_approvers({})
        (2, None)
        """
        if not self.approver_groups <= members.keys():
            return None
        named = self.approvers.union(*(members[group] for group in self.approver_groups))
        return len({self.same_person.get(who, who) for who in named})

    def person(self, who: str) -> str:
        """Return the name that a person counts under, whichever of their names the ledger has.

        Example:
        >>> Policy(same_person={"terminal:ann": "chat:U1"}).person("terminal:ann")
        'chat:U1'
        """
        person = person_of(who)
        return self.same_person.get(person, person)

    def counted(self, who: str) -> str:
        """Return the one name under which a person's word on a verdict counts; empty where it does not.

        In a chat members are asked for, when they say it. Whoever types in a terminal is none by that: only logins that
        the policy names count. Where it names nobody no plan hangs on it, and every login does.

        Example:
        >>> policy = Policy(approvers=frozenset({"terminal:ann"}), same_person={"terminal:ann": "chat:U1"})
        >>> policy.counted("terminal:ann"), policy.counted("terminal:bob"), policy.counted("chat:T1/U2")
        ('chat:U1', '', 'chat:U2')
        """
        is_anybody = who.startswith(_TERMINAL) and self.names_anybody and who not in self.approvers
        return "" if is_anybody else self.person(who)

    def may_approve(self, who: str, groups: Collection[str] = ()) -> bool:
        """True if the policy lets a person approve, who is in these groups.

        Example:
        >>> policy = Policy(approvers=frozenset({"chat:U1"}), approver_groups=frozenset({"chat:S1"}))
        >>> [policy.may_approve(*who) for who in (("chat:T1/U1",), ("chat:T1/U2",), ("chat:T1/U2", ["chat:S1"]))]
        [True, False, True]
        """
        theirs = {group for group in groups if group.partition(":")[0] == who.partition(":")[0]}
        return person_of(who) in self.approvers or bool(theirs & self.approver_groups)

    def names_of(self, who: str) -> frozenset[str]:
        """Return every name of a person, as the ledger and as the policy write it.

        Example:
        >>> sorted(Policy(same_person={"terminal:ann": "chat:U1"}).names_of("terminal:ann"))
        ['chat:U1', 'terminal:ann']
        """
        person = person_of(who)
        return frozenset((who, person, self.same_person.get(person, person)))

    def speaker_names(self, who: str, os_user: str = "") -> frozenset[str]:
        """Return every name of a speaker: the names of the name they gave, and of the login behind it.

        Speakers who share a name here are the same person: in a terminal the name is only claimed, but the login is
        real.

        Example:
        >>> sorted(Policy(same_person={"terminal:ann": "chat:U1"}).speaker_names("terminal:bob", "ann"))
        ['chat:U1', 'terminal:ann', 'terminal:bob']
        """
        return self.names_of(who) | (self.names_of(f"{_TERMINAL}{os_user}") if os_user else frozenset())

    def approvals_needed(self, nodes: int, strange: bool) -> int:
        """Return how many people must approve; `strange`: an unknown person raised the alert.

        Example:
        >>> Policy(approvals_for_several=2).approvals_needed(3, strange=False)
        2
        """
        return max(self.approvals, self.approvals_for_several if nodes > 1 else 1, 2 if strange else 1)

    def decided_within(self, incident: Incident) -> timedelta:
        """Return how long a proposal may wait for a yes; a wave's proposal waits as long as the wave's approval."""
        return self.approval_expires + (self.wave_expires if incident.wave else timedelta(0))

    def may_begin_until(self, incident: Incident) -> datetime | None:
        """Return until when the next step may begin, counted from `may_begin_since`; None without an approval.

        Shape: a decision recorded after the proposal has expired starts nothing.
        """
        since, approval, proposed_at = incident.may_begin_since, incident.approval, incident.proposed_at
        if approval is None or since is None:
            return None
        if proposed_at is not None and approval.at >= proposed_at + self.decided_within(incident):
            return approval.at
        # The look that confirms the cure may come late, by as much as the node was watched.
        late = incident.validation.window if incident.validation is not None else timedelta(0)
        return since + late + self.approval_expires

    @property
    def digest(self) -> str:
        """SHA-256, in hex, over every rule: an approval names it, so that rules cannot change after the approval."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def text(self) -> str:
        """Every rule as one line of JSON."""
        in_terminal = {who for who in self.approvers if who.startswith(_TERMINAL)}
        tied = {
            who.removeprefix(_TERMINAL): self._without_kind(self.same_person.get(who, ""))
            for who in sorted(in_terminal)
        }
        rules = {
            "acting": self.acting,
            "approvers": sorted(map(self._without_kind, self.approvers - in_terminal)),
            "approver_groups": sorted(map(self._without_kind, self.approver_groups)),
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
        if self.start_units:  # older records do not have it
            rules["start_units"] = sorted(self.start_units)
        if self.proven_only:
            rules["proven_only"] = True
        if self.wave_expires != WAVE_EXPIRES:
            rules["wave_expires"] = self.wave_expires.total_seconds()
        return json.dumps(rules, separators=(",", ":"), sort_keys=True)

    def _without_kind(self, who: str) -> str:
        kind, _, name = who.partition(":")
        return name if kind == self.unnamed_kind else who


@dataclass(frozen=True, slots=True)
class Approval:
    """Somebody's request to let a plan run.

    Shape: `by` is the person as the ledger writes people; `digest` names what they saw, empty if they were shown
    exactly the recorded plan. `groups` are the person's groups at that moment. `os_user` is the login behind a claimed
    name.
    """

    by: str
    reason: str
    digest: str = ""
    groups: frozenset[str] = frozenset()
    os_user: str = ""


class ApproverLookup(Protocol):
    """Looks up earlier approvers again."""

    async def again(self, by: str, /) -> Approval:
        """Return the person with the groups that they are in now.

        Raises: NotAnApprover when the person may no longer approve; CannotTell when the groups cannot be looked up.
        """
