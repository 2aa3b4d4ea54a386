"""What the demo's story needs of the nodes that it is told of: simulated ones, or any others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol


class Cast(Protocol):
    """The nodes that the story is told of.

    Shape: `teaches` says of each, by name, what it has to teach; `says` is what all of them are, and `login` the ssh
    command that leads to one.
    """

    @property
    def inventory(self) -> Path:
        """The file by which ordinary commands reach them."""
        ...

    @property
    def teaches(self) -> Mapping[str, str]:
        """What each has to teach."""
        ...

    @property
    def says(self) -> str:
        """One sentence on all of them."""
        ...

    def login(self, name: str) -> Sequence[str]:
        """Return the words of the ssh command that leads to one of them."""
        ...

    async def start(self, seconds: Callable[[], float]) -> None:
        """Bring them up; their time runs as `seconds` does, where they have no clock of their own."""
        ...

    async def stop(self) -> None:
        """End them."""
        ...
