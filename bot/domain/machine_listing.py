"""Machines as a cloud or a cluster lists them, for a region or context at a given time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol, TypeAlias

from bot.domain.errors import ZombieError

MOST_MACHINES = 50_000  # of a place; a longer list is taken as endless


class CannotList(ZombieError):
    """A place did not list its machines, or not all of them; `machines` are those received."""

    def __init__(self, sentence: str, machines: Sequence[Machine] = ()) -> None:
        super().__init__(sentence)
        self.machines = tuple(machines)


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine as it is listed.

    Shape: `id` is unique there and never reused. `facts` are what the place says about it (addresses, zone, image);
    `tags` are set by people. `gone_at` is when it was first listed no more, None while it is listed.
    """

    id: str
    facts: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    gone_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A query to a place: `kind` is who lists, `name` the region or context, `asked` the filters."""

    kind: str
    name: str
    asked: Mapping[str, object] = field(default_factory=dict)


Lister: TypeAlias = Callable[[Place], Sequence[Machine]]  # raises CannotList


@dataclass(frozen=True, slots=True)
class Listing:
    """The machines of a place.

    Shape: `read_at` is when the place listed them, None if it never did. `gone` were listed before and are not listed
    now. `complaint` says why the listing failed now, or is incomplete; empty if all is well.
    """

    place: Place
    machines: tuple[Machine, ...] = ()
    read_at: datetime | None = None
    gone: tuple[Machine, ...] = ()
    complaint: str = ""


class Listings(Protocol):
    """Lists the machines of places, freshly or from a cache."""

    def of(self, places: Sequence[Place], fresh_for: timedelta) -> Sequence[Listing]:
        """Return a listing of each place, never an error; if the place answers, none is older than `fresh_for`."""
