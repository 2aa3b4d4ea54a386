"""What every node of a fleet is asked, a cause's signature in a single look or a whole check, and what it answers."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from bot.domain.cause import CauseResult
from bot.domain.command import SampleTimes
from bot.domain.errors import UsageError
from bot.domain.evaluation import evaluate_playbook
from bot.domain.growth import HarmThreshold
from bot.domain.nearest import did_you_mean
from bot.domain.playbook import ConfiguredCause, Playbook
from bot.domain.probe import Probe, Snapshot
from bot.domain.safe_text import one_line
from bot.domain.verdict import Confidence, Finding, Status, Verdict
from bot.probes import boot_units

_Found = TypeVar("_Found", Finding, Verdict)
HOST = "host"  # read with every signature: fleets are compared by kernel and image


class JudgedBy(enum.StrEnum):
    """How a cause was judged."""

    SIGNATURE = "signature"  # a single look, no window: at most possible
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Sweep:
    """A question to many nodes.

    Shape: each node is read and judged by `playbook`. `judged` says how each counted cause is judged,
    in the order of explanation. `is_full`: nodes get a whole check's verdict. `needs_window`: something is
    watched over time. `wants_facts`: each answer has what nodes are compared by; of a whole check with its figures,
    for whoever stores them.
    """

    playbook: Playbook
    judged: Mapping[str, JudgedBy]
    is_full: bool = False
    needs_window: bool = False
    wants_facts: bool = False

    @classmethod
    def of(cls, playbook: Playbook, causes: Sequence[str] = (), *, full: bool = False) -> Sweep:
        """Return the sweep for these causes; without any, for all causes that show in a single look.

        Shape: with `full` every node is checked by the whole playbook.
        Raises: UsageError for a cause that the playbook does not evaluate.
        """
        known = {used.cause.name: used for used in playbook.causes}
        for name in causes:
            if name not in known:
                says = f"The playbook {playbook.name} evaluates no cause “{one_line(name, 60)}”."
                raise UsageError(says, did_you_mean(name, known))
        counted = [
            used for name, used in known.items() if name in causes or (not causes and (full or used.cause.signature))
        ]
        if full:
            return cls(playbook, {used.cause.name: JudgedBy.FULL for used in counted}, True, True)
        if not counted:
            says = f"No cause of the playbook {playbook.name} shows in a single look."
            raise UsageError(says, "Ask for whole checks with --full.")
        judged = {used.cause.name: JudgedBy.SIGNATURE if used.cause.signature else JudgedBy.FULL for used in counted}
        probes = _probes(playbook, counted)
        names = {probe.name for probe in probes}
        narrowed = replace(
            playbook,
            probes=probes,
            must_read=tuple(name for name in playbook.must_read if name in names),
            causes=tuple(counted),
            conditions=(),
        )
        return cls(narrowed, judged, False, any(how is JudgedBy.FULL for how in judged.values()))

    @classmethod
    def of_facts(cls, playbook: Playbook) -> Sweep:
        """Return the sweep that reads everything a single look shows, and what starts at boot, to compare nodes."""
        instant = [probe for probe in playbook.probes if not _lasts_a_window(probe)]
        known = {probe.name for probe in instant}
        probes = [*instant, *([boot_units.PROBE] if boot_units.PROBE.name not in known else [])]
        signed = tuple(
            used for used in playbook.causes if known.issuperset(used.cause.signature) and used.cause.signature
        )
        looked = replace(playbook, probes=tuple(map(_one_look, probes)), must_read=(), causes=signed, conditions=())
        return cls(looked, {used.cause.name: JudgedBy.SIGNATURE for used in signed}, wants_facts=True)

    def cause_results(self, snapshot: Snapshot) -> tuple[CauseResult, ...]:
        """Evaluate the causes that are counted, in the order of explanation; a signature is at most possible."""
        counted = [used for used in self.playbook.causes if used.cause.name in self.judged]
        found = [(self.judged[used.cause.name], used.cause.evaluate(snapshot, used.tuning)) for used in counted]
        return tuple(
            _as_signature(result) if how is JudgedBy.SIGNATURE and isinstance(result, Finding) else result
            for how, result in found
        )

    def verdict(self, snapshot: Snapshot) -> Verdict:
        """Return the verdict of a single look; never more than degraded and possible by a signature."""
        verdict = evaluate_playbook(snapshot, self.playbook)
        if verdict.cause is None or self.judged.get(verdict.cause) is not JudgedBy.SIGNATURE:
            return verdict
        return _as_signature(verdict)


def _as_signature(found: _Found) -> _Found:
    status = Status.DEGRADED if found.status is Status.CRITICAL else found.status
    return replace(found, status=status, confidence=Confidence.POSSIBLE, remedy=(), lasting_fix="")


def _probes(playbook: Playbook, counted: Sequence[ConfiguredCause]) -> tuple[Probe, ...]:
    """The probes that the causes need, in the playbook's order, with a window only where a whole check needs it."""
    whole = {name for used in counted if not used.cause.signature for name in used.cause.probes}
    looks = {HOST, *(name for used in counted for name in used.cause.signature)}
    return tuple(
        probe if probe.name in whole else _one_look(probe) for probe in playbook.probes if probe.name in whole | looks
    )


def _lasts_a_window(probe: Probe) -> bool:
    return any(command.looks is SampleTimes.THROUGHOUT for command in probe.commands)


def _one_look(probe: Probe) -> Probe:
    """The same probe without its second look; commands that last a whole window are in no signature."""
    once = (replace(command, looks=SampleTimes.ONCE) for command in probe.commands)
    return replace(probe, commands=tuple(once))


# --- A node's answer: plain values that travel between programs.


class NodeOutcome(enum.StrEnum):
    """The outcome of asking a node."""

    ANSWERED = "answered"
    UNKNOWN = "unknown"  # it answered, but the question stays open
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class Found:
    """A cause that a node has; `muted`: people know and accept it there.

    Shape: `status` and `confidence` are words of `bot.domain.verdict`.
    """

    cause: str
    status: str
    confidence: str
    says: str
    suspects: tuple[str, ...] = ()
    muted: bool = False


@dataclass(frozen=True, slots=True)
class Counted:
    """A count that may grow, in which boot, and from which value on it does harm there."""

    cause: str
    value: float
    boot: str = ""
    harm: HarmThreshold | None = None


@dataclass(frozen=True, slots=True)
class NodeAnswer:
    """A node's part of a sweep.

    Shape: `status` is the verdict's. `unreachable_class` is the class of `check` ("refused", …), `because` the
    sentence about what is not known. `undecided` maps a cause to why it is not known. `traits` say which machine and
    system it is. `facts` are what cohorts are compared by, where asked for; `figures` are those of a whole check,
    `packed` and in base64. `counted` is what may grow there.
    """

    node: str
    outcome: NodeOutcome
    status: str = ""
    cause: str = ""
    confidence: str = ""
    because: str = ""
    found: tuple[Found, ...] = ()
    undecided: Mapping[str, str] = field(default_factory=dict)
    unreachable_class: str = ""
    machine_id: str = ""
    traits: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    figures: str = ""
    counted: tuple[Counted, ...] = ()
    seconds: float = 0.0

    @property
    def causes(self) -> tuple[str, ...]:
        """The causes that it has."""
        return tuple(found.cause for found in self.found)
