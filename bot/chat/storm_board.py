"""The single message of an alert storm: a bot among those that share the ledger keeps it up to date."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from bot.chat.background import Background
from bot.chat.document import Block, Document, Paragraph, SmallPrint, Title, bullets
from bot.chat.post_state import CARD, MessageTarget
from bot.chat.poster import Poster
from bot.chat.rate_limiter import SUMMARY
from bot.domain.contracts import Log
from bot.domain.errors import LedgerError
from bot.domain.incident import IncidentSummary
from bot.domain.intake_contracts import Storm, StormLimits
from bot.domain.safe_text import listed, one_line
from bot.domain.transitions import State
from bot.ledger import Leases
from bot.ledger.dedup_store import DedupStore

NAMES = ("instance_id", "private_dns", "hostname")  # labels that only name a single node, and so group nothing
MOST_CAUSES = 12
MOST_LABELS = 4
MOST_NODES = 6
NO_CAUSE, READING, NAMELESS = "no cause found", "still being read", "no node named"

Labels = Callable[[str], Mapping[str, str]]  # of a node, by its name
LOOK_SECONDS = 2.0
LATELY = timedelta(days=1)  # a storm without a new alert for as long is not taken up again


@dataclass(slots=True, eq=False)
class StormBoard:
    """Shows storms; `why` says why nothing is offered during a storm."""

    cases: DedupStore
    brakes: StormLimits
    leases: Leases
    poster: Poster
    channel: str
    why: str
    labels: Labels
    background: Background
    log: Log
    look_seconds: float = LOOK_SECONDS
    _shown: set[str] = field(default_factory=set)
    _over: set[str] = field(default_factory=set)  # their last message is stored

    async def resume(self) -> None:
        """Take up what nobody shows and may not be told to be over, as after a restart. Raises: LedgerError."""
        for name in await self.cases.storms(LATELY) if self.channel else ():
            if name not in self._over:
                self.keep_storm_shown(name)

    def keep_storm_shown(self, name: str) -> None:
        """Show a storm from now on, if no other bot does."""
        if self.channel and name not in self._shown:
            self._shown.add(name)
            self.background.begin(self._keep_current(name), f"storm {name}")

    async def _keep_current(self, name: str) -> None:
        said: Document | None = None
        try:
            while await self.leases.take(name):
                storm = await self.cases.storm(name, self.brakes)
                message = storm_card(storm, self.why, self.labels)
                if message != said and not await self.poster.is_standing(name, message):
                    spot = MessageTarget(self.channel)
                    await self.poster.adopt(name, spot)
                    await self.poster.enqueue(name, CARD, spot, message, rank=SUMMARY)
                said = message
                if not storm.is_on and not any(line.state is State.OPENED for line in storm.incidents):
                    self._over.add(name)
                    return
                await asyncio.sleep(self.look_seconds)
        except LedgerError as error:  # it is taken up again
            self.log("storm_unseen", storm=name, error=one_line(str(error)))
        finally:
            self._shown.discard(name)
            self.poster.mark_finished(name)


def storm_card(storm: Storm, why: str, labels: Labels) -> Document:
    """Return the message; `labels` returns a node's labels, and `why` says why nothing is offered."""
    groups = _by_cause(storm.incidents)
    nodes = len({incident.node for incident in storm.incidents if incident.node})
    words = f"Alert storm: {storm.cases} alerts on {nodes} nodes" + ("" if storm.is_on else ", over")
    lines = [(f"{cause} ({len(found)})", _storm_line(found, labels)) for cause, found in groups[:MOST_CAUSES]]
    if len(groups) > MOST_CAUSES:
        lines.append((f"{len(groups) - MOST_CAUSES} more causes", "zombie incidents lists them all"))
    blocks: list[Block] = [Title(words)]
    blocks += [bullets(lines)] if lines else []
    blocks += [
        Paragraph(why),
        SmallPrint(("Each page still has its own note. /zombie check NODE reads a node again.",)),
    ]
    return Document(f"{words}. {'; '.join(map(': '.join, lines))}. {why}", tuple(blocks))


def _by_cause(incidents: Sequence[IncidentSummary]) -> list[tuple[str, list[IncidentSummary]]]:
    """Incidents by cause, the most frequent first; those still being read come last."""
    groups: dict[str, list[IncidentSummary]] = {}
    for incident in incidents:
        groups.setdefault(_cause_word(incident), []).append(incident)
    return sorted(groups.items(), key=lambda group: (group[0] in (READING, NAMELESS), -len(group[1]), group[0]))


def _cause_word(incident: IncidentSummary) -> str:
    if not incident.node:
        return NAMELESS
    if incident.cause is not None:
        return one_line(incident.cause, 80)
    return READING if incident.state is State.OPENED else NO_CAUSE


def _storm_line(found: Sequence[IncidentSummary], labels: Labels) -> str:
    nodes = list(dict.fromkeys(incident.node for incident in found if incident.node))
    shared = ", ".join(f"{label} {count}" for label, count in _shared_labels(nodes, labels))
    return " — ".join(part for part in (shared, listed(nodes, MOST_NODES)) if part)


def _shared_labels(nodes: Sequence[str], labels: Labels) -> Iterator[tuple[str, int]]:
    """The labels that most of these nodes share."""
    counted = Counter(
        f"{one_line(name, 40)}={one_line(value, 40)}"
        for node in nodes
        for name, value in labels(node).items()
        if name not in NAMES
    )
    yield from ((label, count) for label, count in counted.most_common(MOST_LABELS) if count > 1 or len(nodes) == 1)
