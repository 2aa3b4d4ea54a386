"""The report of an incident as a file in its card's thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from bot.chat.uploads import ThreadFile

REPORT = "report-"
MakeReport: TypeAlias = Callable[[str], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class ReportFile:
    """Makes reports; `page` returns an incident's page, or raises ZombieError."""

    page: MakeReport
    prefix: str = REPORT
    word: str = "report"

    async def make(self, name: str, content: Mapping[str, Any]) -> ThreadFile:
        """Make an incident's page. Raises: ZombieError."""
        return ThreadFile(f"report-{name}.html", (await self.page(name)).encode())

    def instead(self, name: str, because: str) -> str:
        """Say how to write it in a terminal."""
        return f"The report is not here: {because} To write it: zombie report {name}"
