"""Which alarms start which playbook, in which channel, and whether a plan may be offered: the first route that fits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from bot.domain.alert import AlertGroup
from bot.domain.safe_text import one_line

READ_ONLY = "read-only"


@dataclass(frozen=True, slots=True)
class Route:
    """One [[route]]: what has to match, and where that leads.

    Shape: `match` is by label the value, in which `*` stands for anything; `source` is the source's name, `service` and
    the rest are labels. `number` counts the routes from 1; 0 is what holds where none fits.
    """

    number: int
    match: Mapping[str, str]
    playbook: str
    channel: str
    mode: str

    def fits(self, labels: Mapping[str, str]) -> bool:
        """True when every label has the value that the route asks for."""
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
        """True when no plan is offered."""
        return self.mode == READ_ONLY

    @property
    def words(self) -> str:
        """What it asks for, in a few words."""
        return ", ".join(f"{label} = {one_line(value, 60)}" for label, value in self.match.items()) or "anything"


@dataclass(frozen=True, slots=True)
class Routes:
    """Every route in its order, and where an alarm goes that none fits."""

    routes: tuple[Route, ...]
    otherwise: Route

    def of_alarm(self, alarm: AlertGroup) -> Route:
        """Return the first route that fits one of the alarm's signals."""
        return self.of_labels([{**labels, "source": alarm.source} for labels in alarm.label_sets()])

    def of_labels(self, label_sets: Sequence[Mapping[str, str]]) -> Route:
        """Return the first route that fits one of these."""
        return next((route for route in self.routes if any(map(route.fits, label_sets))), self.otherwise)

    def playbooks(self) -> Iterable[str]:
        """Return the name of every playbook that a route starts."""
        return dict.fromkeys(route.playbook for route in (*self.routes, self.otherwise))
