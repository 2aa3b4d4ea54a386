"""What the page suggests to a newcomer at the beginning of a channel: commands to click, and who may approve."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Suggested:
    """A command that a click sends, and what there is to see then."""

    command: str
    shows: str


@dataclass(frozen=True, slots=True)
class Guide:
    """The suggestions of a channel. `approvers` are users' ids; `elsewhere` is another page to look at, by its name."""

    channel: str
    suggested: tuple[Suggested, ...]
    approvers: tuple[str, ...] = ()
    elsewhere: tuple[tuple[str, str], ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return it for the page."""
        return asdict(self)
