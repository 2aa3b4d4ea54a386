"""What travels to a worker and back, as plain documents: names and a question, and what the nodes answered.

No keys, addresses or commands travel. Neither side trusts the other: whoever reaches the scheduler can send orders, and
a reply is checked like all outside input.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from bot.domain.entry import Entry
from bot.domain.errors import SchedulerError
from bot.domain.json_form import NotOfForm, read, to_json_types
from bot.domain.node import is_name
from bot.domain.playbook import Playbook
from bot.domain.safe_text import one_line, redacted_line
from bot.domain.verdict import Confidence, Status
from bot.extras.fleet.facts import MOST_PACKED
from bot.extras.fleet.sweep import Counted, Found, JudgedBy, NodeAnswer, NodeOutcome, Sweep

MOST_NODES = 1_000  # of a chunk
MOST_CHARS = 4_000_000
MOST_SECONDS = 3_600.0
MOST_SAMPLES = 60


@dataclass(frozen=True, slots=True)
class SweepQuestion:
    """What every node of a sweep is asked, by names that both sides know.

    Shape: `digest` is of the playbook as this sweep uses it, so that both sides ask and evaluate the same. `is_full`
    and `wants_facts` are as in `Sweep`. `mutes` are entries of the record by which causes are accepted.
    Units: `samples` are seconds of the window.
    """

    program: str
    playbook: str
    digest: str
    causes: tuple[str, ...]
    is_full: bool
    wants_facts: bool
    samples: int
    deadline: timedelta
    mutes: tuple[Entry, ...] = ()

    @classmethod
    def of(cls, sweep: Sweep, program: str, samples: int, deadline: timedelta) -> SweepQuestion:
        """Return the question that a sweep asks."""
        playbook, how = sweep.playbook, (sweep.is_full, sweep.wants_facts)
        return cls(program, playbook.name, playbook.digest, tuple(sweep.judged), *how, samples, deadline)

    @property
    def text(self) -> str:
        """The question as a document: equal questions have the same text."""
        return json.dumps(to_json_types(self), sort_keys=True)

    def sweep(self, playbook: Playbook) -> Sweep:
        """Return the sweep that asks this with a worker's own playbook.

        Raises: SchedulerError when its playbook differs from the asker's; UsageError for a cause it does not evaluate.
        """
        if self.wants_facts and not self.is_full:
            sweep = Sweep.of_facts(playbook)
        else:
            sweep = replace(Sweep.of(playbook, self.causes, full=self.is_full), wants_facts=self.wants_facts)
        if sweep.playbook.digest != self.digest:
            raise SchedulerError(
                f"its playbook {playbook.name} differs from the asker's playbook.", "Give both the same --playbooks."
            )
        return sweep


@dataclass(frozen=True, slots=True)
class ChunkRequest:
    """A chunk of a sweep: the question, and its nodes, which are read at once."""

    question: SweepQuestion
    nodes: tuple[str, ...]

    @property
    def text(self) -> str:
        """The document that travels."""
        return json.dumps(to_json_types(self), separators=(",", ":"), ensure_ascii=False)

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
            or not 0 < asked.samples <= MOST_SAMPLES
            or not 0 < asked.deadline.total_seconds() <= MOST_SECONDS
        ):
            raise SchedulerError(f"{no_order}: a part of it is out of bounds.")
        return order


# --- a worker's reply to a chunk


LONGEST = 300  # characters of a sentence, as in an answer that was made here
MOST_SUSPECTS = 100
MOST_TRAITS = 40
MOST_FACTS = 20_000
CHARS_A_NODE = 2_000_000
CHARS_BESIDE = 100_000


@dataclass(frozen=True, slots=True)
class ChunkReply:
    """The answers of a chunk.

    Shape: `worker` is its name for people, `address` its address at the scheduler.
    `refused`: why it reads nothing of the chunk; another worker may. `unknown` are names that its inventory does not
    have. `wrong`: a file of its own that some node needs and that cannot be read.
    """

    program: str
    worker: str
    address: str
    answers: tuple[NodeAnswer, ...] = ()
    refused: str = ""
    unknown: tuple[str, ...] = ()
    wrong: str = ""

    @property
    def text(self) -> str:
        """The document that travels."""
        return json.dumps(to_json_types(self), separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def of(cls, text: object, nodes: Sequence[str], sweep: Sweep) -> ChunkReply:
        """Return the reply that a document holds; its texts are made safe, lose their secrets and are cut.

        Shape: `nodes` are the chunk's names, `sweep` what they were asked.
        Raises: SchedulerError when it is no reply, or is impossible: a node that was not asked, a node twice, a cause
        that is not evaluated, more certainty than a single look gives.
        """
        if not isinstance(text, str) or len(text) > CHARS_BESIDE + CHARS_A_NODE * len(nodes):
            raise SchedulerError("it is no document, or far too long.")
        try:
            reply = read(cls, json.loads(text))
        except (NotOfForm, ValueError, RecursionError) as no:
            raise SchedulerError(f"{one_line(str(no), 120)}.") from no
        answered = [answer.node for answer in reply.answers]
        asked = set(nodes)
        if len(set(answered)) < len(answered) or not asked.issuperset(answered) or not asked.issuperset(reply.unknown):
            raise SchedulerError("it reports a node twice, or a node that was not asked.")
        return replace(
            reply,
            program=_safe_text(reply.program),
            worker=_safe_text(reply.worker),
            address=_safe_text(reply.address),
            refused=_safe_text(reply.refused),
            wrong=_safe_text(reply.wrong),
            answers=tuple(_checked_answer(answer, sweep) for answer in reply.answers),
        )


def _checked_answer(answer: NodeAnswer, sweep: Sweep) -> NodeAnswer:
    """The answer, made safe. Raises: SchedulerError when no node can have given it."""
    is_read = answer.outcome is not NodeOutcome.UNREACHABLE
    outcome = {Status.UNREACHABLE.value: NodeOutcome.UNREACHABLE, Status.UNKNOWN.value: NodeOutcome.UNKNOWN}
    counted = set(sweep.judged)
    is_look = JudgedBy.FULL not in sweep.judged.values()
    if (
        answer.status not in {status.value for status in Status}
        or answer.outcome is not outcome.get(answer.status, NodeOutcome.ANSWERED)
        or (is_look and answer.status == Status.CRITICAL.value)
        or (bool(answer.unreachable_class) is is_read)
        or (not is_read and (answer.found or answer.cause))
        or not _is_confidence(answer.confidence)
        or not counted.issuperset(answer.undecided)
        or len(set(answer.causes)) < len(answer.causes)
        or len(answer.traits) > MOST_TRAITS
        or len(answer.facts) > MOST_FACTS
        or len(answer.figures) > MOST_PACKED
        or len({counted.cause for counted in answer.counted}) < len(answer.counted)
        or (not is_read and answer.counted)
        or not (math.isfinite(answer.seconds) and answer.seconds >= 0)
    ):
        raise SchedulerError(f"its answer of {one_line(answer.node, 80)} cannot be.")
    return NodeAnswer(
        node=answer.node,
        outcome=answer.outcome,
        status=answer.status,
        cause=_safe_text(answer.cause),
        confidence=answer.confidence,
        because=_safe_text(answer.because),
        found=tuple(_checked_finding(answer.node, found, sweep) for found in answer.found),
        undecided=_safe_texts(answer.undecided),
        unreachable_class=_safe_text(answer.unreachable_class),
        machine_id=_safe_text(answer.machine_id),
        traits=_safe_texts(answer.traits),
        facts={one_line(name, LONGEST): one_line(said, LONGEST) for name, said in answer.facts.items()},  # a thousand
        figures=answer.figures,  # what unpacks them makes them safe
        counted=tuple(_checked_count(answer.node, count, sweep) for count in answer.counted),
        seconds=float(answer.seconds),
    )


def _checked_finding(node: str, found: Found, sweep: Sweep) -> Found:
    how = sweep.judged.get(found.cause)
    is_bold = found.confidence != Confidence.POSSIBLE.value or found.status == Status.CRITICAL.value
    if (
        how is None
        or (how is JudgedBy.SIGNATURE and is_bold)
        or found.status not in {status.value for status in Status}
        or not _is_confidence(found.confidence)
        or len(found.suspects) > MOST_SUSPECTS
    ):
        raise SchedulerError(f"what it found on {one_line(node, 80)} cannot be.")
    return replace(found, says=_safe_text(found.says), suspects=tuple(map(_safe_text, found.suspects)))


def _checked_count(node: str, count: Counted, sweep: Sweep) -> Counted:
    """What was counted of a cause that may grow, safe. Raises: SchedulerError when no node can have told it."""
    harm = count.harm
    figures = (count.value, *((harm.value,) if harm is not None else ()))
    if count.cause not in sweep.judged or not all(math.isfinite(figure) and figure >= 0 for figure in figures):
        raise SchedulerError(f"what it counted on {one_line(node, 80)} cannot be.")
    shown = replace(harm, says=_safe_text(harm.says)) if harm is not None else None
    return replace(count, boot=_safe_text(count.boot), harm=shown)


def _is_confidence(word: str) -> bool:
    return word == "" or word in {confidence.value for confidence in Confidence}


def _safe_texts(told: Mapping[str, str]) -> dict[str, str]:
    return {_safe_text(name): _safe_text(said) for name, said in told.items()}


def _safe_text(text: str) -> str:
    return redacted_line(text, LONGEST)
