"""A label: what a senior engineer would say of one machine, and why."""

from __future__ import annotations

from dataclasses import dataclass

from tests.independent.machine import Machine


@dataclass(frozen=True)
class Label:
    """One case.

    Shape: `about` is the cause that the case is for or a near miss of. `causes` are the names that a verdict may give,
    the best first; empty: nothing is to be named. `plan` holds the actions that the readings justify; none of them has
    to be offered. `ill`: the node is not healthy although no cause is to be named. `corrected`: what was wrong with
    the label as it was first given.
    """

    about: str
    title: str
    machine: Machine
    causes: tuple[str, ...] = ()
    why: str = ""
    plan: frozenset[str] = frozenset()
    ill: bool = False
    playbook: str = "node-health"
    corrected: str = ""

    @property
    def is_sick(self) -> bool:
        """True where the cause that it is about is the best name."""
        return self.causes[:1] == (self.about,)

    @property
    def name(self) -> str:
        """Its name in a list of tests."""
        return f"{self.about}: {self.title}"
