"""Which alerts use which playbook and channel, and whether a plan may be offered: the first route that fits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from bot.domain.alert import AlertGroup
from bot.domain.safe_text import one_line

READ_ONLY = "read-only"


@dataclass(frozen=True, slots=True)
class Route:
    """A [[route]]: what has to match, and where that leads.

    Shape: `match` maps labels to values, in which `*` matches anything; `source` is the source's name, `service` and
    the rest are labels. `number` counts the routes from 1; 0 is the default where no route fits.
    """

    number: int
    match: Mapping[str, str]
    playbook: str
    channel: str
    mode: str

    def fits(self, labels: Mapping[str, str]) -> bool:
        """True if every label has the value that the route asks for."""
        return all(label in labels and fnmatchcase(labels[label], value) for label, value in self.match.items())

    @property
    def withheld(self) -> str:
        """Why no plan is offered on this route; empty where it may be."""
        return (
            f"Route {self.number} is read-only: it shows what would help and offers nothing."
            if self.is_read_only
            else ""
        )

    @property
    def is_read_only(self) -> bool:
        """True if no plan is offered."""
        return self.mode == READ_ONLY

    @property
    def words(self) -> str:
        """What it matches, in a few words."""
        return ", ".join(f"{label} = {one_line(value, 60)}" for label, value in self.match.items()) or "anything"


@dataclass(frozen=True, slots=True)
class Routes:
    """Every route in order, and the default for alerts that no route fits."""

    routes: tuple[Route, ...]
    otherwise: Route

    def of_alarm(self, alarm: AlertGroup) -> Route:
        """Return the first route that fits an alert of the group."""
        return self.of_labels([{**labels, "source": alarm.source} for labels in alarm.label_sets()])

    def of_labels(self, label_sets: Sequence[Mapping[str, str]]) -> Route:
        """Return the first route that fits any of these."""
        return next((route for route in self.routes if any(map(route.fits, label_sets))), self.otherwise)

    def playbooks(self) -> Iterable[str]:
        """Return the names of all playbooks in routes."""
        return dict.fromkeys(route.playbook for route in (*self.routes, self.otherwise))
