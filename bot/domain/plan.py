"""What could be done: steps in order, bound by a digest that an approval will name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Step:
    """One doing on one node: the action's name, its arguments, and the exact commands it would run."""

    action: str
    args: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """Ordered steps for one node, and the lasting fix that they do not replace.

    Shape: `notes` are sentences on what is not among the steps, and why; no part of the digest.
    """

    node: str
    steps: tuple[Step, ...]
    lasting_fix: str = ""
    notes: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 over node, steps and commands, in hex: two plans are the same exactly when their digests are."""
        body = [self.node, [[s.action, dict(sorted(s.args.items())), list(s.commands)] for s in self.steps]]
        return hashlib.sha256(json.dumps(body, separators=(",", ":")).encode()).hexdigest()

    @property
    def remedy(self) -> str:
        """SHA-256, in hex, over node, actions and arguments: the same again after a reboot, where commands differ."""
        body = [self.node, [[s.action, dict(sorted(s.args.items()))] for s in self.steps]]
        return hashlib.sha256(json.dumps(body, separators=(",", ":")).encode()).hexdigest()


def bound_digest(plan: Plan, binds: Mapping[str, str]) -> str:
    """SHA-256, in hex, over a plan and what else an approver saw, by name: what an approval names."""
    body = [plan.digest, dict(sorted(binds.items()))]
    return hashlib.sha256(json.dumps(body, separators=(",", ":")).encode()).hexdigest()
