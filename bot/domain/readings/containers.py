"""The containers of a node, looked at twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Container:
    """One container. `age` is since its creation, None where the runtime's text could not be dated."""

    id: str
    image: str
    name: str = ""
    status: str = ""
    running: bool = True
    age: timedelta | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class ContainersReading:
    """Containers of every runtime found; no runtime at all is an answer: `runtimes` is empty."""

    probe: ClassVar[str] = "containers"

    runtimes: tuple[str, ...]
    containers: tuple[Container, ...] = ()
    containers_later: tuple[Container, ...] | None = None
    exits_by_image: Mapping[str, int] = field(default_factory=dict)  # in `exits_over`
    exits_over: timedelta | None = None  # None: the runtime does not tell of past exits
    refused: Mapping[str, str] = field(default_factory=dict)  # runtimes that are there and could not be read, and why
    count_is_at_least: bool = False  # only the newest containers were listed

    @property
    def replaced(self) -> tuple[Container, ...]:
        """Containers of the second look whose image was there in the first look under another id."""
        if self.containers_later is None:
            return ()
        before = {container.id for container in self.containers}
        images = {container.image for container in self.containers}
        return tuple(c for c in self.containers_later if c.id not in before and c.image in images)

    @property
    def count(self) -> int:
        """How many containers there are, running or not."""
        return len(self.containers)
