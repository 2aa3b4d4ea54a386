"""Evaluates a snapshot by two playbooks: does the verdict flip, and which result made it flip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bot.domain.cause import CauseResult
from bot.domain.evaluation import evaluate_cause, evaluate_condition
from bot.domain.playbook import Condition, ConfiguredCause, Playbook
from bot.domain.probe import RememberingSnapshot, Snapshot
from bot.domain.three_valued_logic import Unknown
from bot.domain.verdict import Finding, RuledOut, Status, Verdict, outcome_parts
from bot.extras.cases.what_if import Judge

NOT_EVALUATED = "not evaluated"
RULED_OUT = "ruled out"
DOES_NOT_APPLY = "does not apply"
DOES_NOT_HOLD = "does not hold"
_NOT_FOUND = frozenset((NOT_EVALUATED, RULED_OUT, DOES_NOT_APPLY, DOES_NOT_HOLD))
NO_CAUSE = "none"  # expected where the verdict should name no cause


@dataclass(frozen=True, slots=True)
class Pair:
    """A playbook before and after a change."""

    before: Playbook
    after: Playbook


@dataclass(frozen=True, slots=True)
class PlaybookReadings:
    """A playbook, and the readings that it asks for."""

    playbook: Playbook
    snapshot: Snapshot

    @classmethod
    def of(cls, playbook: Playbook, snapshot: Snapshot) -> PlaybookReadings:
        """`snapshot` may have more readings than the playbook asks for; the rest is left out."""
        readings = snapshot.readings
        asked = {probe.name: readings[probe.name] for probe in playbook.probes if probe.name in readings}
        return cls(playbook, RememberingSnapshot.of(replace(snapshot, readings=asked)))


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """The outcome of a cause or condition, such as "critical, confirmed" or "ruled out", and why."""

    stands: str
    says: str = ""


@dataclass(frozen=True, slots=True)
class ChangedOutcome:
    """A cause or condition with a different outcome under the other playbook.

    Shape: `changed` has both playbooks' values, by name: a threshold, or `when` of a condition.
    """

    name: str
    before: ItemOutcome
    after: ItemOutcome
    changed: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two verdicts on a snapshot and, where they differ, what made the difference.

    Shape: `otherwise` are sentences on other differences of the playbooks: must_read, a remedy, the order.
    """

    before: Verdict
    after: Verdict
    turned: tuple[ChangedOutcome, ...] = ()
    otherwise: tuple[str, ...] = ()

    @property
    def flips(self) -> bool:
        """True when status, cause, confidence or plan differ."""
        return outcome_parts(self.before) != outcome_parts(self.after)


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of the matrix: a case's verdict under a playbook.

    Shape: `case` is the case's file; `against` names the playbook to compare with. `expected` is the
    cause that a person expects, `NO_CAUSE` for none, None where nobody said what to expect.
    """

    case: str
    node: str
    playbook: str
    against: str
    comparison: Comparison
    expected: str | None = None

    @property
    def is_as_expected(self) -> bool | None:
        """Whether the changed playbook gives the expected verdict; None where nothing is expected."""
        return None if self.expected is None else (self.comparison.after.cause or NO_CAUSE) == self.expected

    @property
    def fails(self) -> bool:
        """True if a person should look at it: an unexpected verdict, or an unexpected flip."""
        return self.comparison.flips if self.is_as_expected is None else not self.is_as_expected


class Evaluator:
    """Evaluates a node's readings by several playbooks; a cause tuned alike by several is evaluated once."""

    def __init__(self, judge: Judge) -> None:
        """`judge` is the node's; its playbook is not used."""
        self._judge = judge
        self._results: dict[tuple[Any, ...], CauseResult] = {}

    def compared(self, was: PlaybookReadings, now: PlaybookReadings) -> Comparison:
        """Return the two verdicts, and what made them differ."""
        found = Comparison(self._verdict(was), self._verdict(now))
        if not found.flips:
            return found
        turned = (*self._changed_causes(was, now), *_changed_conditions(was, now))
        return replace(found, turned=turned, otherwise=tuple(_playbook_differences(was.playbook, now.playbook, found)))

    def _verdict(self, asked: PlaybookReadings) -> Verdict:
        playbook, snapshot = asked.playbook, asked.snapshot
        causes = [self._result(asked, used) for used in playbook.causes]
        found = [*causes, *(evaluate_condition(condition, snapshot) for condition in playbook.conditions)]
        return replace(self._judge, playbook=playbook).verdict_of(snapshot, found)

    def _result(self, asked: PlaybookReadings, used: ConfiguredCause) -> CauseResult:
        """Evaluate a cause once for each tuning: it looks only at the probes that it names."""
        is_used = (*(used.tuning[name] for name in used.cause.thresholds), used.allow, used.lasting_fix)
        key = (used.cause.name, used.cause.definition, *is_used)
        if key not in self._results:
            self._results[key] = evaluate_cause(used, asked.snapshot)
        return self._results[key]

    def _changed_causes(self, was: PlaybookReadings, now: PlaybookReadings) -> Iterator[ChangedOutcome]:
        were, are = ({used.cause.name: used for used in asked.playbook.causes} for asked in (was, now))
        for name in dict.fromkeys((*were, *are)):
            before, after = self._item_outcome(was, were.get(name)), self._item_outcome(now, are.get(name))
            if _may_decide(before, after):
                yield ChangedOutcome(name, before, after, _thresholds(were.get(name), are.get(name)))

    def _item_outcome(self, asked: PlaybookReadings, used: ConfiguredCause | None) -> ItemOutcome:
        if used is None:
            return ItemOutcome(NOT_EVALUATED)
        result = self._result(asked, used)
        if isinstance(result, Finding):
            sure = f", {result.confidence}" if result.confidence is not None else ""
            return ItemOutcome(f"{result.status}{sure}", result.summary)
        if isinstance(result, RuledOut):
            return ItemOutcome(RULED_OUT if result.applies else DOES_NOT_APPLY, result.because)
        return ItemOutcome("undecided", result.says)


