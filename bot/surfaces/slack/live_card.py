"""One check's card while it runs: what is known so far, as the message that says it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bot.domain.contracts import Concluded, Listener, ProbeAnswered, Progress, ReadingStarted
from bot.domain.verdict import Verdict
from bot.surfaces.slack.card import Underway, card
from bot.surfaces.slack.message import Message


class LiveCard:
    """Folds the progress of every node of one check; `show(message, final)` is told after each change."""

    def __init__(self, nodes: Sequence[str], asked_by: str, show: Callable[[Message, bool], None]) -> None:
        self._underway = {node: Underway(node) for node in nodes}
        self._verdicts: list[Verdict] = []
        self._asked_by = asked_by
        self._show = show

    @property
    def message(self) -> Message:
        """The card as it stands."""
        return card(tuple(self._underway.values()), self._verdicts, self._asked_by)

    @property
    def final(self) -> bool:
        """True when every node has its verdict."""
        return not self._underway

    def listener(self) -> Listener:
        """Return what hears one diagnosis; readings shared with another check are heard from their beginning."""
        return self._heard

    def waiting(self, node: str, why: str) -> None:
        """Say why a node's reading has not begun."""
        self._underway[node] = Underway(node, waiting=why)
        self._changed()

    def concluded(self, verdict: Verdict) -> None:
        """Put a verdict in the place of a node's progress."""
        if self._underway.pop(verdict.node, None) is not None:
            self._verdicts.append(verdict)
            self._changed()

    def _heard(self, event: Progress) -> None:
        match event:
            case ReadingStarted(node=node, probes=probes) if node in self._underway:
                self._underway[node] = Underway(node, asked=len(probes))
            case ProbeAnswered(node=node) if node in self._underway:
                before = self._underway[node]
                self._underway[node] = Underway(node, before.answered + 1, before.asked)
            case Concluded(verdict=verdict):
                self.concluded(verdict)
                return
            case _:
                return
        self._changed()

    def _changed(self) -> None:
        self._show(self.message, self.final)
