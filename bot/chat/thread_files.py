"""Files that a bot uploads, each once: an incident's report or a profile's pictures in a thread, the pictures on cards.

The outbox has each until the chat has it, as it has messages. For a file that is rejected, the thread gets a sentence.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias


@dataclass(frozen=True, slots=True)
class ThreadFile:
    """A file to send; `alt_text` says what a picture shows."""

    name: str
    content: bytes
    alt_text: str = ""


@dataclass(frozen=True, slots=True)
class FileRequest:
    """A requested file: its kind by `prefix`, its name, and what is stored with it until it is sent."""

    prefix: str
    name: str
    content: Mapping[str, Any] = field(default_factory=dict)

    @property
    def part(self) -> str:
        """Its name in the outbox."""
        return self.prefix + self.name


class ThreadFileKind(Protocol):
    """A kind of file."""

    @property
    def prefix(self) -> str:
        """The prefix of its parts' names in the outbox."""

    @property
    def word(self) -> str:
        """The prefix of its log events."""

    async def make(self, name: str, content: Mapping[str, Any]) -> ThreadFile:
        """Make the file of that name from what was stored with it. Raises: ZombieError where that fails."""

    def instead(self, name: str, because: str) -> str:
        """Return what the thread says if the file does not come; empty where nothing is lost."""


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
