"""One check's card while it runs: what is known so far, as the message that says it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bot.domain.contracts import ProbeAnswered, Progress, ReadingStarted
from bot.domain.verdict import Verdict
from bot.surfaces.slack.card import card
from bot.surfaces.slack.message import Message
from bot.surfaces.view.context import Underway
from bot.surfaces.view.plan_words import BY_NAME, PlanWords


class LiveCard:
    """Folds the progress of every node of one check; `changed` is called after each change until all have verdicts.

    Shape: `incidents` are the ids under which the record has the nodes; `asked_by` is a Slack user id.
    """

    def __init__(
        self,
        incidents: Mapping[str, str],
        asked_by: str,
        changed: Callable[[], None],
        known: Sequence[Verdict] = (),
        words: PlanWords = BY_NAME,
    ) -> None:
        self._incidents = incidents
        self._asked_by = asked_by
        self._changed = changed
        self._words = words
        self._verdicts = list(known)
        judged = {verdict.node for verdict in known}
        self._underway = {node: Underway(node) for node in incidents if node not in judged}

    def message(self) -> Message:
        """Return the card as it stands."""
        return card(tuple(self._underway.values()), self._verdicts, self._asked_by, self._incidents, self._words)

    @property
    def is_final(self) -> bool:
        """True when every node has its verdict."""
        return not self._underway

    def waiting(self, node: str, why: str) -> None:
        """Say why a node's reading has not begun."""
        self._underway[node] = Underway(node, waiting=why)
        self._changed()

    def concluded(self, verdict: Verdict) -> None:
        """Put a verdict in the place of a node's progress."""
        del self._underway[verdict.node]
        self._verdicts.append(verdict)
        if not self.is_final:  # the last one has to arrive, and is not progress
            self._changed()

    def heard(self, event: Progress) -> None:
        """Hear of one node's diagnosis; one that is shared with another check is heard from its beginning."""
        match event:
            case ReadingStarted(node=node, probes=probes) if node in self._underway:
                self._underway[node] = Underway(node, asked=len(probes))
            case ProbeAnswered(node=node) if node in self._underway:
                before = self._underway[node]
                self._underway[node] = Underway(node, before.answered + 1, before.asked)
            case _:
                return
        self._changed()
