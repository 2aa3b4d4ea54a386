"""The report of an incident as a file of its card's thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from bot.surfaces.slack.enclosures import Enclosed

REPORT = "report-"
MakeReport: TypeAlias = Callable[[str], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class EnclosedReport:
    """Reports; `page` returns an incident's page, and raises ZombieError where it cannot."""

    page: MakeReport
    prefix: str = REPORT
    word: str = "report"

    async def make(self, name: str, content: Mapping[str, Any]) -> Enclosed:
        """Make an incident's page. Raises: ZombieError."""
        return Enclosed(f"report-{name}.html", (await self.page(name)).encode())

    def instead(self, name: str, because: str) -> str:
        """Say how it is written in a terminal."""
        return f"The report is not here: {because} It is written by: zombie report {name}"
