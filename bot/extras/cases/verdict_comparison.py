"""Compares a node's verdicts by two playbooks: does the verdict flip, and which result made it flip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from bot.domain.evaluation import evaluate_cause
from bot.domain.playbook import Condition, ConfiguredCause, Playbook
from bot.domain.probe import RememberingSnapshot, Snapshot
from bot.domain.three_valued_logic import Unknown
from bot.domain.verdict import Finding, RuledOut, Status, Verdict, outcome_parts

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


def comparison_of(pair: Pair, before: Verdict, after: Verdict) -> Comparison:
    """Return the two verdicts, and what made them differ; each has the readings that its playbook asks for."""
    found = Comparison(before, after)
    if not found.flips or before.snapshot is None or after.snapshot is None:
        return found
    snapshots = RememberingSnapshot.of(before.snapshot), RememberingSnapshot.of(after.snapshot)
    turned = (*_changed_causes(pair, *snapshots), *_changed_conditions(pair, *snapshots))
    return replace(found, turned=turned, otherwise=tuple(_playbook_differences(pair.before, pair.after, found)))


def _changed_causes(pair: Pair, was: Snapshot, now: Snapshot) -> Iterator[ChangedOutcome]:
    were, are = ({used.cause.name: used for used in playbook.causes} for playbook in (pair.before, pair.after))
    for name in dict.fromkeys((*were, *are)):
        before, after = _cause_outcome(was, were.get(name)), _cause_outcome(now, are.get(name))
        if _may_decide(before, after):
            yield ChangedOutcome(name, before, after, _thresholds(were.get(name), are.get(name)))


def _cause_outcome(snapshot: Snapshot, used: ConfiguredCause | None) -> ItemOutcome:
    if used is None:
        return ItemOutcome(NOT_EVALUATED)
    result = evaluate_cause(used, snapshot)
    if isinstance(result, Finding):
        sure = f", {result.confidence}" if result.confidence is not None else ""
        return ItemOutcome(f"{result.status}{sure}", result.summary)
    if isinstance(result, RuledOut):
        return ItemOutcome(RULED_OUT if result.applies else DOES_NOT_APPLY, result.because)
    return ItemOutcome("undecided", result.says)


def _changed_conditions(pair: Pair, was: Snapshot, now: Snapshot) -> Iterator[ChangedOutcome]:
    were, are = ({each.name: each for each in playbook.conditions} for playbook in (pair.before, pair.after))
    for name in dict.fromkeys((*were, *are)):
        before, after = _condition_outcome(was, were.get(name)), _condition_outcome(now, are.get(name))
        if _may_decide(before, after):
            whens = tuple(each.when for each in (were.get(name), are.get(name)) if each is not None)
            changed = {"when": (whens[0], whens[1])} if len(set(whens)) > 1 else {}
            yield ChangedOutcome(name, before, after, changed)


def _condition_outcome(snapshot: Snapshot, condition: Condition | None) -> ItemOutcome:
    if condition is None:
        return ItemOutcome(NOT_EVALUATED)
    holds = condition.holds(snapshot)
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
