"""What a cloud or a cluster lists: machines as it names them, from one place of it, at one time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol, TypeAlias

from bot.domain.errors import ZombieError

MOST_MACHINES = 50_000  # of one place; what lists more lists without end


class CannotList(ZombieError):
    """A place did not list its machines, or not all of them; `machines` are those that came."""

    def __init__(self, sentence: str, machines: Sequence[Machine] = ()) -> None:
        super().__init__(sentence)
        self.machines = tuple(machines)


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine as it is listed.

    Shape: `id` is its own for ever, there. `facts` are what the place itself says of it (addresses, zone, image);
    `tags` is what people wrote on it, whoever they are.
    """

    id: str
    facts: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """What is asked of one place: `kind` who lists, `name` where (a region, a context), `asked` what narrows it."""

    kind: str
    name: str
    asked: Mapping[str, object] = field(default_factory=dict)


Lister: TypeAlias = Callable[[Place], Sequence[Machine]]  # raises CannotList


@dataclass(frozen=True, slots=True)
class Listing:
    """The machines of one place.

    Shape: `read_at` is when the place listed them, None where it never did. `gone` were listed before, and no more.
    `complaint` says why it could not be asked now, or not whole; empty where all is well.
    """

    place: Place
    machines: tuple[Machine, ...] = ()
    read_at: datetime | None = None
    gone: tuple[Machine, ...] = ()
    complaint: str = ""


class Listings(Protocol):
    """Whoever knows what places list, from them or from what they listed before."""

    def of(self, places: Sequence[Place], fresh_for: timedelta) -> Sequence[Listing]:
        """Return a listing of each place, never an error; none older than `fresh_for` where the place answers."""
        ...
