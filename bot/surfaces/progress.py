"""A check while it runs, on a terminal: a line for each node, redrawn in place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TextIO

from bot.domain.command import slow_words
from bot.domain.contracts import ProbeAnswered, Progress, ReadingStarted, Seconds, VerdictReached
from bot.domain.safe_text import listed
from bot.domain.verdict import Status

SHOWN_NODES = 8


@dataclass(slots=True, eq=False)
class TerminalProgress:
    """Keeps the lines below the cursor; `clear` removes them before anything else is printed.

    `elapsed` returns the seconds since the check began; `nodes` is how many are checked, where known.
    """

    stream: TextIO
    width: Callable[[], int]
    elapsed: Seconds
    nodes: int = 0
    _asked: dict[str, int] = field(default_factory=dict)
    _answered: dict[str, list[str]] = field(default_factory=dict)
    _unread: dict[str, int] = field(default_factory=dict)
    _slow: dict[str, str] = field(default_factory=dict)
    _sick: list[str] = field(default_factory=list)
    _verdicts: int = 0
    _drawn: int = 0

    def heard(self, event: Progress) -> None:
        """Take in a progress event; `draw` shows it."""
        match event:
            case ReadingStarted(node=node, probes=probes):
                self._asked[node] = len(probes)
                self._answered[node] = []
            case ProbeAnswered(node=node, probe=probe, unread=unread, slowness=slowness):
                self._slow[node] = slow_words(slowness)
                self._answered.setdefault(node, []).append(probe)
                self._unread[node] = self._unread.get(node, 0) + (unread is not None)
            case VerdictReached(verdict=verdict):
                for kept in (self._asked, self._answered, self._unread, self._slow):
                    kept.pop(verdict.node, None)
                self._verdicts += 1
                self._sick += [verdict.node] if verdict.status is not Status.HEALTHY else []

    def draw(self) -> None:
        """Redraw the lines."""
        self.clear()
        lines = [self._line(node) for node in list(self._asked)[:SHOWN_NODES]]
        if len(self._asked) > SHOWN_NODES:
            lines.append(f"  … and {len(self._asked) - SHOWN_NODES} more")
        if self._sick:
            lines.append(f"  not healthy so far: {listed(self._sick, 3)}")
        if self.nodes > SHOWN_NODES:
            lines.append(f"  {self._verdicts:,} of {self.nodes:,} nodes done, {self.elapsed():.0f} s")
        width = max(20, self.width() - 1)
        self.stream.write("".join(line[:width] + "\n" for line in lines))
        self.stream.flush()
        self._drawn = len(lines)

    def clear(self) -> None:
        """Remove the drawn lines."""
        if self._drawn:
            self.stream.write(f"\x1b[{self._drawn}A\x1b[0J")
            self.stream.flush()
            self._drawn = 0

    def _line(self, node: str) -> str:
        answered = self._answered[node]
        parts = [f"{len(answered)} of {self._asked[node]} probes", *answered[-1:]]
        if self._unread.get(node):
            parts.append(f"{self._unread[node]} unread")
        if slow := self._slow.get(node):
            parts.append(slow)
        return f"  reading {node}: {', '.join(parts)}, {self.elapsed():.0f} s"
