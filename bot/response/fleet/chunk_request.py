"""What a worker is told to read: names and a question, as a plain document, without keys, addresses and commands.

A worker does not trust it: whoever reaches the scheduler can send orders.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.domain.entry import Entry
from bot.domain.errors import SchedulerError
from bot.domain.json_form import NotOfForm, plain, read
from bot.domain.node import is_name
from bot.domain.playbook import Playbook
from bot.domain.probe import Probe
from bot.response.fleet.sweep import Sweep

MOST_NODES = 1_000  # of a chunk
MOST_CHARS = 4_000_000
MOST_SECONDS = 3_600.0
MOST_SAMPLES = 60


@dataclass(frozen=True, slots=True)
class Question:
    """What every node of a sweep is asked, by names that both sides know.

    Shape: `digest` is of the playbook as this sweep uses it, so that both sides ask and weigh the same. `kind` is
    "look", "full" or "facts". `mutes` are entries of the record by which causes are accepted.
    Units: `samples` are seconds of the window.
    """

    program: str
    playbook: str
    digest: str
    causes: tuple[str, ...]
    kind: str
    samples: int
    deadline: timedelta
    mutes: tuple[Entry, ...] = ()

    @classmethod
    def of(
        cls,
        sweep: Sweep,
        *,
        program: str,
        facts: bool,
        samples: int,
        deadline: timedelta,
        mutes: tuple[Entry, ...] = (),
    ) -> Question:
        """Return the question that a sweep asks."""
        kind = "facts" if facts else "full" if sweep.is_full else "look"
        playbook = sweep.playbook
        return cls(program, playbook.name, playbook.digest, tuple(sweep.judged), kind, samples, deadline)

    @property
    def text(self) -> str:
        """The question as a document: equal questions have the same text."""
        return json.dumps(plain(self), sort_keys=True)

    def sweep(self, playbook: Playbook, more: tuple[Probe, ...]) -> Sweep:
        """Return the sweep that asks this with a worker's own playbook; `more` are extra probes for facts.

        Raises: SchedulerError when its playbook differs from the asker's; UsageError for a cause it does not weigh.
        """
        if self.kind == "facts":
            sweep = Sweep.of_facts(playbook, more)
        else:
            sweep = Sweep.of(playbook, self.causes, full=self.kind == "full")
        if sweep.playbook.digest != self.digest:
            raise SchedulerError(
                f"its playbook {playbook.name} differs from the asker's playbook.", "Give both the same --playbooks."
            )
        return sweep


@dataclass(frozen=True, slots=True)
class ChunkRequest:
    """A chunk of a sweep: its nodes, the question, and how many nodes at once."""

    question: Question
    nodes: tuple[str, ...]
    parallel: int
    asked_at: datetime

    @property
    def text(self) -> str:
        """The document that travels."""
        return json.dumps(plain(self), separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def of(cls, text: str) -> ChunkRequest:
        """Return the order that a document holds.

        Raises: SchedulerError when it is no order, or asks for more than a sweep ever does.
        """
        no_order = "what came is no order to read nodes"
        if len(text) > MOST_CHARS:
            raise SchedulerError(f"{no_order}.")
        try:
            order = read(cls, json.loads(text))
        except (NotOfForm, ValueError, RecursionError) as no:
            raise SchedulerError(f"{no_order}.") from no
        asked = order.question
        if (
            not 0 < len(order.nodes) <= MOST_NODES
            or not all(map(is_name, order.nodes))
            or len(set(order.nodes)) < len(order.nodes)
            or not 0 < order.parallel <= MOST_NODES
            or asked.kind not in ("look", "full", "facts")
            or not 0 < asked.samples <= MOST_SAMPLES
            or not 0 < asked.deadline.total_seconds() <= MOST_SECONDS
        ):
            raise SchedulerError(f"{no_order}: a part of it is out of bounds.")
        return order
