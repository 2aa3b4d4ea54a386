"""What the demo needs from its nodes, simulated or real."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol


class DemoNodes(Protocol):
    """The nodes that the demo shows."""

    @property
    def inventory(self) -> Path:
        """The inventory file with which other commands reach them."""
        ...

    @property
    def descriptions(self) -> Mapping[str, str]:
        """What there is to see on each node, by its name."""
        ...

    @property
    def summary(self) -> str:
        """A sentence about all of them."""
        ...

    def ssh_command(self, name: str) -> Sequence[str]:
        """Return the ssh command that logs in to a node."""
        ...

    async def start(self, seconds: Callable[[], float]) -> None:
        """Start them. Nodes without a clock of their own take their time from `seconds`."""
        ...

    async def stop(self) -> None:
        """Stop them."""
        ...
