"""Who may let a plan run, and how much may be done: values from the settings; what nobody wrote down is not allowed.

Shape: the tables [policy] and [act] of zombie.toml, checked by key and kind when they were read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from bot.domain.claim import Limits
from bot.domain.duration import parse_day_span, parse_duration

SAME_AGAIN = timedelta(hours=24)  # a node is not cured by the same plan twice within that time
_APPROVERS = ("approvers", "approver_groups", "terminal_approvers")


@dataclass(frozen=True, slots=True)
class Policy:
    """Every rule that acting is bound by.

    Shape: `approvers` are Slack users, `approver_groups` Slack user groups, `terminal_approvers` names claimed in a
    terminal, by each the Slack user it is tied to, or nothing. `units` are the only ones that may be stopped. `quiet`
    are spans of the day, UTC, in minutes. `approvals` is how many people have to say yes, `approvals_for_several` how
    many where one check or alert is about several nodes.
    """

    acting: bool = False
    approvers: frozenset[str] = frozenset()
    approver_groups: frozenset[str] = frozenset()
    terminal_approvers: Mapping[str, str] = field(default_factory=dict)
    self_approval: bool = False
    approval_expires: timedelta = timedelta(minutes=15)
    units: frozenset[str] = frozenset()
    validation: timedelta = timedelta(minutes=10)
    reboot_deadline: timedelta = timedelta(minutes=15)
    limits: Limits = Limits()
    quiet: tuple[tuple[int, int], ...] = ()
    approvals: int = 1
    approvals_for_several: int = 1

    @classmethod
    def of(cls, tables: Mapping[str, Any], nodes: int = 0) -> Policy:
        """Return the policy of a settings file's tables; `nodes` is how many the inventory knows."""
        policy, act = tables.get("policy", {}), tables.get("act", {})
        tied = (str(one).partition("=") for one in policy.get("terminal_approvers", ()))
        limits = Limits(
            at_once=act.get("max_nodes_at_once", 1),
            per_hour=act.get("per_hour"),
            per_label=act.get("per_label", {}),
            percent=act.get("percent"),
            nodes=nodes,
        )
        return cls(
            # Whoever names an approver wants to act; nobody else does, and `acting = false` has the last word.
            acting=policy.get("acting", any(policy.get(key) for key in _APPROVERS)),
            approvers=frozenset(policy.get("approvers", ())),
            approver_groups=frozenset(policy.get("approver_groups", ())),
            terminal_approvers={name.strip(): user.strip() for name, _, user in tied if name.strip()},
            self_approval=policy.get("self_approval", False),
            approval_expires=_duration(policy, "approval_expires", cls().approval_expires),
            units=frozenset(act.get("units", ())),
            validation=_duration(act, "validation", cls().validation),
            reboot_deadline=_duration(act, "reboot_deadline", cls().reboot_deadline),
            limits=limits,
            approvals=policy.get("approvals", 1),
            approvals_for_several=policy.get("approvals_for_several", 1),
            quiet=tuple(parse_day_span(one) for one in policy.get("quiet", ())),
        )

    @property
    def names_anybody(self) -> bool:
        """True when there is somebody who could say yes."""
        return bool(self.approvers or self.approver_groups or self.terminal_approvers)

    @property
    def most_voices(self) -> int | None:
        """How many people could say yes, one under two names counted once; None where a group tells."""
        if self.approver_groups:
            return None
        return len(self.approvers | {tied or f"terminal:{name}" for name, tied in self.terminal_approvers.items()})

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
        rules = {
            "acting": self.acting,
            "approvers": sorted(self.approvers),
            "approver_groups": sorted(self.approver_groups),
            "terminal_approvers": dict(sorted(self.terminal_approvers.items())),
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
        return json.dumps(rules, separators=(",", ":"), sort_keys=True)


def _duration(table: Mapping[str, Any], key: str, default: timedelta) -> timedelta:
    return parse_duration(table[key]) if key in table else default
