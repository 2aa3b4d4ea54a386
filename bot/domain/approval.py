"""An approval is one person's yes to exactly one plan."""

from __future__ import annotations

from dataclasses import dataclass


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