def _changed_conditions(was: PlaybookReadings, now: PlaybookReadings) -> Iterator[ChangedOutcome]:
    were, are = ({each.name: each for each in asked.playbook.conditions} for asked in (was, now))
    for name in dict.fromkeys((*were, *are)):
        before, after = _condition_outcome(was, were.get(name)), _condition_outcome(now, are.get(name))
        if _may_decide(before, after):
            whens = tuple(each.when for each in (were.get(name), are.get(name)) if each is not None)
            changed = {"when": (whens[0], whens[1])} if len(set(whens)) > 1 else {}
            yield ChangedOutcome(name, before, after, changed)


def _condition_outcome(asked: PlaybookReadings, condition: Condition | None) -> ItemOutcome:
    if condition is None:
        return ItemOutcome(NOT_EVALUATED)
    holds = condition.holds(asked.snapshot)
    if isinstance(holds, Unknown):
        return ItemOutcome("unknown", holds.because)
    status = f", {condition.status}" if condition.status is not None else ""
    return ItemOutcome(f"holds{status}", condition.says) if holds else ItemOutcome(DOES_NOT_HOLD)


def _may_decide(before: ItemOutcome, after: ItemOutcome) -> bool:
    """Whether it came out differently; what is left out or added, and was not found, changes no verdict."""
    return before.stands != after.stands and not {before.stands, after.stands} <= _NOT_FOUND


def _thresholds(was: ConfiguredCause | None, now: ConfiguredCause | None) -> Mapping[str, tuple[str, str]]:
    before, after = (dict(used.tuning) if used is not None else {} for used in (was, now))
    names = [name for name in before if name in after and before[name] != after[name]]
    changed = {name: (f"{before[name]:,}", f"{after[name]:,}") for name in names}
    if was is not None and now is not None and was.allow != now.allow:
        changed["allow"] = (", ".join(was.allow) or "none", ", ".join(now.allow) or "none")
    return changed


def _playbook_differences(before: Playbook, after: Playbook, found: Comparison) -> Iterator[str]:
    """Yield differences of the playbooks that no single result shows."""
    if Status.UNKNOWN in (found.before.status, found.after.status) and before.must_read != after.must_read:
        yield from _list_change("must_read", before.must_read, after.must_read)
    for cause in dict.fromkeys(filter(None, (found.before.cause, found.after.cause))):
        remedies = [
            next((used.remedy for used in playbook.causes if used.cause.name == cause), None)
            for playbook in (before, after)
        ]
        if remedies[0] is not None and remedies[1] is not None and remedies[0] != remedies[1]:
            yield from _list_change(f"remedy of {cause}", remedies[0], remedies[1])
    orders = [[used.cause.name for used in playbook.causes] for playbook in (before, after)]
    both = set(orders[0]) & set(orders[1])
    orders = [[name for name in order if name in both] for order in orders]
    if found.before.cause != found.after.cause and orders[0] != orders[1]:
        yield "The causes are in another order."


def _list_change(what: str, before: tuple[str, ...], after: tuple[str, ...]) -> Iterator[str]:
    yield f"{what}: {', '.join(before) or 'none'} → {', '.join(after) or 'none'}"
